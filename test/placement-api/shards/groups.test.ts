// Area: Placement API, several shards. Instances that a caller moves to a host of another shard stay what they are there:
// members of their group, whose rule is kept then and from then on, and instances that are counted.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup } from '../../../actors/messages/common.ts';
import { applyToPlacement } from '../../../actors/placement/apply.ts';
import { emptyPlacement } from '../../../actors/placement/state.ts';
import { seededRandom } from '../../../runtime/random.ts';
import { CALLER, type Desk, hostOf } from '../../support/shards.ts';
import { type World, worldOf } from './world.ts';

const test = suite('Placement API, several shards - instance groups');

const APART: InstanceGroup = { id: 'p/apart', policy: 'anti-affinity' };
const CLOSE: InstanceGroup = { id: 'p/close', policy: 'affinity' };
const resources = { VCPU: 1 };
const inventory = { total: 4, reserved: 0, min_unit: 1, max_unit: 4, step_size: 1, allocation_ratio: 1 };

interface Asked {
  readonly attempt?: number;
  readonly maxInstances?: number;
  readonly host?: string;
}

function sceneOf(seed: string) {
  const world: World = worldOf(seededRandom(seed));
  const { on } = world;
  const deskOf = (shard: number) => on.shards[shard] as Desk;
  /** A second host in the first shard. */
  const provider = { id: 'host-0b', name: 'host-0b', parent: null, inventories: { VCPU: inventory } };
  deskOf(0).tell({ type: 'put-tree', ask: 1, providers: [{ ...provider, traits: [], aggregates: [] }] } as never);

  return {
    world,
    stateOf: (shard: number) => deskOf(shard).state,
    /** What comes of a claim: `granted`, or the code; null: it waits. */
    claim(consumer: string, shard: number, group: InstanceGroup | null, asked: Asked = {}): string | null {
      const { attempt = 1, maxInstances, host = hostOf(shard) } = asked;
      const claim = {
        type: 'claim',
        consumer,
        attempt,
        spec: {
          groups: [{ name: '', resources }],
          groupPolicy: 'none',
          ...(group === null ? {} : { instanceGroup: group }),
        },
        allocations: [{ provider: host, group: '', resources }],
        keep: [],
        expiresAt: 1e15,
        ...(maxInstances === undefined ? {} : { maxInstances }),
      };
      const { sent } = deskOf(shard).tell(claim as never, CALLER);
      for (const { message } of sent) {
        if (message.type === 'claim-granted') return 'granted';
        if (message.type === 'claim-refused') return message.refusal.code;
      }
      return null;
    },
    async move(to: Readonly<Record<string, string>>): Promise<string> {
      const consumers = Object.entries(to).map(([consumer, host]) => ({
        consumer,
        allocations: [{ provider: host, resources }],
        project: 'p',
        user: 'u',
      }));
      const work = world.front().ask({ type: 'allocations-put', consumers });
      await world.run(work, 0);
      const outcome = await work;
      return 'refused' in outcome ? outcome.refused.code : 'ok';
    },
    members: (shard: number, { id }: InstanceGroup, host = hostOf(shard)) =>
      deskOf(shard).state.providers.get(host)?.groups.get(id) ?? 0,
  };
}

test('a member that goes to a host of another shard is one there, by whose rule others are kept away', async () => {
  const { claim, move, members, stateOf, world } = sceneOf('apart');
  assert.is(claim('a', 0, APART), 'granted');
  assert.is(claim('b', 1, APART), 'granted');
  assert.is(await move({ a: hostOf(1) }), 'group-anti-affinity');
  assert.equal(world.on.held('a'), [[1], [], []], 'it stays where it was');
  assert.is(await move({ a: hostOf(2) }), 'ok');
  assert.equal([members(0, APART), members(2, APART)], [0, 1]);
  assert.is(claim('c', 2, APART), 'group-anti-affinity');
  assert.is(claim('c', 0, APART), 'granted', 'where it was, another may be');
  const { latest, held, group } = stateOf(2).consumers.holding.get('a') ?? {};
  assert.equal([latest, held?.[0]?.attempt, group], [1, 1, APART]);
  assert.is(claim('a', 2, APART), 'granted', 'asked again, its claim is the one that was granted');
  assert.is(claim('a', 2, APART, { attempt: 2 }), 'granted', 'and it may claim anew');
  assert.is(await move({ a: hostOf(1), b: hostOf(2) }), 'ok', 'two change places');
  assert.equal([members(1, APART), members(2, APART)], [1, 1]);
  world.on.check();
});

