// What consumers hold, changed and read from code, over all placement shards: a change is made in all of them or in none,
// and whoever reads never sees half of one. For consumers that are no instances, whose resources the builds look after.

import { createHash, randomUUID } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { Id } from '../actors/messages/common.ts';
import { MAX_AMOUNT } from '../actors/messages/limits.ts';
import type { ApiOutcome } from '../actors/messages/placement-api.ts';
import type { Part } from '../actors/messages/transactions.ts';
import { putTogether, type ShardRead } from '../actors/placement/reading.ts';
import { fnv1a } from '../actors/routing.ts';
import { connectNats } from './bus/nats.ts';
import { CONNECTION_OPTIONS } from './bus/nats-checks.ts';
import type { Clock } from './clock.ts';
import { encodeForeign } from './codec.ts';
import type { ConnectOptions } from './connect.ts';
import { placementShardsStanding } from './deployment.ts';
import { CellwrightError, MalformedError, messageOf, TimeoutError } from './errors.ts';
import { checkedMs, insistObject } from './option-fields.ts';
import { outboxOf } from './outbox.ts';
import { patiently } from './patience.ts';
import { sleep } from './pause.ts';
import { type Authority, authorityOf, type Question } from './placement-api/authority.ts';
import { checkOf } from './schemas.ts';
import { subjectsOf } from './subjects.ts';
import { systemClock } from './system-clock.ts';

const strict = { additionalProperties: false };
const Holding = Type.Object(
  {
    consumer: Id,
    /** Amounts by provider and class: all that it shall hold; none: it holds nothing any more. */
    allocations: Type.Record(
      Id,
      Type.Record(Type.String({ maxLength: 255 }), Type.Integer({ minimum: 1, maximum: MAX_AMOUNT }), {
        minProperties: 1,
      }),
    ),
    project: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    user: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  },
  strict,
);
/**
 * What a consumer shall hold: amounts by provider and class, none of any for nothing; `project` and `user` say whose
 * it is.
 */
export type Holding = Static<typeof Holding>;
const list = { minItems: 1, maxItems: 1000 };
const checkChange = checkOf(Type.Object({ consumers: Type.Array(Holding, list), key: Id }, strict), 'the change');
const checkRead = checkOf(
  Type.Object({ consumers: Type.Array(Type.String({ maxLength: 255 }), list) }, strict),
  'the question',
);

/** What a consumer holds: amounts by provider and class. */
export type Held = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** Reads and changes what consumers that are no instances hold; see `connectPlacement`. */
export interface PlacementClient {
  /** How many placement shards the deployment has. */
  readonly shards: number;
  /**
   * Makes 1 to 1,000 consumers, each named once, hold what is said, and nothing else: all of it at one moment, or nothing
   * of it. An instance is moved within its placement shard only: what else it is, such as a member of a group, is not
   * said here.
   * @param options.key Names the change, `[A-Za-z0-9_-]`, at most 64 characters: asked for again by the same name it is
   * not made again; one that was refused for a provider that was not there may be. Default: made up.
   * @throws MalformedError with the field; CellwrightError `payload-too-large` when it does not fit into one message, of
   * which each shard has a part with all consumers; with the code of the refusal, such as `exceeds-capacity` or
   * `no-provider`; `other-shard`, or that of the rule of its group, when an instance is to go to another placement shard;
   * `not-decided` when a shard was away for half a minute: then nothing was changed; `unknown-version` when an older version
   * serves a shard and does not know the question; TimeoutError when it is not known what came of it: asked for again with
   * the same key, it is.
   */
  change(consumers: readonly Holding[], options?: { key?: string }): Promise<void>;
  /**
   * What 1 to 1,000 consumers hold, by their ids: nothing, `{}`, for one that is not known.
   * @throws MalformedError with the field; CellwrightError `unknown-version` as above; TimeoutError when a shard does not
   * answer, or a change is in doubt for too long.
   */
  read(consumers: readonly string[]): Promise<Readonly<Record<string, Held>>>;
  /** Ends the connection. */
  close(): Promise<void>;
}

