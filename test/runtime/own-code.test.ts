// Area: own code. What filters and weighers that a deployment brings itself do wrong is told of, and never ends a node.

import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { changeBy, type Filter, filtersFor, refusedBy } from '../../actors/scheduler/filters/filter.ts';
import { changeOf, preferenceOf, tellGranted, valueBy, type Weigher } from '../../actors/scheduler/weighers/weigher.ts';
import { memoryBus } from '../../runtime/bus/memory.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { fakeDriver, seededRandom, startNode, systemClock } from '../../runtime/index.ts';
import { faultsOfOwnCode, type OwnFault, watchedFilter, watchedWeigher } from '../../runtime/own-code.ts';
import { hostTree } from '../e2e/system.ts';
import { candidateOf, factsOf } from '../support/facts.ts';

const test = suite('own code');

/** What is told of a filter's faults when it is asked about a host, and what becomes of the host. */
function asked(own: Partial<Filter>): { told: string[]; code: string | undefined } {
  const faults: OwnFault[] = [];
  const filter = watchedFilter({ name: 'own', refusal: () => null, ...own }, (fault) => faults.push(fault));
  const refused = refusedBy([{ filter, part: undefined }], factsOf({}));
  return { told: faults.map(({ what, error }) => `${what}: ${(error as Error).message}`), code: refused?.refusal.code };
}

test('own code - what a filter throws, or answers that is no answer, is told of, and refuses the host', () => {
  const thrown = asked({
    refusal: () => {
      throw new Error('no such trait');
    },
  });
  assert.equal(thrown, { told: ["refusal of filter 'own': no such trait"], code: 'filter-failed' });
  const wrong = asked({ refusal: () => ({ code: 'Too Hot', message: 'hot' }) });
  assert.is(wrong.code, 'filter-failed');
  assert.match(wrong.told[0] ?? '', /^refusal of filter 'own': it must answer null, or an object with a code/);
  const limit = asked({ mostInstances: () => -1 });
  assert.equal(limit, {
    told: ["mostInstances of filter 'own': it must answer a number, 0 or more"],
    code: 'filter-failed',
  });
});

test('own code - what no text can be made of, or cannot be looked at, is told of as well, and goes no further', () => {
  const thrown = asked({
    refusal: () => {
      throw Object.create(null);
    },
  });
  assert.is(thrown.code, 'filter-failed');
  const answered = asked({
    refusal: () => ({
      get code(): string {
        throw new Error('no code');
      },
      message: 'hot',
    }),
  });
  assert.equal(answered, { told: ["refusal of filter 'own': no code"], code: 'filter-failed' });
  const circle: { self?: unknown } = {};
  circle.self = circle;
  const faults: string[] = [];
  const own: Filter = { name: 'own', goesBy: () => circle, refusal: () => null };
  const filter = watchedFilter(own, ({ what }) => faults.push(what));
  const request = { spec: { groups: [], groupPolicy: 'none' as const } };
  assert.is(refusedBy(filtersFor([filter], request, false), factsOf({}))?.refusal.code, 'filter-failed');
  assert.equal(faults, ["goesBy of filter 'own'"]);
});

test('own code - a filter that does what it should is told nothing of, and keeps what it says of itself', () => {
  assert.equal(asked({ mostInstances: () => Number.POSITIVE_INFINITY, changesAt: () => null }), {
    told: [],
    code: undefined,
  });
  const own = { name: 'own', late: true, ignoresStats: true, refusal: () => null };
  const { late, ignoresStats, goesBy } = watchedFilter(own, () => assert.unreachable());
  assert.equal({ late, ignoresStats, goesBy }, { late: true, ignoresStats: true, goesBy: undefined });
});

test('own code - a weigher keeps what it says of itself', () => {
  const own = { name: 'own', multiplier: 1, ignoresAmounts: true, ignoresStats: true, weigh: () => 1 };
  const { multiplier, ignoresAmounts, ignoresStats, goesBy } = watchedWeigher(own, 2, () => assert.unreachable());
  assert.equal([multiplier, ignoresAmounts, ignoresStats, goesBy], [2, true, true, undefined]);
});

test('own code - a filter cannot change what the scheduler knows of traits, aggregates, metrics and failures', () => {
  const words = { traits: ['CUSTOM_FAST'], aggregates: ['a1'], metrics: { watts: 5 }, failures: { weight: 1, at: 0 } };
  const host = factsOf(words);
  const refusal = (lent: typeof host) => {
    (lent.traits as Set<string>).clear();
    (lent.aggregates as Set<string>).add('a2');
    (lent.stats.metrics as Record<string, number>).watts = 99;
    (lent.failures as { weight: number }).weight = 99;
    return null;
  };
  const filter = watchedFilter({ name: 'own', refusal }, () => assert.unreachable());
  assert.is(refusedBy([{ filter, part: undefined }], host), null);
  assert.equal([...host.traits], ['CUSTOM_FAST']);
  assert.equal([...host.aggregates], ['a1']);
  assert.equal([host.stats.metrics, host.failures], [{ watts: 5 }, { weight: 1, at: 0 }]);
});

