// What befalls a soak: at random moments some process is killed, or stopped past its lease, or the server is killed or
// restarted. One thing at a time may overlap with the next, as in life. All of it is healed before it ends.

import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../runtime/random.ts';
import type { TestServer } from '../support/nats-server.ts';
import type { Member } from './processes.ts';

type Blow = 'kill' | 'pause' | 'kill-server' | 'restart-server';

export interface Struck {
  readonly blow: Blow;
  readonly whom: string;
  /** When it struck, and when it was healed, ms since the epoch. */
  readonly at: number;
  readonly healedAt: number;
}

export interface ChaosOptions {
  readonly members: readonly Member[];
  readonly server: TestServer;
  readonly random: Random;
  readonly leaseTtlMs: number;
  /** From the start of one blow to that of the next, ms; half to one and a half of it. */
  readonly everyMs: number;
  readonly signal: AbortSignal;
  log(line: string): void;
}

/** What strikes, in proportion to how often it stands here. */
const BLOWS: readonly Blow[] = [
  ...Array<Blow>(6).fill('kill'),
  ...Array<Blow>(3).fill('pause'),
  'kill-server',
  'restart-server',
];

/** Strikes until the signal, then waits until everything is healed. Answers what it did. */
export async function wreak(options: ChaosOptions): Promise<Struck[]> {
  const { members, random, everyMs, signal, log } = options;
  const struck: Struck[] = [];
  const open = new Set<Promise<void>>();
  const busy = new Set<string>();
  while (!signal.aborted) {
    await delay(random.integer(Math.floor(everyMs / 2), Math.ceil(everyMs * 1.5)), undefined, { signal }).catch(
      () => undefined,
    );
    if (signal.aborted) break;
    const blow = random.pick(BLOWS);
    const whom = blow === 'kill' || blow === 'pause' ? random.pick(members).name : 'server';
    if (busy.has(whom)) continue;
    busy.add(whom);
    const at = Date.now();
    log(`${blow} ${whom}`);
    const done: Promise<void> = strike(blow, whom, options).then(() => {
      struck.push({ blow, whom, at, healedAt: Date.now() });
      busy.delete(whom);
      open.delete(done);
    });
    open.add(done);
  }
  await Promise.all(open);
  return struck;
}

async function strike(blow: Blow, whom: string, { members, server, random, leaseTtlMs }: ChaosOptions): Promise<void> {
  const member = members.find(({ name }) => name === whom);
  switch (blow) {
    case 'kill':
      await member?.kill();
      await delay(random.integer(0, leaseTtlMs * 2));
      return member?.start();
    case 'pause':
      member?.pause();
      await delay(random.integer(leaseTtlMs, leaseTtlMs * 3));
      return member?.resume();
    case 'kill-server':
      await server.kill();
      await delay(random.integer(0, 1_000));
      return server.restart();
    case 'restart-server':
      return server.restart();
  }
}
