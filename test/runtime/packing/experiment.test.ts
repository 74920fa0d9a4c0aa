// Area: packing experiment. In which order and how many requests arrive, what is counted, and that a run is the same
// again; on a small trace, and on the published one where its files lie beside the repository.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { PACKING_POLICIES } from '../../../actors/scheduler/weighers/packing/policies.ts';
import { linesOf } from '../../../runtime/cli/perform-pack.ts';
import { arrivalsOf } from '../../../runtime/packing/arrivals.ts';
import { allocationAt, allocationBy, curveMaker, meanOf } from '../../../runtime/packing/curve.ts';
import { perform } from '../../../runtime/packing/experiment.ts';
import { askedIn, policyReport } from '../../../runtime/packing/report.ts';
import type { Run } from '../../../runtime/packing/runs.ts';
import { readPackingTrace } from '../../../runtime/packing/trace.ts';
import { seededRandom } from '../../../runtime/random.ts';
import { ROOT } from '../../support/programs.ts';
import { smallTrace, withTrace } from './trace.ts';

const test = suite('packing experiment');

/** The published trace. */
const OPENB = join(ROOT, '../shared/traces/openb');

test('arrivals - every request once in an order of the seed, then more until the wanted part is asked for', async () => {
  const trace = await smallTrace();
  const namesOf = (seed: number, tune: number) => arrivalsOf(trace, tune, seededRandom(seed)).map(({ name }) => name);
  const demand = trace.requests.reduce((sum, { gpuMilli }) => sum + gpuMilli, 0);
  const share = demand / trace.gpuMilli;
  const all = trace.requests.map(({ name }) => name).sort();
  assert.equal(namesOf(1, 2 * share), namesOf(1, 2 * share));
  assert.is.not(namesOf(1, 2 * share).join(), namesOf(2, 2 * share).join());
  assert.equal(
    namesOf(1, 2 * share)
      .slice(0, all.length)
      .sort(),
    all,
  );
  assert.is.not(
    namesOf(1, 2 * share)
      .slice(0, all.length)
      .join(),
    all.join(),
  );

  const asked = (tune: number) =>
    arrivalsOf(trace, tune, seededRandom(3)).reduce((sum, { gpuMilli }) => sum + gpuMilli, 0) / trace.gpuMilli;
  for (const tune of [1.3, 2, 5]) assert.ok(Math.abs(asked(tune) - tune) < 0.05, `${asked(tune)} for ${tune}`);
  for (const tune of [0.5 * share, 0.1 * share]) assert.ok(asked(tune) <= tune && asked(tune) > tune - 0.05);
  assert.ok(namesOf(1, 0.5 * share).length < all.length, 'some are left out');
  assert.throws(() => namesOf(1, 1e-9), /each request for a GPU asks for more than 1e-9 times all GPUs/);
});

test('arrivals - requests that alone ask for more than is wanted are left out, and take no others with them', async () => {
  const { requests } = await smallTrace();
  const sized = [8_000, 8_000, 8_000, 1_000, 1_000, 1_000].map(
    (gpuMilli) => ({ ...requests[0], share: 1_000, gpuMilli }) as never,
  );
  for (let seed = 1; seed <= 20; seed += 1) {
    const arrivals = arrivalsOf({ requests: sized, gpuMilli: 2_000 }, 1.3, seededRandom(seed));
    assert.equal(
      arrivals.map(({ gpuMilli }) => gpuMilli),
      [1_000, 1_000],
    );
  }
});

test('arrivals - of very many requests most are left out at once', async () => {
  const { requests } = await smallTrace();
  const many = Array.from(
    { length: 400_000 },
    (_, at) => ({ ...requests[0], gpuMilli: at < 200_000 ? 1_000 : 0 }) as never,
  );
  const begunAt = performance.now();
  const arrivals = arrivalsOf({ requests: many, gpuMilli: 1_000_000 }, 1.3, seededRandom(1));
  assert.is(
    arrivals.reduce((sum, { gpuMilli }) => sum + gpuMilli, 0),
    1_300_000,
  );
  const others = arrivals.filter(({ gpuMilli }) => gpuMilli === 0).length;
  assert.ok(others > 1_100 && others < 1_500, `${others} that ask for no GPU are left, as many as that do`);
  assert.ok(performance.now() - begunAt < 5_000, `it took ${performance.now() - begunAt} ms`);
});

