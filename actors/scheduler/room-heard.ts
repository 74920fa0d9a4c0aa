// Room for a request, and how much of it is where nobody is silent: what a silent cell or placement shard has is as it was
// when they were heard last.

/** What of the room for a request cannot be relied on. */
export interface Needs {
  /** They fit, but not without hosts of placement shards that are silent. */
  readonly needsSilentShards?: true;
  /** They fit, but not without hosts of cells that are silent. */
  readonly needsSilentCells?: true;
}

export class RoomHeard {
  readonly #isTogether: boolean;
  /** For how many instances there is room where both are heard, where the cell is, and where the shard is. */
  #heard = 0;
  #ofCells = 0;
  #ofShards = 0;

  /** @param isTogether Whether they keep together, so that one host alone must have the room. */
  constructor(isTogether: boolean) {
    this.#isTogether = isTogether;
  }

  /** Notes a host with room for so many. */
  note(room: number, isCellSilent: boolean, isShardSilent: boolean): void {
    if (!isCellSilent && !isShardSilent) this.#heard = this.#with(this.#heard, room);
    if (!isCellSilent) this.#ofCells = this.#with(this.#ofCells, room);
    if (!isShardSilent) this.#ofShards = this.#with(this.#ofShards, room);
  }

  #with(before: number, room: number): number {
    return this.#isTogether ? Math.max(before, room) : before + room;
  }

  /** Who is needed for so many, for whom there is room on all hosts. */
  needs(count: number): Needs {
    if (this.#heard >= count) return {};
    const needsShards = this.#ofShards < count;
    // Hosts of silent shards are taken last: where those of silent cells are enough without them, these are needed.
    const needsCells = this.#ofCells < count || !needsShards;
    return {
      ...(needsShards ? { needsSilentShards: true as const } : {}),
      ...(needsCells ? { needsSilentCells: true as const } : {}),
    };
  }
}
