// Area: failure points. Every role is killed by SIGKILL between any two of its steps: at the moment at which it says
// something, before it is said and after. When it is started again the builds that were under way end as they should,
// and nothing is left over.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Connection } from '../../runtime/connect.ts';
import { startProxy } from '../support/proxy.ts';
import { type Process, withDeployment } from './deployment.ts';
import { eventually, hostsUp } from './system.ts';

const test = suite('failure points');

const PROCESSES = {
  placement: ['placement'],
  conductor: ['conductor'],
  scheduler: ['scheduler'],
  cell: ['cell:c1'],
  h1: ['compute:c1/h1'],
  h2: ['compute:c1/h2'],
} as const;
type Name = keyof typeof PROCESSES;

/** A question whose answer died with the process is soon put again. */
const ANSWER_MS = 1_500;

/** Which host an instance comes to is not decided here, so that what one host says may take several lives. */
const MOST_TRIES = 8;

/** What each role says on the road of a build that fails on its first host and is deleted in the end. */
const WORDS: Readonly<Record<Exclude<Name, 'h2'>, readonly string[]>> = {
  placement: ['claim-granted', 'released'],
  conductor: ['build-accepted', 'select', 'start', 'delete-accepted', 'delete'],
  scheduler: ['claim', 'selected'],
  cell: ['started', 'build', 'claim', 'ended', 'destroy', 'release', 'removed'],
  h1: ['accepted', 'built', 'build-failed', 'destroyed'],
};

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

/** Two instances that fail on whichever host is tried first are built, and deleted again. */
async function live(client: Connection, round: string): Promise<void> {
  const ids = [`${round}-first-fails`, `${round}-two`];
  for (const id of ids) {
    await insist(`'${id}' is accepted`, () => client.build({ id, alternates: 1, resources: { VCPU: 1 } }));
  }
  for (const id of ids) await eventually(`'${id}' is active`, async () => (await stateOf(client, id)) === 'active');
  for (const id of ids) await insist(`the delete of '${id}' is accepted`, () => client.delete(id));
  for (const id of ids) await eventually(`'${id}' is deleted`, async () => (await stateOf(client, id)) === 'deleted');
}

for (const [name, words] of Object.entries(WORDS) as [Exclude<Name, 'h2'>, readonly string[]][]) {
  test(`failure points - ${name} killed before and after each thing that it says`, () =>
    withDeployment(
      async ({ client, start, startAt, server }) => {
        const proxy = await startProxy(server.port);
        try {
          let mortal: Process | undefined;
          for (const each of Object.keys(PROCESSES) as Name[]) {
            if (each === name) mortal = await startAt(proxy.url, ...PROCESSES[each]);
            else await start(...PROCESSES[each]);
          }
          await hostsUp(client, 'c1', 2);
          for (const word of words) {
            for (const when of ['before', 'after'] as const) {
              let reborn: Promise<Process> | undefined;
              proxy.strike(word, when, () => {
                reborn = mortal?.end('SIGKILL').then(() => startAt(proxy.url, ...PROCESSES[name]));
              });
              for (let tries = 0; reborn === undefined; tries += 1) {
                assert.ok(tries < MOST_TRIES, `'${name}' never says '${word}'`);
                await live(client, `${name}-${word}-${when}-${tries}`);
              }
              mortal = await reborn;
            }
          }
          // All room is free again: what was held by anything that died was given back.
          for (const id of ['all-of-one', 'all-of-other']) {
            await client.build({ id, alternates: 0, resources: { VCPU: 8 } });
            assert.is((await client.ended(id)).state, 'active', id);
          }
        } finally {
          await proxy.close();
        }
      },
      {},
      ANSWER_MS,
    ));
}

test.run();
