// Area: conductor. Whatever is said to it, in whatever order, its journal leads to its state, the instances of a request
// reach a cell together or not at all, and whatever a crash cuts off is taken up again.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConductorMessage } from '../../actors/messages/conductor.ts';
import { actor, answered, buildOf, type Desk, desk, isSettled, noHost, remove } from '../support/conductor-desk.ts';
import { bench, converse, replayed, restored, type Sent, sentOf } from '../support/turn.ts';

const test = suite('conductor, by chance');

const REQUESTS = ['a', 'b'];
const INSTANCES = ['a-0', 'a-1', 'b'];

/** What may be said to a conductor: `select` and the like answer what it asked, wherever in its past. */
type Step = { say: ConductorMessage } | { answer: number; refuse: boolean } | { pass: number };

const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...REQUESTS).map((one) => ({ say: buildOf(one, one === 'a' ? 2 : 1) })) },
  { weight: 2, arbitrary: fc.constantFrom(...INSTANCES).map((one) => ({ say: remove(one) })) },
  {
    weight: 8,
    arbitrary: fc.record({ answer: fc.nat(30), refuse: fc.boolean() }, { noNullPrototype: true }),
  },
  { weight: 2, arbitrary: fc.integer({ min: 100, max: 30_000 }).map((pass) => ({ pass })) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(...INSTANCES)
      .map((instance) => ({ say: { type: 'ended', instance, state: 'active' } as ConductorMessage })),
  },
);

/** Takes the steps; answers may come late, twice, or never. */
function take(on: Desk, script: readonly Step[], check: () => void): void {
  const said: Sent[] = [];
  for (const step of script) {
    if ('pass' in step) {
      for (const { sent } of on.pass(step.pass)) said.push(...sent);
    } else if ('say' in step) {
      said.push(...on.tell(step.say).sent);
    } else {
      const sent = said[said.length - 1 - step.answer];
      if (sent === undefined) continue;
      const refusal =
        sent.message.type === 'select' && step.refuse
          ? [{ message: noHost(sent.message.request, sent.message.round), from: 'scheduler/s' }]
          : answered(sent);
      for (const { message, from } of refusal) said.push(...on.tell(message, from).sent);
    }
    check();
  }
}

const scripts = fc.array(steps, { maxLength: 40 });

test('conductor - after every step its journal leads to its state, and so does its stored state', () => {
  fc.assert(
    fc.property(scripts, (script) => {
      const on = desk();
      take(on, script, () => {
        assert.equal(replayed(actor, on.entries), on.stored());
        assert.equal(restored(actor, on.stored()), on.stored());
      });
    }),
    { numRuns: 150 },
  );
});

test('conductor - the instances of a request reach a cell together or not at all', () => {
  fc.assert(
    fc.property(scripts, (script) => {
      const on = desk();
      take(on, script, () => {
        const entries = ['a-0', 'a-1'].map((instance) => on.state.instances.get(instance));
        const placed = entries.filter((entry) => entry !== undefined && entry.cell !== null);
        const deleted = entries.filter((entry) => entry?.phase === 'deleting' || entry?.phase === 'deleted');
        assert.ok(placed.length === 0 || placed.length + deleted.length >= 2);
      });
    }),
    { numRuns: 150 },
  );
});

test('conductor - after a crash at any moment it does what is owed, until nothing is', () => {
  fc.assert(
    fc.property(scripts, fc.nat(), (script, cut) => {
      const live = desk();
      take(live, script, () => {});
      const again = bench(actor, { at: live.now, entries: live.entries.slice(0, cut % (live.entries.length + 1)) });
      converse(again, again.first.sent, answered, isSettled(again));
      assert.equal(replayed(actor, again.entries), again.stored());
    }),
    { numRuns: 300 },
  );
});

test('conductor - instances are listed page by page', () => {
  const on = desk();
  for (const request of ['c', 'a', 'b']) on.tell(buildOf(request));
  const [first] = sentOf(on.tell({ type: 'list', ask: 1, limit: 2 }), 'listed');
  assert.equal(
    first?.message.instances.map(({ instance }) => instance),
    ['a', 'b'],
  );
  assert.is(first?.message.next, 'b');
  const [second] = sentOf(on.tell({ type: 'list', ask: 1, limit: 2, after: 'b' }), 'listed');
  assert.equal(
    second?.message.instances.map(({ instance }) => instance),
    ['c'],
  );
  assert.is(second?.message.next, null);
});

test.run();
