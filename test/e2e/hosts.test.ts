// Area: hosts and audits of a deployment of real processes. A host that dies is fenced by an operator's word and comes
// back; a bus that is gone for a while makes no host silent; and an audit from the command line is clean in the midst of
// builds, says what it could not look at, and is clean after everything was killed and is back.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Connection } from '../../runtime/connect.ts';
import { failureOf } from '../support/until.ts';
import { withDeployment } from './deployment.ts';
import { eventually, hostsUp } from './system.ts';

const test = suite('hosts of processes');

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Hosts are soon silent, and steps are soon done again. */
const SOON = { firstMs: 200, mostMs: 500 };
const QUICK = {
  cell: { silentMs: 2_000, patience: SOON },
  compute: { heartbeatMs: 300, patience: SOON },
  conductor: { patience: SOON },
};
const SMALL = { resources: { VCPU: 1 } };

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function cellwright(...args: string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const argv = ['--import', 'tsx', 'runtime/cli/main.ts', ...args];
    const child = execFile(process.execPath, argv, { cwd: ROOT }, (_, out, err) => {
      resolve({ code: child.exitCode, out, err });
    });
  });
}

async function active(client: Connection, id: string): Promise<string> {
  await client.build({ id, ...SMALL });
  const { state, host = '' } = await client.ended(id);
  assert.is(state, 'active', id);
  return host;
}

const stateOf = async (client: Connection, host: string) =>
  (await client.hosts({ cell: 'c1' })).hosts.find((one) => one.host === host)?.state;

test('hosts - one that died is fenced by an operator, and what waited for it comes to its end', () =>
  withDeployment(async ({ client, start, server }) => {
    await start('placement', 'conductor', 'scheduler', 'cell:c1');
    const doomed = await start('compute:c1/h1');
    await hostsUp(client, 'c1', 1);
    assert.is(await active(client, 'deleted'), 'h1');
    assert.is(await active(client, 'lost'), 'h1');
    await start('compute:c1/h2');
    await hostsUp(client, 'c1', 2);

    await doomed.end('SIGKILL');
    const refused = await failureOf(() => client.host({ cell: 'c1', host: 'h1', fence: true }));
    assert.is(refused.code, 'host-is-up');
    await eventually('it counts as down', async () => (await stateOf(client, 'h1')) === 'down');
    await client.delete('deleted');
    const at = ['--nats', server.url];
    const waits = await cellwright('audit', ...at, '--pause', '0.5', '--overdue', '0.001');
    assert.is(waits.code, 1, waits.out + waits.err);
    assert.match(waits.out, /overdue: what is left of attempt 1 of 'deleted' waits for host 'c1\/h1'/);
    assert.match(waits.out, /cellwright host fence --cell c1 h1/);

    const fenced = await cellwright('host', 'fence', '--cell', 'c1', 'h1', ...at);
    assert.equal([fenced.code, fenced.out], [0, "host 'c1/h1' is fenced\n"], fenced.err);
    await eventually('the delete is done', async () => (await client.show('deleted')).state === 'deleted');
    const lost = await client.show('lost');
    assert.equal([lost.state, lost.failure?.code], ['lost', 'host-fenced']);
    const listed = await cellwright('host', 'list', '--cell', 'c1', ...at);
    assert.match(listed.out, /^h1 {2}fenced: an operator has stated that nothing runs there.*\nh2 {2}up\n$/);
    const after = await cellwright('audit', ...at, '--pause', '0.5', '--overdue', '0.001', '--json');
    assert.is(after.code, 0, after.out + after.err);
    assert.equal(JSON.parse(after.out).looked.hosts, 2);

    await start('compute:c1/h1');
    await hostsUp(client, 'c1', 2);
    await client.delete('lost');
    await eventually('that is done too', async () => (await client.show('lost')).state === 'deleted');
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']) await active(client, id);
    assert.is((await cellwright('audit', ...at, '--pause', '0.5')).code, 0);
  }, QUICK));

test('hosts - a bus that is gone for longer than a host may be silent makes no host silent', () =>
  withDeployment(
    async ({ client, start, server }) => {
      await start('placement', 'conductor', 'scheduler', 'cell:c1');
      await start('compute:c1/h1', 'compute:c1/h2');
      await hostsUp(client, 'c1', 2);
      await client.build({ id: 'slow', ...SMALL, alternates: 1 });
      await eventually('it is being built', async () => (await client.show('slow')).state === 'building');
      await server.kill();
      // The time for which the bus is gone is what is tested: several times as long as a host may be silent.
      await new Promise((resolve) => setTimeout(resolve, 3 * QUICK.cell.silentMs));
      await server.restart();
      await eventually('it is there again', async () => {
        try {
          return (await client.show('slow')).state === 'building';
        } catch {
          return false;
        }
      });
      const { state, attempt, attempts } = await client.ended('slow');
      assert.equal([state, attempt, attempts], ['active', 1, []]);
      await hostsUp(client, 'c1', 2);
    },
    { ...QUICK, buildMs: { min: 12_000, max: 12_000 } },
  ));

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
