// Area: conductor, names that are no instance's. The instance that is much like one is told; of very many some are looked at
// in a turn, so that nobody is held up; and whoever asks where too many do is answered at once, without.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { conductor } from '../../actors/conductor/conductor.ts';
import { LIKE_WAKE } from '../../actors/conductor/like-instances.ts';
import type { Entry } from '../../actors/conductor/state.ts';
import { bench, sentOf } from '../support/turn.ts';

const test = suite('conductor - names that are alike');

const desk = () => bench(conductor({ shard: 0 }));
type Desk = ReturnType<typeof desk>;

function put(on: Desk, instance: string, more: Partial<Entry> = {}): void {
  const known = {
    request: instance,
    asked: '',
    build: null,
    releaseOwed: false,
    handedOver: true,
    deletedAt: 0,
    repeats: 0,
  };
  on.state.instances.set(instance, { ...known, phase: 'in-cell', cell: 'c1', told: null, ...more });
}

const question = (ask: number, names: string[], holding = false) => {
  return { type: 'like-instances' as const, ask, names, ...(holding ? { holding: true as const } : {}) };
};

/** Asks, and lets time pass until there is an answer; tells in how many turns it came. */
function told(on: Desk, names: string[], holding = false): { like: [string, string][]; turns: number } {
  let turned = [on.tell(question(7, names, holding), 'gateway/g')];
  for (let turns = 1; turns < 1_000; turns += 1) {
    const [found] = turned.flatMap((one) => sentOf(one, 'like-told'));
    if (found !== undefined) {
      assert.equal([found.to, found.message.ask], ['gateway/g', 7]);
      return { like: found.message.like as [string, string][], turns };
    }
    turned = on.pass(5);
  }
  throw new Error('no answer');
}

test('names that are alike - a misspelt one gets the instance that it is most like, unless their numbers tell them apart', () => {
  const on = desk();
  for (const name of ['web-0', 'web-1', 'database', 'db-7']) put(on, name);
  const like = (...names: string[]) => told(on, names).like;
  assert.equal(like('wbe-0', 'databse', 'cache'), [
    ['wbe-0', 'web-0'],
    ['databse', 'database'],
  ]);
  assert.equal(like('web-2'), [], 'of a series each is meant as it is');
  assert.equal(like('web-1'), [['web-1', 'web-1']], 'it is known');
});

test('names that are alike - where it is to hold something, none is told of which nothing is left', () => {
  const on = desk();
  put(on, 'weba', { phase: 'deleted' });
  put(on, 'webb', { told: { state: 'failed' } });
  put(on, 'webc', { phase: 'here', cell: null });
  assert.equal(told(on, ['webx'], true).like, []);
  assert.equal(told(on, ['webx']).like, [['webx', 'weba']]);
  assert.equal(told(on, ['webb'], true).like, [['webb', 'webb']], 'it is known all the same');
  put(on, 'webd', { told: { state: 'active' } });
  assert.equal(told(on, ['webx'], true).like, [['webx', 'webd']]);
  assert.equal(told(on, ['webx', 'webb'], true).like, [
    ['webx', 'webd'],
    ['webb', 'webb'],
  ]);
});

test('names that are alike - of very many instances a part is looked at in a turn', () => {
  const on = desk();
  for (let n = 0; n < 100_000; n += 1) put(on, `job-${n}`);
  put(on, 'web-0');
  const { like, turns } = told(on, ['wbe-0']);
  assert.equal(like, [['wbe-0', 'web-0']]);
  assert.is(turns, 6);
  const names = Array.from({ length: 20 }, (_, n) => `wbe-0${'x'.repeat(n)}`);
  assert.is(told(on, names).turns, 101);
  assert.not.ok(on.wakes.has(LIKE_WAKE));
});

test('names that are alike - whoever waits no longer holds nobody up', () => {
  const on = desk();
  for (let n = 0; n < 50_000; n += 1) put(on, `job-${n}`);
  put(on, 'web-0');
  for (let ask = 1; ask <= 3; ask += 1) on.tell(question(ask, ['wbe-0']), 'gateway/g');
  on.now += 1_001;
  const [turned] = on.pass(5).flatMap((one) => sentOf(one, 'like-told'));
  assert.is(turned, undefined);
  assert.equal(on.state.likenings, []);
  assert.equal(told(on, ['wbe-0']).like, [['wbe-0', 'web-0']]);
});

test('names that are alike - those who ask wait for one another, and too many are answered at once', () => {
  const on = desk();
  for (let n = 0; n < 50_000; n += 1) put(on, `job-${n}`);
  put(on, 'web-0');
  const answers = (turned: ReturnType<Desk['tell']>) => sentOf(turned, 'like-told').map(({ message }) => message);
  for (let ask = 1; ask <= 8; ask += 1) assert.equal(answers(on.tell(question(ask, ['wbe-0']), 'gateway/g')), []);
  assert.equal(answers(on.tell(question(1, ['wbe-0']), 'gateway/g')), [], 'it is put again, and is under way');
  assert.equal(
    answers(on.tell(question(9, ['wbe-0']), 'gateway/g')).map(({ ask, like }) => [ask, like]),
    [[9, []]],
  );
  const later = on.pass(10_000).flatMap(answers);
  assert.equal(
    later.map(({ ask }) => ask),
    [1, 2, 3, 4, 5, 6, 7, 8],
  );
  assert.ok(later.every(({ like }) => like[0]?.[1] === 'web-0'));
});

test.run();
