// Runs the driver of a compute: what the compute asks for is called on the driver, and the outcome goes back as a
// message. Allocations are told to the driver by the names that it gave its providers.

import type { Address, Message } from '../../actors/actor.ts';
import { clipped } from '../../actors/messages/common.ts';
import type { DriverAnswer, DriverMessage } from '../../actors/messages/compute.ts';
import type { ProviderSpec } from '../../actors/messages/placement.ts';
import { PassingMap } from '../../actors/passing-map.ts';
import { SparseSet } from '../../actors/sparse-set.ts';
import { decode, encode } from '../codec.ts';
import { CellwrightError, messageInFull, messageOf } from '../errors.ts';
import type { BuildOutcome, Driver, ProviderReport } from './driver.ts';
import { MAX_PROVIDERS, providersOf } from './naming.ts';
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

/** What it is asked again and again, in words for people. */
type Regular = 'the description' | 'the inventory' | 'the measuring' | 'the list of what runs';

/** So often a driver that has not answered yet is passed over, until that is said: what it told before is old by now. */
const MOST_PASSED_OVER = 3;
const SILENT = 'the driver does not answer';

/** A tree goes in one message, and servers carry 1 MiB unless told otherwise; some of it is for what it is sent with. */
const MAX_TREE_BYTES = 1_000_000;

/** What was claimed of a provider that is gone since is still told by its name; devices may come and go for years. */
const MAX_NAMES = 8 * MAX_PROVIDERS;

/** Reasons come from drivers and go into messages: they are kept short. */
const MAX_REASON = 1_000;

export function driverHost(options: DriverHostOptions): DriverHost {
  return new DrivenHost(options);
}

/** A class, for a process may have thousands of them: its methods are made once. */
class DrivenHost implements DriverHost {
  readonly #driver: Driver;
  readonly #from: Address;
  readonly #answer: DriverHostOptions['answer'];
  readonly #onError: DriverHostOptions['onError'];
  /** The host, for people. */
  readonly #which: string;
  readonly #cell: string;
  readonly #host: string;
  readonly #names = new Map<string, string>();
  #stopped = false;
  #isMeasuring = false;
  /** How often it was to measure while it still did. */
  #passedOver = 0;
  #isDescribing = false;
  /** What is being asked of the driver to describe the host. */
  #unanswered: SparseSet<Described> = new SparseSet();
  /** How often it was to describe the host while it still did. */
  #undescribed = 0;
  #isReadingInventory = false;
  /** How often it was to say what the host has while it still found out. */
  #unread = 0;
  /** Why placement refused the host the last time, as far as it has not taken it since. */
  #refusal: string | undefined;
  /** Whether it has refused it since it was last read what the host has. */
  #isRefused = false;
  /** Of what it is asked again and again: why it did not answer the last time. */
  readonly #failures = new PassingMap<Regular, string>();
  #isListing = false;
  /** Who asked what runs: those whom the list that is being made is for, and those who came after it was begun. */
  #listed: Asked[] = [];
  readonly #waiting: Asked[] = [];

  constructor({ cell, host, driver, answer, onError }: DriverHostOptions) {
    this.#driver = driver;
    this.#from = `driver/${cell}/${host}`;
    this.#answer = answer;
    this.#onError = onError;
    this.#which = `host '${cell}/${host}'`;
    this.#cell = cell;
    this.#host = host;
  }

