// Area: what an audit does not see. Of what does not answer nothing is guessed, nothing is mended that depends on it, and it
// is told, in the words and by the exit code.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ConsumerState, ProviderState } from '../../actors/messages/placement.ts';
import { exitCodeOf } from '../../runtime/audit/audit.ts';
import { compare } from '../../runtime/audit/compare.ts';
import { type LookOptions, lookAround } from '../../runtime/audit/look.ts';
import { linesOf } from '../../runtime/cli/perform-audit.ts';
import { TimeoutError } from '../../runtime/errors.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { holds, on, provider, seen, use, view } from '../support/doctored.ts';

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
    assert.match(unknown[0] ?? '', who === 'placement' ? /^placement does not / : /^the super conductor does not /);
  }
});

test('audit - what runs on a host and is on no record is not told while somebody is silent who may know it', () => {
  for (const silence of ['conductor', 'c2'] as const) {
    const { findings } = seen((doctored) => {
      doctored.driven.get('c1/h2')?.push(on('h2', 'stray', 1));
      if (silence === 'conductor') return void doctored.silent.add(silence);
      doctored.cells.set(silence, null);
      doctored.driven.delete('c2/h3');
    });
    assert.equal(findings, [], silence);
  }
});

test('audit - of placement what all shards hold is put together, and steady is what did not change while it was read', async () => {
  // Whatever else is asked, the providers are read before the consumers and after.
  const reads: Record<string, ProviderState[][]> = {
    'placement/0': [
      [provider('p-h1', 1), provider('p-h2', 1)],
      [provider('p-h1', 1), { ...provider('p-h2', 2), generation: 2 }, provider('p-h3', 0)],
    ],
    'placement/1': [[provider('p-h4', 1)], [provider('p-h4', 1)]],
    'placement/2': [[provider('p-h5', 1)], [provider('p-h5', 1)]],
  };
  const doubted = [{ provider: 'p-h1', group: '', resources: { VCPU: 1 } }];
  const consumers: Record<string, ConsumerState[]> = {
    'placement/0': [holds('web', [1, 'p-h1'])],
    'placement/1': [holds('web', [2, 'p-h4']), holds('db', [1, 'p-h4'])],
  };
  const asking = {
    async ask(shard: string, { type }: { type: string }) {
      if (type === 'list-consumers') {
        const inDoubt = shard === 'placement/0' ? { inDoubt: doubted } : {};
        return { consumers: consumers[shard] ?? [], next: null, ...inDoubt };
      }
      const providers = reads[shard]?.shift() ?? [];
      // The third has begun anew in between, and counts from the beginning.
      return { providers, epoch: shard === 'placement/2' ? (reads[shard]?.length ?? 0) : 1, next: null };
    },
  };
  const client = { list: async () => ({ instances: [], next: null }) };
  const options = { asking, client, clock: virtualClock(), cells: [], placementShards: 3 };
  const { placement } = await lookAround(options as unknown as LookOptions);
  assert.equal([...(placement?.steady ?? [])], ['p-h1', 'p-h4']);
  assert.equal(placement?.providers.map(({ id, generation }) => `${id} ${generation}`).slice(0, 3), [
    'p-h1 1',
    'p-h2 2',
    'p-h3 1',
  ]);
  const [{ held: first }, { held: second }] = [holds('web', [1, 'p-h1']), holds('web', [2, 'p-h4'])];
  assert.equal(placement?.consumers, [{ consumer: 'web', held: [...first, ...second] }, holds('db', [1, 'p-h4'])]);
  assert.equal(placement?.inDoubt, doubted);
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
  const { findings, unknown } = compare(look, 1);
  assert.equal(findings, []);
  assert.equal(unknown, ["'conductor/1' does not answer: which requests there are is not known"]);
});

for (const [silent, who] of [
  [['placement/1'], "'placement/1' does"],
  [['placement/0', 'placement/2'], "'placement/0', 'placement/2' do"],
  [['placement/0', 'placement/1', 'placement/2'], 'placement does'],
] as const) {
  test(`audit - of placement it is told which shards are silent: ${silent.length} of three`, async () => {
    const asking = {
      async ask(to: string) {
        if (silent.some((one) => one === to)) throw new TimeoutError(`'${to}'`, 8_000);
        return { providers: [], consumers: [], epoch: 1, next: null };
      },
    };
    const client = { list: async () => ({ instances: [], next: null }) };
    const options = { asking, client, clock: virtualClock(), cells: [], placementShards: 3 };
    const look = await lookAround(options as unknown as LookOptions);
    assert.is(look.placement, null);
    assert.equal(compare(look, 1).unknown, [`${who} not answer: what is held is not known`]);
  });
}

test('audit - of a cell all pages are read, and the computes of the hosts that are there are asked, but for those that are not', async () => {
  const hosts = ['h1', 'h2', 'h3', 'h4'].map((host) => ({ host, provider: `p-${host}`, state: 'up' }));
  Object.assign(hosts[2] as object, { state: 'down' });
  const pages: Record<string, object[]> = {
    'list-hosts': [
      { hosts: hosts.slice(0, 1), tellsForeign: true },
      { hosts: hosts.slice(1), tellsForeign: false },
    ],
    'list-removals': [{ removals: [{ instance: 'a' }] }, { removals: [{ instance: 'b' }] }],
    list: [{ instances: [view('a', 'active')] }, { instances: [view('b', 'active')] }],
  };
  const asked: string[] = [];
  const asking = {
    async ask(to: string, { type, after }: { type: string; after?: string }) {
      if (to.startsWith('placement/')) return { providers: [], consumers: [], epoch: 1, next: null };
      if (type !== 'list-driven') {
        const next = after === undefined ? '1' : null;
        return { ...pages[type]?.[Number(after ?? 0)], next };
      }
      asked.push(to);
      if (to === 'compute/c1/h2') throw new TimeoutError(`'${to}'`, 8_000);
      return { running: [{ instance: 'a', attempt: 1 }] };
    },
  };
  const client = { list: async () => ({ instances: [view('a', 'active', { cell: 'c1' })], next: null }) };
  const look = await lookAround({ asking, client, clock: virtualClock(), cells: [] } as unknown as LookOptions);
  const cell = look.cells.get('c1');
  assert.equal(cell?.hosts, hosts);
  assert.equal(
    [cell?.removals, cell?.instances].map((all) => all?.map(({ instance }) => instance)),
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
  );
  assert.not(cell?.tellsForeign, 'an older version may have taken over');
  assert.equal(asked, ['compute/c1/h1', 'compute/c1/h2', 'compute/c1/h4']);
  assert.equal(
    [...look.driven],
    [
      ['c1/h1', [on('h1', 'a', 1)]],
      ['c1/h2', null],
      ['c1/h4', [on('h4', 'a', 1)]],
    ],
  );
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
