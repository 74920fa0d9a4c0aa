// Area: workload. The traces of others become requests and fleets; what is wrong in a file is named by its place.

import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { azureWorkload } from '../../runtime/workload/azure.ts';
import { openbWorkload } from '../../runtime/workload/openb.ts';
import { type Arrival, gpuKind, instanceIds, type Workload } from '../../runtime/workload/workload.ts';
import { checkWorkload, countBy, failureOf, withFiles } from '../support/workloads.ts';

const test = suite('workload');

test('workload - one instance bears the id of its request, several are numbered', () => {
  assert.equal(instanceIds({ id: 'web', count: 1 }), ['web']);
  assert.equal(instanceIds({ id: 'web', count: 3 }), ['web-0', 'web-1', 'web-2']);
});

test('workload - the kind of a request tells how many GPUs it wants', () => {
  const kinds = [gpuKind(0, 0), gpuKind(1, 500), gpuKind(1, 1000), gpuKind(8, 1000)];
  assert.equal(kinds, ['cpu', 'gpu-share', 'gpu', 'gpu-8']);
});

const NODES = `sn,cpu_milli,memory_mib,gpu,model
Node-A,64000,262144,2,P100
node-b,64000,262144,2,P100
node-c,32000,131072,0,
node-d,32000,131072,0,
`;
const POD_HEADER =
  'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n';
const PODS = `${POD_HEADER}late,4000,1024,1,460,,LS,Running,50,90,50
whole,4000,0,1,1000,V100M32|T4|V100M32,LS,Running,10,100,10
two,0,1024,2,1000,P100,LS,Running,20,,20
plain,1000,512,0,0,,BE,Pending,30,30,
`;

/** Reads the openb fixture, with the text of either file changed. */
function readOpenb(change: { nodes?: string; pods?: string; untilMs?: number; seed?: number } = {}): Workload {
  let workload: Workload | undefined;
  withFiles({ 'nodes.csv': change.nodes ?? NODES, 'pods.csv': change.pods ?? PODS }, (dir) => {
    const { seed = 1, untilMs } = change;
    const files = { nodesFile: join(dir, 'nodes.csv'), podsFile: join(dir, 'pods.csv') };
    workload = openbWorkload({ ...files, cells: 2, seed, ...(untilMs !== undefined && { untilMs }) });
  });
  return workload as Workload;
}

test('workload - openb hosts become trees, and each cell gets some of every shape', () => {
  const workload = readOpenb();
  checkWorkload(workload);
  const inventories = { CUSTOM_CPU_MILLI: { total: 64000 }, MEMORY_MB: { total: 262144 } };
  const gpu = (name: string) => ({
    name,
    inventories: { CUSTOM_GPU_MILLI: { total: 1000 } },
    traits: ['CUSTOM_GPU_P100'],
  });
  const tree = { name: 'node-a', inventories, children: [gpu('node-a-gpu-0'), gpu('node-a-gpu-1')] };
  assert.equal(workload.hosts[0], { cell: workload.hosts[0]?.cell, host: 'node-a', tree });
  const mix = countBy(workload.hosts, ({ cell, tree }) => `${cell} ${tree.children?.length ?? 0}`);
  assert.equal(mix, { 'c1 2': 1, 'c1 0': 1, 'c2 2': 1, 'c2 0': 1 });
});

