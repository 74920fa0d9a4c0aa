// Has those wait who would have too much on its way at once: a server breaks off the connection of a client for which more
// waits there than it allows, 64 MiB unless told otherwise, and what was on its way is lost.

interface Waiting {
  readonly bytes: number;
  readonly begin: () => void;
}

export class Turns {
  #left: number;
  readonly #most: number;
  readonly #waiting: Waiting[] = [];

  /** @param most Bytes that may be on their way at a time. */
  constructor(most: number) {
    this.#most = most;
    this.#left = most;
  }

  /**
   * Does some work when there is room for so many bytes, or for as many as may be on their way at all.
   * @throws The reason of the signal, when that says so before the work begins.
   */
  async take<Result>(bytes: number, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    signal.throwIfAborted();
    const mine = Math.min(bytes, this.#most);
    if (this.#waiting.length > 0 || mine > this.#left) await this.#turn(mine, signal);
    else this.#left -= mine;
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      this.#left += mine;
      this.#letIn();
    }
  }

  #turn(bytes: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal.reason);
        // Those behind it may have room.
        this.#letIn();
      };
      const begin = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const waiting: Waiting = { bytes, begin };
      this.#waiting.push(waiting);
      signal.addEventListener('abort', giveUp);
    });
  }

  #letIn(): void {
    for (let next = this.#waiting[0]; next !== undefined && next.bytes <= this.#left; next = this.#waiting[0]) {
      this.#left -= next.bytes;
      this.#waiting.shift();
      next.begin();
    }
  }
}
