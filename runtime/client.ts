// Uses the API from code: the same requests as `nats req cw.api.<verb>`, with types, and waiting for a build to end.

import { randomUUID } from 'node:crypto';
import Type from 'typebox';
import type { InstanceView } from '../actors/messages/gateway.ts';
import { untilTaken } from './backoff.ts';
import type { ClientBus } from './bus/lent.ts';
import type { Clock, Timer } from './clock.ts';
import { decode, encode, encodeForeign } from './codec.ts';
import { unknownTo } from './declined.ts';
import {
  CellwrightError,
  type ErrorBody,
  errorFrom,
  MalformedError,
  NoRespondersError,
  TimeoutError,
} from './errors.ts';
import type { Explanation } from './gateway/explaining.ts';
import type { BuildAnswer, CellAnswer, HostAnswer } from './gateway/gateway.ts';
import type { CellsAnswer, HostsAnswer, ListAnswer } from './gateway/looking.ts';
import type { FitAnswer, WhyNot } from './gateway/question-answers.ts';
import {
  type BuildRequest,
  type CellRequest,
  checkRequest,
  type FitRequest,
  type HostRequest,
  type HostsRequest,
  type ListRequest,
  type Verb,
  type WhyNotRequest,
} from './gateway/requests.ts';
import { isObject } from './objects.ts';
import { checkedMs, checkOfOptions } from './option-fields.ts';
import { mayPass } from './patience.ts';
import { sleep } from './pause.ts';
import { type Random, seededRandom } from './random.ts';
import { refuseOfStream } from './stream-answer.ts';
import { isToken, type Subjects } from './subjects.ts';

/**
 * Every call may also fail with `timeout`, `no-responders` (nobody serves the API), `no-owner` (nobody serves an actor that
 * it needs), `overloaded` or `unknown-version` (an older version serves what it needs, and does not know what it is asked
 * yet), all of which may be tried again; with `unencodable` and the field, if a request has what no
 * message can carry, such as NaN or a Map; with `answered-by-stream`, where a stream of JetStream keeps what the API is asked
 * and acknowledges that; and with `closed`, once the connection is.
 */