test('workload - openb rows become requests in order of arrival, without what they do not ask for', () => {
  const group = (name: string, milli: number, anyOf?: string[][]) => ({
    name,
    resources: { CUSTOM_GPU_MILLI: milli },
    ...(anyOf && { anyOf }),
  });
  const [whole, two, plain, late] = [...readOpenb().arrivals];
  const models = [['CUSTOM_GPU_V100M32', 'CUSTOM_GPU_T4']];
  assert.equal(whole, {
    atMs: 10_000,
    id: 'whole',
    kind: 'gpu',
    count: 1,
    endAtMs: [undefined],
    spec: { resources: { CUSTOM_CPU_MILLI: 4000 }, groups: [group('gpu0', 1000, models)] },
  });
  const p100 = [['CUSTOM_GPU_P100']];
  assert.equal(two, {
    atMs: 20_000,
    id: 'two',
    kind: 'gpu-2',
    count: 1,
    endAtMs: [undefined],
    spec: {
      resources: { MEMORY_MB: 1024 },
      groups: [group('gpu0', 1000, p100), group('gpu1', 1000, p100)],
      groupPolicy: 'isolate',
    },
  });
  assert.equal(plain, {
    atMs: 30_000,
    id: 'plain',
    kind: 'cpu',
    count: 1,
    endAtMs: [30_000],
    spec: { resources: { CUSTOM_CPU_MILLI: 1000, MEMORY_MB: 512 } },
  });
  assert.equal(late, {
    atMs: 50_000,
    id: 'late',
    kind: 'gpu-share',
    count: 1,
    endAtMs: [90_000],
    spec: { resources: { CUSTOM_CPU_MILLI: 4000, MEMORY_MB: 1024 }, groups: [group('gpu0', 460)] },
  });
});

test('workload - openb cut short leaves out what arrives later and what ends later', () => {
  const workload = readOpenb({ untilMs: 30_000 });
  checkWorkload(workload);
  assert.equal(
    [...workload.arrivals].map(({ id }) => id),
    ['whole', 'two'],
  );
  assert.is(workload.endMs, 30_000);
});

test('workload - openb that is cut where nothing arrives any more is the whole trace', () => {
  const whole = readOpenb();
  const ends = ({ arrivals }: Workload) => [...arrivals].map(({ endAtMs }) => endAtMs);
  for (const untilMs of [100_000, 100_001, 1_000_000]) {
    const workload = readOpenb({ untilMs });
    assert.equal([workload.endMs, ends(workload)], [whole.endMs, ends(whole)]);
  }
});

test('workload - openb begins with its first request, and one of which nothing is left is refused', () => {
  const from = (first: number) => {
    const rows = [
      `a,1,1,0,0,,LS,Running,${first},${first + 9},5`,
      `b,1,1,0,0,,LS,Running,${first + 4},${first + 10},5`,
      `c,1,1,0,0,,LS,Running,${first + 6},,5`,
    ];
    const { startMs, endMs, arrivals } = readOpenb({ pods: `${POD_HEADER}${rows.join('\n')}\n` });
    const since = (at: number | undefined) => (at === undefined ? undefined : at - first * 1_000);
    const times = [...arrivals].map(({ atMs, endAtMs }) => [since(atMs), ...endAtMs.map(since)]);
    return { startMs, endMs: since(endMs), times };
  };
  const times = [
    [0, 9_000],
    [4_000, undefined],
    [6_000, undefined],
  ];
  assert.equal(from(0), { startMs: 0, endMs: 10_000, times });
  assert.equal(from(1_600_000_000), { startMs: 1_600_000_000_000, endMs: 10_000, times });
  const rows = `${POD_HEADER}a,1,1,0,0,,LS,Running,5,9,5\n`;
  assert.match(
    failureOf(() => readOpenb({ pods: rows, untilMs: 5_000 })),
    /^untilMs: nothing is left to play: no request of the trace arrives before second 5$/,
  );
});

test('workload - openb requests of one second come in an order of the seed', () => {
  const rows = Array.from({ length: 20 }, (_, index) => `pod-${index},1,1,0,0,,LS,Running,5,9,5\n`);
  const order = (seed: number) => {
    const { arrivals } = readOpenb({ pods: POD_HEADER + rows.join(''), seed });
    return [...arrivals].map(({ id }) => id).join(' ');
  };
  assert.is(order(1), order(1));
  assert.is.not(order(1), order(2));
});

test('workload - openb hosts without models serve whoever names none, and times may have fractions', () => {
  const nodes = 'sn,cpu_milli,memory_mib,gpu\na,64000.5,262144,1\n';
  const pods = `${POD_HEADER}p,1.5,1,1,460,None,LS,Running,10.5,1.25e1\nq,1,1,0,0,,LS,Running,11,13\n`;
  const workload = readOpenb({ nodes, pods });
  checkWorkload(workload);
  const children = [{ name: 'a-gpu-0', inventories: { CUSTOM_GPU_MILLI: { total: 1000 } } }];
  const inventories = { CUSTOM_CPU_MILLI: { total: 64_000 }, MEMORY_MB: { total: 262_144 } };
  assert.equal(workload.hosts[0]?.tree, { name: 'a', inventories, children });
  const [first] = workload.arrivals;
  assert.equal([first?.atMs, first?.endAtMs], [10_500, [12_500]]);
  assert.is(first?.spec.resources?.CUSTOM_CPU_MILLI, 2);
});

