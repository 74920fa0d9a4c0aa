// Area: packing command. What `cellwright pack` says, writes and draws, that it says the same again, and what it
// refuses, each as a process of its own.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { addPack } from '../../runtime/cli/pack.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import type { PackingReport } from '../../runtime/packing/report.ts';
import { nodesText, podsText, withTrace } from '../runtime/packing/trace.ts';
import { argvOf, ROOT } from '../support/programs.ts';
import { until } from '../support/until.ts';

const test = suite('packing command');

function start(args: readonly string[]) {
  const child = spawn(process.execPath, [...argvOf('runtime/cli/main.ts'), 'pack', ...args], { cwd: ROOT });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, out, err }));
  return { child, ended, err: () => err };
}

const pack = (...args: string[]) => start(args).ended;

/** What the command throws in this process, and whether `main.ts` makes wrong usage of it. */
async function refusalOf(...args: readonly string[]): Promise<{ message: string; isUsage: boolean }> {
  const program = new Command().exitOverride();
  addPack(program);
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({ writeErr() {}, writeOut() {} });
  }
  try {
    await program.parseAsync(['node', 'cellwright', 'pack', ...args]);
  } catch (error) {
    if (error instanceof CommanderError) return { message: error.message, isUsage: error.exitCode !== 0 };
    if (error instanceof CellwrightError) return { message: error.message, isUsage: error.field !== undefined };
    throw error;
  }
  throw new Error(`nothing was wrong with ${args.join(' ')}`);
}

