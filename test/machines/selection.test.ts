// Area: the selection machine. That choosing is claiming: it ends in `selected` only with what placement granted, it
// never names a host again that refused, and it gives up, with a reason, after a bounded number of hosts.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SnapshotFrom } from 'xstate';
import { MAX_CLAIMS_PER_SELECTION, type SelectionEvent, selection } from '../../machines/selection.ts';
import { selectionAt } from '../../machines/testing.ts';
import { nameOf, selectionPaths } from '../support/machine-paths.ts';
import { type ModelHandlers, modelRun } from '../support/model.ts';
import { type Stepped, stepped } from '../support/stepped.ts';

const test = suite('selection');

type Choice = SnapshotFrom<typeof selection>;

const EFFECTS: Readonly<Record<string, readonly string[]>> = {
  ranking: ['rank'],
  claiming: ['claim'],
  recalling: ['recall'],
  selected: ['pickAlternates'],
  exhausted: ['explain'],
};

const begun = () => stepped(selection, { instance: 'i1' });

function handlers(sut: Stepped<typeof selection>): ModelHandlers<Choice> {
  const state = (expected: Choice) => {
    const { value, context } = sut.snapshot;
    assert.is(value, expected.value);
    assert.equal(context, expected.context);
    assert.equal(sut.effects, EFFECTS[value]);
    if (value === 'ranking' || value === 'recalling') assert.is(context.candidate, null);
    if (value === 'claiming' || value === 'selected') assert.ok(context.candidate);
    if (value === 'exhausted') assert.ok((context.reason ?? '').length > 0, 'it says why no host was left');
  };
  const event = ({ event: told }: { event: { type: string } }) => {
    const taken = told as SelectionEvent;
    const { candidate: asked, tried: before } = sut.snapshot.context;
    sut.take(taken);
    const { tried, candidate } = sut.snapshot.context;
    if (taken.type === 'REFUSED') {
      const left = taken.isPassing === true ? before : [...before, asked?.provider];
      assert.equal(tried, left, 'who refused is not asked again, unless that may be over');
    }
    if (taken.type === 'GRANTED') assert.is(candidate, taken.held, 'what is held counts, not what was asked for');
    assert.is(new Set(tried).size, tried.length);
  };
  return {
    states: Object.fromEntries(Object.keys(EFFECTS).map((value) => [value, state])),
    events: Object.fromEntries(selection.events.map((type) => [type, event])),
  };
}

const run = modelRun<Choice>(selection);

for (const path of selectionPaths()) {
  test(`selection - ${nameOf(path)}`, () => run.test(path, handlers(begun())));
}

test('selection - the paths went through every state and event', () => run.assertCoverage());

test('selection - it makes as many claims as the limit says, and tells why the last one was refused', () => {
  const sut = begun();
  let claims = 0;
  while (sut.snapshot.status === 'active') {
    assert.ok(claims < MAX_CLAIMS_PER_SELECTION, 'it goes on for ever');
    claims += 1;
    sut.take({ type: 'RANKED', candidate: selectionAt(`h${claims}`) });
    sut.take({ type: 'REFUSED', reason: `h${claims} is full`, isPassing: claims % 3 === 0 });
  }
  assert.is(claims, MAX_CLAIMS_PER_SELECTION);
  assert.is(sut.snapshot.value, 'exhausted');
  assert.match(sut.snapshot.context.reason ?? '', new RegExp(`h${claims} is full`));
});

test('selection - the last host allowed may still be granted', () => {
  const sut = begun();
  for (let host = 1; host < MAX_CLAIMS_PER_SELECTION; host += 1) {
    sut.take({ type: 'RANKED', candidate: selectionAt(`h${host}`) });
    sut.take({ type: 'REFUSED', reason: 'full' });
  }
  sut.take({ type: 'RANKED', candidate: selectionAt('last') });
  sut.take({ type: 'GRANTED', held: selectionAt('last') });
  assert.is(sut.snapshot.value, 'selected');
});

test.run();
