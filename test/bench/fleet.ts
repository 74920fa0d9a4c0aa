// The system that is measured: 5,000 hosts in 10 cells whose drivers are done at once, in this process, or with cells
// and hosts in a second one, as people would deploy it who want to use two processors.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Client } from '../../runtime/client.ts';
import type { Driver } from '../../runtime/drivers/driver.ts';
import { type Node, type NodeOptions, startNode } from '../../runtime/node.ts';
import { ownUsage, type Usage } from './usage.ts';

export const HOSTS = 5_000;
export const CELLS = 10;

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

export const API_ROLES: readonly string[] = ['placement', 'scheduler', 'conductor'];

function cellRoles(): string[] {
  const roles = Array.from({ length: CELLS }, (_, cell) => `cell:c${cell + 1}`);
  for (let host = 0; host < HOSTS; host += 1) roles.push(`compute:c${(host % CELLS) + 1}/h${host}`);
  return roles;
}

export function startCells(options: Partial<NodeOptions>): Promise<Node> {
  return startNode({ ...options, roles: cellRoles(), driver: ({ host }) => instantDriver(host) });
}

export interface Fleet {
  /** The node of this process. */
  readonly node: Node;
  /** Of all processes of the fleet. */
  usage(live?: boolean): Promise<Usage[]>;
  stop(): Promise<void>;
}

/** The whole fleet in this process. */
export async function fleetInOne(options: Partial<NodeOptions>): Promise<Fleet> {
  const roles = [...API_ROLES, ...cellRoles()];
  const node = await startNode({ ...options, roles, driver: ({ host }) => instantDriver(host) });
  await allUp(node.client);
  return { node, usage: async (live) => [ownUsage(live)], stop: () => node.stop() };
}

/** Placement, scheduler and conductor in this process, cells and hosts in another. */
export async function fleetInTwo(options: Partial<NodeOptions> & { nats: { servers: string } }): Promise<Fleet> {
  const node = await startNode({ ...options, roles: API_ROLES });
  const path = fileURLToPath(new URL(`cells.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url));
  const child = fork(path, [JSON.stringify(options)]);
  const closed = once(child, 'close');
  await answer(child, 'up');
  await allUp(node.client);
  return {
    node,
    async usage(live = false) {
      child.send(live ? 'live-usage' : 'usage');
      return [ownUsage(live), (await answer(child, 'usage')) as Usage];
    },
    async stop() {
      child.send('stop');
      await closed;
      await node.stop();
    },
  };
}

/** Waits for a word of the child, and answers what it carries. */
function answer(child: ChildProcess, word: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => end(new Error(`no '${word}' of the cells' process`)), ANSWER_WITHIN_MS);
    const said = (message: unknown) => {
      const [what, value] = message as [string, unknown];
      if (what === word) end(null, value);
    };
    const gone = () => end(new Error("the cells' process has ended"));
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
