// Runs the driver of a compute: what the compute asks for is called on the driver, and the outcome goes back as a
// message. Allocations are told to the driver by the names that it gave its providers.

import type { Address, Message } from '../../actors/actor.ts';
import { clipped } from '../../actors/messages/common.ts';
import type { DriverAnswer, DriverMessage } from '../../actors/messages/compute.ts';
import { decode, encode } from '../codec.ts';
import { CellwrightError, messageOf } from '../errors.ts';
import type { BuildOutcome, Driver } from './driver.ts';
import { providersOf } from './naming.ts';
import { checkedMetrics, checkedOutcome, checkedRunning, checkedTraits, insistDescribed } from './report.ts';

export interface DriverHost {
  take(message: DriverMessage): void;
  stop(): Promise<void>;
}

export interface DriverHostOptions {
  readonly cell: string;
  readonly host: string;
  readonly driver: Driver;
  answer(message: Message & DriverAnswer, from: Address): void;
  /** Told of what a driver says that cannot be: whoever runs it has to mend it. */
  onError(error: unknown, what: string): void;
}

/** A question of what runs, and who asks it. */
type Asked = Pick<Extract<DriverMessage, { type: 'list' }>, 'ask' | 'to'>;

/** What a driver says of its host, and is asked for at the same time. */
type Described = 'inventory' | 'capabilities' | 'list';

/** So often a driver that has not answered yet is passed over, until that is said: what it told before is old by now. */
const MOST_PASSED_OVER = 3;
const SILENT = 'the driver does not answer';

/** Reasons come from drivers and go into messages: they are kept short. */
const MAX_REASON = 1_000;

