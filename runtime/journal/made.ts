// Which journals a deployment has had, kept beside what else is decided once: so that a journal whose stream was deleted
// is missed, and not begun anew as if there had never been one.

import type { Address } from '../../actors/actor.ts';
import type { NatsBus } from '../bus/nats.ts';
import { busError } from '../bus/nats-errors.ts';
import { encodeJson } from '../codec.ts';
import type { Subjects } from '../subjects.ts';

export interface MadeJournals {
  /** Whether the journal of an owner was ever made. */
  has(owner: Address): Promise<boolean>;
  /** Keeps in mind that it was. */
  note(owner: Address): Promise<void>;
  /** What an operator does who wants to begin anew without what was lost. */
  howToForget(owner: Address): string;
}

export interface MadeJournalsOptions {
  readonly bus: NatsBus;
  readonly subjects: Subjects;
  /** Copies of the bucket in a cluster of servers. */
  readonly replicas: number;
}

const TIMEOUT_MS = 5_000;

export function madeJournals({ bus, subjects, replicas }: MadeJournalsOptions): MadeJournals {
  const noted = new Set<Address>();
  const keyOf = (owner: Address): string => `journal.${subjects.leaseKey(owner)}`;

  async function bucket() {
    const settings = { history: 1, replicas, allow_direct: false };
    try {
      return await bus.connection.jetstream({ timeout: TIMEOUT_MS }).views.kv(subjects.deployment, settings);
    } catch (error) {
      throw busError(error, `bucket ${subjects.deployment}`, TIMEOUT_MS);
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
    howToForget: (owner) => `nats kv del ${subjects.deployment} ${keyOf(owner)}`,
  };
}
