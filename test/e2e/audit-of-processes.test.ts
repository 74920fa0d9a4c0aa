// Area: audits of a deployment of real processes, from the command line. An audit is clean in the midst of builds, says
// what it could not look at, and is clean after everything was killed and is back.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { withDeployment } from './deployment.ts';
import { active, cellwright, QUICK, SMALL } from './operator.ts';
import { eventually, hostsUp } from './system.ts';

const test = suite('audits of processes');

test('audit - clean in the midst of builds, and after every owner was killed in them and is back', () =>
  withDeployment(async ({ client, start, server }) => {
    const owners = ['placement', 'conductor', 'cell:c1', 'cell:c2'];
    const audit = () => cellwright('audit', '--nats', server.url, '--pause', '2');
    let running = await start(...owners);
    await start('scheduler', 'compute:c1/h1', 'compute:c1/h2', 'compute:c2/h3');
    await Promise.all([hostsUp(client, 'c1', 2), hostsUp(client, 'c2', 1)]);
    let isOver = false;
    let rounds = 0;
    const lane = async (lane: number) => {
      for (let n = 0; !isOver; n += 1) {
        const id = `load-${lane}x${n}x`;
        try {
          await client.build({ id, ...SMALL, alternates: 1 });
          await client.ended(id);
          if (n % 3 !== 0 || n > 9) await client.delete(id);
          rounds += 1;
        } catch {
          // Its owner is dead: it may or may not have been asked for.
        }
      }
    };
    const lanes = [1, 2, 3, 4].map(lane);
    const busy = await audit();
    assert.is(busy.code, 0, busy.out + busy.err);
    await running.end('SIGKILL');
    running = await start(...owners);
    const before = rounds;
    await eventually('builds go on', async () => rounds > before + 4);
    isOver = true;
    await Promise.all(lanes);
    const after = await audit();
    assert.is(after.code, 0, after.out + after.err);
    assert.match(after.out, /looked at 2 cells, 3 hosts, .*\neverything adds up\n$/);
  }, QUICK));

test('audit - with a cell down it says so, and guesses nothing', () =>
  withDeployment(async ({ client, start, server }) => {
    await start('placement', 'conductor', 'scheduler', 'cell:c1', 'compute:c1/h1');
    const doomed = await start('cell:c2', 'compute:c2/h2');
    await Promise.all([hostsUp(client, 'c1', 1), hostsUp(client, 'c2', 1)]);
    const cells = new Set<string | undefined>();
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j']) {
      await active(client, id);
      cells.add((await client.show(id)).cell);
    }
    assert.is(cells.size, 2);
    await doomed.end('SIGKILL');
    const { code, out, err } = await cellwright('audit', '--nats', server.url, '--pause', '0.5', '--repair');
    assert.is(code, 2, out + err);
    assert.match(out, /not known: cell 'c2' does not answer/);
    assert.not.match(out, /mended/);
    assert.match(out, /all that could be looked at adds up/);
    await start('cell:c2', 'compute:c2/h2');
    await hostsUp(client, 'c2', 1);
    const back = await cellwright('audit', '--nats', server.url, '--pause', '0.5');
    // What ran in the process that was killed is gone with it: its driver runs nothing real.
    assert.match(back.out, /not-running: '\w' is active, but the driver of 'c2\/h2' does not have it/);
    assert.is(back.code, 1);
  }, QUICK));

test.run();
