// The duty of an owner: to take the messages of its actor, read its journal and serve it, and to give all that up again,
// in order or at once. Whether and when is for others to say: the keeper of its lease, or the node that starts and stops.

import type { Service } from './bus/bus.ts';
import { messageOf } from './errors.ts';
import type { Duty } from './ownership/keeper.ts';
import type { Tenure } from './ownership/tenure.ts';
import type { Supervision } from './supervision.ts';
import type { ActorHost } from './turn.ts';

export interface OwnedOptions {
  readonly host: ActorHost;
  readonly supervision: Supervision;
  /** Puts the actor on the bus. */
  serve(): Promise<Service>;
  /** Told when the actor takes messages anew. */
  onUp(): void;
  onError(error: unknown, what: string): void;
}

export interface OwnedActor extends Omit<Duty, 'open'> {
  /** @param tenure Default: the actor has no lease. */
  open(tenure?: Tenure): Promise<void>;
  /** Reads the journal again, for an actor that has failed, in the same tenure. */
  restart(): Promise<void>;
}

export function ownedActor({ host, supervision, serve, onUp, onError }: OwnedOptions): OwnedActor {
  let service: Service | undefined;
  /** Resolves when nothing is being opened; it never rejects. */
  let opening: Promise<unknown> = Promise.resolve();
  let tenure: Tenure | undefined;

  async function leave(): Promise<void> {
    const left = service;
    service = undefined;
    await left?.stop().catch((error) => onError(error, `leaving '${host.address}'`));
  }

  async function stopHost(): Promise<void> {
    await host.stop().catch((error) => onError(messageOf(error), `closing '${host.address}'`));
  }

  async function openNow(): Promise<void> {
    // What arrives while the journal is read waits in the mailbox.
    const started = host.start(tenure);
    const serving = serve();
    try {
      [service] = await Promise.all([serving, started]);
    } catch (error) {
      await stopHost();
      await started.catch(() => undefined);
      service = await serving.catch(() => undefined);
      await leave();
      throw error;
    }
    tellUp();
  }

  /** It may have been stopped, or have failed, meanwhile. */
  function tellUp(): void {
    if (host.isUp()) onUp();
  }

  return {
    open(held) {
      tenure = held;
      supervision.renew();
      const opened = openNow();
      opening = opened.catch(() => undefined);
      return opened;
    },
    restart() {
      const started = host.start(tenure).then(() => {
        // One that failed before it was on the bus is told of when it is.
        if (service !== undefined) tellUp();
      });
      opening = Promise.allSettled([opening, started]);
      return started;
    },
    resume: () => host.resume(),
    async drain() {
      // First nothing more comes, then all that has come is finished: nothing is taken and not answered.
      await leave();
      await host.drained();
    },
    async drop() {
      supervision.end();
      // Twice: what is being opened must neither go on nor be left open.
      await stopHost();
      await opening;
      await leave();
      await stopHost();
    },
  };
}
