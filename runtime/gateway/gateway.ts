// The API: `<prefix>.api.<verb>`, for people and programs, in MessagePack or JSON and answered in kind. Every request
// gets exactly one answer: what was asked for, or `{ error: { code, message, field? } }`.

import { randomUUID } from 'node:crypto';
import { clipped, MAX_TRACEPARENT_LENGTH } from '../../actors/messages/common.ts';
import type { FailedInstances } from '../../actors/messages/gateway.ts';
import { DEFAULT_ALTERNATES } from '../../actors/messages/limits.ts';
import { PassingSet } from '../../actors/passing-set.ts';
import { present } from '../../actors/present.ts';
import { cellAddress, conductorAddress, conductorShardOf } from '../../actors/routing.ts';
import type { Aggregates } from '../aggregates.ts';
import type { Bus, BusMessage, Endpoint } from '../bus/bus.ts';
import { isPublishable } from '../bus/wire.ts';
import type { Clock } from '../clock.ts';
import { decode, encode, encodeJson, isJson } from '../codec.ts';
import { CellwrightError, MalformedError, messageOf } from '../errors.ts';
import { HEADERS } from '../frames.ts';
import { refuseRepeats } from '../json-text.ts';
import type { Subjects } from '../subjects.ts';
import { Admission } from './admission.ts';
import type { Asking } from './asking.ts';
import { Copies } from './copies.ts';
import { explainingOf } from './explaining.ts';
import { lookingOf, notFound, ofCell, SILENT_CELL_MS } from './looking.ts';
import { pacingOf, unpaced } from './pacing.ts';
import { asManyAsFit } from './page-size.ts';
import { placingOf } from './placing.ts';
import { questioningOf } from './questioning.ts';
import {
  type BuildRequest,
  type CellRequest,
  checkRequest,
  type HostRequest,
  type InstanceRequest,
  namesOf,
  refuseTooMuchToClaim,
  requestOf,
  specOf,
  type Verb,
} from './requests.ts';

/**
 * The largest body that the API takes, bytes, and never more than a quarter of what the bus carries: on its way to a
 * host a build takes along what was chosen for it, and must fit a message still.
 */
const MAX_REQUEST_BYTES = 256 * 1024;
/** How much of a reply subject is told. */
const MAX_REPLY_TOLD = 80;

/** The answer to `build`. The builds go on after it. */
export interface BuildAnswer {
  readonly request: string;
  readonly instances: readonly string[];
  /**
   * Of a request that was sent before: those of its instances that have failed or are lost since, as far as the conductor
   * has heard, with why the first of them has. They are not built again. Absent when there are none.
   */
  readonly failed?: FailedInstances;
}

/** The answer to `host`. */
export interface HostAnswer {
  readonly cell: string;
  readonly host: string;
  /** That of the host from then on, as `hosts` tells it; `removed` of one that is no more. */
  readonly state: string;
  /**
   * Of one that is down or fenced: why it is disabled when it comes back; absent when it is not. Of one that was put back
   * into service: why it is disabled all the same, with its cell.
   */
  readonly disabled?: string;
}

/** The answer to `cell`. */
export interface CellAnswer {
  readonly cell: string;
  readonly enabled: boolean;
  /** Why it is out of service, if it is. */
  readonly reason?: string;
  /** How often it was set. */
  readonly revision: number;
}

export interface GatewayOptions {
  readonly asking: Asking;
  readonly conductorShards: number;
  readonly aggregates: Aggregates;
  readonly bus: Bus;
  /** Messages do not travel: to send several together saves nothing. */
  readonly isInMemory: boolean;
  readonly subjects: Subjects;
  readonly clock: Clock;
  /** Told of an answer that could not be sent. */
  onError(error: unknown, what: string): void;
}

export interface Gateway {
  /** One a verb. */
  readonly endpoints: readonly Endpoint[];
  /** What a verb was asked and how long it took, the actors included: for `nats micro info` and `stats`. */
  stats(verb: string): Readonly<Record<string, number>>;
  /** Nobody is admitted any more: whoever waits in line is told that the node is stopping. */
  stop(): void;
  /** Resolves when every request that has come so far is answered. */
  answered(): Promise<void>;
}

