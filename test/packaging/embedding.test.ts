// Area: packaging. The package as a user gets it: packed, installed into an empty project, compiled against with its
// own types, imported and run. A copy of the repository is packed, so that nothing is built into the working tree.

import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { documents, linksIn, targetOf } from '../docs/documents.ts';
import { ROOT } from '../support/programs.ts';

const test = suite('packaging');
const CONFIGURATION = ['package.json', 'tsconfig.json', 'tsconfig.build.json'];
const PACKED = [...CONFIGURATION, 'README.md', 'LICENSE', 'machines', 'actors', 'runtime'];

interface Project {
  /** The user's project, with the package installed. */
  folder: string;
  /** The files in the tarball. */
  packed: readonly string[];
}

/** Runs a program to its end; a failure carries all that it printed. */
async function run(program: string, args: readonly string[], cwd: string): Promise<string> {
  // What an npm above this test says about its own project must not reach the npm in here.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_|^INIT_CWD$/i.test(name)));
  try {
    return (await promisify(execFile)(program, args, { cwd, env, timeout: 100_000 })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} ${args.join(' ')} failed\n${stdout ?? ''}${stderr ?? ''}`, { cause: error });
  }
}

/** A temporary folder for the copy and the project. */
const root = await mkdtemp(join(tmpdir(), 'cellwright-package-'));

async function install(): Promise<Project> {
  const copy = join(root, 'copy');
  for (const entry of PACKED) await cp(join(ROOT, entry), join(copy, entry), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  await run('npm', ['pack', '--pack-destination', root], copy);
  const { name, version } = JSON.parse(await readFile(join(copy, 'package.json'), 'utf8')) as Record<string, string>;
  const tarball = join(root, `${name}-${version}.tgz`);
  const packed = (await run('tar', ['-tzf', tarball], root)).trim().split('\n');

  const folder = join(root, 'project');
  await mkdir(folder);
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }\n');
  const quick = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];
  await run('npm', ['install', ...quick, tarball], folder);
  return { folder, packed: packed.map((path) => path.replace(/^package\//, '')) };
}

let installing: Promise<Project> | undefined;

/** Packs and installs once for all tests here; each fails with the cause when that fails. */
function installed(): Promise<Project> {
  installing ??= install();
  return installing;
}

test('the tarball holds compiled modules with their types, the README and its guides, and no sources', async () => {
  const { packed } = await installed();
  const compiledModule = ['.build/machines/testing.js', '.build/machines/testing.d.ts'];
  for (const file of ['LICENSE', 'package.json', ...compiledModule, ...documents().map(({ path }) => path)]) {
    assert.ok(packed.includes(file), `${file} is missing from ${packed.join(', ')}`);
  }
  const surplus = packed.filter(
    (file) => !/^(?:\.build\/.*\.(?:js|d\.ts)|LICENSE|README\.md|runtime\/docs\/.*\.md|package\.json)$/.test(file),
  );
  assert.equal(surplus, []);
});

test('the links of what is packed lead to what is packed', async () => {
  const packed = new Set((await installed()).packed);
  const missing = documents().flatMap((document) =>
    linksIn(document)
      .map((link) => targetOf(document, link).path)
      .filter((path) => !packed.has(path)),
  );
  assert.equal(missing, []);
});

test('every entry can be imported', async () => {
  const { folder } = await installed();
  for (const entry of ['cellwright', 'cellwright/machines', 'cellwright/testing']) {
    const script = `console.log(Object.keys(await import('${entry}')).length)`;
    const names = Number(await run(process.execPath, ['--input-type=module', '-e', script], folder));
    assert.ok(names > 0, `${entry} exports nothing`);
  }
});

test('a CommonJS program loads it by import, and by require where Node can', async () => {
  const { folder } = await installed();
  const script = "import('cellwright').then(({ startNode }) => console.log(typeof startNode));";
  assert.is((await run(process.execPath, ['--input-type=commonjs', '-e', script], folder)).trim(), 'function');
  if (!('require_module' in process.features)) return;
  const required = "console.log(typeof require('cellwright').startNode)";
  assert.is((await run(process.execPath, ['--input-type=commonjs', '-e', required], folder)).trim(), 'function');
});

/** Compiles programs in the user's project, strictly. */
async function compile(names: readonly string[], more: object = {}): Promise<void> {
  const { folder } = await installed();
  const compilerOptions = {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    outDir: 'out',
    rootDir: '.',
    ...more,
  };
  const include = names.map((name) => `${name}.ts`);
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include }));
  await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', '.'], folder);
}

const fixture = (name: string) => readFile(join(ROOT, `test/fixtures/embedding/${name}.ts`), 'utf8');

/** What the README shows of embedding: a driver, and a program that uses it. */
async function shownInReadme(): Promise<string> {
  const [, shown = '', driver = ''] =
    /^## Embedding$.*?^```ts\n(.*?)^```$.*?^```ts\n(.*?)^```$/ms.exec(
      await readFile(join(ROOT, 'README.md'), 'utf8'),
    ) ?? [];
  assert.match(shown, 'startNode');
  assert.match(driver, 'const myDriver');
  return `${driver}${shown}`;
}

async function shownInGuide(): Promise<string> {
  const guide = await readFile(join(ROOT, 'runtime/docs/scheduling.md'), 'utf8');
  const shown = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, program = '']) => program);
  assert.is(shown.length, 1);
  assert.match(shown[0] ?? '', 'weighers:');
  return shown[0] ?? '';
}

/** Compiles all programs of users together, once: most of the time goes to what they have in common. */
async function compileAll(): Promise<string> {
  const { folder } = await installed();
  await mkdir(join(folder, 'node_modules/@xstate'), { recursive: true });
  await symlink(join(ROOT, 'node_modules/@xstate/test'), join(folder, 'node_modules/@xstate/test'));
  const programs: Record<string, string> = {
    readme: await shownInReadme(),
    guide: await shownInGuide(),
    embed: await fixture('embed'),
    model: await fixture('model'),
  };
  for (const [name, program] of Object.entries(programs)) await writeFile(join(folder, `${name}.ts`), program);
  await compile(Object.keys(programs));
  return folder;
}

let compiling: Promise<string> | undefined;

/** The folder in which the programs of users are compiled; each test fails with the cause when one does not compile. */
function compiled(): Promise<string> {
  compiling ??= compileAll();
  return compiling;
}

const runCompiled = async (name: string): Promise<string> => {
  const folder = await compiled();
  return run(process.execPath, [`out/${name}.js`], folder);
};

test('what the README and the guide on scheduling show compiles', async () => {
  await compiled();
});

test('its types compile where the user has none of Node or of a browser, also if libraries are checked', async () => {
  const { folder } = await installed();
  const program = `import * as all from 'cellwright';\nexport const names: string[] = Object.keys(all);\n`;
  await writeFile(join(folder, 'checked.ts'), program);
  await compile(['checked'], { skipLibCheck: false, lib: ['es2023'], types: [], typeRoots: undefined });
});

test('a program that embeds it compiles with its types, and runs', async () => {
  assert.match(await runCompiled('embed'), /^embedded/m);
});

test('a program that embeds it becomes one file as the guide says, and runs without the package', async () => {
  const folder = await compiled();
  const guide = await readFile(join(ROOT, 'runtime/docs/embedding.md'), 'utf8');
  const [, shown = ''] = /^npx (esbuild .*?)^```$/ms.exec(guide) ?? [];
  const alone = await mkdtemp(join(root, 'alone-'));
  const bundled = shown.replace('program.ts', 'out/embed.js').replace('program.mjs', join(alone, 'program.mjs'));
  await run('bash', ['-c', join(ROOT, 'node_modules/.bin/', bundled)], folder);
  assert.match(await run(process.execPath, ['program.mjs'], alone), /^embedded/m);
});