/** Longer than a change may wait for its shards. */
const DEFAULT_TIMEOUT_MS = 40_000;
/** A question that was not answered is asked again after this, ms: it may be lost with its hearer. */
const AGAIN_MS = 1_000;
/** How long to wait before shards in doubt are read again, ms. */
const READ_AGAIN_MS = 20;
/** Shards of providers that are remembered; with more, it is begun anew. */
const MAX_KNOWN = 200_000;

/**
 * Connects to the placement of a deployment by its NATS server.
 * @param options.timeoutMs How long a change or a look may take in all, ms; default 40,000.
 * @throws CellwrightError `bad-option` with the field; `unreachable`, `unauthorized`; `no-deployment` when there is none
 * for half a minute; `no-jetstream` when nobody tells for five seconds how many placement shards there are.
 */
export async function connectPlacement(options: ConnectOptions): Promise<PlacementClient> {
  insistObject(options, CONNECTION_OPTIONS);
  const { prefix, timeoutMs: limitMs = DEFAULT_TIMEOUT_MS, ...nats } = options ?? {};
  const timeoutMs = checkedMs(limitMs);
  const subjects = subjectsOf(prefix);
  const bus = await connectNats({ name: 'placement-client', ...nats });
  const clock = systemClock();
  const onError = nats.onError ?? (() => undefined);
  try {
    const reading = () => placementShardsStanding({ bus, subjects });
    const shards = await patiently(reading, { clock, what: 'reading the number of placement shards', onError });
    const outbox = outboxOf({ bus, clock, subjects, events: false, onError });
    const name = `placement-client-${randomUUID()}`;
    const closed = () => new CellwrightError('closed', 'the placement client is closed');
    const authority = authorityOf({ name, bus, clock, outbox, subjects, timeoutMs: AGAIN_MS, closed, onError });
    const client = clientOf({ authority, clock, shards, timeoutMs });
    return {
      ...client,
      async close() {
        authority.stop();
        await bus.close();
      },
    };
  } catch (error) {
    await bus.close();
    throw error;
  }
}

interface Parts {
  readonly authority: Authority;
  readonly clock: Clock;
  readonly shards: number;
  readonly timeoutMs: number;
}

