// Area: workload. Small fixtures of each trace cover all the reading; the recorded traces, where they lie beside the
// repository, are read whole and counted. The generated workload is held to the shares and sizes that it promises.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CellwrightError } from '../../runtime/errors.ts';
import { azureWorkload } from '../../runtime/workload/azure.ts';
import { generatedWorkload } from '../../runtime/workload/generated.ts';
import { openbWorkload } from '../../runtime/workload/openb.ts';
import { type Arrival, gpuKind, instanceIds, type Workload } from '../../runtime/workload/workload.ts';

const test = suite('workload');

const TRACES = fileURLToPath(new URL('../../../shared/traces', import.meta.url));
const hasTraces = existsSync(TRACES);
if (!hasTraces) console.log('workload: the recorded traces are not here; small fixtures stand in for them');

/** Runs with the files in a folder of their own, which goes afterwards. */
function withFiles(files: Record<string, string>, run: (dir: string) => void): void {
  const dir = mkdtempSync(join(tmpdir(), 'cellwright-test-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
    run(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The text of the error: `field: message`. */
function failureOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof CellwrightError) return `${error.field ?? error.code}: ${error.message}`;
    throw error;
  }
  return 'it did not fail';
}

/** What must hold in every workload, whatever it came from. */
function checkWorkload(workload: Workload): void {
  const hosts = workload.hosts.map(({ host }) => host);
  assert.is(new Set(hosts).size, hosts.length, 'hosts are unique');
  for (const { cell, host, tree } of workload.hosts) {
    assert.match(`${cell} ${host}`, /^[a-z0-9-]+ [a-z0-9-]+$/);
    assert.is(tree.name, host);
  }
  const ids = new Set<string>();
  let [requested, last] = [0, 0];
  for (const arrival of workload.arrivals) {
    assert.match(arrival.id, /^[a-z0-9-]+$/);
    assert.ok(arrival.atMs >= last && arrival.atMs <= workload.endMs, `${arrival.id} comes in order and in time`);
    assert.is(arrival.endAtMs.length, arrival.count);
    for (const end of arrival.endAtMs) assert.ok(end === undefined || (end >= arrival.atMs && end < workload.endMs));
    const amounts = Object.values(arrival.spec.resources ?? {});
    assert.ok(amounts.every((amount) => amount > 0 && Number.isInteger(amount)));
    for (const id of instanceIds(arrival)) ids.add(id);
    last = arrival.atMs;
    requested += arrival.count;
  }
  assert.is(requested, workload.requested);
  assert.is(ids.size, requested, 'instances are unique');
}

function countBy<Item>(items: Iterable<Item>, keyOf: (item: Item) => string, sizeOf = (_: Item) => 1) {
  const counts: Record<string, number> = {};
  for (const item of items) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + sizeOf(item);
  return counts;
}

const instancesByKind = (arrivals: Iterable<Arrival>) =>
  countBy(
    arrivals,
    ({ kind }) => kind,
    ({ count }) => count,
  );

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

test('workload - openb requests of one second come in an order of the seed', () => {
  const rows = Array.from({ length: 20 }, (_, index) => `pod-${index},1,1,0,0,,LS,Running,5,9,5\n`);
  const order = (seed: number) => {
    const { arrivals } = readOpenb({ pods: POD_HEADER + rows.join(''), seed });
    return [...arrivals].map(({ id }) => id).join(' ');
  };
  assert.is(order(1), order(1));
  assert.is.not(order(1), order(2));
});

test('workload - openb errors name file, line and column', () => {
  const pods = (row: string) => failureOf(() => readOpenb({ pods: `${PODS}${row}\n` }));
  assert.match(pods('p,x,1,0,0,,LS,Running,1,2,1'), /^cpu_milli: '.*pods\.csv' line 6, column 'cpu_milli': 'x' is not/);
  assert.match(pods('p,1,1,1,1001,,LS,Running,1,2,1'), /^gpu_milli: .* line 6/);
  assert.match(pods('p,1,1,1,500,T4||A,LS,Running,1,2,1'), /^gpu_spec: .* line 6/);
  assert.match(pods('p,1,1,0,0,,LS,Running,5,2,1'), /^deletion_time: .* line 6/);
  assert.match(pods('p,0,0,0,0,,LS,Running,1,2,1'), /^cpu_milli: .* line 6/);
  assert.match(pods('two,1,1,0,0,,LS,Running,1,2,1'), /^name: .* line 6/);
  assert.match(pods('p_1,1,1,0,0,,LS,Running,1,2,1'), /^name: .* line 6/);
  assert.match(pods('p,1,1'), /^malformed: '.*pods\.csv' is not the CSV .* line 6/);
  const nodes = (text: string) => failureOf(() => readOpenb({ nodes: text }));
  assert.match(nodes(`${NODES}e,1,1,1,\n`), /^model: '.*nodes\.csv' line 6, column 'model'/);
  assert.match(nodes('sn,cpu_milli,memory_mib,gpu\na,1,1,0\n'), /^model: '.*nodes\.csv' line 1: no column 'model'/);
  assert.match(nodes('sn,cpu_milli,memory_mib,gpu,model\n'), /^malformed: .* no rows/);
  const missing = { nodesFile: 'nowhere.csv', podsFile: 'nowhere.csv', seed: 1 };
  assert.match(
    failureOf(() => openbWorkload({ ...missing, cells: 1 })),
    /^trace-unreadable: .*'nowhere\.csv'/,
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
function readAzure(change: Partial<typeof AZURE> = {}, options: { hosts?: number; untilMs?: number } = {}) {
  let workload: Workload | undefined;
  let arrivals: Arrival[] = [];
  withFiles({ ...AZURE, ...change }, (dir) => {
    workload = azureWorkload({ dir, cells: 2, seed: 1, ...options });
    checkWorkload(workload);
    arrivals = [...workload.arrivals];
  });
  return { ...(workload as Workload), arrivals };
}

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

test('workload - the azure fleet holds the peak and an eighth more, unless told how large it is', () => {
  const letters = Array<string>(160).fill('g').join(',');
  const fates = Array<string>(160).fill('C0').join(',');
  const many = readAzure({ 'v1.dev.txt': `900 ${letters}\n`, 'v1.dev.c2100000.txt': `900 ${fates}\n` });
  // 640 VCPU are 10 hosts of 64.
  assert.is(many.hosts.length, 12);
  assert.equal(
    countBy(many.hosts, ({ cell }) => cell),
    { c1: 6, c2: 6 },
  );
  assert.is(readAzure({}, { hosts: 3 }).hosts.length, 3);
});

test('workload - azure errors name file and line', () => {
  const failure = (change: Partial<typeof AZURE>) => failureOf(() => readAzure(change));
  assert.match(failure({ 'flav_map.txt': '1,2 b\n1;2 g\n' }), /flav_map\.txt' line 2/);
  assert.match(failure({ 'flav_map.txt': '1,2 b\n' }), /v1\.dev\.txt' line 1: 'g' is no known flavor/);
  assert.match(failure({ 'v1.interval_map.txt': 'x\n' }), /v1\.interval_map\.txt' line 1/);
  assert.match(
    failure({ 'v1.interval_map.txt': '0 0\n300 1\n' }),
    /v1\.dev\.txt' line 1: '2' is no known lifetime bin/,
  );
  assert.match(failure({ 'v1.dev.txt': '900 b\n' }), /do not have the same number of lines/);
  assert.match(failure({ 'v1.dev.txt': '900 b,|,b,g,b,|\n1300 g\n1500 b,b\n' }), /line 2: .*'1200'/);
  assert.match(failure({ 'v1.dev.txt': '900 b,|,b,g,b,|\n1200 g\n1500 b\n' }), /line 3: .* number of items/);
  assert.match(failure({ 'v1.dev.txt': '900 b,|,b,g,|,b\n1200 g\n1500 b,b\n' }), /line 1: item 5 ends a batch/);
  const fates = AZURE['v1.dev.c2100000.txt'].replace('C2', 'X2');
  assert.match(failure({ 'v1.dev.c2100000.txt': fates }), /line 1: 'X2' is no lifetime/);
  assert.match(failure({ 'v1.dev.txt': '' }), /is empty/);
});

test('workload - generated: shares, multi-creates, lifetimes and constraints are as promised', () => {
  const workload = generatedWorkload();
  checkWorkload(workload);
  const arrivals = [...workload.arrivals];
  const kinds = instancesByKind(arrivals);
  assert.equal(kinds, { cpu: 534, 'gpu-share': 1510, gpu: 1919, 'gpu-2': 8, 'gpu-4': 7, 'gpu-8': 22 });
  const multi = arrivals.filter(({ count }) => count > 1);
  assert.ok(multi.length > 50 && multi.every(({ count }) => count <= 20));
  const ending = arrivals.flatMap(({ endAtMs }) => endAtMs).filter((end) => end !== undefined).length;
  assert.ok(ending > 1600 && ending < 2200, `${ending} of 4000 end`);
  const constrained = arrivals.filter(({ spec }) => spec.groups?.[0]?.anyOf !== undefined).length;
  assert.ok(constrained > 200, `${constrained} insist on models`);
});

test('workload - generated: hosts of all sizes, in every cell, some of them flaky', () => {
  const { hosts } = generatedWorkload({ cells: 3, hostsPerCell: 40 });
  assert.is(hosts.length, 120);
  assert.is(hosts[0]?.host, 'host-0001');
  assert.equal(
    countBy(hosts, ({ cell }) => cell),
    { c1: 40, c2: 40, c3: 40 },
  );
  const sizes = countBy(hosts, ({ tree }) => `${tree.children?.length ?? 0} GPUs`);
  assert.equal(Object.keys(sizes).sort(), ['0 GPUs', '2 GPUs', '4 GPUs', '8 GPUs']);
  const flaky = hosts.filter(({ failureRate }) => failureRate !== undefined);
  assert.is(flaky.length, 6);
  for (const { failureRate = 0 } of flaky) assert.ok(failureRate >= 0.3 && failureRate <= 0.7);
  const healthy = generatedWorkload({ flakyShare: 0 }).hosts;
  assert.not.ok(healthy.some(({ failureRate }) => failureRate !== undefined));
});

test('workload - generated: what is asked for at once fits the fleet, though not with much to spare', () => {
  for (const seed of [1, 2, 3]) {
    const { hosts, arrivals } = generatedWorkload({ seed });
    const gpus = hosts.reduce((sum, { tree }) => sum + (tree.children?.length ?? 0), 0);
    const changes = [...arrivals].flatMap(({ atMs, endAtMs, spec }) => {
      const milli = (spec.groups ?? []).reduce((sum, { resources }) => sum + (resources.CUSTOM_GPU_MILLI ?? 0), 0);
      return endAtMs.flatMap(
        (end = Number.POSITIVE_INFINITY) =>
          [
            [atMs, milli],
            [end, -milli],
          ] as const,
      );
    });
    let [now, peak] = [0, 0];
    // Ends before arrivals of the same time; two infinite times are equal.
    for (const [, milli] of changes.sort(([a, b], [c, d]) => (a === c ? b - d : a - c))) {
      now += milli;
      peak = Math.max(peak, now);
    }
    const share = peak / 1000 / gpus;
    assert.ok(share > 0.75 && share < 0.9, `seed ${seed} asks for ${share} of the GPUs at its peak`);
  }
});

test('workload - generated: one seed makes one workload, another another', () => {
  const text = (seed: number | string) => JSON.stringify(generatedWorkload({ seed, requests: 300 }));
  assert.is(text(1), text(1));
  assert.is.not(text(1), text(2));
});

test('workload - generated: any number of requests comes out exact, and options out of bounds are refused', () => {
  for (const requests of [1, 2, 7, 999]) checkWorkload(generatedWorkload({ requests, cells: 1, hostsPerCell: 1 }));
  assert.match(
    failureOf(() => generatedWorkload({ cells: 1001 })),
    /^cells: /,
  );
  assert.match(
    failureOf(() => generatedWorkload({ hostsPerCell: 0 })),
    /^hostsPerCell: /,
  );
  assert.match(
    failureOf(() => generatedWorkload({ requests: 1.5 })),
    /^requests: /,
  );
  assert.match(
    failureOf(() => generatedWorkload({ durationMs: -1 })),
    /^durationMs: /,
  );
  assert.match(
    failureOf(() => generatedWorkload({ flakyShare: 2 })),
    /^flakyShare: /,
  );
});

if (hasTraces) {
  test('workload - the whole openb trace comes out', () => {
    const [nodesFile, podsFile] = ['node_list_all_node', 'pod_list_default'].map((name) =>
      join(TRACES, 'openb', `openb_${name}.csv`),
    ) as [string, string];
    const workload = openbWorkload({ nodesFile, podsFile, cells: 4, seed: 1 });
    checkWorkload(workload);
    assert.is(workload.hosts.length, 1523);
    assert.is(workload.requested, 8152);
    const kinds = { cpu: 1088, 'gpu-share': 3078, gpu: 3911, 'gpu-2': 16, 'gpu-4': 15, 'gpu-8': 44 };
    assert.equal(instancesByKind(workload.arrivals), kinds);
    const gpus = countBy(
      workload.hosts,
      ({ cell }) => cell,
      ({ tree }) => tree.children?.length ?? 0,
    );
    for (const count of Object.values(gpus)) assert.ok(Math.abs(count - 6212 / 4) < 20, JSON.stringify(gpus));
    const constrained = openbWorkload({
      nodesFile,
      cells: 4,
      seed: 1,
      podsFile: podsFile.replace('default', 'gpuspec33'),
    });
    checkWorkload(constrained);
    const insisting = [...constrained.arrivals].filter(({ spec }) => spec.groups?.[0]?.anyOf !== undefined).length;
    assert.is(insisting, 2388);
  });

  test('workload - the whole azure trace comes out, on a fleet for its peak', () => {
    const workload = azureWorkload({ dir: join(TRACES, 'azure-v1'), cells: 4, seed: 1 });
    checkWorkload(workload);
    assert.is(workload.requested, 259_159);
    assert.is(workload.endMs, 300_000_000);
    const batches = new Set<string>();
    let running = 0;
    for (const { id, endAtMs } of workload.arrivals) {
      batches.add(id.slice(0, id.lastIndexOf('-')));
      running += endAtMs.filter((end) => end === undefined).length;
    }
    assert.is(batches.size, 53_109);
    assert.is(running, 14_317);
    assert.ok(workload.hosts.length > 760 && workload.hosts.length < 800, `${workload.hosts.length} hosts`);
  });
}

test.run();
