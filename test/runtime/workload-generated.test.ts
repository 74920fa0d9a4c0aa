// Area: workload. Generated ones have the shares that they promise, fit their fleet, and are made by their seed.

import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { azureWorkload } from '../../runtime/workload/azure.ts';
import { generatedWorkload } from '../../runtime/workload/generated.ts';
import { openbWorkload } from '../../runtime/workload/openb.ts';
import { checkWorkload, countBy, failureOf, hasTraces, instancesByKind, TRACES } from '../support/workloads.ts';

const test = suite('workload, generated');

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
      const milli = (spec.groups ?? []).reduce((sum, { resources }) => sum + (resources?.CUSTOM_GPU_MILLI ?? 0), 0);
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