test('two that go to one host at once are one too many', async () => {
  const { claim, move, members, world } = sceneOf('both');
  assert.is(claim('a', 0, APART), 'granted');
  assert.is(claim('b', 1, APART), 'granted');
  assert.is(await move({ a: hostOf(2), b: hostOf(2) }), 'group-anti-affinity');
  assert.is(members(2, APART), 0);
  for (let run = 0; run < 20; run += 1) {
    const scene = sceneOf(`race ${run}`);
    scene.claim('a', 0, APART);
    scene.claim('b', 1, APART);
    const codes = await Promise.all([scene.move({ a: hostOf(2) }), scene.move({ b: hostOf(2) })]);
    assert.equal(codes.sort(), ['group-anti-affinity', 'ok'], `by two callers, run ${run}`);
    assert.is(scene.members(2, APART), 1);
    await scene.world.settle();
    scene.world.on.check();
  }
  world.on.check();
});

test('a group that keeps together does not go to another shard in parts, and is moved within its own', async () => {
  const { claim, move, members, world } = sceneOf('close');
  assert.is(claim('a', 0, CLOSE), 'granted');
  assert.is(claim('b', 0, CLOSE), 'granted');
  assert.is(await move({ a: hostOf(1) }), 'group-affinity');
  assert.is(await move({ a: hostOf(1), b: hostOf(1) }), 'group-affinity');
  assert.equal([members(0, CLOSE), members(1, CLOSE)], [2, 0]);
  assert.is(await move({ a: 'host-0b' }), 'group-affinity');
  assert.is(await move({ a: 'host-0b', b: 'host-0b' }), 'ok');
  assert.equal([members(0, CLOSE), members(0, CLOSE, 'host-0b')], [0, 2]);
  world.on.check();
});

test('a wish of a group goes along, and an instance of no group is counted where it is', async () => {
  const soft: InstanceGroup = { id: 'p/soft', policy: 'soft-affinity' };
  const { claim, move, members, stateOf } = sceneOf('soft');
  assert.is(claim('a', 0, soft), 'granted');
  assert.is(await move({ a: hostOf(1) }), 'ok');
  assert.equal([members(0, soft), members(1, soft)], [0, 1]);
  assert.is(claim('i', 0, null), 'granted');
  assert.is(await move({ i: hostOf(2) }), 'ok');
  assert.equal([stateOf(0).providers.get(hostOf(0))?.tenants, stateOf(2).providers.get(hostOf(2))?.tenants], [0, 1]);
  assert.is(claim('j', 2, null, { maxInstances: 1 }), 'too-many-instances');
  assert.is(await move({ pool: hostOf(2) }), 'ok');
  assert.is(stateOf(2).providers.get(hostOf(2))?.tenants, 1, 'what is no instance is none');
});

test('one that comes back to a shard that it had left is at home there', async () => {
  const { claim, move, members, stateOf } = sceneOf('back');
  assert.is(claim('a', 0, APART), 'granted');
  assert.is(claim('a', 1, APART, { attempt: 2 }), 'granted');
  const desk = stateOf(0);
  applyToPlacement(desk, { type: 'moved-away', consumer: 'a', before: 2, keep: [] });
  assert.is(desk.consumers.holding.get('a')?.latest, 1);
  assert.is(members(0, APART), 0);
  assert.is(await move({ a: hostOf(0) }), 'ok');
  const { latest, away, group } = desk.consumers.holding.get('a') ?? {};
  assert.equal([latest, away, group], [2, undefined, APART]);
  assert.equal(desk.groups.places.get('a'), { group: APART.id, home: hostOf(0), roots: [hostOf(0)] });
  assert.equal([members(0, APART), members(1, APART)], [1, 0]);
});

test('what older journals say of a consumer that was new to a shard is what it was', () => {
  const state = emptyPlacement();
  const specs = [{ id: 'h', name: 'h', parent: null, inventories: { VCPU: inventory }, traits: [], aggregates: [] }];
  applyToPlacement(state, { type: 'tree', providers: specs });
  const owner = { project: 'p', user: 'u', consumerType: null };
  const consumers = [{ consumer: 'a', allocations: [{ provider: 'h', group: '', resources }], owner, generation: 2 }];
  applyToPlacement(state, { type: 'held', transaction: '0-1', consumers });
  applyToPlacement(state, { type: 'hold-ended', transaction: '0-1', confirmed: true, at: 7 });
  const { latest, group, generation } = state.consumers.holding.get('a') ?? {};
  assert.equal([latest, group, generation], [0, undefined, 2]);
  assert.is(state.holds.locks.size, 0);
});

test.run();
