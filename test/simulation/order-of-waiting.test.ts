// Area: simulation, the order of those that wait. Schedulers die and come up, however they do: what comes free goes to
// whoever came first.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConductorState } from '../../actors/conductor/state.ts';
import type { Plan } from './plan.ts';
import { type Running, simulate } from './run.ts';

const test = suite('simulation, the order of those that wait');

const RUNS = 16;
const WAITING = Array.from({ length: 12 }, (_, place) => `w${place}`);
const CONDUCTOR = 'conductor/0';
const SCHEDULERS = ['scheduler/s0', 'scheduler/s1', 'scheduler/s2'];
const SPEC = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
/** How long schedulers are away, ms. */
const AWAY_MS = [100, 500, 1_000, 2_000, 4_000, 8_000];
/** How long after the first of several each comes up, ms. */
const LATER_MS = [0, 150, 420, 900];

/** One host that has room for one instance, and nothing happens by chance but how long messages take. */
function calm(plan: Plan): Plan {
  const weather = Object.fromEntries(
    Object.keys(plan.weather).map((fault) => [fault, 0]),
  ) as unknown as Plan['weather'];
  return {
    ...plan,
    cells: ['quartz'],
    hosts: [{ cell: 'quartz', host: 'q0', vcpu: 1, gpus: 0, fast: false }],
    schedulers: SCHEDULERS.length,
    placementShards: 1,
    conductorShards: 1,
    operations: [],
    incidents: [],
    awayAtFirst: [],
    weather: { ...weather, slowMs: 1 },
    healAt: 4_000,
    maxMailbox: 1_000,
    turnsEnd: 0,
    skewMs: 0,
    rememberMs: 120_000,
  };
}

const at = <Item>(list: readonly Item[], place: number): Item => list[place % list.length] as Item;

/** What befalls the schedulers in the run of a number, which says when and for how long. */
type Mishap = (running: Running, number: number) => Promise<void>;

function lineOf({ seat }: Running): string {
  const state = seat(CONDUCTOR).last?.state as ConductorState | undefined;
  return state?.line?.scheduler ?? '';
}

const MISHAPS: Readonly<Record<string, Mishap>> = {
  async 'the one with the line dies'(running, number) {
    running.seat(lineOf(running)).crash(at(AWAY_MS, number));
  },
  async 'the one with the line dies, and again as it comes up'(running, number) {
    const line = lineOf(running);
    running.seat(line).crash(at(AWAY_MS, number));
    await running.goOn(at(AWAY_MS, number) + 300 + ((number * 97) % 1_500));
    running.seat(line).crash(at([100, 500, 1_000], number));
  },
  async 'all die, and come up one after the other'(running, number) {
    for (const [place, scheduler] of SCHEDULERS.entries()) {
      running.seat(scheduler).crash(at(AWAY_MS, number) + at(LATER_MS, number * 7 + place * 3));
    }
  },
};

/** Who was served, one after the other, where each instance is deleted once it is active. */
async function served(running: Running, number: number, mishap: Mishap): Promise<string[]> {
  const { ask, until, goOn, truth } = running;
  const isActive = (instance: string) =>
    [...truth.cells.values()].some(({ instances }) => instances.get(instance)?.build.snapshot.value === 'active');
  const build = (request: string, more: object = {}) =>
    ask(CONDUCTOR, { type: 'build', request, count: 1, alternates: 0, spec: SPEC, project: 'p', ...more });
  await build('first');
  await until(() => isActive('first'), 10_000);
  for (const request of WAITING) {
    await build(request, { waitMs: 3_600_000 });
    await goOn(20);
  }
  await goOn(16_000 + number * 737);
  await mishap(running, number);
  await goOn((number * 531) % 9_000);
  const order = ['first'];
  for (const _ of WAITING) {
    await ask(CONDUCTOR, { type: 'delete', instance: order.at(-1) });
    let next: string | undefined;
    await until(() => {
      next = WAITING.find((one) => !order.includes(one) && isActive(one));
      return next !== undefined;
    }, 90_000);
    if (next === undefined) break;
    order.push(next);
    await goOn(100);
  }
  return order.slice(1);
}

for (const [what, mishap] of Object.entries(MISHAPS)) {
  test(`order of waiting - ${what}: all are served, as they came`, async () => {
    const disorders: string[] = [];
    for (let number = 1; number <= RUNS; number += 1) {
      let order: string[] = [];
      const { faults } = await simulate({
        seed: `order-${number}`,
        planned: calm,
        async afterwards(running) {
          order = await served(running, number, mishap);
        },
      });
      assert.equal(faults, []);
      assert.equal([...order].sort(), [...WAITING].sort(), `run ${number}: each is served`);
      if (order.join() !== WAITING.join()) disorders.push(`run ${number}: ${order}`);
    }
    // What comes free while the line moves may, rarely, go to a later one: the docs say so.
    assert.ok(disorders.length <= 1, disorders.join('; '));
  });
}

test.run();
