// The API: `<prefix>.api.<verb>`, for people and programs, in MessagePack or JSON and answered in kind. Every request
// gets exactly one answer: what was asked for, or `{ error: { code, message, field? } }`.

import { randomUUID } from 'node:crypto';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { cellAddress, conductorAddress, conductorShardOf, instanceNames } from '../../actors/routing.ts';
import type { Bus, BusMessage, Endpoint } from '../bus/bus.ts';
import type { Clock } from '../clock.ts';
import { decode, encode, encodeJson, isJson } from '../codec.ts';
import { CellwrightError, MalformedError, messageOf, TimeoutError } from '../errors.ts';
import { HEADERS } from '../frames.ts';
import type { Subjects } from '../subjects.ts';
import type { Asking } from './asking.ts';
import {
  type BuildRequest,
  checks,
  type HostRequest,
  type HostsRequest,
  type InstanceRequest,
  type ListRequest,
  specOf,
  type Verb,
} from './requests.ts';

/**
 * The largest body that the API takes, bytes, and never more than a quarter of what the bus carries: on its way to a
 * host a build takes along what was chosen for it, and must fit a message still.
 */
export const MAX_REQUEST_BYTES = 256 * 1024;
/** How deep a payload may be nested: it is kept, and sent on, within other things, which have a limit together. */
const MAX_PAYLOAD_DEPTH = 48;
const DEFAULT_ALTERNATES = 2;
const DEFAULT_LIMIT = 100;
/** How long to wait for a cell, ms, when what it said last will do. */
const SILENT_CELL_MS = 2_000;

/** The answer to `build`. The builds go on after it. */
export interface BuildAnswer {
  readonly request: string;
  readonly instances: readonly string[];
}

/** The answer to `list`. */
export interface ListAnswer {
  readonly instances: readonly InstanceView[];
  /** Give it as `after` for the next page; null at the end. */
  readonly next: string | null;
}

export interface GatewayOptions {
  readonly asking: Asking;
  readonly conductorShards: number;
  readonly bus: Bus;
  readonly subjects: Subjects;
  /** Told of an answer that could not be sent. */
  readonly clock: Clock;
  onError(error: unknown, what: string): void;
}

export interface Gateway {
  /** One a verb. */
  readonly endpoints: readonly Endpoint[];
  /** What a verb was asked and how long it took, the actors included: for `nats micro info` and `stats`. */
  stats(verb: string): Readonly<Record<string, number>>;
  /** Resolves when every request that has come so far is answered. */
  answered(): Promise<void>;
}