export interface Client {
  /**
   * Asks for instances. The answer comes as soon as the request is recorded; the builds go on after it. Sent again with its
   * id, a request is not built again; what has failed of it meanwhile is `failed` of the answer.
   * @throws MalformedError code `malformed` with the field; `already-exists`, also once an instance of the request was
   * deleted; `payload-too-large` when no server would carry it; `overloaded`, `no-responders`, `timeout`.
   */
  build(request: BuildRequest): Promise<BuildAnswer>;
  /**
   * Deletes an instance in whatever state it is. The answer comes when that is recorded: `state` is `deleting`, or
   * `deleted` where nothing is left to be cleared away.
   * @throws `not-found`.
   */
  delete(id: string): Promise<{ id: string; state: string }>;
  /** How an instance stands. @throws `not-found`. */
  show(id: string): Promise<InstanceView>;
  /**
   * How an instance came to be where it is, or nowhere: the scheduler's decision, each attempt and its outcome.
   * @throws `not-found`.
   */
  explain(id: string): Promise<Explanation>;
  /**
   * Why an instance is not on a host: as of the decision, as far as that is on record, and now. The host is named with
   * its `cell`, as `<cell>/<host>`, or alone where one cell has a host of that name.
   * @throws `not-found` with the field; `ambiguous` when several cells have a host of that name.
   */
  whyNot(request: WhyNotRequest): Promise<WhyNot>;
  /**
   * Whether a request would fit, where and how many times; if not, what stands in the way. Nothing is held for it. It
   * takes a build request as it is; `id`, `alternates`, `wait` and `payload` are checked and make no difference.
   * @throws MalformedError code `malformed` with the field; `overloaded` when too many ask at once, or no scheduler has heard of all
   * hosts yet, as in its first seconds.
   */
  fit(request: FitRequest): Promise<FitAnswer>;
  /**
   * Instances in the order of their ids, a page at a time: all that the conductors know, or with `cell` those of one cell,
   * as the cell knows them. A page has `limit` instances at most, 1 to 1,000, default 100, or fewer where they are large.
   * @throws MalformedError with the field; `no-owner` with the field `cell` when nobody serves that cell now.
   */
  list(request?: ListRequest): Promise<ListAnswer>;
  /**
   * Which cells there are, and how many hosts each has, as a scheduler has heard. One that was taken down stays among
   * them, as silent, until the scheduler starts anew, or for ten minutes where it has no hosts.
   * @throws CellwrightError `overloaded` when no scheduler has heard of all hosts yet, as in its first seconds.
   */
  cells(): Promise<CellsAnswer>;
  /**
   * How the hosts of a cell stand, a page at a time as in `list`.
   * @throws MalformedError with the field; `no-owner` with the field `cell` when nobody serves that cell now.
   */
  hosts(request: HostsRequest): Promise<HostsAnswer>;
  /**
   * Takes a host out of service (`enabled: false`), puts it back, states that nothing runs there any more
   * (`fence: true`), or that it does not come back (`remove: true`). It is set as it stands when this is asked: a copy of
   * the request that comes late undoes nothing. `state` is that of the host from then on, as `hosts` tells it, or `removed`;
   * what is set of one that is down or fenced takes when it comes back.
   * @throws `not-found`; `host-is-up` when a host that is to be fenced is not down; of one that is to be removed
   * `host-not-fenced`, and `host-in-use` when instances that were there are not deleted or something is held there;
   * `outdated` when the request says a revision of the host, and it has been set since, be it by this request, whose first
   * answer was lost; or when others set it all the time.
   */
  host(request: HostRequest): Promise<HostAnswer>;
  /**
   * Takes a whole cell out of service (`enabled: false`), puts it back (`enabled: true`), or, without `enabled`, says how it
   * stands. Out of service it keeps what it has, and builds that already have a host there go on, alternates included; new
   * requests are given none of its hosts, nor of those that join it later. It is set as it stands when this is asked, as a
   * host is.
   * @throws `no-owner` with the field `cell` when nobody serves that cell now; `unknown-version` when an older version
   * serves it that cannot do this; `outdated` as `host`.
   */
  cell(request: CellRequest): Promise<CellAnswer>;
  /**
   * Waits until a build is over, and says how: `active`, `failed`, `lost` or `deleted`.
   * @param options.timeoutMs How long to wait, also while nobody answers, ms; default 10 minutes. The last look may take a
   * quarter of a second more; with 0 it is the only one.
   * @throws TimeoutError, `not-found`.
   */
  ended(id: string, options?: { timeoutMs?: number }): Promise<InstanceView>;
}

export interface ClientOptions {
  readonly bus: ClientBus;
  readonly clock: Clock;
  readonly subjects: Subjects;
  /** How long to wait for an answer of the API, ms; default 10,000. Of one who is overloaded it is asked again. */
  readonly timeoutMs?: number;
  /** Spreads the calls that are made again; default: a stream of its own for each client. */
  readonly random?: Random;
}

/** How long to wait for an answer before the request is made again, ms: at first, half as long again each time, at most. */
const ASK_AGAIN = { firstMs: 1_000, mostMs: 3_000 } as const;
const checkWaiting = checkOfOptions({ timeoutMs: Type.Unknown() }, 'the options of ended');
/** How long to wait at most before a host that others have just set is set again, ms. */
const SET_AGAIN_WITHIN_MS = 100;
const ENDED = new Set(['active', 'failed', 'lost', 'deleted']);
/** What is known of a build that has not ended in time: how it stands, or why that is not known. */
function notEnded(id: string, seen: InstanceView | CellwrightError, afterMs: number): string {
  if (seen instanceof CellwrightError)
    return `whether '${id}' had ended after ${afterMs} ms is not known: ${seen.message}`;
  const { state, cell, host } = seen;
  const where = host === undefined ? '' : ` on ${cell}/${host}`;
  return `'${id}' had not ended after ${afterMs} ms: it is ${state}${where}`;
}

/** Events may be lost or switched off, so the instance is looked at too, ms. */
const LOOK_EVERY_MS = 1_000;
/** How long the last look may take, however little time is left, ms. */
const LAST_LOOK_MS = 250;
/** How long to wait at most for whoever serves the API to say anything, ms. */
const SERVED_WITHIN_MS = 1_000;

