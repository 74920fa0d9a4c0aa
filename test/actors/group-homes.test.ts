// Area: group homes. A group that keeps together has its home in one placement shard, whatever is claimed at once in
// several, and however what they say to each other is lost, doubled, held up or cut short by the death of one of them.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { AnyMessage } from '../../actors/messages/any.ts';
import type { Claim, Inventory, Refusal } from '../../actors/messages/placement.ts';
import { placement } from '../../actors/placement/placement.ts';
import { placementAddress, placementShardOf } from '../../actors/routing.ts';
import { type Random, seededRandom } from '../../runtime/random.ts';
import { bench, replayed, restored, type Sent, sentOf } from '../support/turn.ts';

const test = suite('group homes');

const SHARDS = 3;
const REMEMBER_MS = 60_000;
const LATE = 1_000_000_000;
const GROUP = { id: 'p/close', policy: 'affinity' } as const;
const KEEPER = placementShardOf(GROUP.id, SHARDS);
/** The shards that are not the keeper. */
const [ONE, OTHER] = [0, 1, 2].filter((shard) => shard !== KEEPER) as [number, number];
const CALLER = 'scheduler/s';
const inventory: Inventory = {
  ...{ total: 3, reserved: 0, min_unit: 1, max_unit: 10, step_size: 1, allocation_ratio: 1 },
};
const actors = Array.from({ length: SHARDS }, (_, shard) =>
  placement({ shard, shards: SHARDS, rememberDeletedMs: REMEMBER_MS }),
);
type Actor = (typeof actors)[0];
const newDesk = (actor: Actor, words?: Parameters<typeof bench>[1]) => bench(actor, words as never);
type Desk = ReturnType<typeof newDesk>;

interface Letter extends Sent {
  readonly from: string;
}
type Outcome = 'granted' | Refusal;

function claimOf(consumer: string, host: string, told: Partial<Claim> = {}): Claim {
  const resources = { VCPU: 1 };
  const spec = { groups: [{ name: '', resources }], groupPolicy: 'none', instanceGroup: GROUP } as const;
  const allocations = [{ provider: host, group: '', resources }];
  return { type: 'claim', consumer, attempt: 1, spec, allocations, keep: [], expiresAt: LATE, ...told } as Claim;
}

/** Three shards with two hosts each, `0a`, `0b`, `1a` ... What they say waits until the test delivers it. */
function rig() {
  const desks: Desk[] = actors.map((actor, shard) => {
    const desk = newDesk(actor);
    for (const id of [`${shard}a`, `${shard}b`]) {
      const provider = { id, name: id, parent: null, inventories: { VCPU: inventory }, traits: [], aggregates: [] };
      desk.tell({ type: 'put-tree', ask: 1, providers: [provider] });
    }
    return desk;
  });
  let underWay: Letter[] = [];
  const outcomes = new Map<string, Outcome>();

  function keep(from: string, sent: readonly Sent[]): void {
    for (const one of sent) {
      const { to, message } = one;
      if (message.type === 'claim-granted') outcomes.set(message.consumer, 'granted');
      else if (message.type === 'claim-refused') outcomes.set(message.consumer, message.refusal as Refusal);
      else if (to.startsWith('placement/') && !to.endsWith('/feed')) underWay.push({ ...one, from });
    }
  }

  const on = {
    desks,
    outcomes,
    say(shard: number, message: AnyMessage): void {
      keep(placementAddress(shard), (desks[shard] as Desk).tell(message as never, CALLER).sent);
    },
    claim: (consumer: string, host: string, told?: Partial<Claim>) =>
      on.say(Number(host[0]), claimOf(consumer, host, told)),
    underWay: () => underWay.map(({ to, message }) => `${message.type} to ${to}`),
    lose(): void {
      underWay = [];
    },
    /** Delivers one letter, and keeps a copy of it on its way if it is doubled. */
    deliverOne(random: Random, doubled = false): void {
      const letter = random.pick(underWay);
      if (!doubled) underWay = underWay.filter((one) => one !== letter);
      const desk = desks[Number(letter.to.slice('placement/'.length))] as Desk;
      keep(letter.to, desk.tell(letter.message as never, letter.from).sent);
    },
    /** Delivers in the order of sending. */
    deliver(isMeant: (type: string) => boolean = () => true): void {
      for (;;) {
        const letter = underWay.find(({ message }) => isMeant(message.type));
        if (letter === undefined) return;
        underWay = underWay.filter((one) => one !== letter);
        const desk = desks[Number(letter.to.slice('placement/'.length))] as Desk;
        keep(letter.to, desk.tell(letter.message as never, letter.from).sent);
      }
    },
    /** Another life of a shard takes over. */
    replace(shard: number): void {
      const { entries, now } = desks[shard] as Desk;
      desks[shard] = newDesk(actors[shard] as Actor, { entries, at: now });
    },
    pass(ms: number): void {
      for (const [shard, desk] of desks.entries()) {
        for (const { sent } of desk.pass(ms)) keep(placementAddress(shard), sent);
      }
    },
    /** The hosts on which members have their home. */
    homes: () => desks.flatMap(({ state }) => [...(state.groups.known.get(GROUP.id)?.homes.keys() ?? [])]),
    check(): void {
      assert.ok(on.homes().length <= 1, on.homes().join(' and '));
      for (const [shard, desk] of desks.entries()) {
        const actor = actors[shard] as Actor;
        assert.equal(replayed(actor, desk.entries as never), desk.stored());
        assert.equal(restored(actor, desk.stored()), desk.stored());
      }
    },
  };
  return on;
}