test('workload - openb errors name file, line and column', () => {
  const pods = (row: string) => failureOf(() => readOpenb({ pods: `${PODS}${row}\n` }));
  assert.match(pods('p,x,1,0,0,,LS,Running,1,2,1'), /^cpu_milli: '.*pods\.csv' line 6, column 'cpu_milli': 'x' is not/);
  assert.match(pods('p,1,1,1,1001,,LS,Running,1,2,1'), /^gpu_milli: .* line 6/);
  assert.match(pods('p,1,1,1,500,T4|A/B,LS,Running,1,2,1'), /^gpu_spec: .* line 6/);
  assert.match(pods('p,1,1,0,0,,LS,Running,5,2,1'), /^deletion_time: .* line 6/);
  assert.match(pods('p,0,0,0,0,,LS,Running,1,2,1'), /^cpu_milli: .* line 6/);
  assert.match(pods('two,1,1,0,0,,LS,Running,1,2,1'), /^name: .* line 6/);
  assert.match(
    pods('p 1,1,1,0,0,,LS,Running,1,2,1'),
    /^name: .* line 6, column 'name': 'p 1' is not a name of letters/,
  );
  assert.match(pods('p/1,1,1,0,0,,LS,Running,1,2,1'), /^name: .* line 6/);
  assert.match(pods('p,1,1'), /^creation_time: .* line 6, column 'creation_time': '' is not a number/);
  assert.match(pods('p,1,1,0,0,,LS,Running,1,2,1,x'), /pods\.csv: '.*pods\.csv' is not the CSV .* line 6/);
  const nodes = (text: string) => failureOf(() => readOpenb({ nodes: text }));
  assert.match(nodes(`${NODES}e,1,1,1,\n`), /^model: '.*nodes\.csv' line 6, column 'model'/);
  assert.match(
    nodes('sn,cpu_milli,memory_mib,gpu\na,1,1,1\n'),
    /^model: '.*nodes\.csv': no column 'model', and '.*pods\.csv' line 3,/,
  );
  assert.match(nodes('sn,cpu_milli,memory_mib\na,1,1\n'), /^gpu: '.*nodes\.csv' line 1: no column 'gpu'/);
  assert.match(nodes('sn,cpu_milli,memory_mib,gpu,model\n'), /nodes\.csv: .* no rows/);
  const most = / is not a number from [01] to 2147483647$/;
  for (const said of [
    nodes(`${NODES}e,1,3000000000,0,\n`),
    nodes(`${NODES}e,3000000000,1,0,\n`),
    pods('p,1,3000000000,0,0,,LS,Running,1,2,1'),
    pods('p,3000000000,1,0,0,,LS,Running,1,2,1'),
  ])
    assert.match(said, most);
  const missing = { nodesFile: 'nowhere.csv', podsFile: 'nowhere.csv', seed: 1 };
  assert.match(
    failureOf(() => openbWorkload({ ...missing, cells: 1 })),
    /^nowhere\.csv: cannot read the trace 'nowhere\.csv'/,
  );
  assert.match(
    failureOf(() => openbWorkload({ ...missing, cells: 0 })),
    /^cells: /,
  );
  assert.match(
    failureOf(() => openbWorkload({ ...missing, cells: 1, untilMs: 0 })),
    /^untilMs: /,
  );
});

const AZURE = {
  'flav_map.txt': '1,1.75 b\n4,0.75 g\n',
  'v1.interval_map.txt': '0 0\n300 1\n600 2\n900 2\n',
  'v1.dev.txt': '900 b,|,b,g,b,|\n1200 g\n1500 b,b\n',
  'v1.dev.c2100000.txt': '900 U0,|,U2,C2,U1,|\n1200 C1\n1500 U2,C0\n',
};

