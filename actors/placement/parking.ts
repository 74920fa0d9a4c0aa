// Messages that wait until changes over several shards are over that lock what they are about.

import type { Address, Message } from '../actor.ts';
import type { PutTree } from '../messages/placement.ts';
import type { Parked } from './holds.ts';
import { blockersOf } from './lock-keys.ts';
import { comesLate } from './puts.ts';
import type { PlacementState } from './state.ts';

/** The most messages that wait; more are not answered. */
const MAX_PARKED = 20_000;

/** Of these whoever sent them says them again, by and by. */
const SAID_AGAIN: ReadonlySet<string> = new Set(['claim', 'recall', 'unclaim', 'release', 'group-leave']);

/** Lets a message wait if it has to; answers whether it must not be decided now. */
export function park(state: PlacementState, message: Message, from: Address, isAgain = false): boolean {
  const { locks, parked } = state.holds;
  if (locks.size === 0) return false;
  if (message.type === 'put-tree' && !isAgain && isToldAlready(state.holds, message as unknown as PutTree)) return true;
  const awaits = blockersOf(state, message, isAgain);
  if (awaits === null) return false;
  if (!SAID_AGAIN.has(message.type) && parked.length < MAX_PARKED && !isParked(parked, message)) {
    parked.push({ message, from, awaits });
  }
  return true;
}

/**
 * What a compute tells of its tree takes the place of what it told before and still waits. That it was told before is
 * answered with what waits: until then it is not in. So is what the same life told before, and comes after it.
 */
function isToldAlready({ parked }: PlacementState['holds'], asked: PutTree): boolean {
  const [root] = asked.providers;
  const position = parked.findIndex(
    ({ message }) => message.type === 'put-tree' && (message as unknown as PutTree).providers[0]?.id === root?.id,
  );
  if (position < 0) return false;
  if (asked.again === true || comesLate(parked[position]?.message as unknown as PutTree, asked)) return true;
  parked.splice(position, 1);
  return false;
}

/** A coordinator asks again and again. */
function isParked(parked: readonly Parked[], message: Message): boolean {
  if (message.type !== 'hold') return false;
  const { transaction } = message as Message & { transaction: string };
  return parked.some(
    ({ message: other }) =>
      other.type === 'hold' && (other as Message & { transaction: string }).transaction === transaction,
  );
}

/** Those that wait for nothing any more, in the order in which they came. */
export function takeReady({ holds }: PlacementState): Parked[] {
  if (!holds.isAnyReady) return [];
  holds.isAnyReady = false;
  const all = holds.parked.splice(0);
  for (const one of all) if (one.awaits.size > 0) holds.parked.push(one);
  return all.filter(({ awaits }) => awaits.size === 0);
}
