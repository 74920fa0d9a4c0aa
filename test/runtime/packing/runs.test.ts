// Area: the processes of a packing experiment. When one fails, so does the experiment, and the others end.

import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CellwrightError } from '../../../runtime/errors.ts';
import { startWorkers } from '../../../runtime/packing/runs.ts';
import { readPackingTrace } from '../../../runtime/packing/trace.ts';
import { failureOf } from '../../support/until.ts';
import { nodesText, withTrace } from './trace.ts';

const test = suite('packing runs');

const childProcesses = () => process.getActiveResourcesInfo().filter((one) => one === 'ProcessWrap').length;

test('packing runs - when one fails the others end, which have nobody left to tell what comes of them', () => {
  const pods = 'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\ncrumb,1,1,1,1,\n';
  return withTrace(
    async (files) => {
      const before = childProcesses();
      const run = { policy: 'fgd', seed: 42 } as const;
      const trace = readPackingTrace(files.nodes, files.pods);
      // The first would take more requests than are allowed, the second as many as take it long.
      const experiments = [
        { ...run, tune: 9 },
        { ...run, tune: 3 },
      ];
      const workers = startWorkers(experiments.length);
      await workers
        .perform(trace, experiments)
        .then(
          () => assert.unreachable('the first fails'),
          (error) => assert.match(error.message, /more than 1000000 requests/),
        )
        .finally(() => workers.stop());
      for (let tries = 0; tries < 100 && childProcesses() > before; tries += 1) await wait(20);
      assert.is(childProcesses(), before);
    },
    { nodes: nodesText(60), pods },
  );
});

test('packing runs - a process that cannot be started, or ends before it is asked for anything, fails the experiment', () =>
  withTrace(async (files) => {
    const trace = readPackingTrace(files.nodes, files.pods);
    const experiments = [{ policy: 'fgd', seed: 42, tune: 1 }] as const;
    const { execPath } = process;
    const failureWith = async (program: string): Promise<CellwrightError> => {
      process.execPath = program;
      const workers = startWorkers(1);
      process.execPath = execPath;
      try {
        await workers.perform(trace, experiments);
      } catch (error) {
        return error as CellwrightError;
      } finally {
        workers.stop();
      }
      throw new Error('it has no process');
    };
    const unstarted = await failureWith('/no/such/program');
    assert.is(unstarted.code, 'no-process');
    assert.match(unstarted.message, /^a process of the experiment cannot be started: .*ENOENT/);
    const ended = await failureWith(['/bin/false', '/usr/bin/false'].find((path) => existsSync(path)) as string);
    assert.is(ended.code, 'no-process');
    assert.is(ended.message, 'a process of the experiment was ended by exit code 1');
  }));

test('packing runs - none is begun that is given up already', () =>
  withTrace(async (files) => {
    const workers = startWorkers(1);
    const trace = readPackingTrace(files.nodes, files.pods);
    const signal = AbortSignal.abort();
    const failing = () => workers.perform(trace, [{ policy: 'fgd', seed: 42, tune: 1 }], { signal });
    assert.is((await failureOf(failing).finally(() => workers.stop())).code, 'interrupted');
  }));

test.run();
