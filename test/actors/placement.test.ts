// Area: placement. That it decides as plain reckoning does, whatever comes in whatever order: capacity is never
// exceeded, nothing that fits is refused, everything may be said twice, and its journal tells all of it.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type {
  Claim,
  Inventory,
  PlacementMessage,
  ProviderSpec,
  ProviderState,
  ProvidersChanged,
  Refusal,
  Release,
} from '../../actors/messages/placement.ts';
import { placement } from '../../actors/placement/placement.ts';
import { usageOf } from '../../actors/placement/providers.ts';
import { emptyView, learnChanges, type View } from '../../actors/scheduler/view.ts';
import { type Oracle, placementOracle } from '../support/placement-oracle.ts';
import { bench, replayed, restored, sentOf, type Turned } from '../support/turn.ts';

const test = suite('placement');

const actor = placement({ shard: 0 });
const LATE = 10_000_000;

function inventoryOf(told: Partial<Inventory> = {}): Inventory {
  return { total: 8, reserved: 0, min_unit: 1, max_unit: 1_000, step_size: 1, allocation_ratio: 1, ...told };
}

function providerOf(id: string, told: Partial<ProviderSpec> = {}): ProviderSpec {
  return { id, name: id, parent: null, inventories: {}, traits: [], aggregates: [], ...told };
}

/** A host with 8 VCPU and two devices of 4 GPUs. */
function hostTree(id: string, told: Partial<ProviderSpec> = {}): ProviderSpec[] {
  const device = (name: string) =>
    providerOf(`${id}-${name}`, { parent: id, inventories: { PGPU: inventoryOf({ total: 4 }) } });
  return [providerOf(id, { inventories: { VCPU: inventoryOf() }, ...told }), device('gpu-0'), device('gpu-1')];
}

/** A claim of VCPU of one host, and of what else is named. */
function claimOf(consumer: string, told: Partial<Claim> & { vcpu?: number; host?: string } = {}): Claim {
  const { vcpu = 4, host = 'a', ...rest } = told;
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' };
  const allocations = [{ provider: host, group: '', resources: { VCPU: vcpu } }];
  return { type: 'claim', consumer, attempt: 1, spec, allocations, keep: [], expiresAt: LATE, ...rest };
}

const put = (providers: ProviderSpec[]): PlacementMessage => ({ type: 'put-tree', ask: 1, providers });
const release = (consumer: string, told: Partial<Release> = {}): Release => ({
  type: 'release',
  consumer,
  deleted: false,
  ...told,
});

/** A shard with the trees that are given. */
function shardWith(...trees: ProviderSpec[][]) {
  const shard = bench(actor);
  for (const tree of trees) assert.is(sentOf(shard.tell(put(tree)), 'tree-put').length, 1);
  return shard;
}

function refusalIn(turned: Turned<unknown>): Refusal | null {
  const [refused] = sentOf(turned, 'claim-refused');
  assert.is(sentOf(turned, 'claim-granted').length, refused === undefined ? 1 : 0, 'one answer, and no more');
  return (refused?.message.refusal as Refusal | undefined) ?? null;
}

/** What was answered, the standing of the providers left out: that may move on between two answers. */
function answerIn({ sent }: Turned<unknown>): unknown {
  return sent
    .filter(({ to }) => to === 'asker')
    .map(({ message }) => {
      const { usages: _, ...answer } = message as { usages?: unknown };
      return answer;
    });
}

function providersOf(shard: ReturnType<typeof shardWith>): ProviderState[] {
  const [page] = sentOf(shard.tell({ type: 'list-providers', ask: 2, limit: 1000 }), 'providers');
  return page?.message.providers as ProviderState[];
}

function heldIn(shard: ReturnType<typeof shardWith>): Record<string, unknown> {
  const [page] = sentOf(shard.tell({ type: 'list-consumers', ask: 3, limit: 1000 }), 'consumers');
  const holding = (page?.message.consumers ?? []).filter(({ held }) => held.length > 0);
  return Object.fromEntries(holding.map(({ consumer, held }) => [consumer, held]));
}

