// Area: recovery. Owners that are killed and started again take up where their journals end: every accepted request
// ends, nothing is built twice, nothing stays held. Real processes, real signals, a real server.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import type { Connection } from '../../runtime/connect.ts';
import { assembler } from '../../runtime/journal/entries.ts';
import { readStream } from '../../runtime/journal/reading.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { type Deployment, type Process, withDeployment } from './deployment.ts';
import { accepted, eventually, hostsUp } from './system.ts';

const test = suite('recovery');

const OWNERS = ['placement', 'conductor', 'cell:c1', 'cell:c2'];
const COMPUTES = ['c1', 'c2'].flatMap((cell) => ['h1', 'h2', 'h3'].map((host) => `compute:${cell}/${host}`));
/** Six hosts with 8 VCPUs each: what is asked for at one time must fit, or it would fail for want of room. */
const FITS = 40;

async function everything(client: Connection): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  const { instances } = await client.list({ limit: 1_000 });
  for (const { state } of instances) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}

async function started({ start, client }: Deployment): Promise<Process> {
  const owners = await start(...OWNERS);
  await start('scheduler');
  await start(...COMPUTES);
  await Promise.all([hostsUp(client, 'c1', 3), hostsUp(client, 'c2', 3)]);
  return owners;
}

test('recovery - owners killed in the middle of builds end every accepted request when they are back', () =>
  withDeployment(async (deployment) => {
    const { client, start } = deployment;
    let owners = await started(deployment);
    const ids = Array.from({ length: FITS }, (_, n) => `r${n}x`);
    const requests = ids.map((id) => accepted(client, id));
    await requests[0];
    await owners.end('SIGKILL');
    owners = await start(...OWNERS);
    await Promise.all(requests);
    await owners.end('SIGKILL');
    await start(...OWNERS);
    for (const id of ids) assert.is((await client.ended(id)).state, 'active', id);
    await eventually('all are listed as active', async () => (await everything(client)).active === FITS);
  }));

test('recovery - a delete that was accepted before the owners were killed is carried out after', () =>
  withDeployment(async (deployment) => {
    const { client, start } = deployment;
    const owners = await started(deployment);
    const ids = await Promise.all(Array.from({ length: FITS }, (_, n) => accepted(client, `d${n}x`)));
    for (const id of ids) await client.ended(id);
    await Promise.all(ids.map((id) => client.delete(id)));
    await owners.end('SIGKILL');
    await start(...OWNERS);
    await eventually('all are deleted', async () => (await everything(client)).deleted === FITS);
    // Their room is free again, all of it.
    const again = await Promise.all(ids.map((_, n) => accepted(client, `e${n}x`)));
    for (const id of again) assert.is((await client.ended(id)).state, 'active', id);
  }));

test('recovery - the server and all owners killed at once lose nothing that was accepted', () =>
  withDeployment(async (deployment) => {
    const { client, start, server } = deployment;
    const owners = await started(deployment);
    const ids = await Promise.all(Array.from({ length: FITS }, (_, n) => accepted(client, `s${n}x`)));
    await Promise.all([server.kill(), owners.end('SIGKILL')]);
    await server.restart();
    await start(...OWNERS);
    for (const id of ids) {
      await eventually(`'${id}' is active`, async () => {
        try {
          return (await client.show(id)).state === 'active';
        } catch {
          return false;
        }
      });
    }
    await eventually('all are listed as active', async () => (await everything(client)).active === FITS);
  }));

/** Whether an owner that opens its journal now is told that something is missing. */
async function isMissed(bus: NatsBus, stream: string): Promise<boolean> {
  const { streams } = await bus.connection.jetstreamManager();
  const { first_seq: first, last_seq: last, messages } = (await streams.info(stream)).state;
  if (messages === 0) return true;
  const reading = readStream({ bus, clock: systemClock(), stream, first, last });
  const all = assembler();
  for (const entry of await reading.entries) all.take(entry);
  return all.assembled().hasGap;
}

test('recovery - owners whose journals are purged write them anew, and may be killed then', () =>
  withDeployment(async (deployment) => {
    const { client, start, server } = deployment;
    const owners = await started(deployment);
    const ids = await Promise.all(Array.from({ length: FITS }, (_, n) => accepted(client, `p${n}x`)));
    for (const id of ids) assert.is((await client.ended(id)).state, 'active', id);
    const bus = await connectNats({ servers: server.url, name: 'operator' });
    try {
      const { streams } = await bus.connection.jetstreamManager();
      const journals = OWNERS.map((owner) => `cw-${owner.replace(':', '-')}${owner.includes(':') ? '' : '-0'}-journal`);
      for (const journal of journals) await streams.purge(journal);
      for (const journal of journals) {
        await eventually(`'${journal}' is whole again`, async () => !(await isMissed(bus, journal)));
      }
      await owners.end('SIGKILL');
      await start(...OWNERS);
      await eventually('all are listed as active', async () => (await everything(client)).active === FITS);
    } finally {
      await bus.close();
    }
  }));

test.run();
