// What a node stands on, chosen by its options: the bus, the journals, the leases. And the checks of those options that
// are numbers.

import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Address } from '../actors/actor.ts';
import { present } from '../actors/present.ts';
import type { Bus } from './bus/bus.ts';
import { connectNats, type NatsBus } from './bus/nats.ts';
import { shownAddresses } from './bus/nats-addresses.ts';
import type { NatsStatus } from './bus/nats-options.ts';
import type { Clock } from './clock.ts';
import { agreedWithServed, settleShards } from './deployment.ts';
import type { Sharded } from './deployment-served.ts';
import { CellwrightError } from './errors.ts';
import { jetStreamJournals } from './journal/jetstream.ts';
import type { Journal, Journals } from './journal/journal.ts';
import { memoryJournals } from './journal/memory.ts';
import { guardedJournal } from './journal/own-journal.ts';
import { type NatsServer, startNatsServer } from './nats-server/server.ts';
import type { NodeOptions } from './node-options.ts';
import { faultInMade } from './objects.ts';
import { jetStreamLeases } from './ownership/jetstream.ts';
import type { Leases } from './ownership/leases.ts';
import { guardedLeases } from './ownership/own-leases.ts';
import { patiently } from './patience.ts';
import { payloadCheck } from './payload-check.ts';
import type { Subjects } from './subjects.ts';

/** How much of a lease one read or write of it may take: so that a renewal can be tried again in time. */
const LEASE_TIMEOUT_SHARE = 0.25;
const LEASE_TTL_LIMITS_MS = { least: 500, most: 600_000 };

interface Surroundings {
  readonly name: string;
  readonly logger: Logger;
  onError(error: unknown, what: string): void;
  onReconnected(): void;
}

/** What is wrong with an option of the connection, or of the server, named as a node has it: `under` others. */
function amongNodeOptions(under: 'nats' | 'nats.managed') {
  return (error: unknown): never => {
    if (!(error instanceof CellwrightError) || error.field === undefined) throw error;
    const { code, message, field, retryable } = error;
    const [option] = field.split('.') as [string];
    const told = message.startsWith(option) ? `${under}.${message}` : message;
    throw new CellwrightError(code, told, { field: `${under}.${field}`, retryable, cause: error });
  };
}

