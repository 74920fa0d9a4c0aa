// A soak: a whole deployment of real processes under load, in which processes and the server are killed, stopped and
// restarted at random. When it is over and all is healed, every accepted request must have ended and nothing may be
// left over.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { auditOn } from '../../runtime/audit/auditor.ts';
import { connectNats } from '../../runtime/bus/nats.ts';
import { type Client, clientOf } from '../../runtime/client.ts';
import { seededRandom } from '../../runtime/random.ts';
import { play } from '../../runtime/replay/player.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { instanceIds } from '../../runtime/workload/workload.ts';
import { startTestServer } from '../support/nats-server.ts';
import { type Struck, wreak } from './chaos.ts';
import { keepCompany } from './company.ts';
import { doom } from './doom.ts';
import { doomedOf, type PlanOptions, processesOf, workloadOf } from './plan.ts';
import { memberOf } from './processes.ts';
import { type Wait, watchProgress } from './progress.ts';

export interface SoakOptions extends PlanOptions {
  readonly leaseTtlMs: number;
  /** From one blow to the next, on average, ms. */
  readonly everyMs: number;
  log(line: string): void;
}

export interface SoakResult {
  readonly accepted: number;
  readonly refused: number;
  /** Instances by the state in which they ended. */
  readonly ended: Readonly<Record<string, number>>;
  /** Accepted instances that the deployment does not know any more. */
  readonly lost: readonly string[];
  /** Accepted instances that had not ended when everything had been healed for long. */
  readonly stuck: readonly string[];
  readonly blows: readonly Struck[];
  /**
   * The longest that an instance waited from its request to the end of its build: while one process of owners was
   * killed and nothing else befell, while owners alone were struck, and near any blows.
   */
  readonly longestWaitMs: { readonly crash: number; readonly owners: number; readonly all: number };
  /** The longest of those waits, with what was struck meanwhile. */
  readonly longestWaits: readonly { readonly ms: number; readonly struck: readonly string[] }[];
  /** What the audit found. */
  readonly findings: readonly string[];
}

const FINAL = new Set(['active', 'failed', 'deleted', 'lost']);
/** Requests beside those of the workload, for each of them. */
const COMPANY_SHARE = 0.25;
const END_LIMIT_MS = 180_000;
const AUDIT_LIMIT_MS = 60_000;
const LOOK_EVERY_MS = 500;
const PAGE = 1_000;
const WAITS_TOLD = 20;

