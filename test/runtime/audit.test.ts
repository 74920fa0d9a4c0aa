// Area: the audit's comparison. What is seen in a sound look adds up, with everything under way that there can be; then
// it is doctored, one difference at a time, and each is found, told whose it is, and mended only where that is safe.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import type { Inventory, ProviderState } from '../../actors/messages/placement.ts';
import { keyOf } from '../../runtime/audit/finding.ts';
import {
  c1,
  type Doctored,
  drop,
  finds,
  holds,
  hostAt,
  NOW,
  on,
  provider,
  removal,
  seen,
  told,
  use,
  view,
} from '../support/doctored.ts';

const test = suite('audit');

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

test('audit - however many leaks there are, providers, hosts and what runs there are gone through as often as for one', () => {
  const readsWith = (leaks: number): number => {
    let reads = 0;
    const counted = <Item>(list: Item[]): Item[] =>
      new Proxy(list, {
        get(target, key) {
          if (typeof key === 'string' && /^\d+$/.test(key)) reads += 1;
          return Reflect.get(target, key);
        },
      });
    const { findings } = seen((doctored) => {
      for (let n = 0; n < leaks; n += 1) doctored.consumers.push(holds(`ghost-${n}`, [1, 'p-h2']));
      use(doctored, 'p-h2', leaks);
      doctored.providers = counted(doctored.providers);
      c1(doctored).hosts = counted(c1(doctored).hosts);
      for (const [place, found] of doctored.driven) doctored.driven.set(place, found && counted(found));
    });
    assert.is(
      findings.filter(({ kind, repairs }) => kind === 'leaked-allocation' && repairs.length === 1).length,
      leaks,
    );
    return reads;
  };
  assert.is(readsWith(100), readsWith(1));
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

test('audit - an instance that holds what it should, but not on its host, is told with where it is and where it holds', () => {
  const moved = (instance: string, attempt: number, from: string, to: string) => (doctored: Doctored) => {
    const at = doctored.consumers.findIndex(({ consumer }) => consumer === instance);
    const owed = doctored.consumers[at]?.held.filter((one) => one.attempt !== attempt) ?? [];
    doctored.consumers[at] = { consumer: instance, held: [...owed, ...holds(instance, [attempt, to]).held] };
    use(doctored, from, -1);
    use(doctored, to, 1);
  };
  for (const [instance, state, attempt, host, to] of [
    ['active', 'active', 1, 'h1', 'p-h2'],
    ['active', 'active', 1, 'h1', 'p-h3'],
    ['building', 'building', 2, 'h2', 'p-h3'],
    ['lost', 'lost', 1, 'h1', 'p-h2'],
  ] as const) {
    const what = new RegExp(
      `'${instance}' is ${state} on 'c1/${host}', and what it holds is on provider '${to}' .${to.slice(2)}.`,
    );
    const repairs = finds('held-elsewhere', what, moved(instance, attempt, `p-${host}`, to));
    assert.equal(repairs, [], 'which of the two is right is for people to say');
  }
  assert.equal(seen(moved('moving', 2, 'p-h2', 'p-h3')).findings, [], 'it is on its way');
});

test('audit - what an instance holds of the tree of its host, and of what that shares, is held on its host', () => {
  const held = (provider: string) => [{ attempt: 1, allocations: [{ provider, group: '', resources: { VCPU: 1 } }] }];
  const holdsOf = (id: string, own: Partial<ProviderState>) =>
    seen((doctored) => {
      doctored.providers.push({ ...provider(id, 1), ...own });
      doctored.steady.add(id);
      doctored.consumers[0] = { consumer: 'active', held: held(id) };
      use(doctored, 'p-h1', -1);
    }).findings.map(({ kind }) => kind);
  assert.equal(holdsOf('p-gpu', { parent: 'p-h1', root: 'p-h1' }), []);
  assert.equal(holdsOf('p-disk', { traits: ['MISC_SHARES_VIA_AGGREGATE'] }), []);
  assert.equal(holdsOf('p-other-gpu', { parent: 'p-h2', root: 'p-h2' }), ['held-elsewhere']);
  const underRack = seen((doctored) => {
    doctored.providers.push(provider('p-rack', 0));
    const [first] = doctored.providers as [ProviderState];
    doctored.providers[0] = { ...first, parent: 'p-rack', root: 'p-rack' };
  });
  assert.equal(underRack.findings, [], 'a caller has put its host below another provider');
});

test('audit - a provider over its capacity, and one whose count is wrong; of a busy one nothing is said', () => {
  const shrinkTo = (total: number) => (doctored: Doctored) => {
    const first = doctored.providers[0] as ProviderState;
    first.inventories = { VCPU: { ...(first.inventories.VCPU as Inventory), total } };
  };
  assert.equal(seen(shrinkTo(5)).findings, [], 'it is full');
  assert.equal(finds('over-capacity', /VCPU of provider 'p-h1': 5 counted, 5 allocated, 4 is all/, shrinkTo(4)), []);
  finds('over-capacity', /VCPU of provider 'p-h1': 4 counted, 5 allocated, 4 is all/, (doctored) => {
    shrinkTo(4)(doctored);
    use(doctored, 'p-h1', -1);
  });
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

test('audit - what is on a host that was there before its cell knew the host may be alive, and is left alone', () => {
  // Cells of earlier versions tell how many there are, and do not name them all.
  for (const [kind, what, isNamed] of [
    ['running-without-record', on('h2', 'stray', 1), true],
    ['running-without-record', on('h2', 'stray', 1), false],
    ['two-homes', on('h2', 'active', 0), true],
  ] as const) {
    const found = seen((doctored) => {
      doctored.driven.get('c1/h2')?.push(what);
      const named = [`${what.instance} ${what.attempt}`];
      c1(doctored).hosts = [
        hostAt('h1'),
        { ...hostAt('h2'), foreign: isNamed ? { count: 1, named } : { count: 9, named: [] } },
      ];
    }).findings.filter((one) => one.kind === kind && one.instance === what.instance);
    assert.is(found.length, 1, kind);
    assert.equal(found[0]?.repairs, [], kind);
    assert.match(found[0]?.whose ?? '', /^the operator: it ran on 'c1\/h2' before cell 'c1' knew that host/);
  }
  const untold = seen((doctored) => {
    doctored.driven.get('c1/h2')?.push(on('h2', 'stray', 1));
    c1(doctored).tellsForeign = false;
  }).findings;
  assert.equal(untold[0]?.repairs, [], 'nor does a cell of an earlier version tell of any');
  assert.match(untold[0]?.whose ?? '', /^the operator: an older version serves cell 'c1' and does not tell whether/);
  const later = seen((doctored) => {
    doctored.driven.get('c1/h2')?.push(on('h2', 'stray', 1));
    c1(doctored).hosts = [hostAt('h1'), { ...hostAt('h2'), foreign: { count: 1, named: ['stray 2'] } }];
  }).findings;
  assert.equal(later[0]?.repairs.length, 1, 'what came later is not');
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

test('audit - a device that was taken for its traits alone and is there no more is no fault', () => {
  const taken = seen((doctored) => {
    const [home] = holds('active', [1, 'p-h1']).held;
    const device = { provider: 'p-gone', group: 'fast', resources: {} };
    doctored.consumers[0] = {
      consumer: 'active',
      held: [{ attempt: 1, allocations: [...(home?.allocations ?? []), device] }],
    };
  });
  assert.equal(taken, { findings: [], unknown: [] });
  finds('usage-differs', /provider 'p-gone' is not known, but allocated from/, (doctored) => {
    doctored.consumers[0] = holds('active', [1, 'p-gone']);
    use(doctored, 'p-h1', -1);
  });
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
  const before = (doctored: Doctored) => {
    doctored.consumers[5] = holds('lost', [0, 'p-h2'], [1, 'p-h1']);
    use(doctored, 'p-h2', 1);
  };
  const [inTrees] = seen(before).findings;
  assert.equal(inTrees?.repairs, [{ type: 'release', consumer: 'lost', attempt: 0 }]);
  assert.match(inTrees?.whose ?? '', /^the cell: only the attempt that it knows counts/, 'it is on no host');
  const { findings } = seen((doctored) => doctored.cells.get('c2')?.instances.push(view('failed-before', 'failed')));
  assert.ok(findings.some(({ kind, what }) => kind === 'two-homes' && /is in cell 'c1' and in cell 'c2'/.test(what)));
});

test('audit - only its own attempt of an instance, or one that is owed, may be on a host, and only on that one', () => {
  for (const strange of [
    on('h2', 'active', 1),
    on('h1', 'active', 2),
    on('h1', 'active', 1, 'c2'),
    on('h2', 'building', 1),
    on('h1', 'building', 3),
    on('h1', 'building', 1, 'c2'),
  ]) {
    const place = `${strange.cell}/${strange.host}`;
    finds('two-homes', new RegExp(`^the driver of '${place}' has attempt ${strange.attempt} of `), ({ driven }) => {
      driven.set(place, [...(driven.get(place) ?? []), strange]);
    });
  }
  // Where its own is not there, another attempt on its host, or its own on another one, is not taken for it.
  for (const strange of [on('h2', 'active', 1), on('h1', 'active', 2)]) {
    const { findings } = seen(({ driven }) => {
      driven.get('c1/h1')?.shift();
      driven.get(`c1/${strange.host}`)?.push(strange);
    });
    assert.equal(findings.map(({ kind }) => kind).toSorted(), ['not-running', 'two-homes']);
  }
});

test('audit - what may be held: either attempt between two of them, all that a last removal gives back, what an owner owes', () => {
  const sound = seen((doctored) => {
    const { consumers, conducted } = doctored;
    consumers.push(holds('owing', [2, 'p-h3']));
    conducted.set('owing', view('owing', 'failed', { owes: 'release', owedSince: NOW - 1_000 }));
    consumers[2] = holds('moving', [1, 'p-h1']);
    consumers[3] = holds('failed', [1, 'p-h1'], [2, 'p-h2']);
    use(doctored, 'p-h1', 1);
    use(doctored, 'p-h3', 1);
  });
  assert.equal(sound, { findings: [], unknown: [] });
  // A claim of the first attempt may be under way before a cell has it, and of no other.
  finds('leaked-allocation', /'handed' holds resources for attempt 2 and lives in attempt 1/, (doctored) => {
    doctored.consumers[7] = holds('handed', [2, 'p-h2']);
  });
});

test('audit - what an attempt holds that still runs somewhere is not given back before that is destroyed', () => {
  const { findings } = seen((doctored) => {
    doctored.consumers.push(holds('failed-before', [2, 'p-h2']));
    use(doctored, 'p-h2', 1);
    doctored.driven.get('c1/h2')?.push(on('h2', 'failed-before', 2));
  });
  assert.equal(
    findings.map(({ kind, repairs }) => [kind, repairs]),
    [
      ['leaked-allocation', []],
      ['running-without-record', [{ type: 'destroy', cell: 'c1', host: 'h2', instance: 'failed-before', attempt: 2 }]],
    ],
  );
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

test("audit - nothing runs on a fenced host, by an operator's word", () => {
  const { findings, unknown } = seen((doctored) => {
    c1(doctored).hosts[0] = hostAt('h1', 'fenced');
    doctored.driven.delete('c1/h1');
    Object.assign(c1(doctored).instances[0] as InstanceView, { state: 'lost' });
    doctored.conducted.set('active', told('active', 'lost'));
  });
  assert.equal([findings, unknown], [[], []]);
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

test.run();
