// Area: ownership. Several processes for the same roles: one owns each actor, the others stand by and take over when it
// stops, dies or is held up for longer than its lease. Nothing that was accepted is lost, and there is one writer.
// Real processes, real signals, a real server.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import { connectNats } from '../../runtime/bus/nats.ts';
import type { Connection } from '../../runtime/connect.ts';
import { HEADERS } from '../../runtime/frames.ts';
import { asking } from '../../runtime/gateway/asking.ts';
import { jetStreamJournals } from '../../runtime/journal/jetstream.ts';
import { outboxOf } from '../../runtime/outbox.ts';
import { jetStreamLeases } from '../../runtime/ownership/jetstream.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { until } from '../support/until.ts';
import { type Deployment, type Process, withDeployment } from './deployment.ts';
import { accepted, eventually, hostsUp } from './system.ts';

const test = suite('ownership of processes');

const LEASE_MS = 800;
/** Longer than any condition of these tests is waited for: what is taken over meanwhile was handed over. */
const LONG_LEASE_MS = 600_000;
const OWNERS = ['placement', 'cell:c1'];
const ACTORS = ['placement/0', 'cell/c1'];
const EVERY = [...ACTORS, 'conductor/0'];
const COMPUTES = ['h1', 'h2', 'h3', 'h4', 'h5'].map((host) => `compute:c1/${host}`);
/** Five hosts with 8 VCPUs each: some room is left for attempts that are made again before the last is cleared away. */
const FITS = 32;

interface Ownership {
  /** Asks the cell, by way of no process that a test may end. */
  askCell(): Promise<unknown>;
  /** The numbers of the tenures in which an actor has answered the API so far, one for each answer. */
  epochsIn(answersOf: string): readonly number[];
  ownerOf(address: string): Promise<string | null>;
  owns(name: string, addresses: readonly string[]): Promise<void>;
}

async function withOwners(run: (deployment: Deployment, ownership: Ownership) => Promise<void>): Promise<void> {
  await withDeployment(async (deployment) => {
    const bus = await connectNats({ servers: deployment.server.url, name: 'looking-on', onError() {} });
    const subjects = subjectsOf();
    const leases = jetStreamLeases({ bus, clock: systemClock(), subjects, timeoutMs: 2_000 });
    const ownerOf = async (address: string) => {
      // What is asked of JetStream between two attempts to connect is forgotten by the client.
      await until('the onlooker is connected', () => bus.connected);
      return (await leases.read(address)).record?.owner ?? null;
    };
    const answers: { from: string; epoch: number }[] = [];
    bus.subscribe('cw.gateway.*', ({ headers }) => {
      answers.push({ from: headers[HEADERS.from] ?? '', epoch: Number(headers[HEADERS.epoch]) });
    });
    const clock = systemClock();
    const onError = () => {};
    const outbox = outboxOf({ bus, clock, subjects, events: false, onError });
    const asker = asking({ name: 'looking-on', bus, clock, outbox, subjects, timeoutMs: 10_000, onError });
    try {
      await run(deployment, {
        askCell: () => asker.ask('cell/c1', { type: 'list-hosts', limit: 100 }, 'hosts'),
        epochsIn: (address) => answers.filter(({ from }) => from === address).map(({ epoch }) => epoch),
        ownerOf,
        owns: (name, addresses) =>
          eventually(`'${name}' owns ${addresses.join(', ')}`, async () => {
            const owners = await Promise.all(addresses.map(ownerOf));
            return owners.every((owner) => owner === name);
          }),
      });
      // Reading a journal fails when an entry of an older epoch follows one of a newer.
      const journals = jetStreamJournals({ bus, clock, subjects });
      for (const address of EVERY) {
        const journal = journals(address);
        await journal.open();
        await journal.close();
      }
    } finally {
      asker.stop();
      await bus.close();
    }
  });
}

