// Leases that a deployment brings itself are anybody's code. What they do wrong must neither keep a node from being
// stopped nor end the process: it is tried again, as where a server does not answer.

import type { Address } from '../../actors/actor.ts';
import type { Clock } from '../clock.ts';
import { CellwrightError, messageOf, TimeoutError } from '../errors.ts';
import { unfailing } from '../unfailing.ts';
import { within } from '../within.ts';
import type { Leases, LeaseWatch } from './leases.ts';

/** The leases that do what the given ones do, as far as that is what leases may do, and in time. */
export function guardedLeases(own: Leases, timeoutMs: number, clock: Clock): Leases {
  async function answered<Answer>(address: Address, ask: () => Promise<Answer>): Promise<Answer> {
    const answering = ask();
    if (await within(timeoutMs, answering, clock)) return answering;
    throw new TimeoutError(`the lease of '${address}'`, timeoutMs);
  }
  return {
    read: (address) => answered(address, async () => own.read(address)),
    watch: (address, onSeen, onEnd) => guardedWatch(own, { address, onSeen, onEnd }),
    write: (address, record, revision) =>
      answered(address, async () => insistWritten(await own.write(address, record, revision), address)),
  };
}

interface Watching {
  readonly address: Address;
  readonly onSeen: Parameters<Leases['watch']>[1];
  readonly onEnd: Parameters<Leases['watch']>[2];
}

/** What is told before it is known that it is followed comes after that, and none of it where it cannot be followed. */
function guardedWatch(own: Leases, { address, onSeen, onEnd }: Watching): LeaseWatch {
  let isOver = false;
  let stopOwn = () => {};
  const stop = unfailing(() => {
    if (isOver) return undefined;
    isOver = true;
    return stopOwn();
  });
  const soon = (tell: () => void) =>
    queueMicrotask(() => {
      if (!isOver) tell();
    });
  const end = (error: unknown) =>
    soon(() => {
      stop();
      onEnd(error);
    });
  let fault: unknown;
  const seen: Watching['onSeen'] = (lease) =>
    soon(() => {
      if (fault !== undefined) return;
      try {
        onSeen(lease);
      } catch (error) {
        end(error);
      }
    });
  try {
    stopOwn = stopOf(own.watch(address, seen, end), address);
  } catch (error) {
    fault = error instanceof Error ? error : new Error(messageOf(error));
    end(fault);
  }
  return { stop };
}

function stopOf(made: unknown, address: Address): () => void {
  if (made instanceof Promise) {
    made.catch(() => undefined);
    throw bad(`the watch of the lease of '${address}' is a promise: it must be made at once`);
  }
  const watch = made as LeaseWatch | null | undefined;
  if (typeof watch?.stop !== 'function') throw bad(`the watch of the lease of '${address}' lacks the method 'stop'`);
  return () => watch.stop();
}

function insistWritten(revision: unknown, address: Address): number | null {
  if (revision === null || typeof revision === 'number') return revision;
  throw bad(`write of the lease of '${address}' must answer its new revision, or null`);
}

const bad = (what: string): CellwrightError => new CellwrightError('bad-option', what, { field: 'leases' });
