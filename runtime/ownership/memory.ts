// Leases in memory, for nodes of one process: tests, simulations and in-memory runs. As over a server, nothing happens
// inside the call that asked for it.

import type { Address } from '../../actors/actor.ts';
import type { Clock } from '../clock.ts';
import { MalformedError } from '../errors.ts';
import type { LeaseRecord, Leases, SeenLease } from './leases.ts';

const NEVER_HELD: SeenLease = { record: null, revision: 0 };

/**
 * Leases for nodes that share one process and a bus in memory: give all of them the same.
 * @throws MalformedError when there is no clock.
 */
export function memoryLeases(options: { clock: Clock }): Leases {
  const { clock } = options ?? {};
  if (typeof clock?.soon !== 'function') {
    throw new MalformedError('leases in memory need the option clock, such as systemClock()', { field: 'clock' });
  }
  const leases = new Map<Address, SeenLease>();
  const watchers = new Map<Address, Set<(seen: SeenLease) => void>>();
  let revisions = 0;
  const arrived = () => new Promise<void>((resolve) => clock.soon(resolve));
  const seen = (address: Address) => leases.get(address) ?? NEVER_HELD;

  function put(address: Address, record: LeaseRecord): number {
    revisions += 1;
    leases.set(address, { record: { ...record }, revision: revisions });
    for (const tell of watchers.get(address) ?? []) clock.soon(() => tell(seen(address)));
    return revisions;
  }

  return {
    async read(address) {
      await arrived();
      return seen(address);
    },
    watch(address, onSeen) {
      let stopped = false;
      const tell = (lease: SeenLease) => {
        if (!stopped) onSeen(lease);
      };
      const all = watchers.get(address) ?? new Set();
      watchers.set(address, all.add(tell));
      clock.soon(() => tell(seen(address)));
      return {
        stop() {
          stopped = true;
          all.delete(tell);
        },
      };
    },
    async write(address, record, revision) {
      await arrived();
      const written = seen(address).revision === revision ? put(address, record) : null;
      await arrived();
      return written;
    },
  };
}