// --- what may be said, by chance

const some = <T>(...items: T[]) => fc.constantFrom(...items);
const PLAIN = { noNullPrototype: true } as const;
const inventories = fc.record(
  {
    total: fc.integer({ min: 1, max: 12 }),
    reserved: fc.integer({ min: 0, max: 1 }),
    min_unit: some(1, 1, 1, 2),
    max_unit: some(1_000, 1_000, 5),
    step_size: some(1, 1, 1, 2),
    allocation_ratio: some(1, 1, 2, 0.5, 1.5),
  },
  PLAIN,
);

const trees = fc
  .record({
    root: some('a', 'b'),
    vcpu: fc.option(inventories),
    memory: fc.option(inventories),
    devices: fc.subarray(['gpu-0', 'gpu-1']),
    gpu: inventories,
  })
  .map(({ root, vcpu, memory, devices, gpu }) => {
    const told: Record<string, Inventory> = {};
    if (vcpu !== null) told.VCPU = vcpu;
    if (memory !== null) told.MEMORY_MB = memory;
    const children = devices.map((name) => providerOf(`${root}-${name}`, { parent: root, inventories: { PGPU: gpu } }));
    return { type: 'put-tree' as const, ask: 1, providers: [providerOf(root, { inventories: told }), ...children] };
  });

const consumers = some('c1', 'c2', 'c3');
const attempts = fc.integer({ min: 1, max: 4 });
const amounts = fc.integer({ min: 1, max: 6 });

const claims: fc.Arbitrary<Claim> = fc
  .record({
    consumer: consumers,
    attempt: attempts,
    root: some('a', 'b'),
    vcpu: amounts,
    memory: fc.option(amounts),
    gpu: fc.option(fc.record({ root: some('a', 'b'), device: some('gpu-0', 'gpu-1'), amount: amounts })),
    keep: fc.subarray([1, 2, 3]),
    late: some(false, false, false, true),
    wrong: some(0, 0, 0, 0, 1),
  })
  .map(({ consumer, attempt, root, vcpu, memory, gpu, keep, late, wrong }) => {
    const resources = { VCPU: vcpu, ...(memory === null ? {} : { MEMORY_MB: memory }) };
    const allocations = [{ provider: root, group: '', resources }];
    const groups: RequestSpec['groups'] = [{ name: '', resources: { ...resources, VCPU: vcpu + wrong } }];
    if (gpu !== null) {
      const devices = { PGPU: gpu.amount };
      // Mostly of the same tree, and sometimes not, which must be refused.
      const owner = late ? gpu.root : root;
      allocations.push({ provider: `${owner}-${gpu.device}`, group: 'g', resources: devices as never });
      groups.push({ name: 'g', resources: devices });
    }
    const spec: RequestSpec = { groups, groupPolicy: 'none' };
    return { type: 'claim', consumer, attempt, spec, allocations, keep, expiresAt: late ? 0 : LATE };
  });

const releases: fc.Arbitrary<Release> = fc
  .record({
    consumer: consumers,
    attempt: fc.option(attempts),
    keep: fc.option(fc.subarray([1, 2, 3])),
    deleted: some(false, false, false, true),
  })
  .map(({ consumer, attempt, keep, deleted }) => ({
    ...release(consumer, { deleted }),
    ...(attempt === null ? (keep === null ? {} : { keep }) : { attempt }),
  }));

const sequences = fc.array(
  fc.oneof({ weight: 2, arbitrary: trees }, { weight: 6, arbitrary: claims }, { weight: 3, arbitrary: releases }),
  { minLength: 1, maxLength: 40 },
);