export async function soak(options: SoakOptions): Promise<SoakResult> {
  const { minutes, seed, leaseTtlMs, everyMs, log } = options;
  const folder = await mkdtemp(join(tmpdir(), 'cellwright-soak-'));
  const server = await startTestServer();
  const bus = await connectNats({
    servers: server.url,
    name: 'soak',
    reconnectWaitMs: 100,
    reconnectJitterMs: 100,
    onError() {},
  });
  const clock = systemClock();
  const subjects = subjectsOf('cw');
  const client = clientOf({ bus, clock, subjects });
  const workload = workloadOf(options);
  const members = processesOf(workload.hosts).map(({ name, roles }) => {
    const { trace, rate, shards } = options;
    const told = {
      name,
      seed,
      minutes,
      rate,
      shards,
      servers: server.url,
      roles,
      folder,
      leaseTtlMs,
      ...(trace === undefined ? {} : { trace }),
    };
    return memberOf(name, told, log);
  });
  const progress = watchProgress(bus, client);
  // Nothing goes from a folder by itself; what was on a host that is lost is lost with it.
  const missed = new Set<string>();
  bus.subscribe(subjects.event(['cell', '*', 'build', '*', 'missing']), ({ subject }) => missed.add(subject));
  /** The client, noting when each instance is asked for the first time. */
  const watched: Client = {
    ...client,
    build(request) {
      for (const id of instanceIds({ id: request.id ?? '', count: request.count ?? 1 })) progress.asked(id);
      return client.build(request);
    },
  };
  try {
    for (const member of members) await member.start();
    log(`${members.length} processes are up`);
    const over = new AbortController();
    const chaos = wreak({
      members: members.filter(({ name }) => !name.startsWith('doomed')),
      server,
      random: seededRandom(seed).fork('chaos'),
      leaseTtlMs,
      everyMs,
      signal: over.signal,
      log,
    });
    const { signal } = over;
    const company = keepCompany({
      // What waits for a host is held up by no blow.
      client,
      hosts: workload.hosts,
      random: seededRandom(seed).fork('company'),
      rate: options.rate * COMPANY_SHARE,
      signal,
    });
    const doomed = doomedOf(workload.hosts).map(({ cell, host }) => {
      const member = members.find(({ name }) => name === `doomed-${cell}`) as (typeof members)[number];
      return { cell, host, member };
    });
    const losses = doom({ client, doomed, folder, everyMs: (minutes * 60_000) / 4, signal, log });
    const { refused } = await play(workload.arrivals, {
      client: watched,
      clock,
      speed: workload.endMs / (minutes * 60_000),
      alternates: 2,
      hasFailed: () => false,
    });
    over.abort();
    const [blows, beside, { struck: lost, unfenced }] = await Promise.all([chaos, company, losses]);
    log('all is healed');
    const accepted = [...workload.arrivals].filter(({ id }) => !refused.has(id)).flatMap(instanceIds);
    accepted.push(...beside.accepted);
    const states = await endStates(accepted);
    const known = accepted.filter((id) => states.has(id));
    const waits = progress.waitsNear([...blows, ...lost]);
    const isCrash = (struck: Struck) => isOwner(struck) && struck.blow === 'kill';
    const isOwner = ({ whom }: Struck) => !/^(server|computes|doomed)/.test(whom);
    return {
      accepted: accepted.length,
      refused: refused.size + beside.refused,
      ended: countOf(known.map((id) => states.get(id) ?? '')),
      lost: accepted.filter((id) => !states.has(id)),
      stuck: known.filter((id) => !FINAL.has(states.get(id) ?? '')),
      blows,
      longestWaitMs: {
        crash: longest(waits, ({ blows: near }) => near.length === 1 && near.every(isCrash)),
        owners: longest(waits, ({ blows: near }) => near.every(isOwner)),
        all: longest(waits, () => true),
      },
      longestWaits: waits
        .slice(0, WAITS_TOLD)
        .map(({ ms, blows: near }) => ({ ms, struck: near.map(({ blow, whom }) => `${blow} ${whom}`) })),
      findings: [
        ...unfenced.map((host) => `host '${host}' could not be fenced`),
        ...[...missed].map((subject) => `what was there was told as missing: ${subject}`),
        ...(await findings()),
      ],
    };
  } finally {
    progress.stop();
    await Promise.all(members.map((member) => member.kill()));
    await bus.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  }

  /** What an audit finds, once it finds nothing or it has taken too long for what was owed. */
  async function findings(): Promise<string[]> {
    const deadline = Date.now() + AUDIT_LIMIT_MS;
    const cells = new Set(workload.hosts.map(({ cell }) => cell));
    for (;;) {
      const found = await auditOn({ bus, clock, subjects, cells, placementShards: options.shards, pauseMs: 2_000 });
      const told = [...found.findings.map(({ what }) => what), ...found.unknown];
      if (told.length === 0 || Date.now() > deadline) return told;
      log(`the audit still finds ${told.length}: ${told[0]}`);
    }
  }

  /** The state of every accepted instance, once all have ended or it has taken too long. */
  async function endStates(accepted: readonly string[]): Promise<Map<string, string>> {
    const deadline = Date.now() + END_LIMIT_MS;
    for (;;) {
      const states = await allStates().catch(() => null);
      const isOver = states !== null && accepted.every((id) => FINAL.has(states.get(id) ?? ''));
      if (states !== null && (isOver || Date.now() > deadline)) return states;
      await delay(LOOK_EVERY_MS);
    }
  }

  async function allStates(): Promise<Map<string, string>> {
    const states = new Map<string, string>();
    for (let after: string | undefined; ; ) {
      const { instances, next } = await client.list({ limit: PAGE, ...(after === undefined ? {} : { after }) });
      for (const { instance, state } of instances) states.set(instance, state);
      if (next === null) return states;
      after = next;
    }
  }
}

function longest(waits: readonly Wait[], isMeant: (wait: Wait) => boolean): number {
  return waits.find(isMeant)?.ms ?? 0;
}

function countOf(states: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const state of states) counts[state] = (counts[state] ?? 0) + 1;
  return counts;
}
