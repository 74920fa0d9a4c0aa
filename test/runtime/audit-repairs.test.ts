// Area: the audit's repairs. What was found a while ago may have changed by now.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import { type AuditOptions, audit } from '../../runtime/audit/audit.ts';
import type { Repair } from '../../runtime/audit/finding.ts';
import { carryOut, type RepairTools } from '../../runtime/audit/repair.ts';
import { CellwrightError, TimeoutError } from '../../runtime/errors.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { holds, provider, view } from '../support/doctored.ts';
import { failureOf, settled } from '../support/until.ts';

const test = suite('audit, repairs');

/** Carries out a repair while the super conductor says this of the instance: nothing when it does not know it. */
async function carriedOut(repair: Repair, known: Partial<InstanceView> | Error | null) {
  const said: string[] = [];
  const client = {
    async show(id: string) {
      if (known instanceof Error) throw known;
      if (known === null) throw new CellwrightError('not-found', `there is no instance '${id}'`);
      return { ...view(id, 'active'), ...known };
    },
  };
  const outbox = {
    send: (_: string, to: string, { type, deleted, isSeen }: { type: string; deleted?: boolean; isSeen?: true }) =>
      said.push(`${type}${deleted === true ? ' for good' : ''}${isSeen === true ? ' what is seen' : ''} to ${to}`),
  };
  const tools = { client, outbox, asking: { address: 'gateway/audit' } } as unknown as RepairTools;
  const done = await carryOut(repair, tools);
  assert.is(done === null, said.length === 0);
  return said;
}

test('audit - before anything is taken it is asked once more whether somebody has it', async () => {
  const release: Repair = { type: 'release', consumer: 'i1', attempt: null };
  const destroy: Repair = { type: 'destroy', cell: 'c1', host: 'h1', instance: 'i1', attempt: 2 };
  assert.equal(await carriedOut(release, null), ['release for good to placement/0']);
  assert.equal(await carriedOut(release, { state: 'deleted' }), ['release for good to placement/0']);
  assert.equal(await carriedOut(release, { state: 'requested' }), [], 'its id was asked for anew');
  assert.equal(await carriedOut(destroy, null), ['destroy what is seen to compute/c1/h1']);
  assert.equal(await carriedOut(destroy, { attempt: 3 }), ['destroy what is seen to compute/c1/h1']);
  for (const attempt of [1, 2])
    assert.equal(await carriedOut(destroy, { attempt }), [], 'it is, or may be, the living one');
  for (const state of ['failed', 'deleted']) {
    assert.equal(await carriedOut(destroy, { state, attempt: 2 }), ['destroy what is seen to compute/c1/h1'], state);
  }
  const silence = new TimeoutError("'conductor/0'", 8_000);
  for (const repair of [release, destroy]) {
    assert.is(await failureOf(() => carriedOut(repair, silence)), silence, 'it cannot be known');
  }
  assert.equal(await carriedOut({ ...release, attempt: 1 }, {}), ['release to placement/0'], 'what is over stays over');
  assert.equal(await carriedOut({ type: 'do-again', cell: 'c1', instance: 'i1' }, {}), ['do-again to cell/c1']);
});

/** Two instances that nobody knows hold something on the one host that there is, until placement is asked to give it back. */
function leaking(show: (id: string) => Promise<InstanceView>, { repair = true, ghosts = 2 } = {}) {
  const clock = systemClock();
  const held = new Set(Array.from({ length: ghosts }, (_, n) => `ghost-${n + 1}`));
  const host = { host: 'h1', provider: 'p-h1', state: 'up' };
  const asking = {
    address: 'gateway/audit',
    async ask(_: string, { type }: { type: string }) {
      const next = null;
      switch (type) {
        case 'list-providers':
          return { providers: [provider('p-h1', held.size)], epoch: 1, next };
        case 'list-consumers':
          return { consumers: [...held].map((one) => holds(one, [1, 'p-h1'])), next };
        case 'list-hosts':
          return { hosts: [host], next };
        case 'list-removals':
          return { removals: [], next };
        case 'list':
          return { instances: [], next };
        default:
          return { running: [] };
      }
    },
  };
  const client = { list: async () => ({ instances: [], next: null }), show };
  const outbox = { send: (_: string, __: string, { consumer }: { consumer: string }) => held.delete(consumer) };
  const options = { asking, client, outbox, clock, cells: ['c1'], pauseMs: 1, repair };
  return { held, audit: () => audit(options as unknown as AuditOptions) };
}

test('audit - a repair of which is not known whether it may be done is left, and told; the others are done, each once', async () => {
  const { held, audit: auditAll } = leaking(async (id) => {
    if (id === 'ghost-1') throw new TimeoutError("'conductor/1'", 8_000);
    throw new CellwrightError('not-found', `there is no instance '${id}'`);
  });
  const { findings, unknown, repaired } = await auditAll();
  assert.equal([...held], ['ghost-1']);
  assert.equal(
    findings.map(({ what }) => /ghost-\d/.exec(what)?.[0]),
    ['ghost-1'],
  );
  assert.equal(unknown, [
    "whether 'ghost-1' may be mended: 'conductor/1' did not answer within 8000 ms; the outcome is unknown",
  ]);
  assert.equal(repaired, ["asked placement to give back all that 'ghost-2' holds"]);
});

test('audit - nothing is mended unless that is asked for', async () => {
  const { held, audit: auditAll } = leaking(assert.unreachable as never, { repair: false });
  const { findings, repaired } = await auditAll();
  assert.equal([findings.length, repaired, held.size], [2, [], 2]);
});

test('audit - where it is not known of several whether they may be mended, not all are waited for before it looks anew', async () => {
  const asked: string[] = [];
  const { audit: auditAll } = leaking(
    async (id) => {
      asked.push(id);
      throw new TimeoutError("'conductor/1'", 8_000);
    },
    { ghosts: 7 },
  );
  const { findings, unknown } = await auditAll();
  assert.equal([findings.length, unknown.length, asked.length], [7, 3, 9], 'three in each of three rounds');
});

test('audit - nor do they keep the others from being mended, however many of them come first', async () => {
  const { held, audit: auditAll } = leaking(
    async (id) => {
      if (Number(id.slice('ghost-'.length)) <= 4) throw new TimeoutError("'conductor/1'", 8_000);
      throw new CellwrightError('not-found', `there is no instance '${id}'`);
    },
    { ghosts: 6 },
  );
  const { repaired } = await auditAll();
  assert.equal([...held], ['ghost-1', 'ghost-2', 'ghost-3', 'ghost-4']);
  assert.is(repaired.length, 2);
});

test('audit - only what is found again after a pause counts', async () => {
  const clock = virtualClock();
  const looks: number[] = [];
  const asking = {
    async ask(_: string, { type }: { type: string }) {
      if (type === 'list-providers') return { providers: [provider('p-h1', 1)], epoch: 1, next: null };
      looks.push(clock.now());
      return { consumers: [holds(`ghost-${looks.length}`, [1, 'p-h1'])], next: null };
    },
  };
  const client = { list: async () => ({ instances: [], next: null }) };
  const { findings } = await settled(clock, audit({ asking, client, clock, cells: [] } as unknown as AuditOptions));
  assert.equal([findings, looks], [[], [0, 5_000]]);
});

test('audit - what a repair fails of by itself ends it: the connection is gone', async () => {
  const { held, audit: auditAll } = leaking(async () => {
    throw new CellwrightError('closed', 'the connection is closed');
  });
  assert.match((await failureOf(auditAll)).message, /the connection is closed/);
  assert.is(held.size, 2);
});

test.run();