/** Runs a sequence past a shard and the oracle; `check` looks at both after every message. */
function runPast(
  sequence: readonly (Claim | Release | Extract<PlacementMessage, { type: 'put-tree' }>)[],
  check: (
    shard: ReturnType<typeof shardWith>,
    oracle: Oracle,
    turned: Turned<unknown>,
    message: PlacementMessage,
  ) => void,
): void {
  const shard = shardWith();
  const oracle = placementOracle();
  for (const message of sequence) {
    const turned = shard.tell(message, 'asker');
    if (message.type === 'put-tree') oracle.put(message.providers);
    else if (message.type === 'release') oracle.release(message);
    else {
      const held = oracle.claim(message, shard.now);
      const [granted] = sentOf(turned, 'claim-granted');
      assert.equal(granted?.message.allocations ?? null, held, `the answer to ${JSON.stringify(message)}`);
      assert.is(sentOf(turned, 'claim-refused').length, held === null ? 1 : 0);
    }
    check(shard, oracle, turned, message);
  }
}

const holds = (property: fc.IRawProperty<unknown>) => fc.assert(property, { numRuns: 300 });

test('placement - any sequence is decided as plain reckoning decides it', () => {
  holds(
    fc.property(sequences, (sequence) =>
      runPast(sequence, (shard, oracle) => {
        assert.equal(heldIn(shard), oracle.held());
        const standing = providersOf(shard);
        assert.equal(
          standing.map(({ id }) => id),
          [...new Set([...oracle.providers()])],
        );
        for (const { id, used } of standing) {
          for (const [resourceClass, amount] of Object.entries(used)) {
            assert.is(amount, oracle.used(id, resourceClass), `${resourceClass} in use on ${id}`);
          }
        }
      }),
    ),
  );
});

test('placement - what is in use never grows beyond the capacity', () => {
  holds(
    fc.property(sequences, (sequence) => {
      const before = new Map<string, number>();
      runPast(sequence, (shard, oracle) => {
        for (const { id, used } of providersOf(shard)) {
          for (const [resourceClass, amount] of Object.entries(used)) {
            const key = `${id} ${resourceClass}`;
            const most = Math.max(oracle.capacity(id, resourceClass), before.get(key) ?? 0);
            assert.ok(amount <= most, `${amount} of ${most} ${resourceClass} on ${id}`);
            before.set(key, amount);
          }
        }
      });
    }),
  );
});

test('placement - whatever is said twice is answered the same and changes nothing the second time', () => {
  holds(
    fc.property(sequences, (sequence) =>
      runPast(sequence, (shard, _oracle, turned, message) => {
        const again = shard.tell(message, 'asker');
        assert.equal(
          again.records.filter(({ type }) => type !== 'nothing-held' && type !== 'read'),
          [],
        );
        assert.equal(answerIn(again), answerIn(turned));
      }),
    ),
  );
});

test('placement - a refused claim changes nothing, or gives back what a move gives back', () => {
  holds(
    fc.property(sequences, (sequence) => {
      let before: Record<string, unknown> = {};
      runPast(sequence, (shard, _oracle, turned, message) => {
        const after = heldIn(shard);
        if (message.type === 'claim' && sentOf(turned, 'claim-refused').length === 1) {
          const held = (before[message.consumer] ?? []) as { attempt: number }[];
          const left = held.filter(({ attempt }) => message.keep.includes(attempt));
          const { [message.consumer]: mine, ...others } = after;
          const { [message.consumer]: _, ...othersBefore } = before;
          assert.equal(others, othersBefore);
          if (turned.records.length === 0) assert.equal(after, before);
          else assert.equal(mine ?? [], left);
        }
        before = after;
      });
    }),
  );
});

