// What the parts of undecided changes keep others from: each locks what it is about, alone or with others like it. Whoever
// comes meanwhile waits for those that were there before: so whoever has seen what one shard made of a change finds it made
// in every other.

/** By key, the transactions that hold it, and whether each holds it alone. */
export type Locks = Map<string, Map<string, boolean>>;

export interface Keys {
  readonly alone: readonly string[];
  readonly shared: readonly string[];
}

export function lock(locks: Locks, transaction: string, { alone, shared }: Keys): void {
  const add = (key: string, isAlone: boolean) => {
    const holders = locks.get(key);
    if (holders === undefined) locks.set(key, new Map([[transaction, isAlone]]));
    else holders.set(transaction, isAlone || holders.get(transaction) === true);
  };
  for (const key of shared) add(key, false);
  for (const key of alone) add(key, true);
}

export function unlock(locks: Locks, transaction: string, { alone, shared }: Keys): void {
  for (const key of [...alone, ...shared]) {
    const holders = locks.get(key);
    holders?.delete(transaction);
    if (holders?.size === 0) locks.delete(key);
  }
}