export async function busOf(
  { bus, nats = {} }: NodeOptions,
  { name, logger, onError, onReconnected }: Surroundings,
): Promise<{ bus: Bus; nats?: NatsBus; server?: NatsServer; url: string | null }> {
  if (bus !== undefined) return { bus, url: null };
  const { managed, servers, loopback = true, ...rest } = nats;
  const checkPayload = payloadCheck(onError);
  let connected: NatsBus | undefined;
  const onStatus = (status: NatsStatus) => {
    logStatus(status, name, logger);
    if (status.type === 'reconnected') {
      if (connected !== undefined) checkPayload(connected);
      onReconnected();
    }
    return rest.onStatus?.(status);
  };
  const connectedTo = async (servers: string | readonly string[]) => {
    connected = await connectNats({ servers, name, onError, loopback, ...rest, onStatus }).catch(
      amongNodeOptions('nats'),
    );
    checkPayload(connected);
    return connected;
  };
  if (servers !== undefined) {
    const joined = await connectedTo(servers);
    return { bus: joined, nats: joined, url: shownAddresses(servers, ',') };
  }
  const onEnded = (why: string) => {
    const message = `the NATS server of this node has ended (${why}): nothing starts it again, so start the node anew`;
    onError(new CellwrightError('nats-server-ended', message), 'the managed server');
    return managed?.onEnded?.(why);
  };
  const logFault = faultLog(name, logger);
  const log = (line: string) => {
    logFault(line);
    return managed?.log?.(line);
  };
  const starting = startNatsServer({ ...managed, log, onEnded, ...present({ signal: rest.signal }) });
  const server = await starting.catch(amongNodeOptions('nats.managed'));
  try {
    const joined = await connectedTo(server.url);
    return { bus: joined, nats: joined, server, url: server.url };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** Warns of what a server that runs for this node alone logs as an error, such as a full disk: nobody else reads that. */
function faultLog(node: string, logger: Logger): (line: string) => void {
  let before: string | undefined;
  return (line) => {
    const fault = /\[(?:ERR|FTL)\] (.*)/.exec(line)?.[1];
    if (fault === undefined || fault === before) return;
    before = fault;
    logger.warn({ node, error: fault }, `the NATS server of this node says: ${fault}`);
  };
}

/** That it is back is a warning, too: whoever has read the first looks for it. */
function logStatus(status: NatsStatus, node: string, logger: Logger): void {
  if (status.type === 'disconnected') {
    const { server } = status;
    logger.warn({ node, server }, `disconnected from nats://${server}`);
  } else if (status.type === 'reconnected') {
    const { server, resent, dropped } = status;
    logger.warn({ node, server, resent, dropped }, `connected again, to nats://${server}`);
  } else if (status.type === 'lame-duck') {
    const { server } = status;
    logger.info({ node, server }, `nats://${server} is about to stop`);
  } else if (status.error !== undefined) {
    const { message } = status.error;
    logger.error({ node, error: message }, `the connection to NATS has ended for good: ${message}`);
  }
}

export function journalsOf(
  { journals, replicas = 1 }: NodeOptions,
  {
    clock,
    subjects,
    nats,
    onError,
  }: {
    clock: Clock;
    subjects: Subjects;
    nats: NatsBus | undefined;
    onError(error: unknown, what: string): void;
  },
): Journals {
  if (typeof journals === 'function') return (owner) => checkedJournal(journals(owner), owner, clock);
  if (journals === 'memory' || (journals === undefined && nats === undefined)) return memoryJournals({ clock });
  if (nats !== undefined) return jetStreamJournals({ bus: nats, clock, subjects, replicas, onError });
  throw new CellwrightError('bad-option', "journals can be 'jetstream' only on NATS", { field: 'journals' });
}

const JOURNAL_METHODS = ['open', 'append', 'beginSnapshot', 'close'] as const satisfies (keyof Journal<unknown>)[];

/** @throws CellwrightError `bad-option` for what a function of the embedder's made that is no journal. */
function checkedJournal<R>(made: Journal<R>, owner: Address, clock: Clock): Journal<R> {
  const bad = (what: string) =>
    new CellwrightError('bad-option', `the journal of '${owner}' ${what}`, { field: 'journals' });
  const fault = faultInMade(made, JOURNAL_METHODS);
  if (fault !== null) throw bad(fault);
  return guardedJournal(made, owner, clock);
}

interface Ports {
  readonly clock: Clock;
  readonly bus: Bus;
  readonly nats: NatsBus | undefined;
  readonly subjects: Subjects;
  onError(error: unknown, what: string): void;
}

/** The number of shards of a kind, as the deployment keeps it where its journals are kept too. */
export async function shardsFor(
  kind: Sharded,
  { journals, placementShards, conductorShards, replicas = 1 }: NodeOptions,
  { bus, nats, subjects, clock, onError }: Ports,
): Promise<number> {
  const wanted = kind === 'placement' ? placementShards : conductorShards;
  if (nats === undefined || (journals !== undefined && journals !== 'jetstream')) {
    const inbox = nats?.inbox() ?? `_INBOX.${randomUUID()}`;
    return agreedWithServed(kind, { bus, inbox, subjects, clock }, wanted);
  }
  const what = `reading the number of ${kind} shards`;
  return patiently(() => settleShards(kind, { bus: nats, subjects, replicas }, wanted), { clock, what, onError });
}

/** Leases `jetstream` without NATS are refused before. */
export function leasesOf(
  { journals, leases, replicas = 1 }: NodeOptions,
  { nats, subjects, ttlMs, clock }: { nats: NatsBus | undefined; subjects: Subjects; ttlMs: number; clock: Clock },
): Leases | undefined {
  if (typeof leases === 'object') return guardedLeases(leases, ttlMs * LEASE_TIMEOUT_SHARE, clock);
  const areWithJournals = leases === undefined && (journals === undefined || journals === 'jetstream');
  if (nats === undefined || !(leases === 'jetstream' || areWithJournals)) return undefined;
  return jetStreamLeases({ bus: nats, clock, subjects, replicas, timeoutMs: ttlMs * LEASE_TIMEOUT_SHARE });
}

export function checkLeaseTtl(ttlMs: number): number {
  const { least, most } = LEASE_TTL_LIMITS_MS;
  if (Number.isInteger(ttlMs) && ttlMs >= least && ttlMs <= most) return ttlMs;
  const message = `leaseTtlMs must be a whole number of milliseconds from ${least} to ${most}`;
  throw new CellwrightError('bad-option', message, { field: 'leaseTtlMs' });
}