test('placement - a deleted consumer stays refused, and attempts only count up', () => {
  holds(
    fc.property(sequences, (sequence) => {
      const deleted = new Set<string>();
      const latest = new Map<string, number>();
      runPast(sequence, (_shard, _oracle, turned, message) => {
        if (message.type === 'release' && message.deleted) deleted.add(message.consumer);
        if (message.type !== 'claim') return;
        const refusal = refusalIn(turned);
        if (deleted.has(message.consumer)) assert.is(refusal?.code, 'consumer-deleted');
        if (refusal !== null) return;
        assert.ok(message.attempt >= (latest.get(message.consumer) ?? 0), 'an older attempt was granted');
        latest.set(message.consumer, message.attempt);
      });
    }),
  );
});

test('placement - its journal leads to its state, and so does its stored state', () => {
  holds(
    fc.property(sequences, (sequence) => {
      let last: ReturnType<typeof shardWith> | undefined;
      runPast(sequence, (shard) => {
        last = shard;
      });
      assert.ok(last);
      assert.equal(replayed(actor, last.entries), last.stored());
      assert.equal(restored(actor, last.stored()), last.stored());
    }),
  );
});

test('placement - one that was stored and restored decides as one that was not', () => {
  holds(
    fc.property(sequences, sequences, (earlier, later) => {
      const shard = shardWith();
      for (const message of earlier) shard.tell(message, 'asker');
      const other = bench({ ...actor, init: () => actor.restore([shard.stored()]) });
      for (const message of later) {
        assert.equal(answerIn(other.tell(message, 'asker')), answerIn(shard.tell(message, 'asker')));
      }
    }),
  );
});

/** The providers of a view, as placement tells its own. */
function pictureOf({ providers }: Pick<View, 'providers'>): unknown {
  return Object.fromEntries(
    [...providers]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([id, provider]) => {
        const { used, generation } = usageOf(provider);
        const told = Object.keys(provider.spec.inventories).map((name) => [name, used[name]]);
        return [id, { spec: provider.spec, root: provider.root, generation, used: Object.fromEntries(told) }];
      }),
  );
}

test('placement - a view that follows the feed is the state, however many messages a turn had', () => {
  holds(
    fc.property(fc.array(sequences, { maxLength: 8 }), (turns) => {
      const shard = shardWith();
      const view = emptyView();
      let sequence = 0;
      for (const messages of turns) {
        const turned = shard.tellAll(messages.map((message) => ({ message, from: 'asker' })));
        for (const { message } of sentOf(turned, 'providers-changed')) {
          sequence += 1;
          assert.is(message.sequence, sequence, 'no number is left out');
          learnChanges(view, message as ProvidersChanged);
        }
        assert.equal(pictureOf(view), pictureOf(shard.state));
      }
    }),
  );
});

// --- the rules, one by one

test('placement - capacity is (total - reserved) * allocation_ratio, and not rounded', () => {
  const cases: [Partial<Inventory>, number][] = [
    [{ total: 8 }, 8],
    [{ total: 8, reserved: 3 }, 5],
    [{ total: 8, allocation_ratio: 2 }, 16],
    [{ total: 8, reserved: 2, allocation_ratio: 1.5 }, 9],
    [{ total: 3, allocation_ratio: 0.5 }, 1],
    [{ total: 8, reserved: 8 }, 0],
  ];
  for (const [told, most] of cases) {
    const shard = shardWith([providerOf('a', { inventories: { VCPU: inventoryOf(told) } })]);
    for (let claimed = 0; claimed < most; claimed += 1) {
      assert.is(refusalIn(shard.tell(claimOf(`c${claimed}`, { vcpu: 1 }))), null);
    }
    const refusal = refusalIn(shard.tell(claimOf('one-more', { vcpu: 1 })));
    assert.is(refusal?.code, 'exceeds-capacity', JSON.stringify(told));
    assert.is(refusal?.short, most === 1 ? 0.5 : 1);
  }
});

