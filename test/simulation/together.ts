// Changes of what consumers hold over several placement shards, and readers who look meanwhile: no change may be made in
// one shard and not in another, and no reader may see half of one.

import type { Message } from '../../actors/actor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import type { ConsumerChange } from '../../actors/messages/placement-api.ts';
import type { Part } from '../../actors/messages/transactions.ts';
import { putTogether, type ShardRead } from '../../actors/placement/reading.ts';
import type { PlacementRecord } from '../../actors/placement/records.ts';
import type { PlacementState } from '../../actors/placement/state.ts';
import { everyPlacement, fnv1a, placementAddress, placementShardOf } from '../../actors/routing.ts';
import { providerId } from '../../runtime/drivers/naming.ts';
import type { Random } from '../../runtime/random.ts';
import type { HostPlan, Operation } from './operations.ts';

/** Consumers that are no instances; callers change what they hold. */
const POOLS = ['pool-0', 'pool-1'];
export const isPool = (consumer: string): boolean => consumer.startsWith('pool-');

export type Together = Extract<Operation, { what: 'together' }>;

/** How soon after a change it is read, ms at most: in the midst of it, and while it waits for a shard. */
const READ_WITHIN_MS = [60, 300, 2_500];

/** What callers change, and when others read it. */
export function togetherOf(hosts: readonly HostPlan[], untilMs: number, random: Random): Operation[] {
  if (random.chance(0.5) || hosts.length === 0) return [];
  const operations: Operation[] = [];
  const changes = random.integer(1, 8);
  for (let position = 0; position < changes; position += 1) {
    const consumers = random.chance(0.5) ? POOLS : [random.pick(POOLS)];
    const wanted = consumers.map((consumer) => ({
      consumer,
      hosts: random.chance(0.15)
        ? []
        : [random.pick(hosts), random.pick(hosts)].map(({ cell, host }) => ({
            provider: providerId(cell, host, ''),
            vcpu: random.integer(1, 2),
          })),
    }));
    const at = random.integer(0, untilMs);
    operations.push({ id: `together-${position}`, at, what: 'together', wanted });
    for (const [which, withinMs] of READ_WITHIN_MS.entries()) {
      if (!random.chance(0.6)) continue;
      const readAt = at + random.integer(0, withinMs);
      operations.push({ id: `read-${position}-${which}`, at: readAt, what: 'read', consumers: POOLS });
    }
  }
  return operations;
}

/** The parts of a change: every shard is told, since any may hold something for the consumers. */
function partsOf({ wanted }: Together, shards: number): Part[] {
  return Array.from({ length: shards }, (_, shard) => ({
    shard,
    consumers: wanted.map(({ consumer, hosts }): ConsumerChange => {
      const mine = hosts.filter(({ provider }) => placementShardOf(provider, shards) === shard);
      const amounts = new Map(mine.map(({ provider, vcpu }) => [provider, { VCPU: vcpu }]));
      const allocations = Array.from(amounts, ([provider, resources]) => ({ provider, resources }));
      return { consumer, allocations, project: null, user: null };
    }),
  }));
}

export function questionOf(operation: Together, ask: number, shards: number): [string, AnyMessage] {
  const coordinator = placementAddress(fnv1a(operation.id) % shards);
  return [coordinator, { type: 'change-together', ask, key: operation.id, parts: partsOf(operation, shards) }];
}

// --- readers

export interface Reader {
  /** Asks again what is not answered. */
  ask(): void;
  /** Takes an answer to one of its questions. */
  take(message: Message): void;
}

export interface ReaderOptions {
  readonly consumers: readonly string[];
  readonly shards: number;
  newAsk(): number;
  send(to: string, message: AnyMessage): void;
  /** What came of it: what all shards said of each consumer. */
  done(said: readonly ShardRead[], whole: NonNullable<ReturnType<typeof putTogether>>): void;
}

export function readerOf({ consumers, shards, newAsk, send, done }: ReaderOptions): Reader {
  let first: readonly ShardRead[] | null = null;
  let asks: number[] = [];
  let said: (ShardRead | undefined)[] = [];
  let isOver = false;

  function begin(): void {
    asks = Array.from({ length: shards }, newAsk);
    said = asks.map(() => undefined);
    put();
  }

  function put(): void {
    for (const [shard, to] of everyPlacement(shards).entries()) {
      if (said[shard] === undefined) {
        send(to, { type: 'consumers-read', ask: asks[shard] as number, consumers: [...consumers] });
      }
    }
  }

  return {
    ask() {
      if (isOver) return;
      if (asks.length === 0) begin();
      else put();
    },
    take(message) {
      const { ask, text } = message as Message & { ask: number; text: string };
      const shard = asks.indexOf(ask);
      if (isOver || shard < 0) return;
      said[shard] = (JSON.parse(text) as { ok: ShardRead }).ok;
      if (said.some((one) => one === undefined)) return;
      const second = said as ShardRead[];
      const whole = first === null ? null : putTogether(first, second);
      first = second;
      if (whole === null) return begin();
      isOver = true;
      done(second, whole);
    },
  };
}

// --- what really came of them

export interface Changes {
  /** Follows a record of a shard. */
  note(shard: number, record: PlacementRecord): void;
  /** What does not hold of what a reader saw. */
  faultsOf(said: readonly ShardRead[]): string[];
  /** What does not hold at the end. */
  atTheEnd(): string[];
}

