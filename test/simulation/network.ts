// The network of a run: it brings each message some time later, or late, or twice, or never, as its chance says.

import type { Address, Message } from '../../actors/actor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import type { Clock } from '../../runtime/clock.ts';
import { decode, encode } from '../../runtime/codec.ts';
import type { Chance } from './chance.ts';
import type { Weather } from './plan.ts';

/** A message on its way. */
export interface Letter {
  readonly from: Address;
  readonly to: Address;
  readonly message: Message;
  /** The same at every run of the seed, and of no other message. */
  readonly key: string;
}

export interface NetworkOptions {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly weather: Weather;
  /** Whether what arrives is a copy, as it is over the wire. */
  readonly encoded: boolean;
  /** Brings a message to whoever serves the address. */
  deliver(letter: Letter): void;
  /** Told of everything that is sent, before its fate is known. */
  onSent(from: Address, to: Address, message: AnyMessage): void;
  /** One line of the story. */
  tell(line: () => string): void;
}

export interface Network {
  send(from: Address, to: Address, message: AnyMessage): void;
  /** Nothing reaches the address any more, and nothing that it says arrives. */
  cut(address: Address): void;
  mend(address: Address): void;
  /** Messages under way. */
  readonly underWay: number;
}

const USUAL_MS = 4;

export function networkOf(options: NetworkOptions): Network {
  const { clock, chance, weather, encoded, deliver, onSent, tell } = options;
  const counts = new Map<string, number>();
  const cuts = new Set<Address>();
  /** Orders to build that never arrive, and those of which it is known that they may. */
  const deaf = new Map<string, boolean>();
  let underWay = 0;

  function isUnheard(to: Address, message: AnyMessage): boolean {
    if (message.type !== 'build' || !('incarnation' in message)) return false;
    const key = `${to} ${message.instance}/${message.attempt}`;
    let is = deaf.get(key);
    if (is === undefined) {
      is = chance.happens('deaf', key, weather.deaf);
      deaf.set(key, is);
    }
    return is;
  }

  function carry(letter: Letter, delayMs: number, how: string): void {
    underWay += 1;
    if (!isBeat(letter.message)) tell(() => `${letter.from} -> ${letter.to}: ${summaryOf(letter.message)}${how}`);
    clock.at(clock.now() + delayMs, () => {
      underWay -= 1;
      if (cuts.has(letter.to)) return tell(() => `${letter.to} is cut off: ${summaryOf(letter.message)} is lost`);
      deliver(letter);
    });
  }

  function delayOf(key: string): [number, string] {
    if (chance.happens('slow', key, weather.slow)) {
      const late = Math.ceil(chance.of(`${key} slow by`) * weather.slowMs);
      return [late, ` (${late} ms late)`];
    }
    return [1 + Math.floor(chance.of(`${key} delay`) * USUAL_MS), ''];
  }

  return {
    send(from, to, message) {
      onSent(from, to, message);
      const route = `${from} ${to} ${message.type}`;
      const count = (counts.get(route) ?? 0) + 1;
      counts.set(route, count);
      const key = `${route} ${count}`;
      if (cuts.has(from)) return tell(() => `${from} is cut off: ${summaryOf(message)} to ${to} is lost`);
      if (chance.happens('drop', key, weather.drop) || isUnheard(to, message)) {
        return tell(() => `${from} -> ${to}: ${summaryOf(message)} (LOST)`);
      }
      const copy = (): Message => (encoded ? (decode(encode(message)) as Message) : message);
      const twice = chance.happens('double', key, weather.double);
      carry({ from, to, message: copy(), key }, ...delayOf(key));
      if (!twice) return;
      const [delayMs, how] = delayOf(`${key} again`);
      carry({ from, to, message: copy(), key: `${key} again` }, delayMs, `${how} (AGAIN)`);
    },
    cut: (address) => void cuts.add(address),
    mend: (address) => void cuts.delete(address),
    get underWay() {
      return underWay;
    },
  };
}

/** Said at a steady pace, and of no interest in a story. */
function isBeat(message: Message): boolean {
  const { type, changed, used, removed, hosts } = message as Message & Record<string, readonly unknown[] | undefined>;
  if (type === 'providers-changed') return [changed, used, removed].every((list) => list?.length === 0);
  return type === 'alive' || (type === 'hosts-changed' && hosts?.length === 0);
}

/** A message in a few words. */
export function summaryOf(message: Message): string {
  const told = message as unknown as Record<string, unknown>;
  const words: string[] = [message.type];
  for (const field of FIELDS) {
    const value = told[field];
    if (typeof value === 'string' || typeof value === 'number') words.push(`${field}=${value}`);
  }
  const { refusal, instances, keep, deleted } = told as {
    refusal?: { code: string };
    instances?: unknown;
    keep?: unknown;
    deleted?: boolean;
  };
  for (const list of ['providers', 'changed', 'used', 'usages', 'hosts'] as const) {
    const items = told[list];
    if (Array.isArray(items)) words.push(`${list}=[${items.map(stateOf).join(', ')}]`);
  }
  if (refusal !== undefined) words.push(refusal.code);
  if (Array.isArray(instances)) words.push(`[${instances.filter((one) => typeof one === 'string').join(' ')}]`);
  if (Array.isArray(keep) && keep.length > 0) words.push(`keep=${keep.join()}`);
  if (deleted === true) words.push('for good');
  return words.join(' ');
}

const FIELDS = [
  ...['instance', 'consumer', 'request', 'host', 'attempt', 'round', 'state', 'code', 'reason'],
  ...['ask', 'epoch', 'sequence'],
];

/** A provider or a host in a list. */
function stateOf(item: unknown): string {
  const { id, host, state, used, generation } = item as Record<string, unknown>;
  if (typeof host === 'string') return `${host} ${state}`;
  return `${String(id).slice(0, 4)}${generation === undefined ? '' : ` @${generation} ${JSON.stringify(used)}`}`;
}