test('placement - min_unit, max_unit and step_size bound one allocation', () => {
  const units = { min_unit: 2, max_unit: 6, step_size: 2, total: 100 };
  const shard = shardWith([providerOf('a', { inventories: { VCPU: inventoryOf(units) } })]);
  for (const [vcpu, allowed] of [
    [1, false],
    [2, true],
    [3, false],
    [6, true],
    [8, false],
  ] as const) {
    const refusal = refusalIn(shard.tell(claimOf(`c${vcpu}`, { vcpu })));
    assert.is(refusal?.code ?? null, allowed ? null : 'unit-constraint', `${vcpu} VCPU`);
  }
});

test('placement - an inventory that shrinks below its use keeps what is held and takes nothing new', () => {
  const shard = shardWith(hostTree('a'));
  assert.is(refusalIn(shard.tell(claimOf('c1', { vcpu: 6 }))), null);
  shard.tell(put(hostTree('a', { inventories: { VCPU: inventoryOf({ total: 4 }) } })));
  assert.equal(Object.keys(heldIn(shard)), ['c1']);
  assert.is(refusalIn(shard.tell(claimOf('c2', { vcpu: 1 })))?.code, 'exceeds-capacity');
  shard.tell(release('c1', { attempt: 1 }));
  assert.is(refusalIn(shard.tell(claimOf('c2', { vcpu: 1 }))), null);
});

test('placement - use that is told no more is remembered, also when the state was stored meanwhile', () => {
  const shard = shardWith(hostTree('a'));
  shard.tell(claimOf('c1', { vcpu: 6 }));
  shard.tell(put(hostTree('a', { inventories: { MEMORY_MB: inventoryOf() } })));
  const back = bench({ ...actor, init: () => actor.restore([shard.stored()]) });
  for (const one of [shard, back]) {
    one.tell(put(hostTree('a')));
    assert.is(refusalIn(one.tell(claimOf('c2', { vcpu: 4 })))?.code, 'exceeds-capacity');
  }
});

test('placement - several providers of a tree are taken together or not at all', () => {
  const shard = shardWith(hostTree('a'));
  const both = (consumer: string, gpus: number): Claim =>
    claimOf(consumer, {
      spec: {
        groups: [
          { name: '', resources: { VCPU: 1 } },
          { name: 'g', resources: { PGPU: gpus } },
        ],
        groupPolicy: 'none',
      },
      allocations: [
        { provider: 'a', group: '', resources: { VCPU: 1 } },
        { provider: 'a-gpu-0', group: 'g', resources: { PGPU: gpus } },
      ],
    });
  assert.is(refusalIn(shard.tell(both('c1', 5)))?.code, 'exceeds-capacity');
  assert.equal(
    providersOf(shard).map(({ used }) => Object.values(used)),
    [[0], [0], [0]],
  );
  assert.is(refusalIn(shard.tell(both('c2', 4))), null);
  assert.equal(
    providersOf(shard).map(({ used }) => Object.values(used)),
    [[1], [4], [0]],
  );
});

test('placement - a claim over two trees, of an unknown provider or of another amount is refused', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  const spec: RequestSpec = {
    groups: [
      { name: '', resources: { VCPU: 1 } },
      { name: 'g', resources: { PGPU: 1 } },
    ],
    groupPolicy: 'none',
  };
  const vcpu = { provider: 'a', group: '', resources: { VCPU: 1 } };
  const gpu = (provider: string) => ({ provider, group: 'g', resources: { PGPU: 1 } });
  const cases: [string, Partial<Claim>][] = [
    ['not-one-tree', { spec, allocations: [vcpu, gpu('b-gpu-0')] }],
    ['unknown-provider', { spec, allocations: [vcpu, gpu('c-gpu-0')] }],
    ['does-not-serve-request', { spec, allocations: [vcpu] }],
    ['does-not-serve-request', { spec, allocations: [vcpu, gpu('a-gpu-0'), gpu('a-gpu-1')] }],
    ['does-not-serve-request', { spec, allocations: [vcpu, gpu('a-gpu-0'), { ...vcpu, group: 'h' }] }],
    ['no-inventory', { spec, allocations: [vcpu, gpu('a')] }],
  ];
  for (const [code, told] of cases) assert.is(refusalIn(shard.tell(claimOf('c1', told)))?.code, code);
  assert.equal(heldIn(shard), {});
});

