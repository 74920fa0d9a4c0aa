// Area: hosts that do not come back. Only a fenced one of which nothing is left is removed, with its providers, and
// whoever follows the cell is told; what speaks for it later is a new host.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { desk } from '../support/cell-hosts.ts';
import { up } from '../support/cells.ts';
import { comesUp } from '../support/new-life.ts';
import { sentOf, type Turned, told } from '../support/turn.ts';

const test = suite('hosts that leave');
const OPERATOR = 'gateway/operator';
const ROOT = 'provider-of-h1';

type Desk = ReturnType<typeof desk>;

function fencedDesk(...instances: string[]): Desk {
  const all = desk(['h1', 'h2']);
  for (const instance of instances) all.activate(instance, 'h1');
  all.silence('h1');
  all.fence('h1');
  return all;
}

const remove = ({ on }: Desk, ask = 7, host = 'h1') => on.tell({ type: 'remove-host', ask, host }, OPERATOR);
const withdrawn = ({ on }: Desk) => on.tell({ type: 'tree-withdrawn', ask: 0, root: ROOT }, 'placement/0');
const refusal = (turned: Turned<unknown>) => sentOf(turned, 'declined')[0]?.message;
const gone = (turned: Turned<unknown>) => sentOf(turned, 'hosts-changed').flatMap(({ message }) => message.gone ?? []);

test('leaving - one that is not fenced stays, and so does one that has been started anew', () => {
  const all = desk(['h1', 'h2']);
  const { on, silence, fence } = all;
  const why = () => [refusal(remove(all))?.code, refusal(remove(all))?.field, refusal(remove(all))?.reason];
  const message = (state: string) =>
    `host 'h1' of cell 'c1' cannot be removed: it is ${state}, and must be fenced before`;
  assert.equal(why(), ['host-not-fenced', 'host', message('up')]);
  silence('h1');
  assert.equal(why(), ['host-not-fenced', 'host', message('down')]);
  assert.is(refusal(remove(all, 7, 'h9'))?.code, 'not-found');
  fence('h1');
  comesUp(on, up('h1', 'life-2', [{ instance: 'stray', attempt: 1 }]));
  assert.match(why()[2] ?? '', /its compute has been started anew$/);
  all.survives();
});

test('leaving - one stays while instances that were there are not deleted', () => {
  const all = fencedDesk('i1', 'i2');
  const reason = () => refusal(remove(all))?.reason ?? '';
  assert.match(reason(), /: 2 instances that were there, such as 'i1', are not deleted yet$/);
  for (const [consumer, left] of [
    ['i1', /: 'i2', which was there, is not deleted yet$/],
    ['i2', /^$/],
  ] as const) {
    all.on.tell({ type: 'delete', instance: consumer }, 'conductor/0');
    assert.is(refusal(remove(all))?.code, 'host-in-use', 'it is not given back yet');
    all.on.tell({ type: 'released', consumer, deleted: true });
    assert.match(reason(), left);
  }
});

test('leaving - whether anything is left there is known without a look at all instances of the cell', () => {
  const all = fencedDesk('i1');
  all.activate('i2', 'h2');
  const { instances } = all.on.state;
  const looked = () => assert.unreachable('all instances were looked at');
  Object.assign(instances, { entries: looked, values: looked, keys: looked, [Symbol.iterator]: looked });
  const asked = () => refusal(remove(all))?.reason ?? '';
  assert.match(asked(), /: 'i1', which was there, is not deleted yet$/);
  all.on.tell({ type: 'delete', instance: 'i1' }, 'conductor/0');
  all.on.tell({ type: 'released', consumer: 'i1', deleted: true });
  assert.is(asked(), '');
  assert.is(sentOf(withdrawn(all), 'host-set').length, 1);
});

test('leaving - what was lost there keeps one when the cell is served anew', () => {
  const all = fencedDesk('i1', 'i2');
  all.on.tell({ type: 'delete', instance: 'i1' }, 'conductor/0');
  const state = all.actor.restore([all.on.stored()]);
  assert.equal([...(state.hosts.get('h1')?.lost ?? [])], ['i1', 'i2']);
  all.on.tell({ type: 'released', consumer: 'i1', deleted: true });
  assert.equal([...(all.on.state.hosts.get('h1')?.lost ?? [])], ['i2']);
});