test('arrivals - as they are in the trace: each request once, whatever they ask for', async () => {
  const trace = await smallTrace();
  const names = trace.requests.map(({ name }) => name);
  const arrivals = arrivalsOf(trace, 0, seededRandom(1)).map(({ name }) => name);
  assert.is.not(arrivals.join(), names.join(), 'in an order of the seed');
  assert.equal(arrivals.sort(), names);
});

test('arrivals - requests as they are that ask for far more than there is are refused before curves fill the memory', async () => {
  const trace = await smallTrace();
  const demand = trace.requests.reduce((sum, { gpuMilli }) => sum + gpuMilli, 0);
  const arrivals = (times: number) => arrivalsOf({ ...trace, gpuMilli: demand / times }, 0, seededRandom(1));
  assert.is(arrivals(1_000).length, trace.requests.length);
  assert.throws(() => arrivals(1_001), /ask for 1001 times all GPUs.* 1000 /);
});

test('arrivals - a trace of crumbs is refused before it fills the memory', async () => {
  const { requests } = await smallTrace();
  const crumbs = requests.map((request) => ({ ...request, share: 1, gpuMilli: 1 }));
  assert.throws(() => arrivalsOf({ requests: crumbs, gpuMilli: 6_212_000 }, 1.3, seededRandom(1)), /1000000 requests/);
});

test('curve - the mean of all that arrived at a percent, what was refused counts as arrived', () => {
  const { add, curve } = curveMaker(1_000);
  add(100, 100);
  add(104, 104);
  add(126, 104);
  add(300, 304);
  const made = curve();
  assert.is(made.length, 31);
  const means = made.map((one) => one?.mean ?? null);
  assert.equal([means[10], means[13], means[30]], [(10 + 10.4) / 2, 10.4, 30.4]);
  assert.equal([means[0], means[11]], [null, null]);
  for (const allocation of [allocationAt, allocationBy]) {
    assert.is(allocation(made, 8), 0);
    assert.is(allocation(made, 20), 10.4, 'as it was before the request that passed over it');
    assert.is(allocation(made, 30), 30.4);
    assert.is(allocation(made, 32), null, 'so much never arrived');
  }
});

test('curve - where no request came to a percent, those count that came to the one before or after, as published', () => {
  const { add, curve } = curveMaker(1_000);
  for (const [arrived, used] of [
    [985, 800],
    [990, 800],
    [992, 803],
    [1_012, 803],
    [1_290, 900],
  ] as const) {
    add(arrived, used);
  }
  const made = curve();
  assert.is(allocationAt(made, 100), (80 + 80.3 + 80.3) / 3);
  assert.is(allocationAt(made, 99), (80 + 80.3) / 2, 'as there are some, no others count');
  assert.equal([allocationAt(made, 130), allocationAt(made, 131)], [90, null]);
  // On the curve it is as it was then.
  assert.equal([allocationBy(made, 100), allocationBy(made, 130)], [(80 + 80.3) / 2, null]);
});

test('curve - half a percent is rounded to an even one, as published', () => {
  const { add, curve } = curveMaker(2_000);
  for (const arrived of [1_990, 2_010, 2_030]) add(arrived, 1_000);
  assert.equal(
    curve()
      .map((one) => one?.requests ?? 0)
      .slice(99),
    [0, 2, 0, 1],
  );
});

test('run - each policy comes out the same again, fills the fleet and leaves nobody out', async () => {
  const trace = await smallTrace();
  for (const policy of PACKING_POLICIES) {
    const run = { policy, seed: 7, tune: 1.3 };
    const outcome = perform(trace, run);
    const parts: number[] = [];
    assert.equal(
      perform(trace, run, (part) => parts.push(part)),
      outcome,
      `${policy} again`,
    );
    assert.equal(parts, [0], 'few requests are no work to tell more of');
    assert.is.not(JSON.stringify(perform(trace, { ...run, seed: 8 })), JSON.stringify(outcome));
    assert.is(outcome.placed + outcome.refused, arrivalsOf(trace, 1.3, seededRandom(7).fork('arrivals')).length);
    const at130 = allocationAt(outcome.curve, 130) as number;
    assert.ok(outcome.refused > 0 && at130 > 75 && at130 <= 100, `${policy} fills ${at130} %`);
    // As long as a third has arrived nothing is refused, so what has arrived is what is used.
    const early = allocationAt(outcome.curve, 33) as number;
    assert.ok(Math.abs(early - 33) < 3, `${policy} has ${early} % at 33 %`);
  }
});