export function changesOf(
  placements: readonly PlacementState[],
  { onFault, tally }: { onFault(fault: string): void; tally(what: string): void },
): Changes {
  const outcomes = new Map<string, boolean>();
  const decided = new Map<string, boolean>();
  const parts = new Map<string, readonly Part[]>();
  /** The transactions that each shard has made, by consumer, in order. */
  const totals = new Map<string, number>();
  const shrunk = new Set<string>();
  const made = placements.map(() => new Map<string, string[]>());

  function changes(transaction: string, consumer: string): boolean {
    return (parts.get(transaction) ?? []).some(({ consumers }) => consumers.some((one) => one.consumer === consumer));
  }

  function note(shard: number, record: PlacementRecord): void {
    if (record.type === 'transaction-opened') parts.set(record.id, record.parts);
    if (record.type === 'transaction-decided') {
      if (decided.has(record.id)) onFault(`all or nothing: '${record.id}' is decided twice`);
      decided.set(record.id, record.outcome.confirmed);
    }
    if (record.type === 'tree') noteTotals(record.providers);
    if (record.type !== 'hold-ended') return;
    const { transaction, confirmed } = record;
    if (decided.get(transaction) !== confirmed) onFault(`all or nothing: '${transaction}' ends before it is decided`);
    if ((outcomes.get(transaction) ?? confirmed) !== confirmed)
      onFault(`all or nothing: '${transaction}' is half made`);
    outcomes.set(transaction, confirmed);
    tally(`change ${confirmed ? 'made' : 'not made'}`);
    if (!confirmed) return;
    capacityFaults(shard, transaction);
    for (const { consumer } of parts.get(transaction)?.find((part) => part.shard === shard)?.consumers ?? []) {
      const ofConsumer = made[shard]?.get(consumer) ?? [];
      if (ofConsumer.includes(transaction)) onFault(`all or nothing: '${transaction}' is made twice`);
      made[shard]?.set(consumer, [...ofConsumer, transaction]);
    }
  }

  function noteTotals(providers: Extract<PlacementRecord, { type: 'tree' }>['providers']): void {
    for (const { id, inventories } of providers) {
      const total = inventories.VCPU?.total ?? 0;
      if (total < (totals.get(id) ?? 0)) shrunk.add(id);
      totals.set(id, total);
    }
  }

  /** capacity: a change that is made fits, but on what operators have made smaller. */
  function capacityFaults(shard: number, transaction: string): void {
    const part = parts.get(transaction)?.find((one) => one.shard === shard);
    for (const { provider: id } of part?.consumers.flatMap(({ allocations }) => allocations) ?? []) {
      const stock = placements[shard]?.providers.get(id)?.stocks.get('VCPU');
      if (stock === undefined || stock.used <= stock.capacity || shrunk.has(id)) continue;
      onFault(`capacity: ${stock.used} of ${stock.capacity} VCPU in use on '${id}' after '${transaction}'`);
    }
  }

  function faultsOf(said: readonly ShardRead[]): string[] {
    tally('change read');
    const faults: string[] = [];
    const last = new Map<string, string>();
    for (const consumer of POOLS) {
      const changedBy = said.map((one) => one[consumer]?.changedBy ?? null);
      const known = [...new Set(changedBy)];
      // What is forgotten is forgotten by each shard when its time comes.
      if (known.includes(null)) continue;
      if (known.length > 1) faults.push(`half seen: '${consumer}' is changed by ${known.join(' and ')}`);
      last.set(consumer, known[0] as string);
      for (const [shard, one] of said.entries()) {
        const part = parts.get(known[0] as string)?.find((each) => each.shard === shard);
        const given = part?.consumers.find((each) => each.consumer === consumer)?.allocations ?? [];
        const should = Object.fromEntries(given.map(({ provider, resources }) => [provider, resources]));
        if (sorted(one[consumer]?.allocations ?? {}) !== sorted(should)) {
          faults.push(`half seen: '${consumer}' holds other than '${known[0]}' gave it in shard ${shard}`);
        }
      }
    }
    const [one, other] = POOLS as [string, string];
    for (const [mine, theirs, consumer] of [
      [last.get(one), last.get(other), other],
      [last.get(other), last.get(one), one],
    ] as const) {
      if (mine === undefined || theirs === undefined || mine === theirs || !changes(mine, consumer)) continue;
      const order = made.map((ofShard) => ofShard.get(consumer) ?? []).find((all) => all.includes(theirs)) ?? [];
      if (order.indexOf(theirs) < order.indexOf(mine)) {
        faults.push(`half seen: '${mine}' is seen in one consumer and not in '${consumer}'`);
      }
    }
    return faults;
  }

  function atTheEnd(): string[] {
    const faults: string[] = [];
    for (const [shard, { holds, transactions }] of placements.entries()) {
      for (const id of holds.open.keys()) faults.push(`an end: '${id}' is held in shard ${shard}`);
      for (const { id, settled } of transactions.known.values()) {
        if (!settled) faults.push(`an end: '${id}' is not settled`);
      }
    }
    if (faults.length > 0) return faults;
    for (const consumer of POOLS) {
      const orders = new Set(made.map((ofShard) => (ofShard.get(consumer) ?? []).join()));
      if (orders.size > 1) faults.push(`all or nothing: '${consumer}' is changed by ${[...orders].join(' and by ')}`);
    }
    return faults;
  }

  return { note, faultsOf, atTheEnd };
}

function sorted(allocations: Readonly<Record<string, Readonly<Record<string, number>>>>): string {
  return JSON.stringify(Object.entries(allocations).sort(([one], [other]) => (one < other ? -1 : 1)));
}