test('own code - a weigher that throws, answers no number or one off its scale, or goes by what cannot be compared is told of', () => {
  const faults: string[] = [];
  const watch = (own: Partial<Weigher>) =>
    watchedWeigher({ name: 'own', multiplier: 1, weigh: () => 1, ...own }, 1, ({ what, error }) =>
      faults.push(`${what}: ${(error as Error).message}`),
    );
  const throws = watch({
    weigh: () => {
      throw new Error('no metrics');
    },
  });
  assert.is(valueBy(throws, candidateOf({}), undefined), 0);
  const valued = (said: number) => valueBy(watch({ weigh: () => said }), candidateOf({}), undefined);
  assert.equal(['1' as never, Number.NaN, 90_000, -0.5].map(valued), [0, 0, 1, 0]);
  watch({ goesBy: () => new Map() }).goesBy?.({} as never);
  assert.equal(faults, [
    "weigh of weigher 'own': no metrics",
    ...Array(3).fill("weigh of weigher 'own': it must answer a number from 0 to 1, or NaN where it cannot say"),
    "goesBy of weigher 'own': it must answer plain data, by which rankings are told apart",
  ]);
});

test('own code - methods are called on what they belong to', () => {
  class Hot implements Filter {
    readonly name = 'hot';
    readonly #most = 3;
    refusal() {
      return this.#most === 3 ? null : { code: 'too-hot', message: 'hot' };
    }
  }
  assert.is(watchedFilter(new Hot(), () => assert.unreachable()).refusal(factsOf({}), undefined), null);
});

test('own code - what is in use is not theirs to count: that does not compile', () => {
  const refusal: Filter['refusal'] = ({ tree }) => {
    const stock = tree[0]?.stocks.get('VCPU');
    // @ts-expect-error the picture is the scheduler's own
    if (stock !== undefined) stock.used += 1;
    return null;
  };
  assert.is(asked({ refusal }).code, undefined);
});

test('own code - what it is given is its own: schedulers go on with what was there', () => {
  const faults: string[] = [];
  const note = ({ what }: OwnFault) => faults.push(what);
  const facts = factsOf({});
  const candidate = candidateOf({}, { VCPU: 1 });
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }] };
  const before = JSON.stringify([facts.tree.length, candidate.allocations, spec]);
  const filter = watchedFilter(
    {
      name: 'own',
      refusal: (host) => {
        (host.tree as unknown[]).length = 0;
        return null;
      },
      goesBy: (request) => {
        (request.spec.groups as unknown[]).length = 0;
        return 1;
      },
    },
    note,
  );
  assert.is(filter.refusal(facts, undefined), null);
  assert.throws(() => filter.goesBy?.({ spec } as never), TypeError);
  const weigher = watchedWeigher(
    {
      name: 'own',
      multiplier: 1,
      weigh: ({ tree, allocations }) => {
        (tree as unknown[]).length = 0;
        ((allocations[0]?.resources ?? {}) as Record<string, number>).VCPU = 0;
        return 1;
      },
      granted: (allocations) => {
        (allocations as unknown[]).length = 0;
      },
    },
    1,
    note,
  );
  assert.is(weigher.weigh(candidate, undefined), 1);
  assert.is(candidate.tree.length, 1);
  weigher.granted?.(candidate.allocations);
  assert.is(JSON.stringify([facts.tree.length, candidate.allocations, spec]), before);
  assert.equal(faults, ["goesBy of filter 'own'"]);
  const ruinous = watchedFilter(
    {
      name: 'ruinous',
      refusal: (_, part) => {
        ((part as typeof spec).groups[0]?.resources as Record<string, number>).VCPU = 9_999;
        return null;
      },
    },
    note,
  );
  assert.is(refusedBy([{ filter: ruinous, part: spec }], facts)?.refusal.code, 'filter-failed');
  assert.is(spec.groups[0]?.resources.VCPU, 1);
});