test('run - a request that asks for nothing is placed and takes nothing, on a full fleet too', () =>
  withTrace(
    (files) => {
      const trace = readPackingTrace(files.nodes, files.pods);
      for (const policy of PACKING_POLICIES) {
        const { placed, refused, curve } = perform(trace, { policy, seed: 1, tune: 0 });
        assert.equal([placed, refused, curve.length, curve.at(-1)?.mean], [4, 1, 201, 100], policy);
      }
    },
    {
      nodes: 'sn,cpu_milli,memory_mib,gpu,model\nn1,1000,1024,1,T4\n',
      pods: `name,cpu_milli,memory_mib,num_gpu,gpu_milli
a,1000,1024,1,1000
b,1000,1024,1,1000
c,0,0,0,0
d,0,0,0,0
e,0,0,0,0
`,
    },
  ));

test('run - hosts of very many devices are filled, also by requests for more of them than others have', () => {
  const rows = Array.from({ length: 40 }, (_, at) => `p${at},1000,64,${[1, 8, 20, 40][at % 4]},1000\n`);
  return withTrace(
    (files) => {
      const trace = readPackingTrace(files.nodes, files.pods);
      for (const policy of PACKING_POLICIES) {
        const { curve, placed } = perform(trace, { policy, seed: 1, tune: 0 });
        const filled = curve.at(-1)?.mean as number;
        assert.ok(filled > 90 && filled <= 100 && placed > 10, `${policy} places ${placed} and fills ${filled} %`);
      }
    },
    {
      nodes: 'sn,cpu_milli,memory_mib,gpu,model\na,900000,90000,100,B200\nb,900000,90000,72,B200\nc,96000,9000,20,T4\n',
      pods: `name,cpu_milli,memory_mib,num_gpu,gpu_milli\n${rows.join('')}`,
    },
  );
});

test('run - policies that pack leave less unused than chance', async () => {
  const trace = await smallTrace();
  const filled = (policy: 'random' | 'fgd' | 'best-fit') => {
    const seeds = [1, 2, 3, 4, 5, 6, 7, 8];
    return meanOf(seeds.map((seed) => allocationAt(perform(trace, { policy, seed, tune: 1.3 }).curve, 130) ?? 0));
  };
  const byChance = filled('random');
  assert.ok(filled('fgd') > byChance + 0.5, `${filled('fgd')} and ${byChance} by chance`);
  assert.ok(filled('best-fit') > byChance + 0.5, `${filled('best-fit')} and ${byChance} by chance`);
});

test('run - what was granted before is known to a policy that goes by it', () =>
  withTrace(
    (files) => {
      const trace = readPackingTrace(files.nodes, files.pods);
      const seeds = Array.from({ length: 40 }, (_, seed) => seed);
      const placed = meanOf(seeds.map((seed) => perform(trace, { policy: 'gpu-clustering', seed, tune: 0 }).placed));
      assert.ok(placed > 3.6, `${placed} of 4, where halves of two GPUs would pass for shares of one`);
    },
    {
      nodes: 'sn,cpu_milli,memory_mib,gpu,model\nh1,8000,8192,2,T4\nh2,8000,8192,2,T4\n',
      pods: 'name,cpu_milli,num_gpu,gpu_milli\na,1,2,500\nb,1,1,500\nc,1,2,500\nd,1,1,1000\n',
    },
  ));

const GPU_OF_ITS_OWN = 'sn,cpu_milli,memory_mib,gpu,model\nh1,8000,8192,1,T4\n';