test('a library may export whatever it gets: what functions answer can be named in its declarations', async () => {
  const { folder } = await installed();
  const entries = ['cellwright', 'cellwright/machines', 'cellwright/testing'];
  const answers = entries.map(async (entry, index) => {
    const listed = `for (const [name, value] of Object.entries(await import('${entry}')))
      if (typeof value === 'function' && !/^class/.test(value)) console.log(name);`;
    const names = (await run(process.execPath, ['--input-type=module', '-e', listed], folder)).trim().split('\n');
    const called = names.map((name) => {
      const it = `all${index}.${name}`;
      return `export const ${name} = ${it}(...([] as unknown as Parameters<typeof ${it}>));`;
    });
    return [`import * as all${index} from '${entry}';`, ...called];
  });
  await writeFile(join(folder, 'library.ts'), (await Promise.all(answers)).flat().join('\n'));
  await compile(['library'], { declaration: true });
});

test('a test that is generated from a machine, with @xstate/test, compiles and walks it', async () => {
  assert.match(await runCompiled('model'), /^walked \d+ paths/m);
});

test('its program tells its version', async () => {
  const { folder } = await installed();
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  assert.is((await run(join(folder, 'node_modules/.bin/cellwright'), ['--version'], folder)).trim(), version);
});

test.after(() => rm(root, { recursive: true, force: true }));

test.run();
