// Area: the audit's repairs. What was found a while ago may have changed by now.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import type { Repair } from '../../runtime/audit/finding.ts';
import { carryOut, type RepairTools } from '../../runtime/audit/repair.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { view } from '../support/doctored.ts';

const test = suite('audit, repairs');

/** Carries out a repair while the super conductor says this of the instance: nothing when it does not know it. */
async function carriedOut(repair: Repair, known: Partial<InstanceView> | null) {
  const said: string[] = [];
  const client = {
    async show(id: string) {
      if (known === null) throw new CellwrightError('not-found', `there is no instance '${id}'`);
      return { ...view(id, 'active'), ...known };
    },
  };
  const outbox = { send: (_: string, to: string, message: { type: string }) => said.push(`${message.type} to ${to}`) };
  const tools = { client, outbox, asking: { address: 'gateway/audit' } } as unknown as RepairTools;
  const done = await carryOut(repair, tools);
  assert.is(done === null, said.length === 0);
  return said;
}

test('audit - before anything is taken it is asked once more whether somebody has it', async () => {
  const release: Repair = { type: 'release', consumer: 'i1', attempt: null };
  const destroy: Repair = { type: 'destroy', cell: 'c1', host: 'h1', instance: 'i1', attempt: 2 };
  assert.equal(await carriedOut(release, null), ['release to placement/0']);
  assert.equal(await carriedOut(release, { state: 'deleted' }), ['release to placement/0']);
  assert.equal(await carriedOut(release, { state: 'requested' }), [], 'its id was asked for anew');
  assert.equal(await carriedOut(destroy, null), ['destroy to compute/c1/h1']);
  assert.equal(await carriedOut(destroy, { attempt: 3 }), ['destroy to compute/c1/h1']);
  for (const attempt of [1, 2])
    assert.equal(await carriedOut(destroy, { attempt }), [], 'it is, or may be, the living one');
});

test.run();
