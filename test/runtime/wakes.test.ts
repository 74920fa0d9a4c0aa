// Area: wakes. When one comes: as it was armed last, or before its time, because somebody whose answer is awaited has come up.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { AwaitedWakes, type Wakes, wakesOf } from '../../runtime/wakes.ts';

const test = suite('wakes');

test('wakes - one that is brought forward says so, and not when it is armed again', () => {
  const clock = virtualClock();
  const came: [string, boolean][] = [];
  const wakes = wakesOf(clock, (id, isEarly) => came.push([id, isEarly]));
  wakes.arm('forward', 10_000, 'placement/0');
  wakes.arm('anew', 10_000, 'placement/0');
  wakes.arm('of another', 10_000, 'placement/1');
  wakes.arm('soon', 0, 'placement/0');
  wakes.cameUp('placement/0');
  wakes.arm('anew', 5_000, 'placement/0');
  clock.advanceTo(clock.monotonic() + 20_000);
  assert.equal(came, [
    ['soon', true],
    ['forward', true],
    ['anew', false],
    ['of another', false],
  ]);
});

test('wakes - whoever comes up brings forward those that await it, of one actor or of all that share where it is noted', () => {
  const op = fc.oneof(
    { weight: 6, arbitrary: fc.record({ arm: fc.constantFrom(undefined, 'placement/0', 'placement/1') }) },
    { weight: 3, arbitrary: fc.constant('cancel' as const) },
    { weight: 1, arbitrary: fc.constant('cancel all' as const) },
  );
  const step = fc.tuple(fc.nat({ max: 2 }), fc.constantFrom('x', 'y', 'z', 'u'), op);
  const coming = fc.constantFrom('one', 'one of anybody', 'all');
  const property = fc.property(fc.array(step, { maxLength: 60 }), coming, (steps, of) => {
    const clock = virtualClock();
    const awaiting = new AwaitedWakes();
    const came: string[] = [];
    const actors = [0, 1, 2].map((actor) =>
      wakesOf(clock, (id, isEarly) => void (isEarly && came.push(`${actor} ${id}`)), awaiting),
    );
    const awaited = new Map<string, string | undefined>();
    for (const [actor, id, what] of steps) {
      const wakes = actors[actor] as Wakes;
      if (what === 'cancel') {
        wakes.cancel(id);
        awaited.delete(`${actor} ${id}`);
      } else if (what === 'cancel all') {
        wakes.cancelAll();
        for (const one of awaited.keys()) if (one.startsWith(`${actor}`)) awaited.delete(one);
      } else {
        wakes.arm(id, 1_000, what.arm);
        awaited.set(`${actor} ${id}`, what.arm);
      }
    }
    if (of === 'all') awaiting.cameUp('placement/0');
    else actors[0]?.cameUp(of === 'one' ? 'placement/0' : undefined);
    clock.advanceTo(clock.monotonic() + 2_000);
    const expected = [...awaited].flatMap(([one, who]) => {
      const isAsked = of === 'all' || one.startsWith('0');
      const isAwaited = of === 'one of anybody' ? who !== undefined : who === 'placement/0';
      return isAsked && isAwaited ? [one] : [];
    });
    assert.equal(came.sort(), expected.sort());
  });
  fc.assert(property, { numRuns: 500 });
});

test('wakes - each comes once for each time that it was armed last, however often it was put off, brought forward or cancelled', () => {
  const id = fc.constantFrom('x', 'y');
  const step = fc.oneof(
    fc.record({
      id,
      afterMs: fc.nat({ max: 1_000 }),
      awaited: fc.constantFrom(undefined, 'placement/0', 'placement/1'),
    }),
    fc.record({ cancels: id }),
    fc.record({ passMs: fc.nat({ max: 700 }) }),
    fc.record({ comesUp: fc.constantFrom('placement/0', 'placement/1') }),
  );
  const property = fc.property(fc.array(step, { maxLength: 40, size: 'max' }), (steps) => {
    const clock = virtualClock();
    const awaiting = new AwaitedWakes();
    const armed = new Map<string, { dueAt: number; isEarly: boolean; awaited: string | undefined }>();
    const wakes = wakesOf(
      clock,
      (id, isEarly) => {
        const expected = armed.get(id);
        assert.is(isEarly, expected?.isEarly, id);
        const { dueAt = 0 } = expected ?? {};
        assert.ok(isEarly ? clock.monotonic() <= dueAt : clock.monotonic() === dueAt, `${id} at ${clock.monotonic()}`);
        armed.delete(id);
      },
      awaiting,
    );
    for (const one of steps) {
      if ('afterMs' in one) {
        wakes.arm(one.id, one.afterMs, one.awaited);
        armed.set(one.id, { dueAt: clock.monotonic() + one.afterMs, isEarly: false, awaited: one.awaited });
      } else if ('cancels' in one) {
        wakes.cancel(one.cancels);
        armed.delete(one.cancels);
      } else if ('passMs' in one) clock.advanceTo(clock.monotonic() + one.passMs);
      else {
        awaiting.cameUp(one.comesUp);
        const soon = clock.monotonic() + 200;
        for (const [id, { awaited, dueAt }] of armed) {
          if (awaited === one.comesUp) armed.set(id, { dueAt: Math.min(dueAt, soon), isEarly: true, awaited });
        }
      }
    }
    clock.advanceTo(clock.monotonic() + 1_000);
    assert.is(armed.size + clock.pending, 0);
    assert.equal([...awaiting.of('placement/0'), ...awaiting.of('placement/1')], [], 'nothing is kept of them');
  });
  fc.assert(property, { numRuns: 500 });
});

test.run();
