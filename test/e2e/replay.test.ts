// Area: replay, end to end. A generated workload over a real NATS server with failing builds, and, where the recorded
// traces lie beside the repository, the first of the openb trace in memory.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { replay } from '../../runtime/replay/replay.ts';
import { problemsOf, recordOf } from '../../runtime/replay/result.ts';
import { generatedWorkload } from '../../runtime/workload/generated.ts';
import { openbWorkload } from '../../runtime/workload/openb.ts';
import type { Workload } from '../../runtime/workload/workload.ts';
import { ROOT } from '../support/programs.ts';

const test = suite('replay, end to end');

const TRACE = join(ROOT, '../shared/traces/openb');
const hasTrace = existsSync(TRACE);
if (!hasTrace) console.log('replay: the recorded traces are not here; only generated workloads are replayed');

test('over NATS - every request is accounted for while 30 % of the builds fail', async () => {
  const workload = generatedWorkload({ cells: 3, hostsPerCell: 6, requests: 300, seed: 3, durationMs: 60_000 });
  const result = await replay(workload, {
    seed: 3,
    on: {},
    failRate: 0.3,
    speed: 12,
    buildMs: { min: 1, max: 50 },
  });
  assert.equal(problemsOf(result), []);
  const record = recordOf(result);
  assert.is(record.requested, 300);
  assert.is(record.overcommitted, 0);
  assert.is(record.leaked, 0);
  const { active, deleted, failed } = result.accounts;
  assert.is(active + deleted + failed, 300);
  assert.ok(active > 0 && deleted > 0 && failed > 0, `${active} active, ${deleted} deleted, ${failed} failed`);
  assert.ok(result.figures.reschedules > 0 && result.figures.p99Ms > 0);
});

/** Of which nothing ends, and as many requests as given. */
function startOf(workload: Workload, requests: number): Workload {
  const arrivals = [...workload.arrivals].slice(0, requests).map((one) => ({ ...one, endAtMs: [undefined] }));
  return { ...workload, arrivals, requested: arrivals.length, endMs: arrivals.at(-1)?.atMs ?? 0 };
}

if (hasTrace) {
  test('openb - 400 requests, half of them for GPUs of named models, fill the GPUs that they may have', async () => {
    const whole = openbWorkload({
      nodesFile: join(TRACE, 'openb_node_list_gpu_node.csv'),
      podsFile: join(TRACE, 'openb_pod_list_gpuspec33.csv'),
      cells: 4,
      seed: 1,
    });
    const workload = startOf({ ...whole, hosts: whole.hosts.slice(0, 60) }, 400);
    const result = await replay(workload, { seed: 1, on: 'memory', failRate: 0.05 });
    assert.equal(problemsOf(result), []);
    assert.is(result.accounts.requested, 400);
    assert.ok(result.accounts.active > 200, `${result.accounts.active} active`);
  });
}

test.run();
