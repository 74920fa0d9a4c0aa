// Area: growth, scheduling. What a request costs a scheduler and a placement shard is the same, however many hosts, cells,
// instances, groups, sizes, zones and waiting requests there are.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import type { ProviderSpec } from '../../actors/messages/placement.ts';
import type { Select } from '../../actors/messages/scheduler.ts';
import { resourcesOf } from '../bench/load.ts';
import { type Amounts, testGrowth } from '../support/growth.ts';
import { inventoryOf, providerOf } from '../support/placement-desk.ts';
import { scheduling } from '../support/scheduling.ts';
import { stepsOf } from '../support/steps.ts';

const test = suite('growth, scheduling');

const things = {
  hosts: [1_500, 4_000],
  cells: [50, 500],
  instances: [10, 1_000],
  'instance groups': [10, 1_000],
  'members of a group that is kept apart': [10, 1_000],
  'members of a group that is better kept apart': [10, 1_000],
  'members of a group that is kept together': [10, 500],
  sizes: [10, 1_000],
  zones: [5, 1_000],
  traits: [5, 1_000],
  'requests that wait': [10, 1_000],
  'projects with a request that waits': [10, 2_000],
  'members of a group that wait': [10, 500],
  'deleted instances': [10, 1_000],
} as const;
type Thing = keyof typeof things;

const TOO_MUCH = 1_000_000;
const A_HOST = 'p-h7';
/** As many as the benchmark asks for. */
const SIZES = 151;
/** Hosts of a small cell. */
const FEW = 10;

function specOf(group: object = {}, more: Partial<RequestSpec> = {}): RequestSpec {
  return { groups: [{ name: '', resources: { VCPU: 1 }, ...group }], groupPolicy: 'none', ...more };
}
const ofSize = (vcpu: number, more: Partial<RequestSpec> = {}) => specOf({ resources: { VCPU: vcpu } }, more);
const member = (id: string, policy: InstanceGroup['policy']): Partial<RequestSpec> => ({
  instanceGroup: policy === 'anti-affinity' ? { id, policy, maxPerHost: 1 } : { id, policy },
});

/** A host with room for thousands; each fourth has devices, each second a trait. */
function treeOf(position: number, counts: Record<'zones' | 'traits', number>, total = 10_000): ProviderSpec[] {
  const root = providerOf(`p-h${position}`, {
    name: `h${position}`,
    inventories: { VCPU: inventoryOf({ total, max_unit: TOO_MUCH }) },
    traits: [`CUSTOM_T${position % counts.traits}`, ...(position % 2 === 0 ? ['CUSTOM_EVEN'] : [])],
    aggregates: [`zone-${position % counts.zones}`],
  });
  const device = (of: number) =>
    providerOf(`${root.id}-gpu-${of}`, {
      parent: root.id,
      inventories: { PGPU: inventoryOf({ total: 1_000 }) },
      traits: [of % 2 === 0 ? 'CUSTOM_SMALL' : 'CUSTOM_LARGE'],
    });
  return position % 4 === 0 ? [root, ...[0, 1, 2, 3].map(device)] : [root];
}

function make({ counts, each }: Amounts<Thing>) {
  const on = scheduling(
    Array.from({ length: counts.hosts }, (_, position) => ({
      cell: position < FEW ? 'few' : `c${position % counts.cells}`,
      host: `h${position}`,
      tree: treeOf(position, counts),
    })),
  );
  function ask(request: string, spec: RequestSpec, told: Partial<Select> = {}): void {
    on.ask(request, spec, told);
    on.deliver();
  }
  const world = {
    ...on,
    counts,
    ask,
    place(request: string, spec: RequestSpec, told: Partial<Select> = {}): void {
      ask(request, spec, told);
      const { chosen, reason } = on.outcomeOf(request);
      // Many hosts are ranked over several turns, where nothing is known of them yet.
      for (let waits = 0; chosen.size === 0 && waits < 10; waits += 1) {
        on.outwait();
        on.deliver();
      }
      assert.is(chosen.size, told.instances?.length ?? 1, `${request}: ${reason}`);
    },
    remove(consumer: string): void {
      on.say({ type: 'release', consumer, deleted: true });
      on.deliver();
    },
  };

  for (let n = 0; n < 10; n += 1) world.place(`to-go-${n}`, specOf());
  each('instances', 'one', (name) => world.place(name, specOf()));
  each('instance groups', 'group', (name) => world.place(name, specOf({}, member(`/${name}`, 'anti-affinity'))));
  const members = (thing: Thing, id: string, policy: InstanceGroup['policy']) =>
    each(thing, policy, (name) => world.place(name, specOf({}, member(id, policy))));
  members('members of a group that is kept apart', '/apart', 'anti-affinity');
  members('members of a group that is better kept apart', '/better-apart', 'soft-anti-affinity');
  members('members of a group that is kept together', '/together', 'affinity');
  each('sizes', 'size', (name, n) => world.place(name, ofSize(2 + n)));
  const waiting = (request: string, project: string, more: Partial<RequestSpec> = {}) =>
    ask(request, ofSize(TOO_MUCH, more), { waits: { since: 1 }, project });
  each('requests that wait', 'waiting', (name) => waiting(name, 'p'));
  each('projects with a request that waits', 'of-project', (name, n) => waiting(name, `p${n}`));
  each('members of a group that wait', 'member', (name) => waiting(name, 'p', member('/waiting', 'anti-affinity')));
  each('deleted instances', 'deleted', (name) => {
    world.place(name, specOf());
    world.remove(name);
  });
  return world;
}
type World = ReturnType<typeof make>;