export function clientOf(options: ClientOptions): Client {
  const { bus, clock, subjects, random = seededRandom(randomUUID()) } = options;
  const timeoutMs = checkedMs(options.timeoutMs ?? 10_000);
  /** Have those who wait for a build look at it now: then they are told that the bus is closed. */
  const nudges = new Set<() => void>();
  void bus.ending?.then(() => {
    for (const look of nudges) look();
  });

  /** One who is overloaded has not taken the request: it is made again, as long as there is time. */
  const call = async <Answer>(verb: Verb, request: object, limitMs = timeoutMs): Promise<Answer> => {
    if (!isObject(request)) throw new MalformedError(`the ${verb} request must be an object`);
    // As it is now: the caller may make the next one of it before this one is taken.
    const data = encodeForeign(request);
    return untilTaken((leftMs) => callOnce<Answer>(verb, data, leftMs), { clock, random, limitMs });
  };

  async function callOnce<Answer>(verb: Verb, request: Uint8Array, leftMs: number): Promise<Answer> {
    const deadline = clock.monotonic() + leftMs;
    const stillMs = () => Math.max(0, deadline - clock.monotonic());
    const ask = () => answerTo(subjects.api(verb), request, stillMs());
    const data = await ask().catch(async (error) => {
      if (!(error instanceof NoRespondersError) || !(await isServedBeside(verb, stillMs()))) throw error;
      // Somebody may have come up meanwhile.
      return ask().catch((again) => {
        throw again instanceof NoRespondersError ? unknownTo('the API') : again;
      });
    });
    const body = decode(data, bus.maxPayloadBytes) as { error?: ErrorBody };
    refuseOfStream(subjects.api(verb), body);
    if (body.error === undefined) return body as Answer;
    const isUnknown = hasUnknownField(body.error) && isRight(verb, decode(request, bus.maxPayloadBytes));
    throw isUnknown ? unknownTo('the API') : errorFrom(body.error);
  }

  /** Whether somebody serves the API, though not this verb: all versions know how to show, and what it lacks. */
  async function isServedBeside(verb: Verb, leftMs: number): Promise<boolean> {
    if (verb === 'show') return false;
    const timeoutMs = Math.min(SERVED_WITHIN_MS, leftMs);
    return bus.request(subjects.api('show'), encode({}), { timeoutMs }).then(
      () => true,
      () => false,
    );
  }

  /**
   * Whoever took the request may have died with it: it is made again. It may be, for every one names what it is about;
   * and what the first is answered late, as that nobody owns an actor now, is as good an answer.
   */
  async function answerTo(subject: string, data: Uint8Array, leftMs: number): Promise<Uint8Array> {
    const deadline = clock.monotonic() + leftMs;
    let again: Timer | undefined;
    let againMs: number = ASK_AGAIN.firstMs;
    /** How many copies are neither answered nor failed, and whether nobody was there for the last one. */
    let open = 0;
    let isNobodyThere = false;
    try {
      return await new Promise<Uint8Array>((resolve, reject) => {
        const ask = () => {
          const stillMs = Math.max(0, deadline - clock.monotonic());
          // It is asked once, however little time there is.
          if (stillMs === 0 && again !== undefined) return;
          open += 1;
          isNobodyThere = false;
          bus.request(subject, data, { timeoutMs: stillMs }).then(
            (answer) => resolve(answer.data),
            (error) => {
              open -= 1;
              // Whoever took an earlier one may have left, and answer it all the same.
              if (error instanceof NoRespondersError && open > 0) {
                isNobodyThere = true;
                return;
              }
              const whom = `'${subject}'${isNobodyThere ? ', which nobody serves now,' : ''}`;
              reject(error instanceof TimeoutError ? new TimeoutError(whom, Math.ceil(leftMs)) : error);
            },
          );
          again = clock.after(againMs, ask);
          againMs = Math.min(againMs * 1.5, ASK_AGAIN.mostMs);
        };
        ask();
      });
    } finally {
      again?.cancel();
    }
  }

  /**
   * Copies of a request that was made again may come late, after others have set the host and were told so: each says at
   * which revision of the host it was asked, and is not carried out at a later one.
   */
  async function setHost(request: HostRequest): Promise<HostAnswer> {
    const isMalformed = !isObject(request) || !isToken(request.cell) || !isToken(request.host);
    if (isMalformed || request.revision !== undefined) return call('host', request);
    const { cell, host } = request;
    return setAtRevision('host', request, async (leftMs) => {
      const { hosts } = await call<HostsAnswer>('hosts', { cell, host }, leftMs);
      return hosts[0]?.revision ?? 0;
    });
  }

  /** As a host is set. */
  async function setCell(request: CellRequest): Promise<CellAnswer> {
    const isMalformed = !isObject(request) || !isToken(request.cell);
    if (isMalformed || request.enabled === undefined || request.revision !== undefined) return call('cell', request);
    const { cell } = request;
    return setAtRevision('cell', request, async (leftMs) => {
      return (await call<CellAnswer>('cell', { cell }, leftMs)).revision;
    });
  }

  async function setAtRevision<Answer>(
    verb: 'host' | 'cell',
    request: object,
    revisionNow: (leftMs: number) => Promise<number>,
  ): Promise<Answer> {
    // As it is now: the caller may make the next one of it while it is looked at.
    const asked = { ...request };
    const deadline = clock.monotonic() + timeoutMs;
    const leftMs = () => Math.max(0, deadline - clock.monotonic());
    for (;;) {
      const revision = await revisionNow(leftMs());
      try {
        return await call(verb, { ...asked, revision }, leftMs());
      } catch (error) {
        const isOutdated = error instanceof CellwrightError && error.code === 'outdated';
        if (!isOutdated || clock.monotonic() >= deadline) throw error;
      }
      await sleep(clock, random.integer(1, SET_AGAIN_WITHIN_MS));
    }
  }

  async function ended(id: string, options?: { timeoutMs?: number }): Promise<InstanceView> {
    checkWaiting(options ?? {});
    const limitMs = checkedMs(options?.timeoutMs ?? 600_000);
    // What is no id has no events to be heard either.
    if (!isToken(id)) return client.show(id);
    const deadline = clock.monotonic() + limitMs;
    const leftMs = () => Math.max(0, deadline - clock.monotonic());
    let nudge = () => {};
    const look = () => nudge();
    const watch = [
      subjects.event(['cell', '*', 'build', id, '*']),
      subjects.event(['conductor', '*', 'build', id, '*']),
    ];
    const subscriptions = watch.map((subject) => bus.subscribe(subject, look));
    nudges.add(look);
    try {
      for (;;) {
        const nudged = new Promise<void>((resolve) => {
          const timer = clock.after(Math.min(LOOK_EVERY_MS, leftMs()), resolve);
          nudge = () => {
            timer.cancel();
            resolve();
          };
        });
        const lookMs = Math.min(timeoutMs, Math.max(LAST_LOOK_MS, leftMs()));
        const seen = await call<InstanceView>('show', { id }, lookMs).catch(whatMayPass);
        if (!(seen instanceof CellwrightError) && ENDED.has(seen.state)) {
          nudge();
          return seen;
        }
        if (clock.monotonic() >= deadline)
          throw new TimeoutError(`the build of '${id}'`, limitMs, notEnded(id, seen, limitMs));
        await nudged;
      }
    } finally {
      nudge();
      nudges.delete(look);
      for (const subscription of subscriptions) subscription.unsubscribe();
    }
  }

  const client: Client = {
    // Named here, so that the same request made again is known as the same.
    build: (request) =>
      call('build', isObject(request) && request.id === undefined ? { ...request, id: `i-${randomUUID()}` } : request),
    delete: (id) => call('delete', { id }),
    show: (id) => call('show', { id }),
    explain: (id) => call('explain', { id }),
    whyNot: (request) => call('why-not', request),
    fit: (request) => call('fit', request),
    list: (request = {}) => call('list', request),
    cells: () => call('cells', {}),
    hosts: (request) => call('hosts', request),
    host: setHost,
    cell: setCell,
    ended,
  };
  return client;
}

function hasUnknownField({ code, field, message }: ErrorBody): boolean {
  return code === 'malformed' && field !== undefined && message.endsWith(`has an unknown field '${field}'`);
}

/** Whether a request is right as this version has it. */
function isRight(verb: Verb, request: unknown): boolean {
  try {
    checkRequest(verb, request);
    return true;
  } catch {
    return false;
  }
}

/** What may pass does not end a wait that goes on: it is looked at again. @throws What no waiting mends. */
function whatMayPass(error: unknown): CellwrightError {
  if (error instanceof CellwrightError && mayPass(error)) return error;
  throw error;
}