export function gatewayOf(options: GatewayOptions): Gateway {
  const { asking, conductorShards, aggregates, bus, isInMemory, subjects, onError, clock } = options;
  const { show, list, cells, hosts } = lookingOf({ asking, conductorShards });
  const { explain, known } = explainingOf({ asking, conductorShards });
  const { fit, whyNot } = questioningOf({ asking, conductorShards, known, aggregates });
  const pacing = isInMemory ? unpaced : pacingOf(clock);
  const admissions = Array.from(
    { length: conductorShards },
    (_, shard) => new Admission(clock, conductorAddress(shard)),
  );
  const copies = new Copies();

  function build(request: BuildRequest, traceparent: string | undefined): Promise<BuildAnswer> {
    const { id } = request;
    if (id === undefined) return buildAs(`i-${randomUUID()}`, request, traceparent);
    return copies.answer(`build ${id}`, { request, traceparent }, () => buildAs(id, request, traceparent));
  }

  async function buildAs(id: string, request: BuildRequest, traceparent: string | undefined): Promise<BuildAnswer> {
    const names = namesOf(request, id);
    // What was asked of them before is not the same as what is asked after they are built.
    for (const name of names) copies.forget(`delete ${name}`);
    const { project, payload } = request;
    const asked = specOf(request);
    const { tree, where } = placingOf(request.placement, { project, spec: asked }, aggregates);
    const spec = { ...asked, ...present({ tree }) };
    refuseTooMuchToClaim(spec, request);
    const question = {
      type: 'build' as const,
      request: id,
      count: names.length,
      alternates: request.alternates ?? DEFAULT_ALTERNATES,
      spec,
      ...present({ where, project, waitMs: request.wait?.forMs, payload, traceparent }),
    };
    const inStep = pacing.join();
    if (inStep !== null) await inStep;
    const shard = conductorShardOf(names[0] as string, conductorShards);
    return (admissions[shard] as Admission).enter(id, async () => {
      const { instances, failed } = await asking.ask(conductorAddress(shard), question, 'build-accepted');
      return { request: id, instances, ...present({ failed }) };
    });
  }

  /** What is asked about a build that waits in line must not overtake it; null: it does not wait. */
  function behindBuild(about: string): Promise<void> | null {
    const admission = admissions[conductorShardOf(about, conductorShards)] as Admission;
    return admission.behind(about) ?? admission.behind(requestOf(about));
  }

  function remove({ id }: InstanceRequest): Promise<{ id: string; state: string }> {
    const what = `delete ${id}`;
    const shard = conductorShardOf(id, conductorShards);
    return copies.answer(what, {}, () => (admissions[shard] as Admission).enter(what, () => removeFrom(shard, id)));
  }

  async function removeFrom(shard: number, id: string): Promise<{ id: string; state: string }> {
    try {
      const question = { type: 'delete' as const, instance: id };
      const { state } = await asking.ask(conductorAddress(shard), question, 'delete-accepted');
      return { id, state };
    } catch (error) {
      if (error instanceof CellwrightError && error.code === 'not-found') {
        throw await notFound({ asking, conductorShards }, id);
      }
      throw error;
    }
  }

  async function host(request: HostRequest): Promise<HostAnswer> {
    const { cell } = request;
    const question = hostQuestion(request);
    // Of a host that is to be removed placement is asked first.
    const waitMs = question.type === 'remove-host' ? undefined : SILENT_CELL_MS;
    const answer = await ofCell(asking.ask(cellAddress(cell), question, 'host-set', waitMs));
    return { cell, host: answer.host, state: answer.state, ...present({ disabled: answer.disabled }) };
  }

  async function cell({ cell, ...asked }: CellRequest): Promise<CellAnswer> {
    if (asked.reason !== undefined && asked.enabled === undefined) {
      throw new MalformedError("'reason' of the cell request says nothing without 'enabled'", { field: 'reason' });
    }
    const question = { type: 'set-cell' as const, ...asked };
    const { disabled, revision } = await ofCell(asking.ask(cellAddress(cell), question, 'cell-set', SILENT_CELL_MS));
    return { cell, enabled: disabled === undefined, ...present({ reason: disabled }), revision };
  }

  const verbs: Record<Verb, (request: never, traceparent: string | undefined) => Promise<object>> = {
    build,
    delete: remove,
    show,
    explain,
    'why-not': whyNot,
    fit,
    list,
    cells,
    hosts,
    host,
    cell,
  };

  async function answer(verb: Verb, { data, headers }: BusMessage, reply: string): Promise<'answered' | 'refused'> {
    // What cannot be read is answered in JSON, which people can read.
    let json = true;
    try {
      const request = data.length === 0 ? {} : decode(data, Math.min(MAX_REQUEST_BYTES, bus.maxPayloadBytes / 4));
      json = data.length === 0 || isJson(data);
      if (json) refuseRepeats(Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString());
      checkRequest(verb, request);
      const traceparent = traceparentOf(headers);
      if (verb !== 'build') {
        const { id = '' } = request as { id?: string };
        // What is built after it is no copy of what was built before.
        if (verb === 'delete') for (const name of [id, requestOf(id)]) copies.forget(`build ${name}`);
        // It goes on in the same moment as builds do, so that neither overtakes the other.
        const inStep = pacing.behind();
        if (inStep !== null) await inStep;
        // A deletion has its own place in that line: it would else wait for the build, and then for its turn. A dry run
        // is about no build, whatever id it gives.
        const inLine = verb === 'delete' || verb === 'fit' ? null : behindBuild(id);
        if (inLine !== null) await inLine;
      }
      const body = await verbs[verb](request as never, traceparent);
      bus.publish(reply, asManyAsFit(body, json ? encodeJson : encode, bus.maxPayloadBytes));
      return 'answered';
    } catch (error) {
      const fault = error instanceof CellwrightError ? error : new CellwrightError('internal', messageOf(error));
      const errorHeaders = { 'Nats-Service-Error': oneLine(fault.message), 'Nats-Service-Error-Code': statusOf(fault) };
      const body = { error: fault.toJSON() };
      bus.publish(reply, json ? encodeJson(body) : encode(body), { headers: errorHeaders });
      return 'refused';
    }
  }

  /**
   * Whoever asks may not be allowed to publish what this process may: to actors, journals and what the server itself
   * hears. No answer goes there on his behalf, nor can one go to a subject that is too long.
   */
  const mayBeAnswered = (reply: string): boolean =>
    !reply.startsWith(`${subjects.prefix}.`) && !reply.startsWith('$') && isPublishable(reply);

  const figures = new Map(Object.keys(verbs).map((verb) => [verb, { answered: 0, refused: 0, tookMs: 0 }]));

  async function serve(verb: Verb, message: BusMessage, reply: string): Promise<void> {
    const begun = clock.monotonic();
    const outcome = await answer(verb, message, reply);
    const figure = figures.get(verb);
    if (figure === undefined) return;
    figure[outcome] += 1;
    figure.tookMs += clock.monotonic() - begun;
  }

  const underWay = new PassingSet<Promise<void>>();

  const endpoints = (Object.keys(verbs) as Verb[]).map((verb) => ({
    name: verb,
    subject: subjects.api(verb),
    handler: (message: BusMessage) => {
      const { reply } = message;
      if (reply === undefined) return;
      if (!mayBeAnswered(reply)) {
        const why = `the answer is wanted on '${clipped(reply, MAX_REPLY_TOLD)}', which is no inbox: nothing was done`;
        return onError(new MalformedError(why, { field: 'reply' }), `a request for '${verb}'`);
      }
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
    stop() {
      for (const admission of admissions) admission.stop();
    },
    async answered() {
      await Promise.all(underWay);
    },
  };
}

/** @throws MalformedError when it is not clear what is to be done with the host. */
function hostQuestion({ host, enabled, fence, remove, reason, revision }: HostRequest) {
  const what = fence === true ? 'fence' : remove === true ? 'remove' : 'enabled';
  const others = present({ remove: what === 'fence' ? remove : undefined, enabled, reason });
  const [field] = what === 'enabled' ? [] : Object.keys(others);
  if (field !== undefined)
    throw new MalformedError(`'${field}' of the host request does not go with '${what}'`, { field });
  if (what === 'fence') return { type: 'fence-host' as const, host, ...present({ revision }) };
  if (what === 'remove') return { type: 'remove-host' as const, host, ...present({ revision }) };
  if (enabled === undefined) {
    const message = "the host request lacks the field 'enabled', or else 'fence' or 'remove'";
    throw new MalformedError(message, { field: 'enabled' });
  }
  return { type: 'set-host' as const, host, enabled, ...present({ reason, revision }) };
}

/** @throws MalformedError when the trace context is too long. */
function traceparentOf(headers: BusMessage['headers']): string | undefined {
  const traceparent = headers[HEADERS.traceparent];
  if (traceparent === undefined || traceparent.length <= MAX_TRACEPARENT_LENGTH) return traceparent;
  const message = `the header 'traceparent' has over ${MAX_TRACEPARENT_LENGTH} characters`;
  throw new MalformedError(message, { field: 'traceparent' });
}

/** What a header can carry. */
function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, 512).trim();
}

const CONFLICTS = new Set(['already-exists', 'host-is-up', 'host-not-fenced', 'host-in-use', 'outdated', 'ambiguous']);

function statusOf({ code, retryable }: CellwrightError): string {
  if (code === 'not-found') return '404';
  if (CONFLICTS.has(code)) return '409';
  if (code === 'malformed') return '400';
  return retryable ? '503' : '500';
}