test('placement - isolated groups are on providers of their own', () => {
  const shard = shardWith(hostTree('a'));
  const two = (groupPolicy: RequestSpec['groupPolicy'], second: string): Claim =>
    claimOf('c1', {
      spec: { groups: ['g', 'h'].map((name) => ({ name, resources: { PGPU: 1 } })), groupPolicy },
      allocations: [
        { provider: 'a-gpu-0', group: 'g', resources: { PGPU: 1 } },
        { provider: second, group: 'h', resources: { PGPU: 1 } },
      ],
    });
  assert.is(refusalIn(shard.tell(two('isolate', 'a-gpu-0')))?.code, 'not-isolated');
  assert.is(refusalIn(shard.tell({ ...two('none', 'a-gpu-0'), consumer: 'c2' })), null);
  assert.is(refusalIn(shard.tell(two('isolate', 'a-gpu-1'))), null);
});

test('placement - traits and aggregates are checked where the claim is decided', () => {
  const host = { traits: ['HW_SSD', 'CUSTOM_OLD'], aggregates: ['row-1'] };
  const shard = shardWith(hostTree('a', { ...hostTree('a')[0], ...host }));
  const asks: [string | null, Omit<RequestSpec['groups'][number], 'name' | 'resources'>][] = [
    [null, { required: ['HW_SSD'] }],
    ['trait-missing', { required: ['HW_SSD', 'HW_NVME'] }],
    [null, { anyOf: [['HW_NVME', 'HW_SSD']] }],
    ['trait-missing', { anyOf: [['HW_SSD'], ['HW_NVME']] }],
    ['trait-forbidden', { forbidden: ['CUSTOM_OLD'] }],
    [null, { forbidden: ['CUSTOM_NEW'] }],
    [null, { memberOf: [['row-2', 'row-1']] }],
    ['not-in-aggregate', { memberOf: [['row-1'], ['row-2']] }],
  ];
  for (const [position, [code, conditions]] of asks.entries()) {
    const spec: RequestSpec = {
      groups: [{ name: '', resources: { VCPU: 1 }, ...conditions }],
      groupPolicy: 'none',
    };
    const refusal = refusalIn(shard.tell(claimOf(`c${position}`, { vcpu: 1, spec })));
    assert.is(refusal?.code ?? null, code, JSON.stringify(conditions));
  }
});

test('placement - a device is in the aggregates of its host', () => {
  const shard = shardWith(hostTree('a', { aggregates: ['row-1'] }));
  const claim = claimOf('c1', {
    spec: { groups: [{ name: 'g', resources: { PGPU: 1 }, memberOf: [['row-1']] }], groupPolicy: 'none' },
    allocations: [{ provider: 'a-gpu-0', group: 'g', resources: { PGPU: 1 } }],
  });
  assert.is(refusalIn(shard.tell(claim)), null);
});

test('placement - a move takes what it gives back, in one decision', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  shard.tell(claimOf('c1', { vcpu: 6 }));
  assert.is(refusalIn(shard.tell(claimOf('c1', { vcpu: 8, attempt: 2 }))), null);
  assert.equal(heldIn(shard), {
    c1: [{ attempt: 2, allocations: [{ provider: 'a', group: '', resources: { VCPU: 8 } }] }],
  });
  assert.is(refusalIn(shard.tell(claimOf('c1', { vcpu: 2, attempt: 3, host: 'b', keep: [2] }))), null);
  assert.equal((heldIn(shard).c1 as unknown[]).length, 2, 'what may still run stays held beside it');
  shard.tell(release('c1', { attempt: 2 }));
  assert.equal(
    (heldIn(shard).c1 as { attempt: number }[]).map(({ attempt }) => attempt),
    [3],
  );
});

