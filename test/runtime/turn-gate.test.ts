// Area: gate. What the host of an actor lets out, and what it records, when turns, appends and ends cross each other.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Message } from '../../actors/actor.ts';
import { pair, type Rig, started } from '../support/counter.ts';

const test = suite('gate');

test('gate - nothing leaves before the records are safe', async () => {
  const { out, unacknowledged, take } = await started();
  take({ type: 'add', by: 1 });
  assert.equal(out, []);
  unacknowledged.shift()?.(null);
  assert.equal(out, pair('total 1'));
});

test('gate - a later turn waits for an earlier one, on whose state it stands', async () => {
  const { out, unacknowledged, take } = await started();
  take({ type: 'add', by: 1 });
  take({ type: 'ask' });
  take({ type: 'add', by: 2 });
  assert.equal(out, []);
  unacknowledged.shift()?.(null);
  assert.equal(out, [...pair('total 1'), ...pair('asked 1')]);
  unacknowledged.shift()?.(null);
  assert.equal(out.slice(4), pair('total 3'));
});

test('gate - a turn without records waits for nobody when nothing is under way', async () => {
  const { out, take } = await started();
  take({ type: 'ask' });
  assert.equal(out, pair('asked 0'));
});

test('gate - the messages of one turn are one entry, and leave together in order', async () => {
  const { host, out, unacknowledged, take } = await started();
  take({ type: 'add', by: 1 }, { type: 'ask' }, { type: 'add', by: 2 });
  assert.is(unacknowledged.length, 1);
  unacknowledged.shift()?.(null);
  assert.equal(out, [...pair('total 1'), ...pair('asked 1'), ...pair('total 3')]);
  const { turns, messages, records } = host.stats;
  assert.equal({ turns, messages, records }, { turns: 1, messages: 3, records: 2 });
});

test('gate - an append that failed drops everything after it, and the actor', async () => {
  const { host, out, unacknowledged, failures, take } = await started();
  take({ type: 'add', by: 1 });
  take({ type: 'ask' });
  take({ type: 'add', by: 2 });
  unacknowledged.shift()?.(new Error('fenced'));
  unacknowledged.shift()?.(null);
  assert.equal(out, []);
  assert.equal(failures, ['fenced']);
  assert.not(host.deliver({ type: 'ask' }, 'test'), 'a stopped actor takes nothing');
});

test('gate - what was decided before is recorded, though the actor fails or is stopped before it was appended', async () => {
  const recorded = async (end: (rig: Rig) => unknown) => {
    const rig = await started({ automatic: true });
    rig.host.deliver({ type: 'note', by: 1 } as Message, 'test');
    rig.clock.runUntilIdle({ untilMs: rig.clock.now() });
    assert.equal(rig.kept, [], 'it is kept for company');
    await end(rig);
    rig.clock.runUntilIdle();
    return rig.kept;
  };
  assert.equal(await recorded(({ take }) => take({ type: 'burst' })), [1]);
  assert.equal(await recorded(({ host }) => host.stop()), [1]);
  assert.equal(await recorded(({ take }) => take({ type: 'ask' })), [1]);
});

test('gate - what is appended when an actor has failed half-way is no reason for a snapshot of its state', async () => {
  const snapshots: unknown[] = [];
  const { host, clock, failures } = await started({ automatic: true, snapshotAfter: 1, snapshots });
  host.deliver({ type: 'note', by: 1 } as Message, 'test');
  clock.runUntilIdle({ untilMs: clock.now() });
  host.deliver({ type: 'burst' }, 'test');
  clock.runUntilIdle();
  assert.equal([snapshots, failures.length], [[], 1]);
});

test('gate - a turn that is not safe yet when the actor is stopped is never seen', async () => {
  const { host, out, unacknowledged, take } = await started();
  take({ type: 'add', by: 1 });
  await host.stop();
  unacknowledged.shift()?.(null);
  assert.equal(out, []);
});

test.run();
