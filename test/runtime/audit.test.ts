// Area: the audit's comparison. What is seen in a sound look adds up, with everything under way that there can be; then
// it is doctored, one difference at a time, and each is found, told whose it is, and mended only where that is safe.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceView, RemovalView } from '../../actors/messages/gateway.ts';
import type { ConsumerState, Inventory, ProviderState } from '../../actors/messages/placement.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { exitCodeOf } from '../../runtime/audit/audit.ts';
import { compare } from '../../runtime/audit/compare.ts';
import type { OnHost } from '../../runtime/audit/differences.ts';
import { type FindingKind, keyOf, type Repair } from '../../runtime/audit/finding.ts';
import type { Look } from '../../runtime/audit/look.ts';
import { carryOut, type RepairTools } from '../../runtime/audit/repair.ts';
import { linesOf } from '../../runtime/cli/perform-audit.ts';
import { CellwrightError } from '../../runtime/errors.ts';

const test = suite('audit');

const NOW = 10_000_000;
const LIMITS = { overdueMs: 600_000, graceMs: 60_000 };

interface Doctored {
  providers: ProviderState[];
  steady: Set<string>;
  consumers: ConsumerState[];
  conducted: Map<string, InstanceView>;
  cells: Map<string, { instances: InstanceView[]; removals: RemovalView[]; hosts: HostState[] } | null>;
  driven: Map<string, OnHost[] | null>;
  silent: Set<'placement' | 'conductor'>;
}

function provider(id: string, used: number, traits: string[] = []): ProviderState {
  const inventory = { total: 8, reserved: 0, min_unit: 1, max_unit: 8, step_size: 1, allocation_ratio: 1 };
  const place = { id, name: id.slice(2), parent: null, root: id };
  return { ...place, inventories: { VCPU: inventory }, traits, aggregates: [], generation: 1, used: { VCPU: used } };
}

const holds = (consumer: string, ...held: [attempt: number, provider: string][]): ConsumerState => ({
  consumer,
  held: held.map(([attempt, on]) => ({
    attempt,
    allocations: [{ provider: on, group: '', resources: { VCPU: 1 } }],
  })),
});

const view = (instance: string, state: string, more: Partial<InstanceView> = {}): InstanceView => ({
  instance,
  request: instance,
  state,
  ...more,
});
const inCell = (instance: string, state: string, host?: string, attempt = 1, more: Partial<InstanceView> = {}) =>
  view(instance, state, { cell: 'c1', attempt, ...(host === undefined ? {} : { host }), ...more });
const told = (instance: string, state: string) => view(instance, state, { cell: 'c1' });
const removal = (
  instance: string,
  attempt: number,
  host: string | null,
  final: boolean,
  ageMs = 1_000,
): RemovalView => ({
  instance,
  attempt,
  host,
  final,
  state: host === null ? 'releasing' : 'destroying',
  since: NOW - ageMs,
});
const hostAt = (host: string, state: HostState['state'] = 'up'): HostState => ({ host, provider: `p-${host}`, state });
const on = (host: string, instance: string, attempt: number, cell = 'c1'): OnHost => ({
  cell,
  host,
  instance,
  attempt,
});

