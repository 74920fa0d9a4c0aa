// Lanes: a bounded number of pieces of work at once, the others in a queue. The first that fails fails all that is
// asked for afterwards.

export interface Lanes {
  /** Resolves once the work has a lane and has begun. @throws What earlier work failed with. */
  begin(work: () => Promise<void>): Promise<void>;
  /** Begins the work when `ready` resolves and a lane is free; nobody waits for it but `idle`. */
  beginAfter(ready: Promise<void>, work: () => Promise<void>): void;
  /** Resolves when all work is done. @throws What any of it failed with. */
  idle(): Promise<void>;
}

export function lanesOf(count: number): Lanes {
  const queue: (() => void)[] = [];
  let free = count;
  let unfinished = 0;
  let failure: { error: unknown } | undefined;
  let wakeIdle = () => {};

  async function acquire(): Promise<void> {
    // A lane that is given back is handed to the first in the queue, and so never counted as free.
    if (free === 0) await new Promise<void>((resolve) => queue.push(resolve));
    else free -= 1;
  }

  function release(): void {
    const next = queue.shift();
    if (next === undefined) free += 1;
    else next();
  }

  function follow(work: Promise<void>): void {
    unfinished += 1;
    work
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        unfinished -= 1;
        wakeIdle();
      });
  }

  return {
    async begin(work) {
      await acquire();
      if (failure !== undefined) throw failure.error;
      follow(work().finally(release));
    },
    beginAfter(ready, work) {
      const later = async () => {
        await ready;
        await acquire();
        await work().finally(release);
      };
      follow(later());
    },
    async idle() {
      while (unfinished > 0 && failure === undefined) {
        await new Promise<void>((resolve) => {
          wakeIdle = resolve;
        });
      }
      if (failure !== undefined) throw failure.error;
    },
  };
}