/** Reads the azure fixture, with some of its files changed. */
function readAzure(change: Partial<typeof AZURE> = {}, options: { untilMs?: number } = {}) {
  let workload: Workload | undefined;
  let arrivals: Arrival[] = [];
  withFiles({ ...AZURE, ...change }, (dir) => {
    workload = azureWorkload({ dir, cells: 2, seed: 1, ...options });
    checkWorkload(workload);
    arrivals = [...workload.arrivals];
  });
  return { ...(workload as Workload), arrivals };
}

test('workload - an azure trace in which nobody arrives is refused', () => {
  const empty = { 'v1.dev.txt': '900 |,|\n', 'v1.dev.c2100000.txt': '900 |,|\n' };
  assert.throws(() => readAzure(empty), /v1\.dev\.txt': no request arrives in the trace$/);
});

test('workload - an azure batch is one arrival for each flavor, with the lifetimes of its own machines', () => {
  const { arrivals, requested, endMs } = readAzure();
  assert.is(requested, 7);
  assert.is(endMs, 900_000);
  assert.equal(
    arrivals.map(({ id, count, kind }) => `${id} ${count} ${kind}`),
    ['batch-1-b 1 vcpu-1', 'batch-2-b 2 vcpu-1', 'batch-2-g 1 vcpu-4', 'batch-3-g 1 vcpu-4', 'batch-4-b 2 vcpu-1'],
  );
  assert.equal(arrivals[0]?.spec, { resources: { VCPU: 1, MEMORY_MB: 1792 } });
  const [first, twoSmall, oneLarge, second, third] = arrivals as [Arrival, Arrival, Arrival, Arrival, Arrival];
  // The two batches of the first period share it in halves; a period with one batch is that batch's.
  assert.ok(first.atMs < 150_000 && twoSmall.atMs >= 150_000 && twoSmall.atMs < 300_000);
  assert.is(oneLarge.atMs, twoSmall.atMs);
  assert.ok(second.atMs >= 300_000 && second.atMs < 600_000);
  const lifetime = (arrival: Arrival, index: number) => (arrival.endAtMs[index] as number) - arrival.atMs;
  assert.ok(lifetime(first, 0) < 300_000);
  // Bin 2 holds 600 to 1200 s, but the trace ends 900 s after its start.
  assert.ok(lifetime(twoSmall, 0) >= 600_000 && lifetime(twoSmall, 0) < 750_000);
  assert.ok(lifetime(twoSmall, 1) >= 300_000 && lifetime(twoSmall, 1) < 600_000);
  assert.equal([oneLarge.endAtMs, second.endAtMs], [[undefined], [undefined]]);
  assert.equal(third.endAtMs, [899_999, undefined]);
});

test('workload - azure can be walked again and cut short, and the seed decides its times', () => {
  withFiles(AZURE, (dir) => {
    const workload = azureWorkload({ dir, cells: 2, seed: 1 });
    assert.equal([...workload.arrivals], [...workload.arrivals]);
    assert.not.equal([...azureWorkload({ dir, cells: 2, seed: 2 }).arrivals], [...workload.arrivals]);
  });
  const short = readAzure({}, { untilMs: 300_000 });
  assert.is(short.requested, 4);
  assert.equal(
    short.arrivals.map(({ atMs }) => atMs),
    readAzure()
      .arrivals.slice(0, 3)
      .map(({ atMs }) => atMs),
  );
});

test('workload - the azure fleet holds the peak and an eighth more', () => {
  const letters = Array<string>(160).fill('g').join(',');
  const fates = Array<string>(160).fill('C0').join(',');
  const many = readAzure({ 'v1.dev.txt': `900 ${letters}\n`, 'v1.dev.c2100000.txt': `900 ${fates}\n` });
  // 640 VCPU are 10 hosts of 64.
  assert.is(many.hosts.length, 12);
  assert.equal(
    countBy(many.hosts, ({ cell }) => cell),
    { c1: 6, c2: 6 },
  );
});

test('workload - in an azure period nobody may arrive, and a batch may be larger than a request', () => {
  const quiet = readAzure({
    'v1.dev.txt': '900 b,| \n1200 \n1500 g\n1800 \n\n',
    'v1.dev.c2100000.txt': '900 U0,|\n1200\n1500 C1\n1800\n  \n',
  });
  assert.equal([quiet.requested, quiet.endMs], [2, 1_200_000]);
  const of = (item: string, count: number) => `900 ${Array<string>(count).fill(item).join(',')}\n`;
  const large = readAzure({ 'v1.dev.txt': of('b', 2_001), 'v1.dev.c2100000.txt': of('C0', 2_001) });
  assert.equal(
    large.arrivals.map(({ id, count, endAtMs }) => [id, count, endAtMs.length]),
    [
      ['batch-1-b', 1_000, 1_000],
      ['batch-1-b-part2', 1_000, 1_000],
      ['batch-1-b-part3', 1, 1],
    ],
  );
});

test('workload - azure errors name file and line', () => {
  const failure = (change: Partial<typeof AZURE>) => failureOf(() => readAzure(change));
  assert.match(failure({ 'flav_map.txt': '1,2 b\n1;2 g\n' }), /flav_map\.txt' line 2/);
  for (const line of ['65,2 g', '1,513 g', '0,2 g', '1,0 g', '99999999999,0.75 g']) {
    const what = new RegExp(
      `flav_map\\.txt' line 2: '${line}' is nothing that a host of 64 processors and 512 GB could`,
    );
    assert.match(failure({ 'flav_map.txt': `1,2 b\n${line}\n` }), what);
  }
  assert.match(failure({ 'flav_map.txt': '1,2 b\n' }), /v1\.dev\.txt' line 1: 'g' is no known flavor/);
  assert.match(failure({ 'v1.interval_map.txt': 'x\n' }), /v1\.interval_map\.txt' line 1/);
  assert.match(
    failure({ 'v1.interval_map.txt': '0 0\n300 1\n' }),
    /v1\.dev\.c2100000\.txt' line 1: '2' is no known lifetime bin/,
  );
  assert.match(failure({ 'v1.dev.txt': '900 b\n' }), /do not have the same number of lines/);
  assert.match(
    failure({ 'v1.dev.txt': '900 b,|,b,g,b,|\n1300 g\n1500 b,b\n' }),
    /v1\.dev\.txt' line 2: does not start with the time '1200'/,
  );
  const shifted = AZURE['v1.dev.c2100000.txt'].replace('1200', '1300');
  assert.match(failure({ 'v1.dev.c2100000.txt': shifted }), /c2100000\.txt' line 2: does not start with .*'1200'/);
  assert.is(readAzure({ 'v1.dev.txt': `\uFEFF${AZURE['v1.dev.txt']}` }).requested, 7, 'a byte order mark');
  assert.match(failure({ 'v1.dev.txt': '900 b,|,b,g,b,|\n1200 g\n1500 b\n' }), /line 3: .* number of items/);
  assert.match(failure({ 'v1.dev.txt': '900 b,|,b,g,|,b\n1200 g\n1500 b,b\n' }), /line 1: item 5 ends a batch/);
  const fates = AZURE['v1.dev.c2100000.txt'].replace('C2', 'X2');
  assert.match(failure({ 'v1.dev.c2100000.txt': fates }), /c2100000\.txt' line 1: 'X2' is no lifetime/);
  assert.match(failure({ 'v1.dev.txt': '' }), /is empty/);
  const timeless = failure({ 'v1.dev.txt': 'b,|,b,g,b,|\n1200 g\n1500 b,b\n' });
  assert.match(timeless, /v1\.dev\.txt' line 1: does not start with a time in seconds/);
  assert.match(failure({ 'v1.dev.txt': '\n1200 g\n1500 b,b\n' }), /same number of lines: 2 and 3$/);
  // Blank lines count in what is said of others.
  const blank = failure({ 'v1.dev.c2100000.txt': '\n900 U0,|,U2,C2,U1,|\n\n1200 C1\n1600 U2,C0\n' });
  assert.match(blank, /c2100000\.txt' line 5: does not start with the time '1500'/);
  for (const line of ['1,2 b c', '1,2 b,c', '1,2 |', '1,2', '4,8 b']) {
    assert.match(failure({ 'flav_map.txt': `1,2 b\n${line}\n` }), /flav_map\.txt' line 2: '.*' is no new flavor/);
  }
});

test('workload - azure says the same with lines that end otherwise, blank lines, and other blanks', () => {
  const change = (change: (text: string) => string) => {
    const texts = Object.entries(AZURE).map(([name, text]) => [name, change(text)]);
    return readAzure(Object.fromEntries(texts));
  };
  const { arrivals } = readAzure();
  for (const changed of [
    change((text) => text.replaceAll('\n', '\r')),
    change((text) => text.replaceAll('\n', '\r\n')),
    change((text) => `\n${text.replaceAll('\n', '\n \n\n')}`),
    change((text) => text.replaceAll(' ', '\t')),
    change((text) => text.replaceAll(',', ' , ').replaceAll(' ', '  ')),
    change((text) => text.replaceAll(/^/gm, ' ').replaceAll(/$/gm, '\t')),
  ]) {
    assert.equal(changed.arrivals, arrivals);
  }
});

test('workload - azure flavors may be of any code', () => {
  const codes = ['A', 'a', 'aa', '7', 'd2_v3', 'é', 'flavor', 'x'.repeat(100)];
  const { arrivals } = readAzure({
    'flav_map.txt': codes.map((code, index) => `${index + 1},2 ${code}\n`).join(''),
    'v1.dev.txt': `900 ${codes.join(',')},${codes.join(',')}\n`,
    'v1.dev.c2100000.txt': `900 ${Array<string>(2 * codes.length)
      .fill('C0')
      .join(',')}\n`,
  });
  assert.equal(
    arrivals.map(({ kind, count }) => `${kind} ${count}`),
    codes.map((_, index) => `vcpu-${index + 1} 2`),
  );
  const ids = ['flavor-no-1', 'a', 'aa', '7', 'flavor-no-5', 'flavor-no-6', 'flavor', 'flavor-no-8'];
  assert.equal(
    arrivals.map(({ id }) => id),
    ids.map((id) => `batch-1-${id}`),
  );
});

test('workload - azure is read from the one pair of files in the folder, and named after it', () => {
  const { 'v1.dev.txt': flavors, 'v1.dev.c2100000.txt': fates, ...maps } = AZURE;
  const read = (files: Record<string, string>) => {
    let name = '';
    withFiles({ ...maps, ...files }, (dir) => {
      const workload = azureWorkload({ dir, cells: 2, seed: 1 });
      checkWorkload(workload);
      assert.equal([...workload.arrivals], readAzure().arrivals);
      name = workload.name;
    });
    return name;
  };
  const test = { 'v1.test.txt': flavors, 'v1.test.c2591400.txt': fates };
  const train = { 'v1.train.txt': flavors, 'v1.train.c7.txt': fates };
  assert.is(read({ 'v1.dev.txt': flavors, 'v1.dev.c2100000.txt': fates }), 'azure-v1.dev');
  assert.is(read({ ...test, 'v1.train.txt': 'x', 'v1.dev.c2100000.txt': 'x', 'notes.txt': 'x' }), 'azure-v1.test');
  assert.is(read({ ...test, ...train, 'v1.dev.txt': flavors, 'v1.dev.c2100000.txt': fates }), 'azure-v1.dev');
  assert.match(
    failureOf(() => read({ ...test, ...train })),
    /holds several traces: 'v1\.test\.txt' with 'v1\.test\.c2591400\.txt', 'v1\.train\.txt' with 'v1\.train\.c7\.txt'$/,
  );
  for (const files of [{}, { 'v1.test.txt': flavors }, { 'v1.test.c2591400.txt': fates }]) {
    assert.match(
      failureOf(() => read(files)),
      /holds no file of arrivals with one of lifetimes, such as 'v1\.dev/,
    );
  }
  const nowhere = () => azureWorkload({ dir: 'nowhere', cells: 1, seed: 1 });
  assert.match(failureOf(nowhere), /^nowhere: cannot read the trace 'nowhere': ENOENT/);
});

test.run();