export function driverHost({ cell, host, driver, answer, onError }: DriverHostOptions): DriverHost {
  const from = `driver/${cell}/${host}`;
  const names = new Map<string, string>();
  let stopped = false;
  let isMeasuring = false;
  /** How often it was to measure while it still did. */
  let passedOver = 0;
  let isDescribing = false;
  /** What is being asked of the driver to describe the host. */
  let unanswered: ReadonlySet<Described> = new Set();
  /** How often it was to describe the host while it still did. */
  let undescribed = 0;
  /** Why placement refused the host the last time. */
  let refusal: string | undefined;
  let isListing = false;
  /** Who asked what runs: those whom the list that is being made is for, and those who came after it was begun. */
  let listed: Asked[] = [];
  const waiting: Asked[] = [];

  function say(message: DriverAnswer): void {
    if (!stopped) answer(message, from);
  }

  /** What a driver throws is nobody's answer: without a word of it a build that never ends would be a riddle. */
  function tell(error: unknown, what: string): void {
    if (!stopped) onError(error, `${what} by the driver of host '${cell}/${host}'`);
  }

  async function describe(): Promise<void> {
    if (isDescribing) {
      undescribed += 1;
      if (undescribed % MOST_PASSED_OVER === 0) undescribable(new Error(`${SILENT} ${[...unanswered].join(', ')}`));
      return;
    }
    isDescribing = true;
    undescribed = 0;
    // A set of its own: what an earlier question is answered late is not taken for an answer to this one.
    const asked = new Set<Described>(['inventory', 'capabilities', 'list']);
    unanswered = asked;
    const answered = async <Told>(what: Described, ask: () => Promise<Told>): Promise<Told> => {
      const told = await ask();
      asked.delete(what);
      return told;
    };
    try {
      const [tree, traits, running] = await Promise.all([
        answered('inventory', () => driver.inventory()),
        answered('capabilities', () => driver.capabilities()),
        answered('list', () => driver.list()),
      ]);
      const providers = providersOf(cell, host, tree, checkedTraits(traits));
      const measures = driver.metrics !== undefined;
      const described = { type: 'described' as const, providers, running: checkedRunning(running), measures };
      insistDescribed(described);
      for (const { id, name } of providers) names.set(id, name);
      // A copy: what is said is shared by all who hear it, and the driver may go on with what it has given.
      say(structuredClone(described));
    } catch (error) {
      undescribable(error);
    } finally {
      isDescribing = false;
    }
  }

  function undescribable(error: unknown): void {
    if (!stopped) onError(error, `the description of host '${cell}/${host}' by its driver`);
    say({ type: 'describe-failed', reason: reasonOf(error) });
  }

  /** Nobody places anything on the host until whoever runs it has mended it; the compute tells placement again. */
  function refused(reason: string): void {
    if (reason === refusal) return;
    refusal = reason;
    onError(new CellwrightError('tree-refused', reason), `what placement is told of host '${cell}/${host}'`);
  }

  /** What cannot be measured now is told as nothing: an old figure would pass for a new one. */
  async function measure(): Promise<void> {
    if (isMeasuring) {
      passedOver += 1;
      if (passedOver === MOST_PASSED_OVER) say({ type: 'measured', metrics: {} });
      return;
    }
    isMeasuring = true;
    passedOver = 0;
    try {
      say({ type: 'measured', metrics: checkedMetrics((await driver.metrics?.()) ?? {}) });
    } catch (error) {
      onError(error, `what the driver of host '${cell}/${host}' measures`);
      say({ type: 'measured', metrics: {} });
    } finally {
      isMeasuring = false;
    }
  }

  /** One list at a time; who asks meanwhile is answered by the next, for this one may have been begun too early. */
  async function list(asked: Asked): Promise<void> {
    waiting.push(asked);
    if (isListing) {
      if (waiting.length >= MOST_PASSED_OVER) unlisted(new Error(SILENT), [...listed.splice(0), ...waiting.splice(0)]);
      return;
    }
    isListing = true;
    while (waiting.length > 0) {
      listed = waiting.splice(0);
      try {
        const running = checkedRunning(await driver.list());
        for (const { ask, to } of listed.splice(0)) say({ type: 'driver-listed', ask, to, running });
      } catch (error) {
        unlisted(error, listed.splice(0));
      }
    }
    isListing = false;
  }

  function unlisted(error: unknown, those: readonly Asked[]): void {
    tell(error, 'the list of what runs');
    for (const { ask, to } of those) say({ type: 'list-failed', ask, to, reason: reasonOf(error) });
  }

  async function build({
    instance,
    attempt,
    allocations,
    payload,
  }: Extract<DriverMessage, { type: 'build' }>): Promise<void> {
    const ofAttempt = { instance, attempt };
    try {
      // Copies, for what actors have in common is not the driver's to change.
      const named = allocations.map(({ provider, resources }) => ({
        provider: names.get(provider) ?? provider,
        resources: { ...resources },
      }));
      const order = { instance, attempt, allocations: named, ...(payload === undefined ? {} : copied({ payload })) };
      say(answerOf(ofAttempt, checkedOutcome(await driver.build(order))));
    } catch (error) {
      tell(error, `the build of '${instance}', attempt ${attempt},`);
      say({ type: 'driver-unknown', ...ofAttempt, reason: reasonOf(error) });
    }
  }

  async function destroy(ofAttempt: { instance: string; attempt: number }): Promise<void> {
    try {
      await driver.destroy(ofAttempt.instance, ofAttempt.attempt);
      say({ type: 'driver-destroyed', ...ofAttempt });
    } catch (error) {
      tell(error, `the removal of '${ofAttempt.instance}', attempt ${ofAttempt.attempt},`);
      say({ type: 'destroy-failed', ...ofAttempt, reason: reasonOf(error) });
    }
  }

  return {
    take(message) {
      if (message.type === 'describe') void describe();
      else if (message.type === 'measure') void measure();
      else if (message.type === 'list') void list(message);
      else if (message.type === 'refused') refused(message.reason);
      else if (message.type === 'build') void build(message);
      else if (message.type === 'destroy') void destroy({ instance: message.instance, attempt: message.attempt });
    },
    async stop() {
      stopped = true;
      try {
        await driver.close();
      } catch (error) {
        onError(error, `closing the driver of host '${cell}/${host}'`);
      }
    },
  };
}

/** As it would have come over the wire. */
function copied<Value>(value: Value): Value {
  return decode(encode(value), Number.POSITIVE_INFINITY) as Value;
}

function answerOf(ofAttempt: { instance: string; attempt: number }, outcome: BuildOutcome): DriverAnswer {
  if (outcome.outcome === 'built') return { type: 'driver-built', ...ofAttempt };
  const aborted = outcome.outcome === 'aborted';
  return { type: 'driver-failed', ...ofAttempt, reason: reasonOf(outcome.reason), aborted };
}

function reasonOf(error: unknown): string {
  // Half a character could not be sent, and would take what is sent along with it.
  return clipped(messageOf(error), MAX_REASON).replaceAll(/\p{Surrogate}/gu, '\uFFFD');
}
