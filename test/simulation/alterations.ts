// How something that keeps a deployment safe is taken away: what stands around an actor forgets, repeats or ignores, and
// the actor stays as it is.

import type { OwnerActor } from './actors.ts';
import type { Alteration } from './run.ts';
import { kindOf } from './watching.ts';

export interface Safeguard {
  /** What is taken away. */
  readonly name: string;
  readonly without: Alteration;
  /** With how many placement shards; default: as the seed has it. */
  readonly placementShards?: number;
  /** The seed from which on it is looked for; default 1. What takes a coincidence is looked for where there is one. */
  readonly fromSeed?: number;
  /** The invariants of which one must be found broken. */
  readonly breaks: RegExp;
}

export type Receive = OwnerActor['receive'];

/** Alters what one kind of actor does with what it receives. */
export function receiving(kind: string, alter: (receive: Receive) => Receive): Alteration {
  return {
    actor(address, actor) {
      if (kindOf(address) !== kind) return actor;
      return { ...actor, receive: alter(actor.receive) };
    },
  };
}

/** Forgets something after every turn and every record. */
export function forgetting(kind: string, forget: (state: unknown) => void): Alteration {
  return {
    actor(address, actor) {
      if (kindOf(address) !== kind) return actor;
      return {
        ...actor,
        receive(state, message, from, turn) {
          actor.receive(state, message, from, turn);
          forget(state);
        },
        apply(state, record) {
          actor.apply(state, record);
          forget(state);
        },
      };
    },
  };
}