/** Two cells; in the first an instance in every state there is, each with all that may be under way for it. */
function sound(): Doctored {
  return {
    providers: [provider('p-h1', 5), provider('p-h2', 4), provider('p-h3', 0)],
    steady: new Set(['p-h1', 'p-h2', 'p-h3']),
    consumers: [
      holds('active', [1, 'p-h1']),
      holds('building', [1, 'p-h1'], [2, 'p-h2']),
      holds('moving', [2, 'p-h2']),
      holds('failed', [1, 'p-h1']),
      holds('deleting', [1, 'p-h2']),
      holds('lost', [1, 'p-h1']),
      holds('asked', [1, 'p-h1']),
      holds('handed', [1, 'p-h2']),
      { consumer: 'empty', held: [] },
    ],
    conducted: new Map(
      [
        told('active', 'active'),
        told('building', 'building'),
        told('moving', 'building'),
        told('failed', 'building'),
        told('failed-before', 'failed'),
        view('deleting', 'deleting', { cell: 'c1', owes: 'removal', owedSince: NOW - 1_000 }),
        told('lost', 'lost'),
        view('asked', 'requested', { deadlineAt: NOW + 60_000 }),
        view('handed', 'claimed', { cell: 'c1', host: 'h2', attempt: 1 }),
        view('gone', 'deleted', { cell: 'c1' }),
        view('none-fits', 'failed'),
      ].map((one) => [one.instance, one]),
    ),
    cells: new Map([
      [
        'c1',
        {
          instances: [
            inCell('active', 'active', 'h1'),
            inCell('building', 'building', 'h2', 2, { deadlineAt: NOW + 1 }),
            inCell('moving', 'rescheduling', undefined, 1),
            inCell('failed', 'failed', undefined, 1),
            inCell('failed-before', 'failed', undefined, 3),
            inCell('deleting', 'deleting', 'h2'),
            inCell('lost', 'lost', 'h1'),
          ],
          removals: [
            removal('building', 1, 'h1', false),
            removal('failed', 1, 'h1', true),
            removal('deleting', 1, null, true),
          ],
          hosts: [hostAt('h1'), hostAt('h2')],
        },
      ],
      ['c2', { instances: [], removals: [], hosts: [hostAt('h3', 'set-aside')] }],
    ]),
    driven: new Map([
      ['c1/h1', [on('h1', 'active', 1), on('h1', 'building', 1), on('h1', 'failed', 1)]],
      ['c1/h2', [on('h2', 'building', 2)]],
      ['c2/h3', []],
    ]),
    silent: new Set(),
  };
}

function lookOf({ providers, steady, consumers, conducted, cells, driven, silent }: Doctored): Look {
  return {
    at: NOW,
    placement: silent.has('placement') ? null : { providers, consumers, steady },
    conducted: silent.has('conductor') ? null : conducted,
    cells,
    driven,
  };
}

function seen(doctor: (doctored: Doctored) => void = () => {}) {
  const doctored = sound();
  doctor(doctored);
  return compare(lookOf(doctored), LIMITS);
}

/** The one thing that is found after a change, of this kind and in these words. */
function finds(kind: FindingKind, what: RegExp, doctor: (doctored: Doctored) => void): readonly Repair[] {
  const { findings } = seen(doctor);
  assert.equal(
    findings.map((finding) => finding.kind),
    [kind],
    findings.map((finding) => finding.what).join('; '),
  );
  assert.match(findings[0]?.what ?? '', what);
  assert.ok((findings[0]?.whose ?? '').length > 10);
  return findings[0]?.repairs ?? [];
}

const c1 = (doctored: Doctored) => doctored.cells.get('c1') as NonNullable<ReturnType<typeof doctored.cells.get>>;
const use = (doctored: Doctored, id: string, by: number) => {
  const found = doctored.providers.find((one) => one.id === id) as ProviderState;
  found.used.VCPU = (found.used.VCPU ?? 0) + by;
};
const drop = <T extends { instance: string }>(list: T[], instance: string) =>
  list.splice(
    list.findIndex((one) => one.instance === instance),
    1,
  );

test('audit - a sound deployment in the midst of everything adds up', () => {
  assert.equal(seen(), { findings: [], unknown: [] });
});

test('audit - an allocation of a consumer that nobody knows is a leak, and goes back once nothing of it runs', () => {
  const leak = (doctored: Doctored) => {
    doctored.consumers.push(holds('ghost', [1, 'p-h2']));
    use(doctored, 'p-h2', 1);
  };
  const repairs = finds('leaked-allocation', /'ghost' holds resources for attempt 1 and does not live/, leak);
  assert.equal(repairs, [{ type: 'release', consumer: 'ghost', attempt: null }]);
  const { findings } = seen((doctored) => {
    leak(doctored);
    doctored.driven.get('c1/h2')?.push(on('h2', 'ghost', 1));
  });
  assert.equal(
    findings.map(({ kind, repairs: [first] }) => [kind, first?.type]),
    [
      ['leaked-allocation', undefined],
      ['running-without-record', 'destroy'],
    ],
    'first it is destroyed',
  );
});

test('audit - what callers of the Placement API took for consumers of their own is theirs, and no leak', () => {
  const seenWith = seen((doctored) => {
    doctored.consumers.push(holds('migration', [0, 'p-h2']));
    use(doctored, 'p-h2', 1);
  });
  assert.equal(seenWith, { findings: [], unknown: [] });
});

