// Which journals a deployment has had, kept beside what else is decided once: so that a journal whose stream was deleted
// is missed, and not begun anew as if there had never been one; and which strays were seen in it.

import Type from 'typebox';
import type { Address } from '../../actors/actor.ts';
import { jetStreamCodeOf } from '../bus/nats-errors.ts';
import { decode, encodeJson } from '../codec.ts';
import { bucketToKeep, type DeploymentOptions, explained } from '../deployment.ts';
import { checkOf } from '../schemas.ts';
import { firstUnlike, joined, type Range } from './strays.ts';
import { ACCOUNT_IS_FULL } from './writer.ts';

export interface MadeJournals {
  /** Whether the journal of an owner was ever made. */
  has(owner: Address): Promise<boolean>;
  /** Keeps in mind that it was. */
  note(owner: Address): Promise<void>;
  /** The strays that were seen in the journal of an owner, there or removed since. */
  straysOf(owner: Address): Promise<readonly Range[]>;
  noteStrays(owner: Address, strays: readonly Range[]): Promise<void>;
  /** What an operator does who knows that these were strays. */
  howToAllow(owner: Address, strays: readonly Range[]): string;
  /** What an operator does who wants to begin anew without what was lost. */
  howToForget(owner: Address): string;
}

const MAX_NOTE_BYTES = 4_096;
/** So many ranges of strays are kept, the newest: an operator removes them all at a time. */
const MAX_STRAYS = 64;

const Note = Type.Object({
  v: Type.Literal(1),
  strays: Type.Optional(Type.Array(Type.Tuple([Type.Integer(), Type.Integer()]))),
});
const check = checkOf(Note, 'the note of a journal');

export function madeJournals(options: DeploymentOptions): MadeJournals {
  const { subjects } = options;
  const noted = new Set<Address>();
  /** What was to be kept in mind, and may not be: an account without room takes no note either. */
  const seen = new Map<Address, readonly Range[]>();
  const keyOf = (owner: Address): string => `journal.${subjects.leaseKey(owner)}`;

  const bucket = () =>
    bucketToKeep(options).catch((error: unknown) => {
      throw explained(error, subjects);
    });

  /** What cannot be read tells of none: then a person is asked. */
  async function kept(owner: Address): Promise<readonly Range[]> {
    const stored = await (await bucket()).get(keyOf(owner));
    if (stored === null || stored.operation !== 'PUT') return [];
    try {
      const note = decode(stored.value, MAX_NOTE_BYTES);
      return check(note) === null ? ((note as { strays?: Range[] }).strays ?? []) : [];
    } catch {
      return [];
    }
  }

  /** An account without room keeps what there was: a server of version 2.9 removes that before it refuses what is larger. */
  async function replace(key: string, note: Uint8Array): Promise<void> {
    const notes = await bucket();
    const before = await notes.get(key);
    try {
      await notes.put(key, note);
    } catch (error) {
      const isLost = before?.operation === 'PUT' && jetStreamCodeOf(error) === ACCOUNT_IS_FULL;
      if (isLost) await notes.put(key, before.value);
      throw error;
    }
  }

  async function has(owner: Address): Promise<boolean> {
    if (noted.has(owner)) return true;
    const stored = await (await bucket()).get(keyOf(owner));
    return stored !== null && stored.operation === 'PUT';
  }

  return {
    has,
    async note(owner) {
      if (noted.has(owner)) return;
      if (!(await has(owner))) await (await bucket()).put(keyOf(owner), encodeJson({ v: 1 }));
      noted.add(owner);
    },
    straysOf: async (owner) => joined([...(await kept(owner)), ...(seen.get(owner) ?? [])]),
    async noteStrays(owner, strays) {
      const remember = (more: readonly Range[]) => {
        const all = joined([...more, ...(seen.get(owner) ?? [])]).slice(-MAX_STRAYS);
        seen.set(owner, all);
        return all;
      };
      remember(strays);
      const known = await kept(owner);
      const all = remember(known);
      if (all.every((range) => firstUnlike(known, range) === null)) return;
      await replace(keyOf(owner), encodeJson({ v: 1, strays: all }));
    },
    howToAllow: (owner, strays) =>
      `nats kv put ${subjects.deployment} ${keyOf(owner)} '${JSON.stringify({ v: 1, strays })}'`,
    howToForget: (owner) => `nats kv del ${subjects.deployment} ${keyOf(owner)}`,
  };
}
