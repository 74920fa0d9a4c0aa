// Area: scheduler, the order in which those who wait are served, and what it costs to keep: whatever comes and goes, it is
// the order that a plain list gives, and many who wait cost little more than few.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Select } from '../../actors/messages/scheduler.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { dropFromLine, getInLine, getOutOfLine, noteServedAt } from '../../actors/scheduler/in-line.ts';
import { putIn, takeOut } from '../../actors/scheduler/in-order.ts';
import { emptyParking } from '../../actors/scheduler/lots.ts';
import type { Lot, Parked } from '../../actors/scheduler/state.ts';
import { seededRandom } from '../../runtime/random.ts';
import { countingFilter } from '../support/counting.ts';
import { schedulersOf, selectFor } from '../support/schedulers.ts';
import { FOREVER, rig } from '../support/waiting.ts';

const test = suite('scheduler - order of those who wait');

test('order of waiting - a list in order is what sorting gives, whatever is put in and taken out', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(20), fc.boolean()), { maxLength: 100 }), (steps) => {
      const before = (one: number, other: number) => one < other;
      const list: number[] = [];
      let plain: number[] = [];
      for (const [index, [value, isIn]] of steps.entries()) {
        const known = plain[value % Math.max(1, plain.length)];
        if (isIn || known === undefined) {
          const one = value + index / steps.length;
          putIn(list, one, before);
          plain.push(one);
        } else {
          takeOut(list, known, before);
          plain = plain.filter((one) => one !== known);
        }
      }
      assert.equal(
        list,
        plain.toSorted((one, other) => one - other),
      );
    }),
  );
  assert.throws(() => takeOut([1, 3], 2, (one, other) => one < other), /not where it belongs/);
});

interface Waiting {
  readonly name: string;
  readonly project: string;
  readonly since: number;
}

/** Whose turn it is, told from a plain list: of the project that was served longest ago, whoever came first. */
function firstOf(waiting: readonly Waiting[], servedAt: ReadonlyMap<string, number>): Waiting | undefined {
  const lastOf = ({ project }: Waiting) => servedAt.get(project) ?? 0;
  return waiting.toSorted((one, other) => lastOf(one) - lastOf(other) || one.since - other.since)[0];
}

for (let seed = 1; seed <= 5; seed += 1) {
  test(`order of waiting - whoever comes and goes, each is served when a plain list says so: seed ${seed}`, () => {
    const random = seededRandom(seed);
    const all = rig('h1');
    const start = all.on.now;
    all.ask('never', { vcpu: 100, project: 'never' });
    let waiting: Waiting[] = [];
    const servedAt = new Map<string, number>();
    const expected: string[] = [];
    let holder = 'rival-h1';
    // Each kind takes so much of the host that there is no room for another.
    const asked = ({ name, project, since }: Waiting, more: Partial<Select> = {}) =>
      all.ask(name, { vcpu: 5 + (name.length % 3), project, since, ...more });
    const come = (number: number) => {
      const project = `p${random.integer(0, 3)}`;
      // Some come to this scheduler later than others that have waited less long.
      const one = {
        name: `${'r'.repeat(1 + (number % 3))}${1_000 + number}`,
        project,
        since: start + number * 7 - random.integer(0, 3) * 9,
      };
      waiting.push(one);
      asked(one);
    };
    for (let step = 0; step < 60; step += 1) {
      const what = random.integer(0, 9);
      const one = waiting.length > 0 ? random.pick(waiting) : undefined;
      if (what < 5 || one === undefined) come(step);
      else if (what === 5) asked(one, { round: step + 2 });
      else if (what === 6) {
        waiting = waiting.filter((other) => other !== one);
        all.hear({ type: 'withdraw', request: one.name }, 'conductor/0');
      } else {
        const next = firstOf(waiting, servedAt) as Waiting;
        all.release(holder);
        holder = next.name;
        expected.push(holder);
        servedAt.set(next.project, expected.length);
        waiting = waiting.filter((other) => other !== next);
        assert.equal(all.placed(), expected, `step ${step}`);
      }
    }
    assert.ok(expected.length > 5);
    for (const name of ['never', ...waiting.map((one) => one.name)]) {
      all.hear({ type: 'withdraw', request: name }, 'conductor/0');
    }
    all.settle();
    const { lots, byRequest, kinds, hopeful, outOfLine, inLineOf } = all.on.state.parking;
    const left = [lots, byRequest, kinds, hopeful, outOfLine, inLineOf].map(({ size }) => size);
    assert.equal(left, [0, 0, 0, 0, 0, 0], 'nothing is kept of those who do not wait any more');
  });
}