test("audit - an attempt that is over, and is held by nobody's debt, is a leak; the living one stays", () => {
  const repairs = finds('leaked-allocation', /'moving' holds .* attempt 0 and 2|'building' holds/, (doctored) => {
    drop(c1(doctored).removals, 'building');
    doctored.driven.set('c1/h1', [on('h1', 'active', 1), on('h1', 'failed', 1)]);
    doctored.consumers[1] = holds('building', [1, 'p-h2'], [2, 'p-h2']);
    use(doctored, 'p-h1', -1);
    use(doctored, 'p-h2', 1);
  });
  assert.equal(repairs, [{ type: 'release', consumer: 'building', attempt: 1 }]);
  const failed = finds('leaked-allocation', /'failed' holds resources for attempt 1 and/, (doctored) => {
    drop(c1(doctored).removals, 'failed');
    doctored.driven.set('c1/h1', [on('h1', 'active', 1), on('h1', 'building', 1)]);
  });
  assert.equal(failed, [{ type: 'release', consumer: 'failed', attempt: 1 }]);
  const failedBefore = finds('leaked-allocation', /'none-fits' holds/, (doctored) => {
    doctored.consumers.push(holds('none-fits', [1, 'p-h3']));
    use(doctored, 'p-h3', 1);
  });
  assert.equal(failedBefore.length, 1);
});

test('audit - a newer attempt than the owner knows is told, and never taken', () => {
  const repairs = finds('leaked-allocation', /'active' holds resources for attempt 7/, (doctored) => {
    doctored.consumers[0] = holds('active', [7, 'p-h1']);
  });
  assert.equal(repairs, []);
});

test('audit - an instance without its allocation', () => {
  for (const [state, at] of [
    ['active', 'p-h1'],
    ['lost', 'p-h1'],
  ] as const) {
    const repairs = finds(
      'unheld-instance',
      new RegExp(`'${state}' is ${state} and holds no resources`),
      (doctored) => {
        doctored.consumers.splice(
          doctored.consumers.findIndex(({ consumer }) => consumer === state),
          1,
        );
        use(doctored, at, -1);
      },
    );
    assert.equal(repairs, []);
  }
  finds('unheld-instance', /'building' is building and holds no resources/, (doctored) => {
    doctored.consumers[1] = holds('building', [1, 'p-h1']);
    use(doctored, 'p-h2', -1);
  });
});

test('audit - a provider over its capacity, and one whose count is wrong; of a busy one nothing is said', () => {
  const shrink = (doctored: Doctored) => {
    const first = doctored.providers[0] as ProviderState;
    first.inventories = { VCPU: { ...(first.inventories.VCPU as Inventory), total: 4 } };
  };
  assert.equal(finds('over-capacity', /VCPU of provider 'p-h1': 5 counted, 5 allocated, 4 is all/, shrink), []);
  finds('usage-differs', /VCPU of provider 'p-h2': 5 counted, but 4 allocated/, (doctored) => use(doctored, 'p-h2', 1));
  const busy = seen((doctored) => {
    use(doctored, 'p-h2', 1);
    doctored.steady.delete('p-h2');
  });
  assert.equal(busy.findings, []);
});

test('audit - what is on a host and has no record', () => {
  const repairs = finds(
    'running-without-record',
    /driver of 'c1\/h2' has attempt 1 of 'stray', which no cell/,
    (doctored) => {
      doctored.driven.get('c1/h2')?.push(on('h2', 'stray', 1));
    },
  );
  assert.equal(repairs, [{ type: 'destroy', cell: 'c1', host: 'h2', instance: 'stray', attempt: 1 }]);
  finds('running-without-record', /attempt 2 of 'failed-before', which is failed/, (doctored) => {
    doctored.driven.get('c1/h2')?.push(on('h2', 'failed-before', 2));
  });
  finds('running-without-record', /attempt 1 of 'gone', which no cell/, (doctored) => {
    doctored.driven.get('c2/h3')?.push(on('h3', 'gone', 1, 'c2'));
  });
});

test('audit - an active instance that is not on its host', () => {
  const repairs = finds(
    'not-running',
    /'active' is active, but the driver of 'c1\/h1' does not have it/,
    (doctored) => {
      doctored.driven.get('c1/h1')?.shift();
    },
  );
  assert.equal(repairs, []);
});