test('placement - that nothing is held is said with a record, which a shard that was superseded cannot make', () => {
  const shard = shardWith(hostTree('a'));
  const records = (message: PlacementMessage) => shard.tell(message).records.map(({ type }) => type);
  assert.equal(records({ type: 'recall', consumer: 'c1', attempt: 1 }), ['nothing-held']);
  assert.equal(records(release('c1', { attempt: 1 })), ['nothing-held']);
  assert.equal(records(release('c1')), ['nothing-held']);
  shard.tell(claimOf('c1'));
  assert.equal(records({ type: 'recall', consumer: 'c1', attempt: 1 }), ['read']);
  assert.equal(records(release('c1', { attempt: 2 })), ['nothing-held']);
  assert.equal(records(release('c1', { attempt: 1 })), ['released']);
  shard.tell(release('c1', { deleted: true }));
  assert.equal(records(release('c1', { deleted: true })), [], 'what is deleted stays deleted');
  assert.equal(records({ ...claimOf('c2'), expiresAt: -1 }), ['read']);
  assert.equal(records({ type: 'locate', ask: 1, consumers: ['c2'] }), ['read']);
});

test('placement - a late claim of a deleted consumer is refused until it is forgotten', () => {
  const shard = bench(placement({ shard: 0, rememberDeletedMs: 60_000 }));
  shard.tell(put(hostTree('a')));
  shard.tell(release('c1', { deleted: true }));
  shard.pass(50_000);
  assert.is(refusalIn(shard.tell(claimOf('c1')))?.code, 'consumer-deleted');
  shard.pass(100_000);
  assert.is(refusalIn(shard.tell(claimOf('c1'))), null);
});

test('placement - a deleted consumer may still hold what something may run on, until that is given back', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  shard.tell(claimOf('c1'));
  shard.tell(claimOf('c1', { attempt: 2, host: 'b', keep: [1] }));
  shard.tell(release('c1', { keep: [1], deleted: true }));
  assert.equal(
    (heldIn(shard).c1 as { attempt: number }[]).map(({ attempt }) => attempt),
    [1],
  );
  assert.is(refusalIn(shard.tell(claimOf('c1', { attempt: 3 })))?.code, 'consumer-deleted');
  shard.tell(release('c1', { attempt: 1 }));
  assert.equal(heldIn(shard), {});
  assert.is(shard.state.consumers.holding.size, 0);
});

test('placement - what a deleted consumer still holds is not given back by another word of its end', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  shard.tell(claimOf('c1'));
  shard.tell(claimOf('c1', { attempt: 2, host: 'b', keep: [1] }));
  shard.tell(release('c1', { keep: [1], deleted: true }));
  shard.tell(release('c1', { deleted: true }));
  assert.is((heldIn(shard).c1 as unknown[]).length, 1);
});

test('placement - a deleted consumer is remembered for as long as it holds something', () => {
  const shard = bench(placement({ shard: 0, rememberDeletedMs: 60_000 }));
  shard.tell(put(hostTree('a')));
  shard.tell(claimOf('c1'));
  shard.tell(release('c1', { keep: [1], deleted: true }));
  shard.pass(200_000);
  assert.is(refusalIn(shard.tell(claimOf('c1')))?.code, 'consumer-deleted');
  shard.tell(release('c1', { attempt: 1 }));
  shard.pass(200_000);
  assert.equal([shard.state.consumers.holding.size, shard.state.consumers.deleted.size], [0, 0]);
});