test('run - of few GPUs as much is asked for as requests can make up, and the curve ends where they do', () =>
  withTrace(
    (files) => {
      const trace = readPackingTrace(files.nodes, files.pods);
      for (let seed = 42; seed < 62; seed += 1) {
        const { asked, curve } = perform(trace, { policy: 'best-fit', seed, tune: 1.3 });
        assert.is(asked, 1, `seed ${seed}: half of a GPU twice, or a whole one; no other fits into what is left`);
        assert.equal([allocationAt(curve, 100), allocationBy(curve, 101)], [100, null]);
      }
    },
    {
      nodes: GPU_OF_ITS_OWN,
      pods: 'name,cpu_milli,num_gpu,gpu_milli\na,1,1,500\nb,1,1,1000\nc,1,2,1000\nd,1,0,0\ne,1,1,1000\n',
    },
  ));

test('run - what arrives beyond the wanted part is asked for, is on the curve, and is refused there', () =>
  withTrace(
    (files) => {
      const trace = readPackingTrace(files.nodes, files.pods);
      const { asked, curve, placed, refused } = perform(trace, { policy: 'best-fit', seed: 42, tune: 1.3 });
      assert.equal([asked, placed, refused, curve.length], [2, 1, 1, 201]);
      assert.equal([allocationAt(curve, 98), allocationAt(curve, 130), allocationAt(curve, 200)], [0, 100, 100]);
    },
    {
      nodes: 'sn,cpu_milli,memory_mib,gpu,model\nh1,8000,8192,8,T4\n',
      pods: 'name,cpu_milli,num_gpu,gpu_milli\na,1,8,1000\n',
    },
  ));

/** A run in which all is placed until so much is allocated. */
function runOf(seed: number, allocated: number, asked: number, refused = 0): Run {
  const curve = Array.from({ length: Math.round(100 * asked) + 1 }, (_, percent) => {
    return { mean: Math.min(percent, allocated), requests: 1 };
  });
  return { policy: 'fgd', seed, tune: asked, curve, asked, placed: 5, refused };
}

const NOTHING_AMISS = { absentModels: {}, leftOut: 0, unservable: 0 };

/** The lines for people. */
function toldOf(runs: readonly Run[]): string[] {
  const lists = { nodes: 'n', pods: 'p', hosts: 2, gpus: 8, requests: 9, ...NOTHING_AMISS };
  const seeds = runs.map(({ seed }) => seed);
  return linesOf({ ...lists, tune: 1.3, ...askedIn(runs), seeds, policies: { fgd: policyReport(runs) } });
}

test('report - mean and each seed, and null for what was not asked for', () => {
  const runs = [runOf(1, 90, 1.1, 1), runOf(2, 91.00004, 1.1, 2)];
  const { allocationAt100, allocationAt130, refused, curve } = policyReport(runs);
  assert.equal(allocationAt100, { mean: 90.5, seeds: [90, 91] });
  assert.equal(allocationAt130, { mean: null, seeds: [null, null] });
  assert.is(refused, 1.5);
  assert.is(curve.length, 111);
  assert.equal(curve[110], { arrived: 110, mean: 90.5, least: 90, most: 91, ofSeeds: 2 });
  assert.equal(askedIn(runs), { asked: 1.1, askedOfSeeds: [1.1, 1.1] });
});

test('report - a figure is the mean of the seeds in which as much was asked for, and it is told where these are fewer', () => {
  const runs = [runOf(1, 50, 0.5), runOf(2, 90, 1), runOf(3, 92, 1.3), runOf(4, 94, 1.3)];
  const { allocationAt100, allocationAt130, curve } = policyReport(runs);
  assert.equal(allocationAt100, { mean: 92, seeds: [null, 90, 92, 94] });
  assert.equal(allocationAt130, { mean: 93, seeds: [null, null, 92, 94] });
  assert.equal(curve[50], { arrived: 50, mean: 50, least: 50, most: 50, ofSeeds: 4 });
  assert.equal(curve[51], { arrived: 51, mean: 51, least: 51, most: 51, ofSeeds: 3 });
  assert.equal(curve.at(-1), { arrived: 130, mean: 93, least: 92, most: 94, ofSeeds: 2 });
  assert.equal(askedIn(runs), { asked: 1.025, askedOfSeeds: [0.5, 1, 1.3, 1.3] });
  const [, , header = '', row = ''] = toldOf(runs);
  assert.match(header, /100 % were asked for +130 % +50 % +requests refused/);
  assert.match(
    row,
    /^fgd +92\.00 % \(90\.00 to 94\.00 of 3 seeds\) +93\.00 % \(92.* of 2 seeds\) +50\.00 % \(50\.00 to 50\.00\) /,
  );
  assert.match(toldOf([runOf(1, 90, 1), runOf(2, 91, 1.3)])[3] ?? '', / 91\.00 % \(of 1 seed\) /);
});

