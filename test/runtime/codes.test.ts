// Area: codes of explanations. Each that the actors give stands in the list that programs go by, and no other.

import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FailureCode } from '../../actors/messages/common.ts';
import { RefusalCode } from '../../actors/messages/placement.ts';
import { ADVICE_CODES, FAILURE_CODES, REFUSAL_CODES } from '../../runtime/gateway/codes.ts';
import { ROOT } from '../support/programs.ts';

const test = suite('codes of explanations');

/** All of what is matched in the sources of these folders. */
async function found(folders: readonly string[], pattern: RegExp): Promise<Set<string>> {
  const codes = new Set<string>();
  for (const folder of folders) {
    for (const file of await readdir(join(ROOT, folder), { recursive: true })) {
      if (!file.endsWith('.ts')) continue;
      const text = await readFile(join(ROOT, folder, file), 'utf8');
      for (const [, code = ''] of text.matchAll(pattern)) codes.add(code);
    }
  }
  return codes;
}

test('codes - every code by which placement or a filter refuses is listed', async () => {
  const given = new Set(RefusalCode.anyOf.map((one) => one.const as string));
  for (const code of await found(['actors/scheduler/filters'], /\bcode: '([a-z-]+)'/g)) given.add(code);
  for (const code of await found(['actors/scheduler'], /\b(?:code: |HARD_TO_TELL = )'([a-z-]+)'/g)) {
    if (!(code in ADVICE_CODES)) given.add(code);
  }
  assert.ok(given.size > 20, `${given.size}`);
  for (const code of given) assert.ok(code in REFUSAL_CODES, code);
});

test('codes - every reason why an instance fails or is lost is listed, and nothing else', () => {
  assert.equal(FailureCode.anyOf.map((one) => one.const).sort(), Object.keys(FAILURE_CODES).sort());
});

test.run();
