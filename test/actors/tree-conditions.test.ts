// Area: placement, conditions on the tree as a whole. They hold for every claim, a first one or one of an alternate, at the
// moment when it is decided; and who holds something where can be asked.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { TreeConditions } from '../../actors/messages/common.ts';
import { placement } from '../../actors/placement/placement.ts';
import { type HostWords, treeOfHost } from '../support/facts.ts';
import { bench, sentOf } from '../support/turn.ts';

const test = suite('tree conditions');

function rig(...hosts: readonly HostWords[]) {
  const shard = bench(placement({ shard: 0 }));
  const put = (words: HostWords) => {
    const spec = treeOfHost(words);
    shard.tell({ type: 'put-tree', ask: 1, providers: [spec] });
  };
  for (const words of hosts) put(words);
  return {
    shard,
    put,
    /** `granted`, or the code of the refusal. */
    claim(consumer: string, host: string, tree?: TreeConditions, attempt = 1, keep: readonly number[] = []): string {
      const resources = { VCPU: 1 };
      const spec = { groups: [{ name: '', resources }], groupPolicy: 'none' as const };
      const turned = shard.tell({
        type: 'claim',
        consumer,
        attempt,
        spec: tree === undefined ? spec : { ...spec, tree },
        allocations: [{ provider: `p-${host}`, group: '', resources }],
        keep: [...keep],
        expiresAt: 100_000_000,
      });
      const [refused] = sentOf(turned, 'claim-refused');
      if (refused === undefined) return sentOf(turned, 'claim-granted').length === 1 ? 'granted' : 'no answer';
      assert.is(refused.message.refusal.provider, `p-${host}`);
      return refused.message.refusal.code;
    },
    locate(...consumers: string[]) {
      return sentOf(shard.tell({ type: 'locate', ask: 7, consumers }), 'located')[0]?.message;
    },
  };
}

test('tree conditions - aggregates that it must be in, and must not', () => {
  const { claim } = rig({ host: 'h1', aggregates: ['ssd', 'east'] }, { host: 'h2', aggregates: ['ssd'] });
  const conditions = { memberOf: [['ssd', 'nvme'], ['east']], notMemberOf: ['old'] };
  assert.is(claim('a', 'h1', conditions), 'granted');
  assert.is(claim('b', 'h2', conditions), 'not-in-aggregate');
  assert.is(claim('b', 'h1', { notMemberOf: ['old', 'east'] }), 'in-avoided-aggregate');
});

test('tree conditions - which tree it is', () => {
  const { claim } = rig({ host: 'h1' }, { host: 'h2' });
  assert.is(claim('a', 'h1', { oneOf: ['p-h2', 'p-h1'] }), 'granted');
  assert.is(claim('b', 'h1', { oneOf: ['p-h2'] }), 'not-a-named-provider');
  assert.is(claim('b', 'h1', { noneOf: ['p-h1'] }), 'avoided-provider');
  assert.is(claim('b', 'h2', { noneOf: ['p-h1'] }), 'granted');
});

test('tree conditions - who else holds something of it, whichever came first', () => {
  const { claim } = rig({ host: 'h1' }, { host: 'h2' });
  assert.is(claim('apart', 'h1', { notHeldBy: ['other', 'apart'] }), 'granted', 'nobody keeps apart from himself');
  assert.is(claim('other', 'h1'), 'granted', 'it said nothing of keeping apart');
  assert.is(claim('late', 'h1', { notHeldBy: ['other'] }), 'consumer-present');
  assert.is(claim('late', 'h2', { notHeldBy: ['other'] }), 'granted');
  assert.is(claim('with', 'h2', { heldBy: ['other', 'nobody'] }), 'consumer-missing');
  assert.is(claim('with', 'h1', { heldBy: ['nobody', 'other'] }), 'granted');
});

test('tree conditions - an alternate is held to them when it is claimed, as things are then', () => {
  const { claim, put } = rig({ host: 'h1' }, { host: 'h2', aggregates: ['ssd'] }, { host: 'h3', aggregates: ['ssd'] });
  assert.is(claim('a', 'h2', { memberOf: [['ssd']] }), 'granted');
  put({ host: 'h3', aggregates: ['ssd', 'closed'] });
  assert.is(claim('a', 'h3', { memberOf: [['ssd']], notMemberOf: ['closed'] }, 2), 'in-avoided-aggregate');
  assert.is(claim('a', 'h2', { memberOf: [['ssd']], noneOf: ['p-h2'] }, 3), 'avoided-provider');
});

test('tree conditions - what a consumer gives back in a move keeps nobody company', () => {
  const { claim } = rig({ host: 'h1' }, { host: 'h2' });
  assert.is(claim('a', 'h1'), 'granted');
  assert.is(claim('a', 'h2', { heldBy: ['a'] }, 2), 'consumer-missing');
});

test('tree conditions - what an attempt left behind keeps others away, but is no company for whoever wants some', () => {
  const { shard, claim, locate } = rig({ host: 'h1' }, { host: 'h2' });
  claim('a', 'h1');
  assert.is(claim('a', 'h2', undefined, 2, [1]), 'granted');
  assert.equal(locate('a')?.consumers, [{ consumer: 'a', roots: ['p-h1', 'p-h2'], homes: ['p-h2'] }]);
  assert.is(claim('with', 'h1', { heldBy: ['a'] }), 'consumer-missing');
  assert.is(claim('with', 'h2', { heldBy: ['a'] }), 'granted');
  for (const host of ['h1', 'h2']) assert.is(claim('apart', host, { notHeldBy: ['a'] }), 'consumer-present', host);
  shard.tell({ type: 'release', consumer: 'a', attempt: 2, deleted: false });
  assert.equal(locate('a')?.consumers, [{ consumer: 'a', roots: ['p-h1'], homes: [] }]);
});

test('tree conditions - where consumers are is told by root, of those that hold something', () => {
  const { claim, locate } = rig({ host: 'h1' }, { host: 'h2' });
  claim('a', 'h1');
  claim('b', 'h2');
  assert.equal(locate('b', 'nobody', 'a', 'b'), {
    type: 'located',
    ask: 7,
    shard: 0,
    consumers: [
      { consumer: 'b', roots: ['p-h2'] },
      { consumer: 'a', roots: ['p-h1'] },
    ],
  });
});

test.run();