test('own code - of each method it is told what comes of it that it fails', () => {
  const told: string[] = [];
  const note = ({ what, consequence }: { what: string; consequence: string }) => told.push(`${what}: ${consequence}`);
  const fails = () => {
    throw new Error('no');
  };
  const filter = watchedFilter({ name: 'f', refusal: fails, changesAt: () => Number.NaN }, note);
  assert.is(changeBy({ filter, part: undefined }, factsOf({})), null);
  refusedBy([{ filter, part: undefined }], factsOf({}));
  const weigher = watchedWeigher(
    { name: 'w', multiplier: 1, weigh: fails, changesAt: fails, granted: fails, prefers: () => Number.NaN },
    1,
    note,
  );
  assert.is(valueBy(weigher, candidateOf({}), undefined), 0);
  assert.is(changeOf(weigher, factsOf({})), null);
  tellGranted([weigher], []);
  assert.is(preferenceOf([weigher])?.({} as never, {} as never), -Number.MAX_VALUE);
  assert.equal(told, [
    "changesAt of filter 'f': the host is not looked at again before it changes",
    "refusal of filter 'f': a filter that fails refuses the host",
    "weigh of weigher 'w': a weigher that fails says the worst of the host, and a finite number off its scale counts as the nearest on it",
    "changesAt of weigher 'w': the host is not looked at again before it changes",
    "granted of weigher 'w': the weigher goes by what it knew before",
    "prefers of weigher 'w': the provider comes after all others of its host",
  ]);
  told.length = 0;
  const never = watchedFilter({ name: 'f', refusal: () => null, changesAt: () => Number.POSITIVE_INFINITY }, note);
  assert.is(changeBy({ filter: never, part: undefined }, factsOf({})), null);
  assert.equal(told, []);
});

test('own code - each method is told of at once, and then every ten minutes', () => {
  let now = 1_000;
  const told: unknown[] = [];
  const onFault = faultsOfOwnCode({ monotonic: () => now }, (error) => told.push(error));
  const fault = { what: "weigh of weigher 'own'", error: new Error('first'), consequence: 'it says the worst' };
  onFault(fault);
  onFault({ ...fault, error: new Error('second') });
  onFault({ ...fault, what: "weigh of weigher 'other'" });
  assert.is(told.length, 2);
  assert.instance(told[0], CellwrightError);
  assert.is((told[0] as CellwrightError).code, 'own-code-failed');
  assert.is((told[0] as CellwrightError).message, "weigh of weigher 'own' failed: first; it says the worst");
  now += 600_000;
  onFault(fault);
  assert.is(told.length, 3);
});

test('own code - a node warns of it, goes on, and outlives a promise that nobody waits for', async () => {
  const clock = systemClock();
  const bus = memoryBus({ clock });
  const warned: string[] = [];
  const unheard: unknown[] = [];
  const note = (reason: unknown) => unheard.push(reason);
  process.on('unhandledRejection', note);
  const rejects = (async () => {
    throw new Error('too late');
  }) as never;
  const node = await startNode({
    roles: ['placement', 'scheduler', 'conductor', 'cell:c1', 'compute:c1/h1'],
    driver: ({ host }) => fakeDriver({ host: hostTree(host), clock, random: seededRandom(1) }),
    bus,
    logger: pino({ level: 'warn' }, { write: (line) => warned.push((JSON.parse(line) as { msg: string }).msg) }),
    scheduler: { weighers: ['defaults', { name: 'slow', weigh: rejects }] },
  });
  try {
    const { instances } = await node.client.build({ resources: { VCPU: 1 } });
    assert.is((await node.client.ended(instances[0] as string)).state, 'active');
    assert.equal(warned, [
      "weigh of weigher 'slow' failed: it must answer at once, and not by a promise; a weigher that fails says the worst of the host, and a finite number off its scale counts as the nearest on it",
    ]);
    assert.equal(unheard, []);
  } finally {
    process.off('unhandledRejection', note);
    await node.stop();
    await bus.close();
  }
});

test('own code - a scheduler goes on where what a late filter goes by is in a circle, or cannot be read', async () => {
  const circle: { around?: object } = {};
  circle.around = circle;
  const unreadable = {
    get room(): number {
      throw new Error('no room');
    },
  };
  const clock = systemClock();
  for (const part of [circle, unreadable]) {
    const bus = memoryBus({ clock });
    const warned: string[] = [];
    const full = { name: 'full', late: true, goesBy: () => part, refusal: () => ({ code: 'full', message: 'full' }) };
    const node = await startNode({
      roles: ['placement', 'scheduler', 'conductor', 'cell:c1', 'compute:c1/h1'],
      driver: ({ host }) => fakeDriver({ host: hostTree(host), clock, random: seededRandom(1) }),
      bus,
      logger: pino({ level: 'warn' }, { write: (line) => warned.push((JSON.parse(line) as { msg: string }).msg) }),
      scheduler: { filters: [full], warmUpMs: 50 },
    });
    try {
      await node.client.build({ id: 'waits', resources: { VCPU: 1 }, wait: { forMs: 200 } });
      const { failure } = await node.client.ended('waits', { timeoutMs: 5_000 });
      assert.match(failure?.message ?? '', /^waited .* in vain; at last: none of 1 host: 1 full;/);
      assert.equal(warned, []);
    } finally {
      await node.stop();
      await bus.close();
    }
  }
});

test.run();
