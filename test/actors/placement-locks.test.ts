// Area: placement - locks. While a shard holds its part of an undecided change, nothing is done that would leave what is
// held without what it stands on: its class, its trait, its provider, or the parent of that.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { placement } from '../../actors/placement/placement.ts';
import { inventoryOf, providerOf, put } from '../support/placement-desk.ts';
import { bench } from '../support/turn.ts';

const test = suite('placement - locks');

const COORDINATOR = 'placement/0';

/** A shard of two, whose other one coordinates. */
function desk(...tree: ReturnType<typeof providerOf>[]) {
  const shard = bench(placement({ shard: 1, shards: 2 }));
  shard.tell(put(tree));
  let asks = 0;
  /** What is answered at once, of the kind that is named; undefined: it waits. */
  const ask = (question: object) => {
    asks += 1;
    const { sent } = shard.tell({ ...question, ask: asks } as never);
    return sent.find(({ message }) => 'ask' in message && message.ask === asks)?.message;
  };
  return {
    shard,
    ask,
    hold(transaction: string, part: object): boolean {
      const content = { consumers: [], wide: true, ...part };
      const message = { type: 'hold', transaction, ...content, expiresAt: 10_000_000 };
      return shard.tell(message as never, COORDINATOR).sent.some(({ message: { type } }) => type === 'held');
    },
    end: (transaction: string, confirmed = true) =>
      shard.tell({ type: 'end-hold', transaction, confirmed } as never, COORDINATOR),
    shown(id: string): Record<string, unknown> | undefined {
      const { text } = ask({ type: 'provider-show', id }) as { text: string };
      return JSON.parse(text).ok;
    },
  };
}

const change = (type: string, more: object) => ({ change: { type, ask: 0, ...more } });
const child = (id: string, parent: string) => change('provider-create', { id, name: id, parent });
const holding = (consumer: string, provider: string, resources: object) => ({
  consumer,
  allocations: [{ provider, resources }],
  project: 'p',
  user: 'u',
  generation: null,
  becomes: 1,
});

for (const confirmed of [true, false]) {
  const fate = confirmed ? 'is made' : 'comes to nothing';
  test(`placement - a class is renamed only when what is held of it ${fate}`, () => {
    const { hold, end, shown } = desk(providerOf('a', { inventories: { CUSTOM_GOLD: inventoryOf({ total: 8 }) } }));
    assert.ok(hold('0-1', { consumers: [holding('c', 'a', { CUSTOM_GOLD: 6 })] }));
    assert.not(hold('0-2', change('class-rename', { name: 'CUSTOM_GOLD', to: 'CUSTOM_TIN' })), 'it waits');
    end('0-1', confirmed);
    end('0-2');
    assert.equal(shown('a')?.used, { CUSTOM_TIN: confirmed ? 6 : 0 });
  });
}

test('placement - the classes and traits of a subtree that is on its way stay', () => {
  const { hold, ask } = desk(providerOf('h'));
  ask({ type: 'trait-put', name: 'CUSTOM_RED' });
  ask({ type: 'class-put', name: 'CUSTOM_GOLD' });
  const inventories = { CUSTOM_GOLD: inventoryOf() };
  const moving = { id: 'm', name: 'm', parent: 'h', inventories, traits: ['CUSTOM_RED'], aggregates: [] };
  const providers = [{ ...moving, generation: 4, quiet: 0, changedAt: 1 }];
  assert.ok(hold('0-1', { joins: { parent: 'h', providers } }));
  assert.not(hold('0-2', change('trait-delete', { name: 'CUSTOM_RED' })));
  assert.not(hold('0-3', change('class-delete', { name: 'CUSTOM_GOLD' })));
});

test('placement - a tree that is told without a provider waits for what is held of that, or below it', () => {
  const { hold, end, ask, shown, shard } = desk(providerOf('h'), providerOf('dev', { parent: 'h' }));
  const inventories = [{ provider: 'dev', generation: 0, inventories: { PGPU: inventoryOf({ total: 4 }) } }];
  assert.ok(hold('0-1', { inventories, consumers: [holding('c', 'dev', { PGPU: 2 })] }));
  assert.is(ask({ ...put([providerOf('h')]) }), undefined, 'it waits');
  end('0-1');
  assert.equal(shown('dev')?.used, { PGPU: 2 }, 'what is held on keeps it');
  shard.tell({ type: 'allocations-delete', ask: 99, consumer: 'c' } as never);
  assert.ok(hold('0-2', child('kid', 'dev')));
  assert.is(ask({ ...put([providerOf('h')]) }), undefined);
  end('0-2');
  assert.equal([shown('kid')?.parent, shown('dev')?.parent], ['dev', 'h']);
});