test('placement - large providers are listed on more pages, each in the bounds of a message', () => {
  const traits = Array.from({ length: 200 }, (_, position) => `CUSTOM_A_TRAIT_WITH_A_LONG_NAME_${position}`);
  const shard = shardWith(...Array.from({ length: 100 }, (_, position) => hostTree(`h${position}`, { traits })));
  const listed: string[] = [];
  let pages = 0;
  for (let after: string | null | undefined; after !== null; pages += 1) {
    const question = { type: 'list-providers', ask: 1, limit: 500, ...(after === undefined ? {} : { after }) } as const;
    const message = sentOf(shard.tell(question), 'providers')[0]?.message;
    assert.ok(JSON.stringify(message).length < 300_000);
    listed.push(...(message?.providers.map(({ id }) => id) ?? []));
    after = message?.next ?? null;
  }
  assert.ok(pages > 2);
  assert.equal(listed, [...shard.state.providers.keys()].sort());
});

test('placement - an expired claim is refused, and says nothing of the one sent after it', () => {
  const shard = shardWith(hostTree('a'));
  assert.is(refusalIn(shard.tell(claimOf('c1', { expiresAt: shard.now - 1 })))?.code, 'expired');
  assert.is(refusalIn(shard.tell(claimOf('c1'))), null);
  assert.is(refusalIn(shard.tell(claimOf('c1', { expiresAt: shard.now - 1 }))), null, 'what is held is held');
});

test('placement - trees that make no sense are refused by name, and change nothing', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  const [root, device] = hostTree('c') as [ProviderSpec, ProviderSpec];
  const cases: [RegExp, ProviderSpec[]][] = [
    [/must be its root/, [device]],
    [/'c-gpu-0' is told twice/, [root, device, device]],
    [/does not stand before it/, [root, { ...device, parent: 'nobody' }]],
    [/does not stand before it/, [root, { ...device, parent: null }]],
    [/belongs to the tree of 'a'/, [root, { ...device, id: 'a-gpu-0' }]],
    [/more reserved than there is/, [{ ...root, inventories: { VCPU: inventoryOf({ reserved: 9 }) } }]],
  ];
  for (const [why, tree] of cases) {
    const turned = shard.tell(put(tree));
    const [refused] = sentOf(turned, 'tree-refused');
    assert.match(refused?.message.reason ?? '', why);
    assert.equal(turned.records, []);
  }
});

test('placement - a tree told again as it stands records nothing', () => {
  const shard = shardWith(hostTree('a'));
  assert.equal(shard.tell(put(hostTree('a'))).records, []);
});

test('placement - providers and consumers are listed page by page, each once', () => {
  const shard = shardWith(hostTree('a'), hostTree('b'));
  for (const consumer of ['c1', 'c2', 'c3']) shard.tell(claimOf(consumer, { vcpu: 1 }));
  const seen: string[] = [];
  let after: string | undefined;
  do {
    const from = after === undefined ? {} : { after };
    const [page] = sentOf(shard.tell({ type: 'list-providers', ask: 1, limit: 4, ...from }), 'providers');
    for (const { id } of page?.message.providers ?? []) seen.push(id);
    after = page?.message.next ?? undefined;
  } while (after !== undefined);
  assert.equal(seen, ['a', 'a-gpu-0', 'a-gpu-1', 'b', 'b-gpu-0', 'b-gpu-1']);
  const [page] = sentOf(shard.tell({ type: 'list-consumers', ask: 1, limit: 2 }), 'consumers');
  assert.is(page?.message.next, 'c2');
});

test('placement - the feed tells its last number again, and a new life is told by its epoch', () => {
  const shard = shardWith(hostTree('a'));
  const beats = shard.pass(5_000).flatMap((turned) => sentOf(turned, 'providers-changed'));
  assert.ok(beats.length >= 4);
  assert.ok(beats.every(({ message }) => message.sequence === 1 && message.changed.length === 0));
  const epoch = beats[0]?.message.epoch;
  shard.recover();
  const again = sentOf(shard.tell(put(hostTree('b'))), 'providers-changed')[0];
  assert.is(again?.message.sequence, 1);
  assert.not.equal(again?.message.epoch, epoch);
});

test.run();
