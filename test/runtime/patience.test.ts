// Area: patience. What a start waits for: how long, and what is told of it meanwhile.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CellwrightError } from '../../runtime/errors.ts';
import { patiently } from '../../runtime/patience.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { failureOf, settled } from '../support/until.ts';

const test = suite('patience');

function failing(...reasons: string[]) {
  let tries = 0;
  const told: string[] = [];
  const clock = virtualClock();
  const work = async () => {
    tries += 1;
    throw new CellwrightError('away', reasons[tries % reasons.length] ?? '', { retryable: reasons.length > 1 });
  };
  const onError = (error: unknown) => told.push((error as Error).message);
  return { clock, told, tries: () => tries, waiting: patiently(work, { clock, what: 'reading', onError }) };
}

test('patience - what may pass is tried for half a minute, and each reason of it told once', async () => {
  const { clock, told, tries, waiting } = failing('no leader', 'no answer');
  assert.is((await failureOf(() => settled(clock, waiting))).code, 'away');
  assert.equal([clock.monotonic(), tries(), told], [30_000, 31, ['no answer', 'no leader']]);
});

test('patience - what does not pass is not waited for', async () => {
  const { clock, told, tries, waiting } = failing('never');
  assert.is((await failureOf(() => waiting)).code, 'away');
  assert.equal([clock.monotonic(), tries(), told], [0, 1, []]);
});

test.run();