export function gatewayOf({ asking, conductorShards, bus, subjects, onError, clock }: GatewayOptions): Gateway {
  const conductorOf = (instance: string) => conductorAddress(conductorShardOf(instance, conductorShards));

  async function build(request: BuildRequest, traceparent: string | undefined): Promise<BuildAnswer> {
    if (!isShallow(request.payload, MAX_PAYLOAD_DEPTH))
      throw new MalformedError(`'payload' is nested deeper than ${MAX_PAYLOAD_DEPTH}`, { field: 'payload' });
    const id = request.id ?? `i-${randomUUID()}`;
    const count = request.count ?? 1;
    const names = instanceNames(id, count);
    const longest = names.at(-1) as string;
    if (longest.length > 64)
      throw new MalformedError(`'id' is too long: the instance '${longest}' has over 64 characters`, { field: 'id' });
    const answer = await asking.ask(
      conductorOf(names[0] as string),
      {
        type: 'build',
        request: id,
        count,
        alternates: request.alternates ?? DEFAULT_ALTERNATES,
        spec: specOf(request),
        ...(request.project === undefined ? {} : { project: request.project }),
        ...(request.payload === undefined ? {} : { payload: request.payload }),
        ...(traceparent === undefined ? {} : { traceparent }),
      },
      'build-accepted',
    );
    return { request: answer.request, instances: answer.instances };
  }

  async function remove({ id }: InstanceRequest): Promise<{ id: string; state: string }> {
    const answer = await asking.ask(conductorOf(id), { type: 'delete', instance: id }, 'delete-accepted');
    return { id, state: answer.state };
  }

  /** The conductor says where the instance is; its cell, if it has one, says how it is. */
  async function show({ id }: InstanceRequest): Promise<InstanceView> {
    const { view } = await asking.ask(conductorOf(id), { type: 'show', instance: id }, 'shown');
    if (view === null) throw new CellwrightError('not-found', `there is no instance '${id}'`, { field: 'id' });
    if (view.cell === undefined || view.state === 'deleted') return view;
    try {
      const question = { type: 'show' as const, instance: id };
      const inCell = await asking.ask(cellAddress(view.cell), question, 'shown', SILENT_CELL_MS);
      return inCell.view ?? view;
    } catch (error) {
      // The cell does not answer: what it said last is said, and that it is no more than that.
      const silent = error instanceof TimeoutError || (error instanceof CellwrightError && error.code === 'no-owner');
      if (!silent) throw error;
      return {
        ...view,
        state: 'unknown',
        failure: { code: 'cell-silent', message: `cell '${view.cell}' does not answer; last known: ${view.state}` },
      };
    }
  }

  async function list({ cell, after, limit = DEFAULT_LIMIT }: ListRequest): Promise<ListAnswer> {
    const question = { type: 'list' as const, limit, ...(after === undefined ? {} : { after }) };
    if (cell !== undefined) {
      const { instances, next } = await ofCell(asking.ask(cellAddress(cell), question, 'listed'));
      return { instances, next };
    }
    const shards = Array.from({ length: conductorShards }, (_, shard) => conductorAddress(shard));
    const pages = await Promise.all(shards.map((shard) => asking.ask(shard, question, 'listed')));
    const all = pages
      .flatMap(({ instances }) => instances)
      .sort((one, other) => (one.instance < other.instance ? -1 : 1));
    // Beyond the end of a page that has a next one, there may be instances that nobody told.
    const ends = pages.map(({ next }) => next).filter((next) => next !== null);
    const told = all.filter(({ instance }) => ends.every((end) => instance <= end));
    const instances = told.slice(0, limit);
    const more = told.length > limit || ends.length > 0;
    return { instances, next: more ? (instances.at(-1)?.instance ?? null) : null };
  }

  async function hosts({
    cell,
    after,
    limit = DEFAULT_LIMIT,
  }: HostsRequest): Promise<{ hosts: readonly HostState[]; next: string | null }> {
    const question = { type: 'list-hosts' as const, limit, ...(after === undefined ? {} : { after }) };
    const answer = await ofCell(asking.ask(cellAddress(cell), question, 'hosts'));
    return { hosts: answer.hosts, next: answer.next };
  }

  async function host({ cell, ...what }: HostRequest): Promise<{ cell: string; host: string; state: string }> {
    const answer = await ofCell(asking.ask(cellAddress(cell), { type: 'set-host', ...what }, 'host-set'));
    return { cell, host: answer.host, state: answer.state };
  }

  /** Whoever named a cell that nobody serves now, or that there never was, is told the field. */
  async function ofCell<Answer>(asked: Promise<Answer>): Promise<Answer> {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof CellwrightError) || error.code !== 'no-owner') throw error;
      throw new CellwrightError(error.code, error.message, { field: 'cell', retryable: true, cause: error });
    }
  }

  const verbs: Record<Verb, (request: never, traceparent: string | undefined) => Promise<object>> = {
    build,
    delete: remove,
    show,
    list,
    hosts,
    host,
  };

  async function answer(verb: Verb, { data, headers }: BusMessage, reply: string): Promise<'answered' | 'refused'> {
    // What cannot be read is answered in JSON, which people can read.
    let json = true;
    try {
      const request = data.length === 0 ? {} : decode(data, Math.min(MAX_REQUEST_BYTES, bus.maxPayloadBytes / 4));
      json = data.length === 0 || isJson(data);
      const fault = checks[verb](request);
      if (fault !== null) throw fault;
      const body = await verbs[verb](request as never, headers[HEADERS.traceparent]);
      bus.publish(reply, json ? encodeJson(body) : encode(body));
      return 'answered';
    } catch (error) {
      const fault = error instanceof CellwrightError ? error : new CellwrightError('internal', messageOf(error));
      const errorHeaders = { 'Nats-Service-Error': oneLine(fault.message), 'Nats-Service-Error-Code': statusOf(fault) };
      const body = { error: fault.toJSON() };
      bus.publish(reply, json ? encodeJson(body) : encode(body), { headers: errorHeaders });
      return 'refused';
    }
  }

  const figures = new Map(Object.keys(verbs).map((verb) => [verb, { answered: 0, refused: 0, tookMs: 0 }]));

  async function serve(verb: Verb, message: BusMessage, reply: string): Promise<void> {
    const begun = clock.now();
    const outcome = await answer(verb, message, reply);
    const figure = figures.get(verb);
    if (figure === undefined) return;
    figure[outcome] += 1;
    figure.tookMs += clock.now() - begun;
  }

  const underWay = new Set<Promise<void>>();

  const endpoints = (Object.keys(verbs) as Verb[]).map((verb) => ({
    name: verb,
    subject: subjects.api(verb),
    handler: (message: BusMessage) => {
      const { reply } = message;
      if (reply === undefined) return;
      // A reply subject on which nothing can be published, or a bus that is closed by now.
      const serving = serve(verb, message, reply).catch((error) => onError(error, `an answer to '${verb}'`));
      underWay.add(serving);
      void serving.then(() => underWay.delete(serving));
    },
  }));

  return {
    endpoints,
    stats(verb) {
      const { answered = 0, refused = 0, tookMs = 0 } = figures.get(verb) ?? {};
      const asked = answered + refused;
      return { answered, refused, averageMs: asked === 0 ? 0 : Math.round(tookMs / asked) };
    },
    async answered() {
      await Promise.all(underWay);
    },
  };
}

function isShallow(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((item) => isShallow(item, depth - 1));
}

/** What a header can carry. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 512).trim();
}

function statusOf({ code, retryable }: CellwrightError): string {
  if (code === 'not-found') return '404';
  if (code === 'already-exists') return '409';
  if (code === 'malformed') return '400';
  return retryable ? '503' : '500';
}
