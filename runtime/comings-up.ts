// Actors that come up. Each tells so when it begins to take messages, and whoever waits for an answer of it asks again at
// once, for the question may have died with its last owner. It only hastens: what misses this is asked again in time.

import Type, { type Static } from 'typebox';
import type { Address } from '../actors/actor.ts';
import type { Bus, Subscription } from './bus/bus.ts';
import { MalformedError } from './errors.ts';
import { checkOf } from './schemas.ts';
import type { Subjects } from './subjects.ts';

const ComingUp = Type.Object({
  actor: Type.String({ maxLength: 200 }),
  /** The node that serves it now. */
  node: Type.String({ maxLength: 200 }),
});
type ComingUp = Static<typeof ComingUp>;

const check = checkOf(ComingUp, 'what tells that an actor has come up');

export interface ComingsUpOptions {
  readonly bus: Bus;
  readonly subjects: Subjects;
  onUp(actor: Address, node: string): void;
  onError(error: unknown, what: string): void;
}

/** Tells it below the actor's own address: several may be asked by one name. */
export function tellUp(
  { bus, subjects, address }: Pick<ComingsUpOptions, 'bus' | 'subjects'> & { readonly address: Address },
  told: ComingUp,
): void {
  bus.publish(subjects.up(address), Buffer.from(JSON.stringify(told)));
}

/** Follows the comings-up of all actors. */
export function followComingsUp({ bus, subjects, onUp, onError }: ComingsUpOptions): Subscription[] {
  return subjects.ups.map((wildcard) =>
    bus.subscribe(wildcard, ({ data, subject }) => {
      try {
        const { actor, node } = read(data);
        onUp(actor, node);
      } catch (error) {
        onError(error, `what came on '${subject}'`);
      }
    }),
  );
}

function read(data: Uint8Array): ComingUp {
  let told: unknown;
  try {
    told = JSON.parse(Buffer.from(data).toString());
  } catch (error) {
    throw new MalformedError('it is not JSON', { cause: error });
  }
  const fault = check(told);
  if (fault !== null) throw fault;
  return told as ComingUp;
}
