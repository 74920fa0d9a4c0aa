// The system that is measured: 5,000 hosts in 10 cells whose drivers are done at once, in this process, or apart from it:
// its owners in a process, and its cells and hosts in another, as people would deploy it who want to use two processors.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Client } from '../../runtime/client.ts';
import { connect } from '../../runtime/connect.ts';
import type { Driver } from '../../runtime/drivers/driver.ts';
import { type Node, startNode } from '../../runtime/node.ts';
import type { NodeOptions } from '../../runtime/node-options.ts';
import { ownUsage, type Usage } from './usage.ts';

export const HOSTS = 5_000;
const CELLS = 10;

/** Long enough for a process with very many instances to collect what is dead. */
const ANSWER_WITHIN_MS = 60_000;

/** A driver whose builds are done at once, and which keeps nothing: what it would keep is not the system's. */
function instantDriver(host: string): Driver {
  return {
    build: async () => ({ outcome: 'built' }),
    destroy: async () => {},
    list: async () => [],
    inventory: async () => ({
      name: host,
      inventories: { VCPU: { total: 1_000_000 }, MEMORY_MB: { total: 1_000_000_000 } },
    }),
    capabilities: async () => [],
    async close() {},
  };
}

const PARTS = {
  owners: ['placement', 'scheduler', 'conductor'],
  cells: Array.from({ length: CELLS }, (_, cell) => `cell:c${cell + 1}`).concat(
    Array.from({ length: HOSTS }, (_, host) => `compute:c${(host % CELLS) + 1}/h${host}`),
  ),
};
type Part = keyof typeof PARTS;

export const isPart = (name: string): name is Part => Object.hasOwn(PARTS, name);

export function startPart(part: Part, options: Partial<NodeOptions>): Promise<Node> {
  return startNode({ ...options, roles: PARTS[part], driver: ({ host }) => instantDriver(host) });
}

export interface Fleet {
  /** Of this process. */
  readonly client: Client;
  /** Of all processes, this one first. */
  usage(live?: boolean): Promise<Usage[]>;
  stop(): Promise<void>;
}

/** The whole fleet in this process. */
export async function fleetInOne(options: Partial<NodeOptions>): Promise<Fleet & { readonly node: Node }> {
  const roles = Object.values(PARTS).flat();
  const node = await startNode({ ...options, roles, driver: ({ host }) => instantDriver(host) });
  await allUp(node.client);
  return { node, client: node.client, usage: async (live) => [ownUsage(live)], stop: () => node.stop() };
}

/**
 * Its owners in a process, its cells and hosts in another; in this one there are only those who ask for instances.
 * @param flags Of Node, for the two processes, beside those of this one.
 */
export async function fleetApart(
  options: Partial<NodeOptions> & { nats: { servers: string } },
  flags: readonly string[] = [],
): Promise<Fleet> {
  const client = await connect({ servers: options.nats.servers });
  const path = fileURLToPath(new URL(`part.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url));
  const execArgv = [...process.execArgv, ...flags];
  const children = Object.keys(PARTS).map((part) => fork(path, [part, JSON.stringify(options)], { execArgv }));
  const closed = children.map((child) => once(child, 'close'));
  try {
    await Promise.all(children.map((child) => answer(child, 'up')));
    await allUp(client);
  } catch (error) {
    for (const child of children) child.kill();
    await client.close();
    throw error;
  }
  return {
    client,
    usage: (live = false) =>
      Promise.all([
        ownUsage(live),
        ...children.map((child) => {
          child.send(live ? 'live-usage' : 'usage');
          return answer(child, 'usage') as Promise<Usage>;
        }),
      ]),
    async stop() {
      for (const child of children) child.send('stop');
      await Promise.all(closed);
      await client.close();
    },
  };
}

/** Waits for a word of the child, and answers what it carries. */
function answer(child: ChildProcess, word: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => end(new Error(`no '${word}' of a process of the fleet`)), ANSWER_WITHIN_MS);
    const said = (message: unknown) => {
      const [what, value] = message as [string, unknown];
      if (what === word) end(null, value);
    };
    const gone = () => end(new Error('a process of the fleet has ended'));
    function end(error: Error | null, value?: unknown): void {
      clearTimeout(late);
      child.off('message', said);
      child.off('close', gone);
      if (error === null) resolve(value);
      else reject(error);
    }
    child.on('message', said);
    child.once('close', gone);
  });
}

/** Resolves when every host may be given instances. */
async function allUp(client: Client): Promise<void> {
  for (let cell = 1; cell <= CELLS; cell += 1) {
    for (;;) {
      const { hosts } = await client.hosts({ cell: `c${cell}`, limit: 1_000 });
      if (hosts.filter(({ state }) => state === 'up').length >= HOSTS / CELLS) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