test('audit - two homes: on two hosts, in two trees, in two cells', () => {
  const elsewhere = finds('two-homes', /attempt 1 of 'building', which lives in attempt 2 on 'c1\/h2'/, (doctored) => {
    doctored.driven.get('c2/h3')?.push(on('h3', 'building', 1, 'c2'));
  });
  assert.equal(elsewhere, [{ type: 'destroy', cell: 'c2', host: 'h3', instance: 'building', attempt: 1 }]);
  const twice = finds('two-homes', /has attempt 1 of 'active', which lives in attempt 1 on 'c1\/h1'/, (doctored) => {
    doctored.driven.get('c2/h3')?.push(on('h3', 'active', 1, 'c2'));
  });
  assert.equal(twice, [], 'which of the two is the living one is for people to say');
  finds('two-homes', /'active' holds resources in 2 trees/, (doctored) => {
    doctored.consumers[0] = holds('active', [1, 'p-h1'], [2, 'p-h2']);
    use(doctored, 'p-h2', 1);
  });
  const { findings } = seen((doctored) => doctored.cells.get('c2')?.instances.push(view('failed-before', 'failed')));
  assert.ok(findings.some(({ kind, what }) => kind === 'two-homes' && /is in cell 'c1' and in cell 'c2'/.test(what)));
});

test('audit - the super conductor and the cells do not know the same instances', () => {
  finds('unknown-to-cell', /'failed-before' is failed in cell 'c1' by the super conductor/, (doctored) => {
    drop(c1(doctored).instances, 'failed-before');
  });
  finds('unknown-to-conductor', /cell 'c1' has 'active', which is active/, (doctored) => {
    doctored.conducted.delete('active');
  });
});

test('audit - they say different things of how an instance ended', () => {
  const again = [{ type: 'do-again', cell: 'c1', instance: 'failed-before' }];
  const repairs = finds(
    'states-differ',
    /'failed-before' is active by the super conductor and failed by/,
    (doctored) => {
      doctored.conducted.set('failed-before', told('failed-before', 'active'));
    },
  );
  assert.equal(repairs, again);
  finds('states-differ', /is deleted by the super conductor and failed by/, (doctored) => {
    doctored.conducted.set('failed-before', told('failed-before', 'deleted'));
  });
  const owed = seen((doctored) => {
    doctored.conducted.set('lost', told('lost', 'active'));
    Object.assign(c1(doctored).instances.find(({ instance }) => instance === 'lost') as InstanceView, {
      owes: 'report',
    });
  });
  assert.equal(owed.findings, [], 'the cell tells until it is heard');
  const untold = seen((doctored) => doctored.conducted.set('active', told('active', 'building')));
  assert.equal(untold.findings, [], 'what the super conductor has not heard of it asks for by itself');
});

test('audit - a build past its deadline is stuck, in a cell or before it', () => {
  finds('stuck', /'building' is building since before its deadline, which was 5 minutes ago/, (doctored) => {
    Object.assign(c1(doctored).instances[1] as InstanceView, { deadlineAt: NOW - 300_000 });
  });
  finds('stuck', /'asked' is requested/, (doctored) => {
    doctored.conducted.set('asked', view('asked', 'requested', { deadlineAt: NOW - 90_000 }));
  });
});

test('audit - a removal that waits for a host that is down says how it is fenced', () => {
  const { findings, unknown } = seen((doctored) => {
    c1(doctored).removals[0] = removal('building', 1, 'h1', false, 3_600_000 * 3);
    c1(doctored).hosts[0] = hostAt('h1', 'down');
    doctored.driven.delete('c1/h1');
  });
  assert.equal(
    findings.map(({ kind, what }) => [kind, what]),
    [['overdue', "what is left of attempt 1 of 'building' waits for host 'c1/h1' since 3 hours"]],
  );
  assert.match(findings[0]?.whose ?? '', /host 'c1\/h1' is down; .* cellwright host fence c1\/h1$/);
  assert.equal(unknown.length, 1);
  assert.match(unknown[0] ?? '', /host 'c1\/h1' is down: what runs there is not known.*cellwright host fence c1\/h1/);
});