const codeOf = (outcome: Outcome | undefined) => (typeof outcome === 'object' ? outcome.code : outcome);

test('group homes - of two first members that are claimed at once in two shards, one is told where the other is', () => {
  const on = rig();
  on.claim('m1', `${ONE}a`);
  on.claim('m2', `${OTHER}a`);
  assert.equal([...on.outcomes], [], 'nothing is granted before the keeper has said whose the group is');
  on.deliver();
  assert.is(on.outcomes.get('m1'), 'granted');
  const refusal = on.outcomes.get('m2') as Refusal;
  assert.equal([refusal.code, refusal.provider], ['group-affinity', `${ONE}a`]);
  assert.match(refusal.message, `'close' keeps together, and it is on host '${ONE}a'`);
  on.check();
});

test('group homes - of two first members that would rather be together, one is told where the other is', () => {
  const on = rig();
  const [claim] = [claimOf('any', `${ONE}a`)];
  const spec = { ...claim.spec, instanceGroup: { id: GROUP.id, policy: 'soft-affinity' as const } };
  const first = { spec, groupKnown: { members: 0, others: 0, isFirst: true as const } };
  on.claim('m1', `${ONE}a`, first);
  on.claim('m2', `${OTHER}a`, first);
  assert.equal([...on.outcomes], []);
  on.deliver();
  assert.is(on.outcomes.get('m1'), 'granted');
  assert.equal(on.outcomes.get('m2'), {
    code: 'group-changed',
    message: `instance group 'close' keeps together if it can, and it has come to host '${ONE}a'`,
    provider: `${ONE}a`,
  });
  // It knows by now, and has found no room there; nor is one asked for that does not choose by the group.
  on.claim('m3', `${OTHER}a`, { spec, groupKnown: { members: 0, others: 0 } });
  on.claim('m4', `${OTHER}b`, { spec });
  assert.equal([on.outcomes.get('m3'), on.outcomes.get('m4')], ['granted', 'granted']);
});

test('group homes - a claim that does without its wish, because no keeper answers, is granted and waits no longer', () => {
  const on = rig();
  const { spec } = claimOf('any', `${ONE}a`);
  const wish = { spec: { ...spec, instanceGroup: { id: GROUP.id, policy: 'soft-affinity' as const } } };
  on.claim('m1', `${ONE}a`, { ...wish, groupKnown: { members: 0, others: 0, isFirst: true } });
  on.lose();
  on.claim('m1', `${ONE}a`, { ...wish, groupKnown: { members: 0, others: 0 } });
  assert.is(on.outcomes.get('m1'), 'granted');
  assert.equal(
    on.desks.flatMap(({ state }) => [...state.groupHomes.asking.values()].map(({ claims }) => claims.size)),
    [0],
  );
  on.check();
});

test('group homes - a shard in which members have their home decides alone, and refuses its own other hosts', () => {
  const on = rig();
  on.claim('m1', `${ONE}a`);
  on.deliver();
  on.claim('m2', `${ONE}a`);
  on.claim('m3', `${ONE}b`);
  assert.equal([on.outcomes.get('m2'), codeOf(on.outcomes.get('m3'))], ['granted', 'group-affinity']);
  assert.equal(on.underWay(), []);
});

test('group homes - a claim that does not fit is refused without a question', () => {
  const on = rig();
  on.claim('m1', `${ONE}a`, { expiresAt: 1 });
  assert.equal(codeOf(on.outcomes.get('m1')), 'expired');
  assert.equal(on.underWay(), []);
});

test('group homes - a group whose members are gone may have its home in another shard', () => {
  const on = rig();
  on.claim('m1', `${ONE}a`);
  on.deliver();
  on.say(ONE, { type: 'release', consumer: 'm1', deleted: true });
  on.claim('m2', `${OTHER}a`);
  on.deliver();
  assert.is(on.outcomes.get('m2'), 'granted');
  on.claim('m3', `${ONE}a`);
  on.deliver();
  assert.is(codeOf(on.outcomes.get('m3')), 'group-affinity');
  on.check();
});

