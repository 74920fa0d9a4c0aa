// Area: structure. The rules of the house that no compiler checks: imports point one way, nothing below runtime/
// touches the world, placement knows no cells, and the top of the repository stays short.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { ROOT } from './support/programs.ts';

const test = suite('structure');

interface Source {
  /** Relative to the root, such as `actors/builds.ts`. */
  path: string;
  text: string;
}

function sourcesIn(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => join(folder, path).replaceAll('\\', '/'))
    .filter((path) => /\.m?[jt]s$/.test(path))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
}

const withoutComments = (text: string) => text.replace(/\/\*.*?\*\/|(?<![:'"`])\/\/[^\n]*/gs, '');

/** What a file imports: packages by name, files by their path from the root. */
function importsOf({ path, text }: Source): string[] {
  const statements = withoutComments(text).matchAll(/(?:\bfrom|\bimport\s*\(?)\s*(['"])(?<name>[^'"\n]+)\1/g);
  return [...statements].map(({ groups }) => {
    const name = groups?.name ?? '';
    return name.startsWith('.') ? join(dirname(path), name).replaceAll('\\', '/') : name;
  });
}

/** What is loaded with a file, and with what that loads: without what is loaded when it is called for. */
function loadedWith(path: string, loaded = new Set<string>()): Set<string> {
  if (loaded.has(path)) return loaded;
  loaded.add(path);
  if (!path.endsWith('.ts')) return loaded;
  const text = withoutComments(readFileSync(join(ROOT, path), 'utf8'))
    .replace(/\bimport\s*\([^)]*\)/g, '')
    .replace(/\b(?:import|export) type\b[^;]*;/g, '');
  for (const name of importsOf({ path, text })) loadedWith(name, loaded);
  return loaded;
}

function forbiddenImports(source: Source, allowed: RegExp): string[] {
  return importsOf(source)
    .filter((name) => !allowed.test(name))
    .map((name) => `${source.path} imports '${name}'`);
}

/** The clock, timers, chance, I/O and waiting: what a pure decider gets handed or leaves to the runtime. */
const IMPURE =
  /\bDate\b|\bset(?:Timeout|Interval|Immediate)\b|\bqueueMicrotask\b|\bMath\.random\b|\bperformance\b|\bprocess\.|\bcrypto\b|\bfetch\(|\bconsole\b|\bawait\b/g;

function impurities({ path, text }: Source): string[] {
  return [...withoutComments(text).matchAll(IMPURE)].map(([word]) => `${path} uses ${word}`);
}

/** The lines with `cell` as a word or as a part of an identifier; `cancelled` and `Cellwright` are other words. */
function cellsNamedIn({ path, text }: Source): string[] {
  const parts = (line: string) => line.replace(/([a-z0-9])([A-Z])/g, '$1 $2').split(/[^A-Za-z]+/);
  return `${path}\n${text}`
    .split('\n')
    .filter((line) => parts(line).some((part) => /^cells?$/i.test(part)))
    .map((line) => `${path}: ${line.trim()}`);
}

const MACHINES_MAY = /^(?:xstate$|machines\/)/;
/** Libraries that touch nothing: of schemas, and of how alike two words are. */
const ACTORS_MAY = /^(?:xstate$|leven$|typebox(?:\/|$)|machines\/|actors\/)/;
const RUNTIME_MAY = /^(?!test\/|\.\.|uvu|@xstate\/test|fast-check)/;

test('machines import xstate and each other', () => {
  const machines = sourcesIn('machines');
  assert.ok(machines.length > 0);
  assert.equal(
    machines.flatMap((source) => forbiddenImports(source, MACHINES_MAY)),
    [],
  );
});

test('actors import machines, each other, xstate, and libraries that touch nothing', () => {
  const actors = sourcesIn('actors');
  assert.ok(actors.length > 0);
  assert.equal(
    actors.flatMap((source) => forbiddenImports(source, ACTORS_MAY)),
    [],
  );
});

test('the runtime imports no test', () => {
  assert.equal(
    sourcesIn('runtime').flatMap((source) => forbiddenImports(source, RUNTIME_MAY)),
    [],
  );
});

test('no clock, chance, I/O or waiting below the runtime', () => {
  assert.equal([...sourcesIn('machines'), ...sourcesIn('actors')].flatMap(impurities), []);
});

test('machines leave time and children to the runtime: no after, no invoke', () => {
  const timed = sourcesIn('machines').filter(({ text }) => /\b(?:after|invoke)\s*:/.test(withoutComments(text)));
  assert.equal(
    timed.map(({ path }) => path),
    [],
  );
});

test('placement knows no cells', () => {
  const placement = sourcesIn('actors/placement');
  assert.ok(placement.length > 0);
  assert.equal(placement.flatMap(cellsNamedIn), []);
});

test('in the scheduler each folder imports those below it', () => {
  const folders = ['view', 'filters', 'weighers', 'ranking', 'advice', 'explaining'];
  for (const [at, folder] of folders.entries()) {
    const above = new RegExp(`^(?!actors/scheduler/(?:${folders.slice(at + 1).join('|') || '-'})/)`);
    const sources = sourcesIn(`actors/scheduler/${folder}`);
    assert.ok(sources.length > 0, folder);
    assert.equal(
      sources.flatMap((source) => forbiddenImports(source, above)),
      [],
    );
  }
});

test('the command line loads what a command needs when it is called, and decode no schemas', () => {
  const loaded = [...loadedWith('runtime/cli/main.ts'), ...loadedWith('runtime/cli/bodies.ts')];
  const libraries = loaded.filter((name) => !name.endsWith('.ts') && !name.startsWith('node:'));
  assert.equal([...new Set(libraries)].sort(), ['commander', 'msgpackr/pack']);
});

test('nothing but the known entries at the top', () => {
  // Also the tarball that `npm pack` leaves here, as the README has it done; git ignores it.
  const known =
    /^(?:\..+|.+\.tgz|node_modules|package(?:-lock)?\.json|tsconfig.*\.json|actors|machines|runtime|test|README\.md|LICENSE)$/;
  assert.equal(
    readdirSync(ROOT).filter((entry) => !known.test(entry)),
    [],
  );
});

// The checks themselves

const source = (text: string): Source => ({ path: 'actors/toy/toy.ts', text });

test('checks - every form of import is read, comments are not', () => {
  const text = `
    import { a } from 'node:fs';
    import type {
      B,
    } from "../other.ts";
    import 'nats';
    export * from '../../runtime/codec.ts';
    const late = import('node:net');
    // import x from 'commented';
    /* from 'commented too' */`;
  const expected = ['node:fs', 'actors/other.ts', 'nats', 'runtime/codec.ts', 'node:net'];
  assert.equal(importsOf(source(text)), expected);
  assert.is(forbiddenImports(source(text), ACTORS_MAY).length, 4);
});

test('checks - what is loaded with a file is found through others, without types and what is loaded later', () => {
  assert.ok(loadedWith('runtime/cli/perform-pack.ts').has('typebox'));
  const loaded = loadedWith('runtime/cli/main.ts');
  assert.ok(loaded.has('runtime/cli/options.ts'));
  assert.not.ok(loaded.has('runtime/cli/perform-pack.ts'));
});

test('checks - impure words are found in code only', () => {
  const found = impurities(source('const at = Date.now(); // setTimeout\nsetTimeout(f); Math.random(); await x;'));
  assert.is(found.length, 4);
});

test('checks - cell is found in words and identifiers, not inside other words', () => {
  for (const text of ['the cell of', 'const cellId = 1', 'superCell', 'CELL_NAME', "'cells'", 'per-cell']) {
    assert.is(cellsNamedIn(source(text)).length, 1, text);
  }
  for (const text of ['cancelled', 'Cellwright', 'CellwrightError', 'excellent', 'CANCELLED']) {
    assert.is(cellsNamedIn(source(text)).length, 0, text);
  }
});

test.run();