test('order of waiting - lots of a kind stand in the order of their turns, whoever gets in and out of line and is served', () => {
  const random = seededRandom(1);
  const parking = emptyParking();
  const lots = Array.from({ length: 12 }, (_, n) => lotFor(`p${n % 5}`, `kind ${n % 2}`, n));
  let served = 0;
  for (let step = 0; step < 2_000; step += 1) {
    const lot = random.pick(lots);
    const what = random.integer(0, 9);
    if (what < 5) getInLine(parking, lot, waitingSince(`r${step}`, random.integer(0, 50)));
    else if (what < 8 && lot.queue.length > 0) getOutOfLine(parking, random.pick(lot.queue).key);
    else if (what === 8) dropFromLine(parking, lot, () => random.chance(0.2));
    else {
      served += 1;
      noteServedAt(parking, lot.project, random.chance(0.3) ? undefined : served);
    }
    for (const key of ['kind 0', 'kind 1']) {
      const inLine = lots.filter(({ kindKey, queue }) => kindKey === key && queue.length > 0);
      const turn = ({ project, queue: [head], number }: Lot) =>
        [parking.servedAt.get(project) ?? 0, head?.asked.waits?.since ?? 0, number] as const;
      const first = inLine.toSorted((one, other) => {
        const [mine, theirs] = [turn(one), turn(other)];
        return mine[0] - theirs[0] || mine[1] - theirs[1] || mine[2] - theirs[2];
      });
      assert.equal(
        parking.kinds.get(key)?.inLine.map(({ number }) => number) ?? [],
        first.map(({ number }) => number),
      );
    }
    const places = lot.queue.map(({ asked }) => asked.waits?.since ?? 0);
    assert.equal(
      places,
      places.toSorted((one, other) => one - other),
    );
  }
});

/** How often places are looked at while so many are in line and one gets out of it, and in again. */
function looksAtPlaces(count: number): number {
  let looks = 0;
  const parking = emptyParking();
  const lot = lotFor('p', 'kind', 0);
  const one = (since: number) => {
    const waits = {
      get since() {
        looks += 1;
        return since;
      },
    };
    const { asked, ...more } = waitingSince(`r${since}`, 0);
    return { ...more, asked: { ...asked, waits } };
  };
  for (let since = 0; since < count; since += 1) getInLine(parking, lot, one(since));
  looks = 0;
  for (const since of [1, count >> 1, count - 2]) {
    getOutOfLine(parking, `r${since}`);
    getInLine(parking, lot, one(since));
  }
  return looks;
}

test('order of waiting - to get out of a long line and in again costs little more than with a short one', () => {
  const [few, many] = [looksAtPlaces(100), looksAtPlaces(10_000)];
  assert.ok(many <= 2.5 * few, `${few} looks at places among 100, ${many} among 10,000`);
});

/** How often a host is looked at while so many projects wait for one that comes free, which has room for four. */
function looksAtHosts(projects: number): number {
  const { filter, looks } = countingFilter();
  const all = schedulersOf([{ host: 'h1', has: { VCPU: 8 } }], [{ name: 's', filters: [filter] }]);
  all.take('rival', 'h1', 8);
  all.deliver();
  for (let n = 0; n < projects; n += 1) {
    const asked = selectFor(`r${n}`, { vcpu: 2, project: `p${n}`, waits: { since: n + 1 }, expiresAt: FOREVER });
    all.hear(asked);
  }
  all.deliver();
  const before = looks();
  all.release('rival');
  for (let step = 0; step < 50; step += 1) {
    all.deliver();
    all.pass(10);
  }
  assert.equal(
    all.answers.flatMap(({ type, request }) => (type === 'selected' ? [request] : [])),
    ['r0', 'r1', 'r2', 'r3'],
  );
  assert.is(all.desks[0]?.state.parking.hopeful.size, 0);
  return looks() - before;
}

test('order of waiting - however many projects wait for the same, what comes free is looked at once for all of them', () => {
  const [few, many] = [looksAtHosts(8), looksAtHosts(80)];
  assert.is(many, few);
  assert.ok(few < 40, `${few} looks`);
});

function lotFor(project: string, kindKey: string, number: number): Lot {
  return {
    key: `lot ${number}`,
    project,
    awaits: [],
    queue: [],
    away: new Map(),
    notBefore: 0,
    kindKey,
    kind: null,
    stands: { servedAt: 0, place: 0 },
    number,
    locating: null,
    isToLocateAgain: false,
    askedAt: 0,
  };
}

function waitingSince(request: string, since: number): Omit<Parked, 'lot' | 'number'> {
  const asked = selectFor(request, { waits: { since } });
  return { key: request, asked, from: 'conductor/0', request: asked, taker: '', tryNumber: 0, endsAt: FOREVER };
}

test('waiting - requests that other late filters concern are looked for by themselves, though those go by the same', () => {
  const onlyFor = (project: string, wanted: string): Filter => ({
    name: `for-${project}`,
    late: true,
    goesBy: (request) => (request.project === project ? true : undefined),
    refusal: ({ host }) => (host === wanted ? null : { code: 'own', message: 'not this one' }),
  });
  for (const projects of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const) {
    const hosts = ['h1', 'h2'].map((host) => ({ host, has: { VCPU: 8 } }));
    const on = schedulersOf(hosts, [{ name: 's', filters: [onlyFor('a', 'h1'), onlyFor('b', 'h2')] }]);
    for (const host of ['h1', 'h2']) on.take(host, host, 8);
    on.deliver();
    for (const [position, project] of projects.entries()) {
      const waits = { since: position + 1 };
      on.hear(selectFor(`r-${project}`, { vcpu: 8, project, waits, expiresAt: 1e11 }));
      on.deliver();
    }
    on.release('h2');
    for (let passed = 0; passed < 3_000; passed += 100) {
      on.deliver();
      on.pass(100);
    }
    const served = on.answers.filter(({ type }) => type === 'selected').map(({ request }) => request);
    assert.equal(served, ['r-b']);
  }
});

test.run();
