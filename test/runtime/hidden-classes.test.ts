// Area: hidden classes. The engine gives objects that are made alike one hidden class in common, on which all that it has
// compiled for them depends. Where fields are added behind a spread, as in `{ ...message, ask }`, Node 20 (V8 11.3) makes
// one for each object: half a microsecond each time and, in all that then reads such an object, as much again.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { conductor } from '../../actors/conductor/conductor.ts';
import { argvOf } from '../support/programs.ts';

const test = suite('hidden classes');

const BUILDS = 1_000;
const WARM_UP = 2_000;
const WITHIN_MS = 120_000;

/** A line of the engine's log on a class that it has made of another one, by adding a field: when, us, and which. */
const MADE = /^map,Transition,(\d+),[^,]*,[^,]*,[^,]*,-?\d+,-?\d+,[^,]*,(.*)$/gm;

test('builds - none is made for a single build', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cellwright-classes-'));
  try {
    const log = join(folder, 'v8.log');
    const flags = ['--log-maps', `--logfile=${log}`, '--no-logfile-per-isolate'];
    const program = [...argvOf('test/support/building.ts'), String(BUILDS), String(WARM_UP)];
    const { stdout, stderr, status } = spawnSync(process.execPath, [...flags, ...program], {
      encoding: 'utf8',
      timeout: WITHIN_MS,
    });
    assert.is(status, 0, stderr);
    const made = [...readFileSync(log, 'utf8').matchAll(MADE)].map(([, at, field]) => ({
      at: Number(at) / 1_000,
      what: `by adding '${field}'`,
    }));
    assert.ok(made.length > 100, 'the log tells of them');
    const end = Math.max(...made.map(({ at }) => at));
    const late = made.filter(({ at }) => at > end - Number(stdout)).map(({ what }) => what);
    const often = [...new Set(late)].filter((what) => late.filter((one) => one === what).length > BUILDS / 10);
    assert.equal(often, []);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('restoring - the instances of a conductor share one, for there may be a million', () => {
  setFlagsFromString('--allow-natives-syntax');
  const areAlike = new Function('one', 'other', 'return %HaveSameMap(one, other)') as (...some: unknown[]) => boolean;
  const told = { request: 'r', asked: '', cell: 'c1', build: null, told: null, releaseOwed: false, deletedAt: 0 };
  const stored = { ...told, phase: 'in-cell' as const, handedOver: true };
  const instances = Array.from({ length: WARM_UP }, (_, n) => [`r-${n}`, { ...stored }] as const);
  const { instances: restored } = conductor({ shard: 0 }).restore([{ instances, requests: [] }]);
  const [one, ...others] = [...restored.values()];
  assert.is(others.length, WARM_UP - 1);
  for (const other of others) assert.ok(areAlike(one, other));
});

test.run();