test('leaving - its providers go first, then it is forgotten, told to all, and answered as often as it is asked', () => {
  const all = fencedDesk();
  const asked = remove(all);
  assert.equal(told(asked), ['withdraw-tree to placement/0']);
  assert.is(sentOf(asked, 'withdraw-tree')[0]?.message.root, ROOT);
  assert.equal(asked.records, [], 'nothing is decided yet');
  const done = withdrawn(all);
  assert.equal(
    done.records.map(({ type }) => type),
    ['host-removed'],
  );
  assert.equal(sentOf(done, 'host-set'), [
    { to: OPERATOR, message: { type: 'host-set', ask: 7, host: 'h1', state: 'removed' } },
  ]);
  assert.equal(gone(done), [ROOT]);
  assert.equal(
    done.events.map(({ topic }) => topic.join('.')),
    ['cell.c1.host.h1.removed'],
  );
  const [listed] = sentOf(all.on.tell({ type: 'list-hosts', ask: 1, limit: 9 }), 'hosts');
  assert.equal(
    listed?.message.hosts.map(({ host }) => host),
    ['h2'],
  );
  all.survives();
  assert.equal(told(withdrawn(all)), [], 'said twice');
  const again = remove(all, 8);
  assert.equal([sentOf(again, 'host-set')[0]?.message.ask, again.records], [8, []]);
  all.on.pass(2 * 3_600_000);
  assert.is(refusal(remove(all, 9))?.code, 'not-found', 'it is remembered for a while');
  all.survives();
});

test('leaving - one on whose providers something is held stays, and it is said what', () => {
  const all = fencedDesk();
  remove(all);
  const reason = "'theirs' still holds something there";
  const kept = all.on.tell({ type: 'tree-kept', ask: 0, root: ROOT, reason }, 'placement/0');
  assert.equal(
    [refusal(kept)?.code, refusal(kept)?.reason],
    ['host-in-use', `host 'h1' of cell 'c1' cannot be removed: ${reason}`],
  );
  assert.is(all.stateOf('h1'), 'fenced');
  assert.equal(told(withdrawn(all)), ['tree-withdrawn to compute/c1/h1'], 'nobody waits for that any more');
  assert.is(all.stateOf('h1'), 'fenced');
});

test('leaving - one whose compute comes back while placement is asked stays', () => {
  const all = fencedDesk();
  remove(all);
  comesUp(all.on, up('h1', 'life-2'));
  assert.is(all.stateOf('h1'), 'up');
  const late = withdrawn(all);
  assert.is(refusal(late)?.code, 'host-not-fenced');
  assert.ok(told(late).includes('tree-withdrawn to compute/c1/h1'), 'what it has told of the host is gone');
  assert.is(all.stateOf('h1'), 'up');
});

test('leaving - that it was removed is forgotten with no more deleted instances at once than any are', () => {
  const all = fencedDesk();
  remove(all);
  withdrawn(all);
  const { deleted, removedHosts } = all.on.state;
  for (let n = 0; n < 1_500; n += 1) deleted.remember(`i${n}`, all.on.now + n);
  const turns = all.on.pass(2 * 3_600_000).filter(({ records }) => records.some(({ type }) => type === 'forgotten'));
  assert.equal([deleted.size, removedHosts.size], [0, 0]);
  assert.ok(turns.length > 1, 'in several turns');
});

test('leaving - what speaks for it later is a new host, and what runs there is not given anything beside it', () => {
  const all = fencedDesk();
  remove(all);
  withdrawn(all);
  assert.equal(told(all.on.tell({ type: 'alive', host: 'h1', incarnation: 'life-1' }, 'compute/c1/h1')), [
    'who-are-you to compute/c1/h1',
  ]);
  const met = all.on.tell(up('h1', 'life-1', [{ instance: 'old', attempt: 1 }]), 'compute/c1/h1');
  assert.equal(told(met).slice(0, 2), ['welcome to compute/c1/h1', 'tree-withdrawn to compute/c1/h1']);
  assert.is(all.stateOf('h1'), 'disabled');
  all.survives();
});

test('leaving - a host that comes back by another provider is told to be gone by the one before', () => {
  const { on, survives } = desk(['h1', 'h2']);
  const moved = comesUp(on, { ...up('h1', 'life-2'), provider: 'another' });
  assert.equal(gone(moved), [ROOT]);
  assert.equal(gone(comesUp(on, { ...up('h1', 'life-3'), provider: 'another' })), []);
  survives();
});

test.run();