test('placement - of what a compute tells of its tree the newest counts, also where an earlier one had to wait', () => {
  const { hold, end, ask, shown } = desk(providerOf('h'), providerOf('dev', { parent: 'h' }));
  assert.ok(hold('0-1', child('kid', 'dev')));
  assert.is(ask({ ...put([providerOf('h')]) }), undefined, 'it waits');
  assert.is(ask({ ...put([providerOf('h'), providerOf('dev', { parent: 'h' })]) })?.type, 'tree-put');
  end('0-1', false);
  assert.is(shown('dev')?.parent, 'h');
});

test('placement - what a compute told before takes the place of nothing that waits, where it comes after it', () => {
  const { hold, end, shard, shown } = desk(providerOf('h'), providerOf('dev', { parent: 'h' }));
  const tells = (number: number, ...below: ReturnType<typeof providerOf>[]) =>
    shard.tell({ ...put([providerOf('h'), ...below]), ask: number, incarnation: 'life-1' } as never).sent.length;
  assert.ok(hold('0-1', child('kid', 'dev')));
  assert.is(tells(5), 0, 'it waits');
  assert.is(tells(4, providerOf('dev', { parent: 'h' })), 0);
  end('0-1', false);
  assert.is(shown('dev'), undefined);
});

test('placement - a reminder of a tree takes the place of nothing that waits', () => {
  const { hold, end, ask, shown } = desk(providerOf('h'), providerOf('dev', { parent: 'h' }));
  assert.ok(hold('0-1', child('kid', 'dev')));
  assert.is(ask({ ...put([providerOf('h')]) }), undefined, 'it waits');
  const before = { ...put([providerOf('h'), providerOf('dev', { parent: 'h' })]), again: true };
  assert.is(ask(before), undefined, 'what was told since is not in');
  end('0-1', false);
  assert.is(ask(before)?.type, 'tree-put');
  assert.is(shown('dev'), undefined);
});

test('placement - what others hold of a provider all the time keeps nothing waiting that it does not stand in the way of', () => {
  const { hold, end, shard, ask } = desk(
    providerOf('h', { inventories: { CUSTOM_GOLD: inventoryOf() } }),
    providerOf('dev', { parent: 'h', inventories: { CUSTOM_USED: inventoryOf({ total: 99 }) } }),
  );
  assert.ok(hold('0-1', { consumers: [holding('c1', 'dev', { CUSTOM_USED: 1 })] }));
  assert.is(ask({ type: 'provider-delete', id: 'dev' }), undefined, 'it waits for those that were there before');
  assert.ok(hold('0-2', { consumers: [holding('c2', 'dev', { CUSTOM_USED: 1 })] }));
  const { sent } = end('0-1');
  const answer = sent.find(({ message: { type } }) => type === 'placement-answer')?.message as { text: string };
  assert.is(JSON.parse(answer.text).refused.code, 'provider-in-use');
  assert.ok(hold('0-3', change('class-put', { name: 'CUSTOM_USED' })), 'a class that is there, and held of');
  end('0-3');
  assert.ok(hold('0-4', change('class-rename', { name: 'CUSTOM_GOLD', to: 'CUSTOM_TIN' })), 'another class');
  assert.is(shard.state.holds.parked.length, 0);
});

test('placement - a tree that is told waits for nothing that is held elsewhere', () => {
  const { hold, ask } = desk(providerOf('h'), providerOf('dev', { parent: 'h' }));
  ask({ type: 'provider-create', id: 'theirs', name: 'theirs', parent: 'h' });
  assert.ok(hold('0-1', child('kid', 'theirs')), 'what a caller has put there is not told, and stays');
  assert.is(ask({ ...put([providerOf('h')]) })?.type, 'tree-put');
});

test('placement - a provider that waited to be deleted stays for a child that is held since', () => {
  const { hold, end, shard, ask, shown } = desk(providerOf('h'));
  ask({ type: 'provider-create', id: 'p', name: 'p', parent: 'h' });
  assert.ok(hold('0-1', child('one', 'p')));
  assert.is(ask({ type: 'provider-delete', id: 'p' }), undefined, 'it waits');
  assert.ok(hold('0-2', child('other', 'p')));
  end('0-1', false);
  end('0-2');
  assert.equal([shown('other')?.parent, shown('p')?.parent], ['p', 'h']);
  assert.is(shard.state.holds.parked.length, 0);
});

test.run();