/** Whether each element of an XML document is closed where it should be, and each attribute quoted. */
function checkWellFormed(text: string): string[] {
  const open: string[] = [];
  const seen: string[] = [];
  const rest = text.replace(
    /<(\/?)([a-z]+)((?: [a-zA-Z0-9-]+="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)(\/?)>/g,
    (...found) => {
      const [, closing, name, , single] = found as string[];
      if (closing === '/') assert.is(open.pop(), name);
      else {
        seen.push(name as string);
        if (single !== '/') open.push(name as string);
      }
      return '';
    },
  );
  assert.equal(open, [], 'all are closed');
  assert.not.match(rest.replaceAll(/&(?:amp|lt|gt|quot);/g, ''), /[<>&]/, 'nothing else is markup');
  return seen;
}

test('figures - a table for people, a record for programs, a plot, the same again to the byte', async () => {
  await withTrace(async ({ dir, nodes, pods }) => {
    const files = (name: string) => ({ json: join(dir, `${name}.json`), plot: join(dir, `${name}.svg`) });
    const run = async (name: string) => {
      const { json, plot } = files(name);
      const flags = ['--nodes', nodes, '--pods', pods, '--policy', 'Random, FGD,fgd', '--seeds', '3'];
      const { code, out, err } = await pack(...flags, '--json', json, '--plot', plot);
      assert.is(code, 0, err);
      return { out, json: readFileSync(json, 'utf8'), plot: readFileSync(plot, 'utf8') };
    };
    const [first, second] = await Promise.all([run('first'), run('second')]);
    assert.is(second.json, first.json);
    assert.is(second.plot, first.plot);

    const report = JSON.parse(first.json) as PackingReport;
    assert.equal([report.nodes, report.pods, report.hosts, report.gpus], ['nodes.csv', 'pods.csv', 12, 56]);
    assert.equal([report.requests, report.tune, report.seeds], [150, 1.3, [42, 43, 44]]);
    assert.equal(Object.keys(report.policies), ['random', 'fgd']);
    for (const [name, policy] of Object.entries(report.policies)) {
      for (const { mean, seeds } of [policy.allocationAt100, policy.allocationAt130]) {
        assert.is(seeds.length, 3);
        const told = seeds as number[];
        assert.ok(
          told.every((one) => one > 50 && one <= 100),
          `${name}: ${told}`,
        );
        assert.ok(Math.abs((mean as number) - told.reduce((sum, one) => sum + one, 0) / 3) < 0.001);
        assert.match(first.out, new RegExp(`${name} .*${(mean as number).toFixed(2)} %`));
      }
      const last = Math.round(100 * Math.max(...report.askedOfSeeds));
      assert.ok(last >= 130 && last <= 134, `${last} %: a request for two GPUs may go over it`);
      assert.is(policy.curve.length, last + 1);
    }
    assert.match(first.out, /56 GPUs on 12 hosts, 150 requests, mean of 3 seeds/);

    const elements = checkWellFormed(first.plot);
    assert.is(elements[0], 'svg');
    assert.is(
      elements.filter((name) => name === 'path').length,
      1 + 2 * 3,
      'the diagonal; band, line and leader of each',
    );
    for (const word of ['random', 'fgd', 'pods.csv', '100 %']) assert.ok(first.plot.includes(word), word);
  });
});

test('figures - the standard output has nothing but the record where that is named for it', async () => {
  await withTrace(async ({ nodes, pods }) => {
    const { code, out, err } = await pack('--nodes', nodes, '--pods', pods, '--policy', 'random', '--json', '-');
    assert.is(code, 0, err);
    assert.equal(Object.keys((JSON.parse(out) as PackingReport).policies), ['random']);
    assert.match(err, /56 GPUs on 12 hosts, 150 requests, mean of 10 seeds/);
    assert.not(existsSync(join(ROOT, '-')), 'no file has that name');
  });
});

test('figures - a model that requests would take and no host has is told', async () => {
  const pods =
    'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1,0,1,1000,T4|G9\nb,1,0,1,1000,G9\nc,1,0,0,0,X\n';
  const nodes = 'sn,cpu_milli,memory_mib,gpu,model\nn1,8000,1024,2,T4\nn2,4000,512,0,X\n';
  await withTrace(
    async (files) => {
      const json = join(files.dir, 'figures.json');
      const flags = ['--nodes', files.nodes, '--pods', files.pods, '--policy', 'random', '--seeds', '1'];
      const { code, out, err } = await pack(...flags, '--json', json);
      assert.is(code, 0, err);
      assert.match(out, / for 1 run$/m);
      assert.match(err, /no host of '.*nodes\.csv' has a GPU 'G9', which 2 requests of '.*pods\.csv' would take/);
      assert.not.match(out + err, /'X'/, 'nobody asks for a GPU of it');
      assert.equal((JSON.parse(readFileSync(json, 'utf8')) as PackingReport).absentModels, { G9: 2 });
    },
    { nodes, pods },
  );
});

test('figures - requests that are left out, or that fit no host, and models that become one are told, each in a line', async () => {
  const requests = [
    'a,1,0,50,1000,',
    'B.x,9000,0,1,1000,',
    'c,1,0,4,1000,',
    'd,1,0,1,500,t4',
    'e,1,0,1,500,T-4|T4',
    'f,0,0,0,0,',
  ];
  const pods = ['name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec', ...requests, ''].join('\n');
  const nodes = 'sn,cpu_milli,memory_mib,gpu,model\nn1,8000,1024,3,T4\nn2,4000,512,3,T 4\n';
  await withTrace(
    async (files) => {
      const json = join(files.dir, 'figures.json');
      const flags = ['--nodes', files.nodes, '--pods', files.pods, '--policy', 'random', '--seeds', '1'];
      const { code, err } = await pack(...flags, '--json', json);
      assert.is(code, 0, err);
      assert.match(err, /^left out, for more than 1\.3 times all GPUs each: 1 request of '.*pods\.csv', 'a'$/m);
      assert.match(
        err,
        /^fit no host of '.*nodes\.csv', even an empty one: 2 requests of '.*pods\.csv', 'B\.x', 'c'$/m,
      );
      assert.match(err, /^taken for one model of GPUs: 'T4' of '.*nodes\.csv', 't4' of '.*pods\.csv'$/m);
      assert.match(err, /^taken for one model of GPUs: 'T 4' of '.*nodes\.csv', 'T-4' of '.*pods\.csv'$/m);
      const { leftOut, unservable, unservablePartly } = JSON.parse(readFileSync(json, 'utf8')) as PackingReport;
      assert.equal([leftOut, unservable, unservablePartly], [1, 2, undefined]);
      const asTheyAre = await pack(...flags, '--tune', '0');
      assert.not.match(asTheyAre.err, /left out/);
      assert.match(asTheyAre.err, /^fit no host .*: 3 requests of '.*pods\.csv', 'B\.x', 'a', 'c'$/m);
    },
    { nodes, pods },
  );
});

test('figures - the requests as they are in the trace, each once, however much they ask for', async () => {
  const pods = 'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1,0,1,500,\nb,1,0,1,1000,\nc,1,0,0,0,\n';
  const nodes = 'sn,cpu_milli,memory_mib,gpu,model\nn1,8000,1024,4,T4\n';
  await withTrace(
    async (files) => {
      const [json, plot] = [join(files.dir, 'figures.json'), join(files.dir, 'curves.svg')];
      const flags = ['--nodes', files.nodes, '--pods', files.pods, '--policy', 'fgd', '--seeds', '2', '--tune', '0'];
      const { code, out, err } = await pack(...flags, '--json', json, '--plot', plot);
      assert.is(code, 0, err);
      assert.match(out, /100 % were asked for +130 % +38 % +requests refused\n/);
      const { tune, asked, askedOfSeeds, policies } = JSON.parse(readFileSync(json, 'utf8')) as PackingReport;
      assert.equal([tune, asked, askedOfSeeds, policies.fgd?.refused], [0, 0.375, [0.375, 0.375], 0]);
      assert.equal(policies.fgd?.allocationAt100, { mean: null, seeds: [null, null] });
      assert.equal(policies.fgd?.curve.at(-1), { arrived: 38, mean: 37.5, least: 37.5, most: 37.5, ofSeeds: 2 });
      assert.match(readFileSync(plot, 'utf8'), /2 seeds, the requests of the trace, for 0\.38 times all GPUs/);
    },
    { nodes, pods },
  );
});

test('figures - file names that are markup do not break the plot', async () => {
  await withTrace(async ({ dir, nodes }) => {
    const pods = join(dir, 'a<b>&"c".csv');
    writeFileSync(pods, podsText(40));
    const plot = join(dir, 'plot.SVG');
    const flags = ['--nodes', nodes, '--pods', pods, '--policy', 'Best_Fit,BEST fit', '--seeds', '1', '--tune', '0.4'];
    const { code, out, err } = await pack(...flags, '--plot', plot);
    assert.is(code, 0, err);
    checkWellFormed(readFileSync(plot, 'utf8'));
    assert.match(out, /best-fit +not asked +not asked/);
  });
});

test('usage - a wrong flag is refused by its name', async () => {
  await withTrace(async ({ dir, nodes, pods }) => {
    const trace = ['--nodes', nodes, '--pods', pods];
    const cases: [string[], RegExp][] = [
      [['--pods', pods], /--nodes/],
      [['--nodes', nodes], /--pods/],
      [['--nodes', join(dir, 'nowhere.csv'), '--pods', pods], /--nodes.*nowhere\.csv.*cannot be read/],
      [[...trace, '--policy', 'best'], /--policy.*'best' is none of random, dot-product, .*fgd/],
      [[...trace, '--policy', 'fgd,'], /--policy/],
      [[...trace, '--seeds', '0'], /--seeds.*'0'.*from 1 to 1000/],
      [[...trace, '--tune=-1'], /--tune.*'-1'.*from 0 to 10/],
      [[...trace, '--tune', '11'], /--tune.*'11'.*from 0 to 10/],
      [[...trace, '--plot', join(dir, 'plot.png')], /--plot.*\.svg/],
      [[...trace, '--json', join(dir, 'nowhere', 'x.json')], /--json: '.*nowhere.*cannot be written/],
      [[...trace, '--plot', join(dir, 'nowhere', 'x.svg')], /--plot: '.*nowhere.*cannot be written/],
      [[...trace, '--json', pods], /--pods and --json name the same file/],
      [[...trace, '--json', join(dir, 'x.svg'), '--plot', join(dir, 'x.svg')], /--json and --plot name the same file/],
    ];
    for (const [args, message] of cases) {
      const { message: said, isUsage } = await refusalOf(...args);
      assert.match(said, message, args.join(' '));
      assert.ok(isUsage, args.join(' '));
    }
  });
});

test('figures - the plot is kept when the record cannot be', async () => {
  if (!existsSync('/dev/full')) return;
  await withTrace(async ({ dir, nodes, pods }) => {
    const plot = join(dir, 'plot.svg');
    const flags = ['--nodes', nodes, '--pods', pods, '--policy', 'fgd', '--seeds', '1'];
    const { code, out, err } = await pack(...flags, '--json', '/dev/full', '--plot', plot);
    assert.is(code, 2, err);
    assert.match(err, /--json: '\/dev\/full' cannot be written/);
    assert.match(out, /^fgd /m);
    checkWellFormed(readFileSync(plot, 'utf8'));
  });
});

test('usage - a file that is none of CSV is wrong usage, as a wrong row is', async () => {
  for (const [text, message] of [
    ['', /pods\.csv' holds no rows/],
    [podsText(0), /pods\.csv' holds no rows/],
    [`${podsText(1)}"a,1,1,1,1,`, /pods\.csv' is not the CSV it should be/],
  ] as const) {
    await withTrace(
      async ({ dir, nodes, pods }) => {
        const { message: said, isUsage } = await refusalOf('--nodes', nodes, '--pods', pods);
        assert.match(said, message);
        assert.ok(isUsage, said);
        const folder = await refusalOf('--nodes', dir, '--pods', pods);
        assert.match(folder.message, /cannot read the trace .*EISDIR/);
        assert.ok(folder.isUsage);
      },
      { pods: text },
    );
  }
});

test('usage - a wrong row is refused with file, line and column', async () => {
  await withTrace(
    async ({ nodes, pods }) => {
      const { code, err } = await pack('--nodes', nodes, '--pods', pods);
      assert.match(err, /pods\.csv' line 4, column 'gpu_milli': '2000' is not a number from 1 to 1000/);
      assert.not.match(err, /\n\s+at /, 'no stack is shown for what the user did');
      assert.is(code, 2);
    },
    { pods: `${podsText(2)}late,1,1,1,2000,\n` },
  );
});

test('usage - a trace that would take too many requests is refused, from whatever process finds out', async () => {
  const pods = 'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\ncrumb,1,1,1,1,\n';
  await withTrace(
    async (files) => {
      const flags = ['--nodes', files.nodes, '--pods', files.pods, '--policy', 'fgd', '--tune', '9'];
      const { message, isUsage } = await refusalOf(...flags);
      assert.match(message, /pods\.csv': it takes more than 1000000 requests .*; --tune 0 takes each once$/);
      assert.ok(isUsage);
    },
    { nodes: nodesText(100), pods },
  );
});

test('usage - requests that each ask for more than is wanted, or all together for far too much, are refused by file and flag', async () => {
  const nodes = 'sn,cpu_milli,memory_mib,gpu,model\nn1,8000,1024,1,T4\n';
  const rows = Array.from({ length: 30 }, (_, at) => `p${at},1,64,40,1000\n`);
  await withTrace(
    async (files) => {
      const flags = ['--nodes', files.nodes, '--pods', files.pods, '--policy', 'random'];
      const each = await refusalOf(...flags);
      assert.match(
        each.message,
        /pods\.csv': each request .* more than 1\.3 times all GPUs by itself \(--tune 1\.3\)$/,
      );
      const all = await refusalOf(...flags, '--tune', '0');
      assert.match(all.message, /pods\.csv': the requests ask for 1200 times all GPUs; as they are \(--tune 0\)/);
      assert.ok(each.isUsage && all.isUsage);
    },
    { nodes, pods: `name,cpu_milli,memory_mib,num_gpu,gpu_milli\n${rows.join('')}` },
  );
});

test('progress - it is shown while it runs, and an interrupt ends it', async () => {
  await withTrace(
    async ({ nodes, pods }) => {
      const { child, ended, err } = start(['--nodes', nodes, '--pods', pods, '--seeds', '1000', '--policy', 'fgd']);
      const told = new Promise<void>((resolve) => {
        child.stderr.on('data', () => {
          if (/packing: \d+ %, \d+ of 1000 runs done/.test(err())) resolve();
        });
      });
      await Promise.race([told, ended]);
      child.kill('SIGINT');
      const { code, out } = await ended;
      assert.match(err(), /interrupted/);
      assert.equal([code, out], [130, '']);
    },
    { nodes: nodesText(60), pods: podsText(2_000) },
  );
});

test('progress - when the command is killed, its processes do not go on with what nobody waits for', async () => {
  // Of requests that are all unlike a run takes long.
  const rows = Array.from({ length: 3_000 }, (_, n) => `pod-${n},${1_000 + n},1024,1,${1 + (n % 1_000)},\n`);
  await withTrace(
    async ({ nodes, pods }) => {
      const flags = ['--nodes', nodes, '--pods', pods, '--seeds', '2', '--policy', 'fgd', '--tune', '10'];
      const { child, ended, err } = start(flags);
      let isEnded = false;
      ended.then(() => {
        isEnded = true;
      });
      await until('it is under way', () => isEnded || /packing: \d+ %, 0 of 2 runs done/.test(err()));
      assert.not(isEnded, err());
      child.kill('SIGKILL');
      // They write where it wrote. A run by itself would take longer than is waited here.
      await until('nobody is left', () => isEnded, 20_000);
    },
    { nodes: nodesText(200), pods: `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n${rows.join('')}` },
  );
});

test.run();