  take(message: DriverMessage): void {
    if (message.type === 'describe') void this.#describe();
    else if (message.type === 'read-inventory') void this.#readInventory();
    else if (message.type === 'measure') void this.#measure();
    else if (message.type === 'list') void this.#list(message);
    else if (message.type === 'refused') this.#refused(message.reason);
    else if (message.type === 'build') void this.#build(message);
    else if (message.type === 'destroy') void this.#destroy({ instance: message.instance, attempt: message.attempt });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    try {
      await this.#driver.close();
    } catch (error) {
      this.#onError(error, `closing the driver of ${this.#which}`);
    }
  }

  #say(message: DriverAnswer): void {
    if (!this.#stopped) this.#answer(message, this.#from);
  }

  /** What a driver throws is nobody's answer: without a word of it a build that never ends would be a riddle. */
  #tell(error: unknown, what: string): void {
    if (!this.#stopped) this.#onError(error, `${what} by the driver of ${this.#which}`);
  }

  /** A driver that fails of the same each time is told of once. */
  #tellNew(error: unknown, what: Regular): void {
    const reason = messageOf(error);
    if (this.#failures.get(what) === reason) return;
    this.#failures.set(what, reason);
    this.#tell(error, what);
  }

  async #describe(): Promise<void> {
    if (this.#isDescribing) {
      this.#undescribed += 1;
      if (this.#undescribed % MOST_PASSED_OVER === 0)
        this.#undescribable(new Error(`${SILENT} ${[...this.#unanswered].join(', ')}`));
      return;
    }
    this.#isDescribing = true;
    this.#undescribed = 0;
    // A set of its own: what an earlier question is answered late is not taken for an answer to this one.
    const asked = new SparseSet<Described>(['inventory', 'capabilities', 'list']);
    this.#unanswered = asked;
    const answered = async <Told>(what: Described, ask: () => Promise<Told>): Promise<Told> => {
      try {
        return await ask();
      } finally {
        asked.delete(what);
      }
    };
    const answers = [
      answered('inventory', () => this.#driver.inventory()),
      answered('capabilities', () => this.#driver.capabilities()),
      answered('list', () => this.#driver.list()),
    ] as const;
    try {
      const [tree, traits, running] = await Promise.all(answers);
      const providers = this.#providersOf(tree, traits);
      const measures = this.#driver.metrics !== undefined;
      this.#sayChecked({ type: 'described', providers, running: checkedRunning(running), measures });
      this.#failures.delete('the description');
    } catch (error) {
      this.#undescribable(error);
    } finally {
      // One may have rejected while another has not answered.
      await Promise.allSettled(answers);
      this.#isDescribing = false;
    }
  }

  #providersOf(tree: ProviderReport, traits: readonly string[]): ProviderSpec[] {
    const providers = providersOf(this.#cell, this.#host, tree, checkedTraits(traits));
    insistSendable(providers, this.#which);
    for (const { id, name } of providers) {
      // Deleting first makes the entry the youngest: those of now are kept.
      this.#names.delete(id);
      this.#names.set(id, name);
      const [oldest] = this.#names.keys();
      if (this.#names.size > MAX_NAMES && oldest !== undefined) this.#names.delete(oldest);
    }
    return providers;
  }

  /** A copy: what is said is shared by all who hear it, and the driver may go on with what it has given. */
  #sayChecked(message: Extract<DriverAnswer, { providers: unknown }>): void {
    insistDescribed(message);
    this.#say(structuredClone(message));
  }

  /** What cannot be read now is as it was, as far as anybody knows. */
  async #readInventory(): Promise<void> {
    if (this.#isReadingInventory) {
      this.#unread += 1;
      if (this.#unread === MOST_PASSED_OVER) this.#unreadable(new Error(SILENT));
      return;
    }
    this.#isReadingInventory = true;
    this.#unread = 0;
    const asked = async <Told>(ask: () => Promise<Told>): Promise<Told> => ask();
    const answers = [asked(() => this.#driver.inventory()), asked(() => this.#driver.capabilities())] as const;
    try {
      const [tree, traits] = await Promise.all(answers);
      // What is refused is told again each time: where nobody refused it since the last, it has been taken.
      if (!this.#isRefused) this.#refusal = undefined;
      this.#isRefused = false;
      this.#sayChecked({ type: 'inventory-read', providers: this.#providersOf(tree, traits) });
      this.#failures.delete('the inventory');
    } catch (error) {
      this.#unreadable(error);
    } finally {
      await Promise.allSettled(answers);
      this.#isReadingInventory = false;
    }
  }

  #unreadable(error: unknown): void {
    this.#tellNew(error, 'the inventory');
    this.#say({ type: 'inventory-unread', reason: faultOf(error) });
  }

  #undescribable(error: unknown): void {
    this.#tellNew(error, 'the description');
    this.#say({ type: 'describe-failed', reason: faultOf(error) });
  }

  /**
   * Until whoever runs the host has mended it nobody places anything there, or, if it is up, it is as it was; the compute
   * tells placement again.
   */
  #refused(reason: string): void {
    this.#isRefused = true;
    if (reason === this.#refusal) return;
    this.#refusal = reason;
    this.#onError(new CellwrightError('tree-refused', reason), `what placement is told of ${this.#which}`);
  }

  /** What cannot be measured now is told as nothing: an old figure would pass for a new one. */
  async #measure(): Promise<void> {
    if (this.#isMeasuring) {
      this.#passedOver += 1;
      if (this.#passedOver === MOST_PASSED_OVER) this.#say({ type: 'measured', metrics: {} });
      return;
    }
    this.#isMeasuring = true;
    this.#passedOver = 0;
    try {
      this.#say({ type: 'measured', metrics: checkedMetrics((await this.#driver.metrics?.()) ?? {}) });
      this.#failures.delete('the measuring');
    } catch (error) {
      this.#tellNew(error, 'the measuring');
      this.#say({ type: 'measured', metrics: {} });
    } finally {
      this.#isMeasuring = false;
    }
  }

  /** One list at a time; who asks meanwhile is answered by the next, for this one may have been begun too early. */
  async #list(asked: Asked): Promise<void> {
    this.#waiting.push(asked);
    if (this.#isListing) {
      if (this.#waiting.length >= MOST_PASSED_OVER)
        this.#unlisted(new Error(SILENT), [...this.#listed.splice(0), ...this.#waiting.splice(0)]);
      return;
    }
    this.#isListing = true;
    while (this.#waiting.length > 0) {
      this.#listed = this.#waiting.splice(0);
      try {
        const running = checkedRunning(await this.#driver.list());
        for (const { ask, to } of this.#listed.splice(0)) this.#say({ type: 'driver-listed', ask, to, running });
        this.#failures.delete('the list of what runs');
      } catch (error) {
        this.#unlisted(error, this.#listed.splice(0));
      }
    }
    this.#isListing = false;
  }

  #unlisted(error: unknown, those: readonly Asked[]): void {
    this.#tellNew(error, 'the list of what runs');
    for (const { ask, to } of those) this.#say({ type: 'list-failed', ask, to, reason: faultOf(error) });
  }

  async #build({ instance, attempt, allocations, payload }: Extract<DriverMessage, { type: 'build' }>): Promise<void> {
    const ofAttempt = { instance, attempt };
    try {
      // Copies, for what actors have in common is not the driver's to change.
      const named = allocations.map(({ provider, group, resources }) => ({
        provider: this.#names.get(provider) ?? provider,
        group,
        resources: { ...resources },
      }));
      const order = { instance, attempt, allocations: named, ...(payload === undefined ? {} : copied({ payload })) };
      this.#say(answerOf(ofAttempt, checkedOutcome(await this.#driver.build(order))));
    } catch (error) {
      this.#tell(error, `the build of '${instance}', attempt ${attempt},`);
      this.#say({ type: 'driver-unknown', ...ofAttempt, reason: faultOf(error) });
    }
  }

  async #destroy(ofAttempt: { instance: string; attempt: number }): Promise<void> {
    try {
      await this.#driver.destroy(ofAttempt.instance, ofAttempt.attempt);
      this.#say({ type: 'driver-destroyed', ...ofAttempt });
    } catch (error) {
      this.#tell(error, `the removal of '${ofAttempt.instance}', attempt ${ofAttempt.attempt},`);
      this.#say({ type: 'destroy-failed', ...ofAttempt, reason: faultOf(error) });
    }
  }
}

/** @throws CellwrightError `bad-inventory` for a tree that is too large to be told. */
function insistSendable(providers: readonly object[], which: string): void {
  const { length } = encode(providers);
  if (length <= MAX_TREE_BYTES) return;
  const message = `the ${providers.length} providers of ${which} take ${length} bytes, of at most ${MAX_TREE_BYTES}`;
  throw new CellwrightError('bad-inventory', message);
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
  return clipped(messageOf(error).trim(), MAX_REASON).replaceAll(/\p{Surrogate}/gu, '\uFFFD');
}

/** What a driver threw: never nothing, for whoever reads it would take it for our own fault. */
const faultOf = (error: unknown): string => reasonOf(messageInFull(error)) || 'it does not say why';
