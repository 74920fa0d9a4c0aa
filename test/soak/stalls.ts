// `npm run stalls`: for how long a crash holds up what is built. Under a steady load the owner of each role is killed, a
// few times, while another process stands by; what is told is the longest time that an instance took, of those that were
// on their way then, from the answer that it is accepted to the end of its build.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Command } from 'commander';
import { connectNats } from '../../runtime/bus/nats.ts';
import { positiveNumber, wholeNumber } from '../../runtime/cli/options.ts';
import { clientOf } from '../../runtime/client.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { startTestServer } from '../support/nats-server.ts';
import { endEarly, ownTemporaryFolder } from '../support/script.ts';
import { answered } from './company.ts';
import { processesOf, workloadOf } from './plan.ts';
import { memberOf } from './processes.ts';

interface Flags {
  lease: number;
  times: number;
  rate: number;
}

const { lease, times, rate } = new Command('stalls')
  .description('for how long the crash of an owner holds up what is built')
  .option('--lease <seconds>', 'for how long an owner that is silent keeps its place', positiveNumber(3_600), 5)
  .option('--times <number>', 'how often each role is killed', wholeNumber(1, 1_000), 5)
  .option('--rate <number>', 'requests a second', positiveNumber(1e6), 10)
  .parse()
  .opts<Flags>();

/** The role that is killed, and the lease by which its owner is found; schedulers have none, and serve together. */
const ROLES = { placement: 'placement.0', conductor: 'conductor.0', cells: 'cell.c1', scheduler: null } as const;
const CALM_MS = 3_000;
const leaseTtlMs = lease * 1_000;
const plan = { seed: 1, minutes: 1, rate: 20, shards: 1 };
const { hosts } = workloadOf(plan);

interface Wait {
  readonly askedAt: number;
  acceptedAt: number;
  endedAt: number;
}

endEarly('stalls');
ownTemporaryFolder('cellwright-stalls-');
const folder = await mkdtemp(join(tmpdir(), 'cellwright-stalls-'));
const server = await startTestServer();
const bus = await connectNats({ servers: server.url, name: 'stalls', onError() {} });
const client = clientOf({ bus, clock: systemClock(), subjects: subjectsOf('cw') });
const members = processesOf(hosts).map(({ name, roles }) => {
  const told = { ...plan, name, servers: server.url, roles, folder, leaseTtlMs, failRate: 0, longestMs: 50 };
  return memberOf(name, told, () => {});
});
const waits: Wait[] = [];
const open = new Map<string, Wait>();
const subscription = bus.subscribe('cw.cell.*.build.*.active', ({ subject }) => {
  const wait = open.get(subject.split('.').at(-2) ?? '');
  if (wait !== undefined) wait.endedAt = Date.now();
});

let count = 0;
async function one(): Promise<void> {
  count += 1;
  const id = `s-${count}`;
  const wait = { askedAt: Date.now(), acceptedAt: 0, endedAt: 0 };
  open.set(id, wait);
  waits.push(wait);
  if (!(await answered(() => client.build({ id, resources: { VCPU: 1 } })))) throw new Error(`'${id}' is not accepted`);
  wait.acceptedAt = Date.now();
  const { state } = await client.ended(id);
  if (state !== 'active') throw new Error(`'${id}' is ${state}`);
  if (wait.endedAt === 0) wait.endedAt = Date.now();
  open.delete(id);
  await answered(() => client.delete(id));
}

async function ownerOf(key: string): Promise<string> {
  const bucket = await bus.connection.jetstream().views.kv('cw_leases');
  const lease = await bucket.get(key);
  return lease?.json<{ owner: string | null }>().owner ?? '';
}

const seconds = (ms: number) => (ms / 1_000).toFixed(2).padStart(6);
const longest = (some: readonly number[]) => Math.max(0, ...some);

try {
  for (const member of members) await member.start();
  const under: Promise<void>[] = [];
  const load = setInterval(() => under.push(one()), 1_000 / rate);
  await delay(CALM_MS);
  const calm = waits.filter(({ endedAt }) => endedAt > 0).map(({ acceptedAt, endedAt }) => endedAt - acceptedAt);
  console.log(`lease ${lease} s, ${rate} requests a second; undisturbed at most ${seconds(longest(calm))} s`);
  console.log('seconds from accepted to active, and from the first request to active, the longest near each kill:');
  for (const [role, key] of Object.entries(ROLES)) {
    const told: string[] = [];
    for (let time = 0; time < times; time += 1) {
      const owner = key === null ? `${role}-${time % 2 === 0 ? 'a' : 'b'}` : await ownerOf(key);
      const victim = members.find(({ name }) => name === owner);
      if (victim === undefined) throw new Error(`no process is named '${owner}'`);
      const at = Date.now();
      await victim.kill();
      await delay(leaseTtlMs + CALM_MS);
      const near = () =>
        waits.filter(({ askedAt, endedAt }) => askedAt <= at + leaseTtlMs && (endedAt === 0 || endedAt >= at));
      while (near().some(({ endedAt }) => endedAt === 0)) await delay(100);
      const accepted = longest(near().map(({ acceptedAt, endedAt }) => endedAt - acceptedAt));
      const asked = longest(near().map(({ askedAt, endedAt }) => endedAt - askedAt));
      told.push(`${seconds(accepted)} ${seconds(asked)}`);
      await victim.start();
      await delay(CALM_MS);
    }
    console.log(`${role.padEnd(10)} ${told.join('  |')}`);
  }
  clearInterval(load);
  await Promise.all(under);
} finally {
  subscription.unsubscribe();
  await Promise.all(members.map((member) => member.kill()));
  await bus.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
}
