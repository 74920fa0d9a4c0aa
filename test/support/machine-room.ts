// A host as a test drives it: builds wait until the test says what comes of them, and what runs can be looked at.
// It outlives the compute that talks to it, as a real host does.

import type { BuildOrder, BuildOutcome, Driver, ProviderReport } from '../../runtime/drivers/driver.ts';

export interface MachineRoom {
  readonly tree: ProviderReport;
  /** A driver for one life of the host's compute. */
  driver(): Driver;
  /** The attempts that are on the host, `instance/attempt`. */
  readonly present: readonly string[];
  /** How often each attempt was begun: more than once would be twice. */
  readonly begun: ReadonlyMap<string, number>;
  isBuilding(instance: string, attempt: number): boolean;
  wasDestroyed(instance: string, attempt: number): boolean;
  /** Says what comes of a build under way. @throws Error when there is none. */
  finish(instance: string, attempt: number, outcome: BuildOutcome): void;
  /** What becomes of builds by themselves; null leaves them to `finish`, and is the default. */
  fate: ((order: BuildOrder) => BuildOutcome) | null;
}

interface Presence {
  state: 'building' | 'running';
  /** Those who wait to hear what came of it. */
  readonly listeners: ((outcome: BuildOutcome) => void)[];
}

const DESTROYED: BuildOutcome = { outcome: 'failed', reason: 'destroyed' };

export function machineRoom(tree: ProviderReport): MachineRoom {
  const present = new Map<string, Presence>();
  const past = new Map<string, BuildOutcome>();
  const destroyed = new Set<string>();
  const begun = new Map<string, number>();
  const keyOf = (instance: string, attempt: number) => `${instance}/${attempt}`;

  function end(key: string, outcome: BuildOutcome): void {
    const presence = present.get(key);
    if (presence?.state !== 'building') throw new Error(`'${key}' is not being built on '${tree.name}'`);
    if (outcome.outcome === 'built') {
      presence.state = 'running';
    } else {
      present.delete(key);
      past.set(key, outcome);
    }
    for (const tell of presence.listeners.splice(0)) tell(outcome);
  }

  const room: MachineRoom = {
    tree,
    fate: null,
    driver: () => ({
      build(order) {
        const key = keyOf(order.instance, order.attempt);
        const known = past.get(key);
        if (known !== undefined) return Promise.resolve(known);
        let presence = present.get(key);
        if (presence?.state === 'running') return Promise.resolve({ outcome: 'built' });
        if (presence === undefined) {
          presence = { state: 'building', listeners: [] };
          present.set(key, presence);
          begun.set(key, (begun.get(key) ?? 0) + 1);
        }
        const { listeners } = presence;
        const answer = new Promise<BuildOutcome>((resolve) => listeners.push(resolve));
        if (room.fate !== null) end(key, room.fate(order));
        return answer;
      },
      async destroy(instance, attempt) {
        const key = keyOf(instance, attempt);
        const presence = present.get(key);
        present.delete(key);
        destroyed.add(key);
        past.set(key, DESTROYED);
        for (const tell of presence?.listeners.splice(0) ?? []) tell(DESTROYED);
      },
      list: async () =>
        [...present.keys()].map((key) => {
          const [instance, attempt] = key.split('/') as [string, string];
          return { instance, attempt: Number(attempt) };
        }),
      inventory: async () => tree,
      capabilities: async () => [],
      async close() {},
    }),
    get present() {
      return [...present.keys()];
    },
    begun,
    isBuilding: (instance, attempt) => present.get(keyOf(instance, attempt))?.state === 'building',
    wasDestroyed: (instance, attempt) => destroyed.has(keyOf(instance, attempt)),
    finish: (instance, attempt, outcome) => end(keyOf(instance, attempt), outcome),
  };
  return room;
}