test('report - one of a kind is told as one', () => {
  const told = { nodes: 'n', pods: 'p', ...NOTHING_AMISS, tune: 1, ...askedIn([]), seeds: [42], policies: {} };
  assert.is(linesOf({ ...told, hosts: 1, gpus: 1, requests: 1 })[0], '1 GPU on 1 host, 1 request, one seed');
  assert.match(
    linesOf({ ...told, hosts: 2, gpus: 1_000, requests: 0 })[0] ?? '',
    /^1,000 GPUs on 2 hosts, 0 requests,/,
  );
});

test('report - where neither as much is asked for in the end, the table has a column for what is', () => {
  const [, , header = '', row = ''] = toldOf([runOf(1, 41, 0.5), runOf(2, 42, 0.5)]);
  assert.match(header, /100 % were asked for +130 % +50 % +requests refused/);
  assert.match(row, /^fgd +not asked +not asked +41\.50 % \(41\.00 to 42\.00\) +0$/);
  assert.not.match(toldOf([runOf(1, 41, 1.3), runOf(2, 42, 1.3)])[2] ?? '', /130 % +\d+ %/);
});

test('report - the mean of the requests refused is told as in the JSON, not as a whole number', () => {
  const rowOf = (...refused: number[]) => toldOf(refused.map((count, seed) => runOf(seed, 0, 1, count)))[3] ?? '';
  assert.match(rowOf(1, 2), / 1\.5$/);
  assert.match(rowOf(2, 2), / 2$/);
});

/** The published allocation in percent, mean of 10 seeds, when 100 % and 130 % of all GPUs were asked for. */
const PUBLISHED = {
  default: {
    random: [86.3, 87.47],
    'dot-product': [90.62, 90.85],
    'gpu-clustering': [91.65, 91.88],
    'gpu-packing': [91.78, 92.0],
    'best-fit': [92.86, 93.08],
    fgd: [95.23, 95.39],
  },
  gpuspec33: {
    random: [83.87, 86.46],
    'dot-product': [79.82, 89.14],
    'gpu-clustering': [81.09, 92.12],
    'gpu-packing': [82.22, 93.22],
    'best-fit': [80.39, 93.09],
    fgd: [87.84, 94.55],
  },
} as const;

const openb = (name: string) =>
  readPackingTrace(join(OPENB, 'openb_node_list_gpu_node.csv'), join(OPENB, `openb_pod_list_${name}.csv`));

if (existsSync(OPENB)) {
  test('published - one seed of fragmentation gradient descent on the whole trace is about what was published', () => {
    const { curve } = perform(openb('default'), { policy: 'fgd', seed: 42, tune: 1.3 });
    for (const [position, percent] of [100, 130].entries()) {
      const measured = allocationAt(curve, percent) ?? 0;
      const published = PUBLISHED.default.fgd[position] as number;
      assert.ok(Math.abs(measured - published) < 0.5, `${measured} at ${percent} %, published ${published}`);
    }
  });
}

// All of the table takes some minutes: CELLWRIGHT_PACKING_TABLE=1 asks for it.
if (existsSync(OPENB) && process.env.CELLWRIGHT_PACKING_TABLE === '1') {
  for (const name of ['default', 'gpuspec33'] as const) {
    for (const policy of PACKING_POLICIES) {
      test(`published - the mean of 10 seeds of ${policy} on ${name} is within 0.3 points`, () => {
        const trace = openb(name);
        const runs = Array.from({ length: 10 }, (_, seed) => perform(trace, { policy, seed: 42 + seed, tune: 1.3 }));
        for (const [position, percent] of [100, 130].entries()) {
          const measured = meanOf(runs.map(({ curve }) => allocationAt(curve, percent) ?? 0));
          const published = PUBLISHED[name][policy][position] as number;
          assert.ok(Math.abs(measured - published) <= 0.3, `${measured} at ${percent} %, published ${published}`);
        }
      });
    }
  }
}

test.run();
