// What the tests of failure points share. Every role is killed by SIGKILL between any two of its steps: at the moment
// at which it says something, before it is said and after. When it is started again the builds that were under way end
// as they should, and nothing is left over.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Connection } from '../../../runtime/connect.ts';
import { startProxy } from '../../support/proxy.ts';
import { type Process, withDeployment } from '../deployment.ts';
import { eventually, hostsUp } from '../system.ts';

/** The one that is killed runs in a process of its own, the others in another. */
const ROLES = {
  placement: 'placement',
  conductor: 'conductor',
  scheduler: 'scheduler',
  cell: 'cell:c1',
  h1: 'compute:c1/h1',
  h2: 'compute:c1/h2',
} as const;
type Name = keyof typeof ROLES;

/** A question whose answer died with the process is soon put again. */
const ANSWER_MS = 1_500;
/** An owner that was killed keeps its place for as long as its lease lasts; no host is set aside for its failures. */
const NODE = { leaseTtlMs: 600, cell: { failuresBeforeAside: 1_000 } };

const ENDED: ReadonlySet<string> = new Set(['active', 'failed']);

/** Which host an instance comes to is not decided here, so that what one host says may take several lives. */
const MOST_TRIES = 8;

/** Calls until there is an answer, or until it says that it was done before. */
async function insist(what: string, call: () => Promise<unknown>): Promise<void> {
  await eventually(what, () =>
    call().then(
      () => true,
      () => false,
    ),
  );
}

async function stateOf(client: Connection, id: string): Promise<string> {
  return client.show(id).then(
    ({ state }) => state,
    (error: { code?: string }) => error.code ?? String(error),
  );
}

/** Four instances, two of which fail on the host that is tried first, are built on two hosts, and deleted again. */
async function live(client: Connection, round: string): Promise<void> {
  const ids = ['a-first-fails', 'b', 'c', 'd-first-fails'].map((name) => `${round}-${name}`);
  for (const id of ids) {
    await insist(`'${id}' is accepted`, () => client.build({ id, alternates: 1, resources: { VCPU: 1 } }));
  }
  for (const id of ids) await eventually(`'${id}' is active`, async () => (await stateOf(client, id)) === 'active');
  for (const id of ids) await insist(`the delete of '${id}' is accepted`, () => client.delete(id));
  for (const id of ids) await eventually(`'${id}' is deleted`, async () => (await stateOf(client, id)) === 'deleted');
}

/** Runs a suite in which a role is killed before and after each of these things that it says. */
export function killedAtEach(name: Name, words: readonly string[]): void {
  const test = suite(`failure points of ${name}`);
  for (const word of words) {
    test(`failure points - ${name} killed before and after it says '${word}'`, () => killedAt(name, word));
  }
  test.run();
}

function killedAt(name: Name, word: string): Promise<void> {
  return withDeployment(
    async ({ client, start, startAt, server }) => {
      const proxy = await startProxy(server.port);
      try {
        const others = Object.entries(ROLES).filter(([each]) => each !== name);
        const rest = await start(...others.map(([, role]) => role));
        let mortal = await startAt(proxy.url, ROLES[name]);
        for (const { said } of [rest, mortal]) assert.match(said(), /^started/);
        await hostsUp(client, 'c1', 2);
        for (const when of ['before', 'after'] as const) {
          let reborn: Promise<Process> | undefined;
          proxy.strike(word, when, () => {
            reborn = mortal.end('SIGKILL').then(() => startAt(proxy.url, ROLES[name]));
          });
          for (let tries = 0; reborn === undefined; tries += 1) {
            assert.ok(tries < MOST_TRIES, `'${name}' never says '${word}'`);
            await live(client, `${when}-${tries}`);
          }
          mortal = await reborn;
        }
        // All room is free again: what was held by anything that died was given back.
        for (const id of ['all-of-one', 'all-of-other']) {
          await insist(`'${id}' is accepted`, () => client.build({ id, alternates: 0, resources: { VCPU: 8 } }));
          await eventually(`'${id}' has ended`, async () => ENDED.has(await stateOf(client, id)));
          assert.is(await stateOf(client, id), 'active', id);
        }
      } finally {
        await proxy.close();
      }
    },
    NODE,
    ANSWER_MS,
  );
}