function clientOf({ authority, clock, shards, timeoutMs }: Parts): Omit<PlacementClient, 'close'> {
  const every = Array.from({ length: shards }, (_, shard) => shard);
  /** The shards of providers, as they were found last: callers of the Placement API may move a tree below another. */
  const known = new Map<string, number>();

  /** Asks until it is answered: every question may be asked twice. An older version is not waited for: it may stay for long. */
  async function ask(question: Question, shard: number, deadline: number): Promise<ApiOutcome> {
    const leftMs = () => Math.max(0, deadline - clock.monotonic());
    for (;;) {
      try {
        return await authority.ask(question, shard, leftMs());
      } catch (error) {
        if (!(error instanceof CellwrightError) || !error.retryable || error.code === 'unknown-version') throw error;
        if (leftMs() === 0) throw new TimeoutError(`'placement/${shard}'`, timeoutMs);
        if (!(error instanceof TimeoutError)) await sleep(clock, Math.min(AGAIN_MS, leftMs()));
      }
    }
  }

  async function shardOf(provider: string, deadline: number): Promise<number> {
    const before = known.get(provider);
    if (before !== undefined) return before;
    const answers = await Promise.all(
      every.map((shard) => ask({ type: 'provider-show', id: provider }, shard, deadline)),
    );
    const shard = answers.findIndex((outcome) => 'ok' in outcome);
    if (shard < 0) {
      throw new CellwrightError('no-provider', `there is no provider '${provider}'`, { field: 'allocations' });
    }
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(provider, shard);
    return shard;
  }

  async function changeBy(
    key: string,
    consumers: readonly Holding[],
    deadline: number,
    isSecond = false,
  ): Promise<ApiOutcome> {
    const providers = [...new Set(consumers.flatMap(({ allocations }) => Object.keys(allocations)))];
    const found = new Map(
      await Promise.all(providers.map(async (provider) => [provider, await shardOf(provider, deadline)] as const)),
    );
    // Every shard is told: any may hold something for the consumers, which they then hold no more.
    const parts = every.map((shard): Part => ({ shard, consumers: consumers.map((one) => partOf(one, shard, found)) }));
    const outcome = await ask({ type: 'change-together', key, parts }, fnv1a(key) % shards, deadline);
    if (!('refused' in outcome) || outcome.refused.code !== 'no-provider') return outcome;
    known.clear();
    // One may have come to another shard since it was found. That it was refused stays known by its key, and that it was
    // made after all by the other.
    return isSecond ? outcome : changeBy(secondKey(key), consumers, deadline, true);
  }

  return {
    shards,
    async change(wanted, options) {
      const { key = randomUUID(), ...others } = options ?? {};
      const fault =
        checkChange({ consumers: wanted, key, ...others }) ??
        unsendable({ consumers: wanted }, 'the change') ??
        namedTwice(wanted);
      if (fault !== null) throw fault;
      // As they are now: the caller may go on with them while the shards of the providers are found.
      const consumers = structuredClone(wanted);
      const deadline = clock.monotonic() + timeoutMs;
      const outcome = await changeBy(key, consumers, deadline);
      if (!('refused' in outcome)) return;
      const { code, message } = outcome.refused;
      throw new CellwrightError(code, message, { retryable: code === 'not-decided' });
    },
    async read(consumers) {
      const fault = checkRead({ consumers }) ?? unsendable({ consumers }, 'the question');
      if (fault !== null) throw fault;
      const deadline = clock.monotonic() + timeoutMs;
      const question = { type: 'consumers-read' as const, consumers: [...consumers] };
      const look = () =>
        Promise.all(
          every.map(async (shard) => ((await ask(question, shard, deadline)) as { readonly ok: ShardRead }).ok),
        );
      for (let first = await look(); ; ) {
        const second = await look();
        const whole = putTogether(first, second);
        if (whole !== null) return whole;
        if (clock.monotonic() >= deadline) throw new TimeoutError('what is in doubt of the consumers', timeoutMs);
        first = second;
        await sleep(clock, READ_AGAIN_MS);
      }
    },
  };
}

/** What a consumer shall hold with one shard. Whose it is matters where that is something: such changes are large enough. */
function partOf(
  { consumer, allocations: all, project, user }: Holding,
  shard: number,
  shardsOf: ReadonlyMap<string, number>,
): Part['consumers'][number] {
  const allocations = Object.entries(all)
    .filter(([provider]) => shardsOf.get(provider) === shard)
    .map(([provider, resources]) => ({ provider, resources }));
  const owner = allocations.length > 0 ? { project, user } : {};
  return { consumer, allocations, project: owner.project ?? null, user: owner.user ?? null };
}

/** Another key of the same form, and always the same one: a change that is asked for again stays the same change. */
function secondKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** What is wrong with what no message carries though its shape is right, such as a text with half a character. */
function unsendable(value: object, what: string): MalformedError | null {
  try {
    encodeForeign(value);
    return null;
  } catch (error) {
    const { field } = error as CellwrightError;
    const named = field === undefined ? {} : { field };
    return new MalformedError(`${what} cannot be sent: ${messageOf(error)}`, { ...named, cause: error });
  }
}

/** What is wrong with a change that says of one consumer twice what it shall hold. */
function namedTwice(consumers: readonly Holding[]): MalformedError | null {
  const seen = new Set<string>();
  for (const [position, { consumer }] of consumers.entries()) {
    if (seen.has(consumer)) {
      const field = `consumers.${position}.consumer`;
      return new MalformedError(`'${field}' of the change names '${consumer}' a second time`, { field });
    }
    seen.add(consumer);
  }
  return null;
}