test('group homes - one that moves on leaves no home behind, though something of it may still run', () => {
  const on = rig();
  on.claim('m1', `${ONE}a`);
  on.deliver();
  on.say(ONE, { type: 'release', consumer: 'm1', before: 2, keep: [1], deleted: false });
  on.claim('m1', `${OTHER}a`, { attempt: 2, keep: [1] });
  on.deliver();
  assert.is(on.outcomes.get('m1'), 'granted');
  assert.equal(on.homes(), [`${OTHER}a`]);
  assert.is((on.desks[ONE] as Desk).state.consumers.holding.get('m1')?.held.length, 1);
  // It comes back: what it left behind here is still no home.
  on.say(OTHER, { type: 'release', consumer: 'm1', before: 3, keep: [], deleted: false });
  on.claim('m1', `${ONE}b`, { attempt: 3, keep: [1] });
  on.deliver();
  assert.equal(on.homes(), [`${ONE}b`]);
  on.check();
});

test('group homes - what the keeper said before a shard has left a group is void', () => {
  const on = rig();
  on.claim('m1', `${ONE}a`);
  on.deliver((type) => type === 'group-ask');
  // The keeper's word is under way; meanwhile another shard wants the group, and the first one leaves it.
  on.claim('m2', `${OTHER}a`);
  for (const kind of ['group-ask', 'group-leave', 'group-left']) on.deliver((type) => type === kind);
  on.deliver((type) => type === 'group-yours');
  assert.equal([on.outcomes.get('m1'), on.outcomes.get('m2')], [undefined, 'granted']);
  on.deliver();
  assert.is(codeOf(on.outcomes.get('m1')), 'group-affinity', 'it has asked again by itself');
  on.check();
});

test('group homes - a claim that waits is taken once, and is refused when it is void by then', () => {
  const on = rig();
  on.claim('m1', `${ONE}a`);
  on.claim('m1', `${ONE}a`);
  on.claim('m2', `${ONE}a`);
  on.say(ONE, { type: 'release', consumer: 'm2', deleted: true });
  on.deliver();
  assert.equal([on.outcomes.get('m1'), codeOf(on.outcomes.get('m2'))], ['granted', 'consumer-deleted']);
});

test('group homes - the keeper forgets groups that have no member, and who has waited in vain is forgotten', () => {
  const on = rig();
  on.claim('m1', `${ONE}a`);
  on.deliver();
  on.claim('m2', `${OTHER}a`, { expiresAt: 1_000_500 });
  on.lose();
  on.pass(REMEMBER_MS * 1.5);
  on.deliver();
  const kept = () => (on.desks[KEEPER] as Desk).state.groupHomes.kept.size;
  assert.is(kept(), 1, 'it has a member');
  assert.is((on.desks[OTHER] as Desk).state.groupHomes.asking.size, 0);
  on.say(ONE, { type: 'release', consumer: 'm1', deleted: true });
  on.pass(REMEMBER_MS / 2);
  on.deliver();
  assert.is(kept(), 0);
  assert.is((on.desks[ONE] as Desk).state.groupHomes.own.size, 0);
  on.check();
});

test('group homes - a shard that was superseded cannot say that it has left', () => {
  const on = rig();
  on.claim('m1', `${ONE}a`);
  on.deliver();
  const leave = { type: 'group-leave', group: GROUP.id, number: 1 } as const;
  const turned = (on.desks[OTHER] as Desk).tell(leave, placementAddress(KEEPER));
  assert.equal(turned.records, [{ type: 'read' }], 'what it says waits for its journal');
  assert.is(sentOf(turned, 'group-left').length, 1);
});

test('group homes - whatever is lost, doubled, late or dead, there is one home, and all claims are answered', () => {
  for (let seed = 0; seed < 150; seed += 1) {
    const random = seededRandom(`group homes ${seed}`);
    const on = rig();
    const claims = new Map<string, string>();
    const living = () => [...claims.keys()].filter((one) => on.outcomes.get(one) === 'granted');
    const again = (consumer: string) => on.claim(consumer, claims.get(consumer) as string);
    for (let step = 0; step < 120; step += 1) {
      const what = random.integer(0, 19);
      if (what < 4) {
        claims.set(`m${step}`, `${random.integer(0, SHARDS - 1)}${random.pick(['a', 'b'])}`);
        again(`m${step}`);
      } else if (what < 6 && claims.size > 0) {
        again(random.pick([...claims.keys()]));
      } else if (what < 9 && living().length > 0) {
        const consumer = random.pick(living());
        on.say(Number(claims.get(consumer)?.[0]), { type: 'release', consumer, deleted: true });
        claims.delete(consumer);
      } else if (what === 9 && random.chance(0.3)) {
        on.lose();
      } else if (what === 10 && random.chance(0.5)) {
        on.replace(random.integer(0, SHARDS - 1));
      } else if (on.underWay().length > 0) {
        on.deliverOne(random, random.chance(0.15));
      }
      assert.ok(on.homes().length <= 1, `seed ${seed}, step ${step}: ${on.homes().join(' and ')}`);
    }
    for (let round = 0; round < 10; round += 1) {
      for (const consumer of claims.keys()) if (!on.outcomes.has(consumer)) again(consumer);
      on.deliver();
    }
    const unanswered = [...claims.keys()].filter((one) => !on.outcomes.has(one));
    assert.equal(unanswered, [], `seed ${seed}`);
    on.check();
  }
});

test.run();