test('audit - what is owed back for too long, by a cell or the super conductor', () => {
  const repairs = finds(
    'overdue',
    /what is left of attempt 1 of 'deleting' is owed back since 20 minutes/,
    (doctored) => {
      c1(doctored).removals[2] = removal('deleting', 1, null, true, 1_200_000);
      doctored.conducted.set('deleting', view('deleting', 'deleting', { cell: 'c1', owes: 'removal', owedSince: 0 }));
    },
  );
  assert.equal(repairs, [{ type: 'do-again', cell: 'c1', instance: 'deleting' }]);
  finds('overdue', /what was claimed for 'none-fits' is owed back since 2 hours/, (doctored) => {
    doctored.conducted.set('none-fits', view('none-fits', 'failed', { owes: 'release', owedSince: NOW - 7_200_000 }));
  });
  finds('overdue', /'gone' is to be deleted since 15 minutes, and cell 'c1' has not said that it is/, (doctored) => {
    const more = { cell: 'c1', owes: 'removal', owedSince: NOW - 900_000 } as const;
    doctored.conducted.set('gone', view('gone', 'deleting', more));
  });
  finds('overdue', /waits for host 'c1\/h1' since 20 minutes/, (doctored) => {
    c1(doctored).removals[0] = removal('building', 1, 'h1', false, 1_200_000);
  });
});

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

test('audit - a host that does not say what runs there leaves what is on it unknown', () => {
  const { findings, unknown } = seen((doctored) => doctored.driven.set('c1/h1', null));
  assert.equal(findings, []);
  assert.match(unknown.join(), /host 'c1\/h1' is up, but does not say what runs there/);
});

test("audit - nothing runs on a fenced host, by an operator's word", () => {
  const { findings, unknown } = seen((doctored) => {
    c1(doctored).hosts[0] = hostAt('h1', 'fenced');
    doctored.driven.delete('c1/h1');
    Object.assign(c1(doctored).instances[0] as InstanceView, { state: 'lost' });
    doctored.conducted.set('active', told('active', 'lost'));
  });
  assert.equal([findings, unknown], [[], []]);
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

test('audit - the same thing has the same key in every look, another one another', () => {
  const keys = (doctor: (doctored: Doctored) => void) => seen(doctor).findings.map(keyOf);
  const leak = (attempt: number) => (doctored: Doctored) => {
    doctored.consumers.push(holds('ghost', [attempt, 'p-h2']));
    use(doctored, 'p-h2', 1);
  };
  assert.equal(keys(leak(1)), keys(leak(1)));
  assert.not.equal(keys(leak(1)), keys(leak(2)));
  assert.not.equal(
    keys((doctored) => use(doctored, 'p-h2', 1)),
    keys((doctored) => use(doctored, 'p-h2', 2)),
  );
});

/** Carries out a repair while the super conductor says this of the instance: nothing when it does not know it. */
async function carriedOut(repair: Repair, known: Partial<InstanceView> | null) {
  const said: string[] = [];
  const client = {
    async show(id: string) {
      if (known === null) throw new CellwrightError('not-found', `there is no instance '${id}'`);
      return { ...view(id, 'active'), ...known };
    },
  };
  const outbox = { send: (_: string, to: string, message: { type: string }) => said.push(`${message.type} to ${to}`) };
  const tools = { client, outbox, asking: { address: 'gateway/audit' } } as unknown as RepairTools;
  const done = await carryOut(repair, tools);
  assert.is(done === null, said.length === 0);
  return said;
}

test('audit - before anything is taken it is asked once more whether somebody has it', async () => {
  const release: Repair = { type: 'release', consumer: 'i1', attempt: null };
  const destroy: Repair = { type: 'destroy', cell: 'c1', host: 'h1', instance: 'i1', attempt: 2 };
  assert.equal(await carriedOut(release, null), ['release to placement/0']);
  assert.equal(await carriedOut(release, { state: 'deleted' }), ['release to placement/0']);
  assert.equal(await carriedOut(release, { state: 'requested' }), [], 'its id was asked for anew');
  assert.equal(await carriedOut(destroy, null), ['destroy to compute/c1/h1']);
  assert.equal(await carriedOut(destroy, { attempt: 3 }), ['destroy to compute/c1/h1']);
  for (const attempt of [1, 2])
    assert.equal(await carriedOut(destroy, { attempt }), [], 'it is, or may be, the living one');
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
