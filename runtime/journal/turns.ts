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

  /** Does some work when there is room for so many bytes, or for as many as may be on their way at all. */
  async take<Result>(bytes: number, work: () => Promise<Result>): Promise<Result> {
    const mine = Math.min(bytes, this.#most);
    if (this.#waiting.length > 0 || mine > this.#left) {
      await new Promise<void>((begin) => this.#waiting.push({ bytes: mine, begin }));
    } else {
      this.#left -= mine;
    }
    try {
      return await work();
    } finally {
      this.#left += mine;
      this.#letIn();
    }
  }

  #letIn(): void {
    for (let next = this.#waiting[0]; next !== undefined && next.bytes <= this.#left; next = this.#waiting[0]) {
      this.#left -= next.bytes;
      this.#waiting.shift();
      next.begin();
    }
  }
}
