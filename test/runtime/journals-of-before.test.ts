// Area: journals that an older version wrote. What is in the fixture was recorded by that version, with snapshots in it:
// a device, a group, a build that went on from an alternate, one that failed, one that waits, and of three hosts one that
// is down with something to be deleted, one that is fenced, and one that is disabled.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { stateOfBuild } from '../../actors/builds.ts';
import { cell } from '../../actors/cell/cell.ts';
import { stateOfHost } from '../../actors/cell/hosts.ts';
import { conductor } from '../../actors/conductor/conductor.ts';
import { StoredDecision, unpackDecision } from '../../actors/messages/stored-decision.ts';
import { placement } from '../../actors/placement/placement.ts';
import { assembler, readEntry } from '../../runtime/journal/entries.ts';
import { checkOf } from '../../runtime/schemas.ts';
import { ROOT } from '../support/programs.ts';
import { restored, stored } from '../support/turn.ts';

const test = suite('journals of before');
const journals = JSON.parse(readFileSync(join(ROOT, 'test/fixtures/journals/version-1.json'), 'utf8'));
const actors = {
  'placement/0': placement({ shard: 0 }),
  'conductor/0': conductor({ shard: 0 }),
  'cell/c1': cell({ cell: 'c1', conductorShards: 1 }),
};
type Actors = typeof actors;

/** The state to which a journal of the fixture leads. */
function opened<Owner extends keyof Actors>(owner: Owner): ReturnType<Actors[Owner]['init']> {
  const actor = actors[owner] as Actors['cell/c1'];
  const read = assembler<never>();
  for (const body of journals[owner] as string[]) read.take(readEntry(Buffer.from(body, 'base64'), owner, 0));
  const { snapshot, records } = read.assembled();
  assert.ok(
    snapshot !== null && [...records].length > 0,
    `the journal of ${owner} has a snapshot, and records after it`,
  );
  const state = actor.restore(snapshot);
  for (const record of records) actor.apply(state, record);
  assert.equal(restored(actor, stored(actor, state)), stored(actor, state));
  return state as never;
}

const inOrder = (all: Iterable<readonly [string, unknown]>) => Object.fromEntries([...all].sort());

test('journals of before - all instances are known, and the records of their decisions can be read', () => {
  const { instances, parked } = opened('conductor/0');
  const standing = [...instances].map(
    ([id, { phase, told }]) => [id, phase === 'in-cell' ? told?.state : phase] as const,
  );
  assert.equal(inOrder(standing), {
    'apart-0': 'active',
    'apart-1': 'active',
    device: 'active',
    failed: 'failed',
    gone: 'deleted',
    left: 'deleting',
    lost: 'lost',
    nowhere: 'failed',
    twice: 'active',
    waits: 'here',
  });
  assert.equal([...parked], ['waits']);
  const check = checkOf(StoredDecision, 'the record of a decision');
  for (const [id, { decision }] of instances) {
    if (decision === undefined) continue;
    const record = JSON.parse(decision);
    assert.is(check(record), null, id);
    assert.is(unpackDecision(record).hosts, 3, id);
  }
});

test('journals of before - hosts are as they were, and what is owed is owed', () => {
  const { instances, hosts, removals } = opened('cell/c1');
  assert.equal(inOrder([...hosts].map(([name, host]) => [name, stateOfHost(host)])), {
    h1: 'disabled',
    h2: 'down',
    h3: 'fenced',
  });
  const standing = [...instances].map(([id, one]) => [id, stateOfBuild(one.build)] as const);
  assert.equal(inOrder(standing), {
    'apart-0': 'active',
    'apart-1': 'active',
    device: 'active',
    failed: 'failed',
    left: 'active',
    lost: 'active',
    twice: 'active',
  });
  assert.equal([...removals.keys()], ['left final']);
  assert.ok(instances.get('lost')?.lost);
});

test('journals of before - what is held counts as used', () => {
  const { providers, consumers } = opened('placement/0');
  const holding = [...consumers.holding].filter(([, { held }]) => held.length > 0);
  assert.equal(holding.map(([id]) => id).sort(), ['apart-0', 'apart-1', 'device', 'left', 'lost', 'twice']);
  const used = (resourceClass: string) =>
    [...providers.values()].reduce((sum, { stocks }) => sum + (stocks.get(resourceClass)?.used ?? 0), 0);
  assert.equal([used('VCPU'), used('MEMORY_MB'), used('CUSTOM_GPU_MILLI')], [11, 2_560, 500]);
});

test.run();
