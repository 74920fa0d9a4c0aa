// Area: keys of maps. Those that are found by long texts find each as quickly as those that are found by short ones.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mapKey } from '../../actors/map-key.ts';

const test = suite('keys of maps');

test('keys of maps - a short text is its own key', () => {
  for (const text of ['', 'web', 'a'.repeat(16_383)]) assert.is(mapKey(text), text);
});

test('keys of maps - of a long text the key is short, and another wherever the text differs', () => {
  const text = 'ab'.repeat(10_000);
  const others = Array.from({ length: 2_000 }, (_, n) => `${text.slice(0, 10 * n)}x${text.slice(10 * n + 1)}`);
  const swapped = Array.from({ length: 2_000 }, (_, n) => `${text.slice(0, 10 * n)}ba${text.slice(10 * n + 2)}`);
  const numbered = Array.from({ length: 2_000 }, (_, n) => `${text}${n}${text}${n}`);
  const longer = Array.from({ length: 2_000 }, (_, n) => text + '\0'.repeat(n));
  const all = [...others, ...swapped, ...numbered, ...longer];
  const keys = new Set(all.map(mapKey));
  assert.is(keys.size, all.length);
  assert.ok([...keys].every((key) => key.length < 40));
  assert.is(mapKey(text), mapKey('ab'.repeat(10_000)));
});

test.run();
