// Area: placement. That it decides as plain reckoning does, whatever comes in whatever order: capacity is never
// exceeded, nothing that fits is refused, everything may be said twice, and its journal tells all of it.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type { Claim, Inventory, PlacementMessage, ProvidersChanged, Release } from '../../actors/messages/placement.ts';
import { usageOf } from '../../actors/placement/providers.ts';
import { emptyView, learnChanges, type View } from '../../actors/scheduler/view/view.ts';
import { checkHolding } from '../support/holding-scan.ts';
import {
  actor,
  answerIn,
  heldIn,
  LATE,
  providerOf,
  providersOf,
  refusalIn,
  release,
  shardWith,
} from '../support/placement-desk.ts';
import { type Oracle, placementOracle } from '../support/placement-oracle.ts';
import { beginSlices } from '../support/slices.ts';
import { bench, replayed, restored, sentOf, type Turned } from '../support/turn.ts';

const test = suite('placement, by chance');

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
    const open = keep.length === 1 ? {} : { root };
    return { type: 'claim', consumer, attempt, spec, allocations, keep, expiresAt: late ? 0 : LATE, ...open };
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
    turned: Turned<{ readonly type: string }>,
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
      const [granted] = sentOf(turned, 'claim-granted');
      const given = granted?.message.allocations;
      const held = oracle.claim(message, shard.now, given);
      assert.equal(given ?? null, held, `the answer to ${JSON.stringify(message)}`);
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
        checkHolding(shard.state);
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
          // One that came too late is recorded, so that no superseded shard refuses it, and gives nothing back.
          if (turned.records.every(({ type }) => type === 'read')) assert.equal(after, before);
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
      checkHolding(actor.restore([last.stored()]));
    }),
  );
});

test('placement - a snapshot taken while it decides is of the moment at which it was begun', () => {
  holds(
    fc.property(sequences, fc.integer({ min: 1, max: 5 }), (sequence, rows) => {
      let slice: ReturnType<typeof beginSlices> | null = null;
      runPast(sequence, ({ state }) => {
        slice ??= beginSlices(actor, state);
        if (slice(rows)) slice = null;
      });
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

test.run();