/** Starts two processes for the owners, the first of which owns them, and the rest of a deployment. */
async function twoOf(
  roles: readonly string[],
  { start, client }: Deployment,
  { owns }: Ownership,
  actors: readonly string[],
  leaseMs = LEASE_MS,
): Promise<{ first: Process; second: Process }> {
  const first = await start('name=first', `lease=${leaseMs}`, ...roles);
  await owns('first', actors);
  const others = ['scheduler', ...(roles.includes('conductor') ? [] : ['conductor'])];
  const [second] = await Promise.all([
    start('name=second', `lease=${leaseMs}`, ...roles),
    start(`lease=${leaseMs}`, ...others),
    start(...COMPUTES),
  ]);
  await hostsUp(client, 'c1', COMPUTES.length);
  return { first, second: second as Process };
}

async function allActive(client: Connection, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    let view: InstanceView | undefined;
    await eventually(`'${id}' has ended`, async () => {
      view = await client.show(id).catch(() => undefined);
      return view?.state === 'active' || view?.state === 'failed';
    });
    assert.is(view?.state, 'active', JSON.stringify(view));
  }
  // What a cell has said of the end of a build may be on its way to the conductor yet, by which they are listed.
  await eventually('all are listed as active', async () => {
    const { instances } = await client.list({ limit: 1_000 });
    return instances.filter(({ state }) => state === 'active').length === ids.length;
  });
}

/**
 * Asks an actor one question after the other, and tells the longest time between two answers, ms. To be called when it
 * has just answered, and ended when it does again.
 */
function longestGap(ask: () => Promise<unknown>): { end(): Promise<{ gapMs: number; refused: string[] }> } {
  const refused: string[] = [];
  let over = false;
  let gapMs = 0;
  const asking = (async () => {
    let last = performance.now();
    while (!over) {
      try {
        await ask();
        const now = performance.now();
        gapMs = Math.max(gapMs, now - last);
        last = now;
      } catch (error) {
        refused.push(String(error));
      }
    }
  })();
  return {
    async end() {
      over = true;
      await asking;
      return { gapMs, refused };
    },
  };
}

test('ownership - a process that stops hands over without waiting for its lease to end, and no question meanwhile is refused', () =>
  withOwners(async (deployment, ownership) => {
    const { client } = deployment;
    const { first } = await twoOf(OWNERS, deployment, ownership, ACTORS, LONG_LEASE_MS);
    const ids = await Promise.all(Array.from({ length: FITS / 2 }, (_, n) => accepted(client, `a${n}x`)));
    await ownership.askCell();
    const gap = longestGap(ownership.askCell);
    assert.is(await first.end('SIGTERM'), 0);
    await ownership.owns('second', ACTORS);
    await ownership.askCell();
    const { gapMs, refused } = await gap.end();
    console.log(`planned hand-over of a cell: ${Math.round(gapMs)} ms between two answers`);
    assert.equal(refused, []);
    await allActive(client, ids);
  }));

test('ownership - an owner killed in the middle of builds is replaced within its lease, and every request ends', () =>
  withOwners(async (deployment, ownership) => {
    const { client } = deployment;
    const { first } = await twoOf([...OWNERS, 'conductor'], deployment, ownership, EVERY);
    const requests = Array.from({ length: FITS }, (_, n) => accepted(client, `k${n}x`));
    await requests[0];
    await ownership.askCell();
    const gap = longestGap(ownership.askCell);
    await first.end('SIGKILL');
    await ownership.owns('second', EVERY);
    await ownership.askCell();
    const { gapMs, refused } = await gap.end();
    assert.equal(refused, []);
    console.log(`crash of an owner with a lease of ${LEASE_MS} ms: ${Math.round(gapMs)} ms between two answers`);
    await allActive(client, await Promise.all(requests));
  }));

