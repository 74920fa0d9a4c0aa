// Room for a request, and how much of it is where nobody is silent: what a silent cell or placement shard has is as it was
// when they were heard last.

/** What of the room for a request cannot be relied on. */
export interface Needs {
  /** They fit, but not without hosts of placement shards that are silent. */
  readonly needsSilentShards?: true;
  /** They fit, but not without hosts of cells that are silent. */
  readonly needsSilentCells?: true;
}

/** Room for so many instances; and how many hosts have it, of those that keep together as much as any other. */
export interface Held {
  times: number;
  hosts: number;
}

export class RoomHeard {
  readonly #isTogether: boolean;
  /** On all hosts. */
  readonly all: Held = { times: 0, hosts: 0 };
  /** Where both are heard. */
  readonly heard: Held = { times: 0, hosts: 0 };
  /** Where the cell is heard, and where the shard is. */
  readonly #ofCells: Held = { times: 0, hosts: 0 };
  readonly #ofShards: Held = { times: 0, hosts: 0 };

  /** @param isTogether Whether they keep together, so that one host alone must have the room. */
  constructor(isTogether: boolean) {
    this.#isTogether = isTogether;
  }

  /** Notes a host with room for so many. */
  note(room: number, isCellSilent: boolean, isShardSilent: boolean): void {
    this.#add(this.all, room);
    if (!isCellSilent && !isShardSilent) this.#add(this.heard, room);
    if (!isCellSilent) this.#add(this.#ofCells, room);
    if (!isShardSilent) this.#add(this.#ofShards, room);
  }

  #add(held: Held, room: number): void {
    if (!this.#isTogether) {
      held.times += room;
      held.hosts += 1;
    } else if (room >= held.times) {
      held.hosts = room > held.times ? 1 : held.hosts + 1;
      held.times = room;
    }
  }

  /** Who is needed for so many, for whom there is room on all hosts. */
  needs(count: number): Needs {
    if (this.heard.times >= count) return {};
    const needsShards = this.#ofShards.times < count;
    // Hosts of silent shards are taken last: where those of silent cells are enough without them, these are needed.
    const needsCells = this.#ofCells.times < count || !needsShards;
    return {
      ...(needsShards ? { needsSilentShards: true as const } : {}),
      ...(needsCells ? { needsSilentCells: true as const } : {}),
    };
  }
}