const placing =
  (spec: RequestSpec, told: Partial<Select> = {}) =>
  (world: World, number: number) =>
    world.place(`r${number}`, spec, told);

testGrowth(test, 'scheduling', {
  things,
  make,
  messages: {
    'an instance': placing(specOf()),
    'one of another size': placing(ofSize(2)),
    'one without alternates': placing(specOf(), { alternates: 0 }),
    'one with many alternates': placing(specOf(), { alternates: 20 }),
    'one with a trait': placing(specOf({ required: ['CUSTOM_EVEN'] })),
    'one without a trait': placing(specOf({ forbidden: ['CUSTOM_EVEN'] })),
    'one in a zone': placing(specOf({}, { tree: { memberOf: [['zone-1']] } })),
    'one not in a zone': placing(specOf({}, { tree: { notMemberOf: ['zone-1'] } })),
    'one with a device': placing({
      groups: [
        { name: '', resources: { VCPU: 1 } },
        { name: 'gpu', resources: { PGPU: 1 }, required: ['CUSTOM_LARGE'] },
      ],
      groupPolicy: 'none',
    }),
    'one on a host': placing(specOf({}, { tree: { oneOf: [A_HOST] } })),
    'one not on a host': placing(specOf({}, { tree: { noneOf: [A_HOST] } })),
    'one in a cell': placing(specOf(), { where: { cells: ['c1'] } }),
    'one not in a small cell': placing(specOf(), { where: { avoidCells: ['few'] } }),
    'one rather in a cell': placing(specOf(), { where: { preferCells: ['c1'] } }),
    'one beside another': placing(specOf({}, { tree: { heldBy: ['one-1'] } })),
    'one not beside another': placing(specOf({}, { tree: { notHeldBy: ['one-1'] } })),
    'the first of a group': (world, number) =>
      world.place(`r${number}`, specOf({}, member(`/new-${number}`, 'anti-affinity'))),
    'one of a group that is kept apart': placing(specOf({}, member('/apart', 'anti-affinity'))),
    'one of a group that is better kept apart': placing(specOf({}, member('/better-apart', 'soft-anti-affinity'))),
    'one of a group that is kept together': placing(specOf({}, member('/together', 'affinity'))),
    'one that fits nowhere': ({ ask }, number) => ask(`r${number}`, ofSize(TOO_MUCH - 1)),
    'two at once': ({ place }, number) =>
      place(`r${number}`, specOf(), { instances: [`r${number}-0`, `r${number}-1`] }),
    'one goes': ({ remove }, number) => remove(`to-go-${number % 10}`),
    'a host says what it has, as before': ({ say, deliver, counts }) => {
      say({ type: 'put-tree', ask: 2, providers: treeOf(3, counts) });
      deliver();
    },
    'a host has more': ({ say, deliver, counts }, number) => {
      say({ type: 'put-tree', ask: 2, providers: treeOf(3, counts, 10_000 + number) });
      deliver();
    },
  },
});

test('growth - of many sizes a choice takes little more among the hosts of ten cells than among as many of one', () => {
  const stepsAmong = (cells: number): number => {
    const on = scheduling(
      Array.from({ length: 1_000 }, (_, position) => {
        const much = inventoryOf({ total: TOO_MUCH, max_unit: TOO_MUCH });
        const inventories = { VCPU: much, MEMORY_MB: much };
        const tree = [providerOf(`p-h${position}`, { name: `h${position}`, inventories })];
        return { cell: `c${position % cells}`, host: `h${position}`, tree };
      }),
    );
    const place = (from: number, to: number) => {
      for (let n = from; n < to; n += 1) {
        const { VCPU, MEMORY_MB } = resourcesOf(n, SIZES);
        on.ask(`r${n}`, specOf({ resources: { VCPU, MEMORY_MB } }));
        on.deliver();
        for (let waits = 0; on.outcomeOf(`r${n}`).chosen.size === 0; waits += 1) {
          assert.ok(waits < 10, on.outcomeOf(`r${n}`).reason ?? 'nothing is told');
          on.outwait();
          on.deliver();
        }
      }
    };
    place(0, 10 * SIZES);
    return stepsOf(() => place(10 * SIZES, 11 * SIZES));
  };
  const [ofOne, ofTen] = [stepsAmong(1), stepsAmong(10)];
  assert.ok(ofTen < 1.25 * ofOne, `${ofTen} steps, and ${ofOne} in one cell`);
});

test('growth - each turn of a loop is a step', () => {
  const stepsUpTo = (many: number) =>
    stepsOf(() => {
      for (let number = 0; number < many; number += 1) numbers.add(number);
    });
  const numbers = new Set<number>();
  assert.is(stepsUpTo(1_010) - stepsUpTo(10), 1_000);
});

test('growth - so is each call of a function, however often it ran before', () => {
  const numbers = Array.from({ length: 1_000 }, (_, number) => number);
  const isEven = (number: number) => number % 2 === 0;
  const evenOnes = () => numbers.filter(isEven);
  for (let times = 0; times < 1_000; times += 1) evenOnes();
  assert.ok(stepsOf(evenOnes) >= 1_000);
});

test.run();
