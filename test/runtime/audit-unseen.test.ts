// Area: what an audit does not see. Of what does not answer nothing is guessed, nothing is mended that depends on it, and it
// is told, in the words and by the exit code.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { exitCodeOf } from '../../runtime/audit/audit.ts';
import { compare } from '../../runtime/audit/compare.ts';
import { type LookOptions, lookAround } from '../../runtime/audit/look.ts';
import { linesOf } from '../../runtime/cli/perform-audit.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { holds, provider, seen, use } from '../support/doctored.ts';

const test = suite('audit, unseen');

test('audit - a cell that is down makes nothing of its own wrong, and nothing is mended meanwhile', () => {
  const { findings, unknown } = seen((doctored) => {
    doctored.cells.set('c1', null);
    doctored.driven.delete('c1/h1');
    doctored.driven.delete('c1/h2');
    doctored.conducted.delete('active');
  });
  assert.equal(findings, []);
  assert.match(unknown.join(), /cell 'c1' does not answer/);
  const leak = seen((doctored) => {
    doctored.consumers.push(holds('ghost', [1, 'p-h2']));
    use(doctored, 'p-h2', 1);
    doctored.cells.set('c2', null);
    doctored.driven.delete('c2/h3');
  });
  assert.equal(
    leak.findings.map(({ kind, repairs }) => [kind, repairs]),
    [['leaked-allocation', []]],
    'the cell of its host was asked, so it is told; but it is not taken',
  );
});

test('audit - with the super conductor or placement down nothing is guessed', () => {
  for (const who of ['conductor', 'placement'] as const) {
    const { findings, unknown } = seen((doctored) => {
      doctored.silent.add(who);
      doctored.consumers.push(holds('ghost', [1, 'p-h2']));
      use(doctored, 'p-h2', 1);
    });
    assert.equal([findings, unknown.length], [[], 1], who);
  }
});

test('audit - a shard of the super conductor that is silent is named, and the others are not taken for all of it', async () => {
  const client = {
    async list() {
      return { instances: [], next: 'more', silent: ['cell/c9', 'conductor/1'] };
    },
  };
  const asking = {
    async ask(_: string, { type }: { type: string }) {
      if (type === 'list-consumers') return { consumers: [], next: null };
      return { providers: [], epoch: 1, next: null };
    },
  };
  const look = await lookAround({ asking, client, clock: virtualClock(), cells: [] } as unknown as LookOptions);
  assert.is(look.conducted, null);
  const { findings, unknown } = compare(look, { overdueMs: 1, graceMs: 1 });
  assert.equal(findings, []);
  assert.equal(unknown, ["'conductor/1' does not answer: which requests there are is not known"]);
});

test('audit - a host that does not say what runs there leaves what is on it unknown', () => {
  const { findings, unknown } = seen((doctored) => doctored.driven.set('c1/h1', null));
  assert.equal(findings, []);
  assert.match(unknown.join(), /host 'c1\/h1' is up, but does not say what runs there/);
});

test('audit - a sharing provider is no host and of no cell; any other that nobody owns is of a cell unheard of', () => {
  const shared = seen((doctored) => {
    doctored.providers.push(provider('p-storage', 1, ['MISC_SHARES_VIA_AGGREGATE']));
    doctored.consumers[0]?.held[0]?.allocations.push({ provider: 'p-storage', group: '', resources: { VCPU: 1 } });
    doctored.steady.add('p-storage');
  });
  assert.equal([shared.findings, shared.unknown], [[], []]);
  const unheardOf = seen((doctored) => doctored.providers.push(provider('p-h9', 0)));
  assert.match(unheardOf.unknown.join(), /provider 'p-h9' \(h9\) is of no cell that was heard of/);
});

test('audit - exit codes: found, not looked everywhere, clean', () => {
  const { findings } = seen((doctored) => use(doctored, 'p-h2', 1));
  assert.equal(
    [
      exitCodeOf({ findings, unknown: ['something'] }),
      exitCodeOf({ findings: [], unknown: ['something'] }),
      exitCodeOf({ findings: [], unknown: [] }),
    ],
    [1, 2, 0],
  );
});

test('audit - that nothing could be looked at is not told as something that adds up', () => {
  const looked = { cells: 0, hosts: 0, instances: 0, consumers: 0, providers: 0 };
  const last = (unknown: string[], some = looked) =>
    linesOf({ findings: [], unknown, repaired: [], looked: some }).at(-1) ?? '';
  assert.match(last(['placement does not answer']), /^nothing could be looked at: /);
  assert.is(last(['placement does not answer'], { ...looked, cells: 1 }), 'all that could be looked at adds up');
  assert.is(last([]), 'everything adds up');
});

test('audit - one of what was looked at is told as one', () => {
  const looked = { cells: 1, hosts: 2, instances: 1, consumers: 1, providers: 1 };
  assert.equal(linesOf({ findings: [], unknown: [], repaired: [], looked }), [
    'looked at 1 cell, 2 hosts, 1 instance, 1 consumer of 1 provider',
    'everything adds up',
  ]);
});

test.run();