test('ownership - an owner held up for longer than its lease serves nothing afterwards, and stands by', () =>
  withOwners(async (deployment, ownership) => {
    const { client } = deployment;
    const { first, second } = await twoOf(OWNERS, deployment, ownership, ACTORS);
    const before = await Promise.all(Array.from({ length: FITS / 2 }, (_, n) => accepted(client, `s${n}x`)));
    await allActive(client, before);
    const ask = async (times: number) => {
      for (let time = 0; time < times; time += 1) await client.hosts({ cell: 'c1' });
    };
    /** Wakes the one that was held, and looks whether it answers what has gathered in its pipe. */
    const wake = async ({ child }: Process) => {
      const answered = ownership.epochsIn('cell/c1').length;
      const epoch = Math.max(...ownership.epochsIn('cell/c1'));
      child.kill('SIGCONT');
      await ask(200);
      // Who looks on hears of an answer by a connection of its own.
      await until('all answers are heard', () => ownership.epochsIn('cell/c1').length >= answered + 200);
      const after = ownership.epochsIn('cell/c1').slice(answered);
      assert.equal([...new Set(after)], [epoch], 'nobody answers in the name of an older tenure');
    };

    // Only questions, which need no record, so that nothing but the lease keeps it from answering.
    first.child.kill('SIGSTOP');
    await ownership.owns('second', ACTORS);
    await ask(50);
    await wake(first);

    // It stands by: the next to be held up is replaced by it. Now with orders, and a change that it must not undo.
    second.child.kill('SIGSTOP');
    await ownership.owns('first', ACTORS);
    await client.host({ cell: 'c1', host: 'h1', enabled: false, reason: 'while it was held' });
    const requests = Array.from({ length: FITS / 4 }, (_, n) => accepted(client, `t${n}x`));
    await requests[0];
    await wake(second);
    const { hosts } = await client.hosts({ cell: 'c1' });
    assert.is(hosts.find(({ host }) => host === 'h1')?.state, 'disabled');
    await client.host({ cell: 'c1', host: 'h1', enabled: true });
    const all = [...before, ...(await Promise.all(requests))];
    await allActive(client, all);
    for (const address of ACTORS) assert.is(await ownership.ownerOf(address), 'first');
    assert.is(await first.end('SIGTERM'), 0);
    await ownership.owns('second', ACTORS);
    await allActive(client, all);
  }));

test('ownership - a server that is away for longer than a lease comes back to one owner of each actor', () =>
  withOwners(async (deployment, ownership) => {
    const { client, server } = deployment;
    await twoOf([...OWNERS, 'conductor'], deployment, ownership, EVERY);
    const before = await Promise.all(Array.from({ length: FITS / 2 }, (_, n) => accepted(client, `v${n}x`)));
    await server.kill();
    const away = performance.now();
    await until('every lease is over', () => performance.now() - away > LEASE_MS * 1.5);
    await server.restart();
    const after = await Promise.all(Array.from({ length: FITS / 2 }, (_, n) => accepted(client, `w${n}x`)));
    await allActive(client, [...before, ...after]);
    for (const address of EVERY) assert.match((await ownership.ownerOf(address)) ?? '', /^(first|second)$/);
  }));

test('ownership - of two processes that start at once, one owns each actor and the other stands by', () =>
  withOwners(async ({ client, start }, { ownerOf }) => {
    const roles = [...OWNERS, 'conductor', 'scheduler'];
    const both = await Promise.all(['one', 'two'].map((name) => start(`name=${name}`, `lease=${LEASE_MS}`, ...roles)));
    for (const { said } of both) assert.is(said(), 'started\n');
    await start(...COMPUTES);
    await hostsUp(client, 'c1', COMPUTES.length);
    const ids = await Promise.all(Array.from({ length: FITS }, (_, n) => accepted(client, `b${n}x`)));
    await allActive(client, ids);
    for (const address of EVERY) assert.match((await ownerOf(address)) ?? '', /^(one|two)$/);
    assert.equal(await Promise.all(both.map((one) => one.end('SIGTERM'))), [0, 0]);
    for (const address of EVERY) assert.is(await ownerOf(address), null, address);
  }));

test.run();
