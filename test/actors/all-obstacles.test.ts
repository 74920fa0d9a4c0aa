// Area: scheduler, all that stands in the way on one host of nested providers: one thing that is told must not hide another
// that stands in the way as well, and a host that lacks more than it is told of is not one that lacks nothing else.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import type { ProviderSpec } from '../../actors/messages/placement.ts';
import { firstOnNamed, recordOnNamed, wordsOnNamed } from '../../actors/scheduler/explaining/named-obstacles.ts';
import { learnProvider } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { inventory, viewOf } from '../support/facts.ts';
import { schedulersOf } from '../support/schedulers.ts';
import { rankings } from '../support/survey.ts';

const test = suite('scheduler - all that stands in the way');

const device = (name: string, resourceClass: string, traits: string[] = []): ProviderSpec => ({
  id: `p-h1-${name}`,
  name: `h1-${name}`,
  parent: 'p-h1',
  inventories: { [resourceClass]: inventory(4) },
  traits,
  aggregates: [],
});

/** What is said of the one host by `why-not`, and by `fit` of a request that names it: codes and what they are about. */
function toldOf(asked: Pick<RequestSpec, 'groups'> & Partial<RequestSpec>, ...devices: ProviderSpec[]) {
  const spec: RequestSpec = { groupPolicy: 'none', ...asked };
  const on = schedulersOf([{ host: 'h1', traits: ['CUSTOM_FAST'] }]);
  const root: ProviderSpec = {
    ...device('', 'VCPU', ['CUSTOM_FAST']),
    id: 'p-h1',
    name: 'h1',
    parent: null,
  };
  on.ask({ type: 'put-tree', ask: 2, providers: [root, ...devices] });
  on.deliver();
  const [desk] = on.desks;
  const wordsOf = ({ code, about }: { readonly code: string; readonly about?: string }) =>
    about === undefined ? code : `${code} ${about}`;
  const [whyNot] = desk?.tell({ type: 'why-not', ask: 1, spec, host: 'h1' }, 'gateway/g').sent ?? [];
  assert.ok(whyNot?.message.type === 'why-not-told');
  const { refusal, also = [] } = whyNot.message.standing;
  assert.ok(refusal);
  assert.is(refusal.lacksMore === true, also.length > 0);
  const told = [refusal, ...also].map(wordsOf);
  const named = { ...spec, tree: { oneOf: ['p-h1'] } };
  const [fitted] = desk?.tell({ type: 'fit', ask: 2, spec: named, count: 1, limit: 1 }, 'gateway/g').sent ?? [];
  assert.ok(fitted?.message.type === 'fitted');
  const [first] = fitted.message.onNamed?.told ?? [];
  assert.ok(first);
  assert.equal([first.refusal, ...(first.also ?? [])].map(wordsOf), told);
  return told;
}

test('all that stands in the way - a trait that one group forbids, and another requires, is told of both', () => {
  const groups = [
    { name: '', resources: { VCPU: 1 }, forbidden: ['CUSTOM_FAST'] },
    { name: 'nic', resources: { CUSTOM_NIC: 1 }, required: ['CUSTOM_FAST'] },
  ];
  const told = ['trait-forbidden CUSTOM_FAST', 'trait-missing CUSTOM_FAST'];
  assert.equal(toldOf({ groups }, device('nic', 'CUSTOM_NIC')), told);
  assert.equal(toldOf({ groups }, device('nic', 'CUSTOM_NIC', ['CUSTOM_FAST'])), told.slice(0, 1));
});

test('all that stands in the way - where a class is missing, a group that asks for traits alone lacks them as well', () => {
  const groups = [
    { name: 'gpu', resources: { VGPU: 1 } },
    { name: 'node', resources: {}, required: ['HW_NUMA_ROOT'] },
  ];
  assert.equal(toldOf({ groups }, device('nic', 'CUSTOM_NIC')), ['no-inventory VGPU', 'trait-missing HW_NUMA_ROOT']);
  assert.equal(toldOf({ groups }, device('node', 'CUSTOM_NIC', ['HW_NUMA_ROOT'])), ['no-inventory VGPU']);
});

test('all that stands in the way - of classes asked of one provider, one that the host lacks is told, or that none has both', () => {
  const groups = [{ name: 'gpu', resources: { CUSTOM_NIC: 1, VGPU: 1 } }];
  assert.equal(toldOf({ groups }, device('nic', 'CUSTOM_NIC')), ['no-inventory VGPU']);
  assert.equal(toldOf({ groups }, device('nic', 'CUSTOM_NIC'), device('gpu', 'VGPU')), [
    'not-on-one-provider CUSTOM_NIC',
  ]);
  const ofRoot = [{ name: 'gpu', resources: { VCPU: 1, VGPU: 1 } }];
  assert.equal(toldOf({ groups: ofRoot }, device('gpu', 'VGPU')), ['not-on-one-provider VGPU']);
});

test('all that stands in the way - of classes asked of one provider, the one is told that another has not beside all the others', () => {
  const node = { ...device('node', ''), inventories: { VCPU: inventory(4), MEMORY_MB: inventory(1_024) } };
  const amounts: [string, number][] = [
    ['VCPU', 1],
    ['MEMORY_MB', 512],
    ['VGPU', 1],
  ];
  for (const at of [0, 1, 2]) {
    const resources = Object.fromEntries([...amounts.slice(at), ...amounts.slice(0, at)]);
    const groups = [{ name: 'a', resources }];
    assert.equal(toldOf({ groups }, node, device('gpu', 'VGPU')), ['not-on-one-provider VGPU'], `${at}`);
  }
});

test('all that stands in the way - what there is too little of is told beside that no provider has it with the others', () => {
  const told = (...groups: RequestSpec['groups']) =>
    toldOf({ groups }, device('nic', 'CUSTOM_NIC'), device('gpu', 'VGPU')).sort();
  const one = { name: 'a', resources: { CUSTOM_NIC: 1, VGPU: 1 } };
  const other = { name: 'b', resources: { CUSTOM_NIC: 99 } };
  const both = ['exceeds-capacity CUSTOM_NIC', 'not-on-one-provider CUSTOM_NIC'];
  assert.equal(told(one, other), both);
  assert.equal(told(other, one), both, 'in whatever order they are asked for');
  assert.equal(told({ name: 'a', resources: { CUSTOM_NIC: 99, VGPU: 1 } }), both);
  assert.equal(told({ name: 'a', resources: { CUSTOM_NIC: 4, VGPU: 1 } }), both.slice(1));
});

test('all that stands in the way - a trait that is named as a class is told as a trait', () => {
  const groups = [{ name: 'nic', resources: { CUSTOM_NIC: 1 }, required: ['CUSTOM_NIC'], forbidden: ['CUSTOM_SLOW'] }];
  assert.equal(toldOf({ groups }, device('nic', 'CUSTOM_NIC', ['CUSTOM_SLOW'])), [
    'trait-missing CUSTOM_NIC',
    'trait-forbidden CUSTOM_SLOW',
  ]);
});

test('all that stands in the way - groups that must be apart, and of one subtree, are told to be neither', () => {
  const gpu = { resources: { VGPU: 1 } };
  const groups = [
    { name: 'gpu-0', ...gpu },
    { name: 'gpu-1', ...gpu },
    { name: 'nic', resources: { CUSTOM_NIC: 1 } },
  ];
  const asked = { groups, groupPolicy: 'isolate' as const, sameSubtree: [['gpu-0', 'nic']] };
  assert.equal(toldOf(asked, device('gpu', 'VGPU'), device('nic', 'CUSTOM_NIC')), ['not-isolated', 'not-one-subtree']);
  const apart = { ...asked, sameSubtree: [] };
  assert.equal(toldOf(apart, device('gpu', 'VGPU'), device('nic', 'CUSTOM_NIC')), ['not-isolated']);
});

test('all that stands in the way - more is said to stand in it on a named host only where that is so, and not all is told', () => {
  const traits = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_C'];
  const onRecord = (vcpu: number, required: string[]) => {
    const view = viewOf({ host: 'h1' });
    const group = { name: '', resources: { VCPU: vcpu }, required };
    const spec: RequestSpec = { groups: [group], groupPolicy: 'none', tree: { oneOf: ['p-h1'] } };
    const named = firstOnNamed({ rankings, view }, { spec });
    const [told] = recordOnNamed(named)?.told ?? [];
    const [{ words = '' } = {}] = wordsOnNamed(named);
    const isMore = told?.refusal.lacksMore === true;
    return [isMore, told?.also?.length ?? 0, told?.partly === true, words.includes('more stands')];
  };
  assert.equal(onRecord(1, traits.slice(0, 1)), [false, 0, false, false]);
  assert.equal(onRecord(9, []), [false, 0, false, false]);
  assert.equal(onRecord(1, traits), [true, 2, false, false]);
  assert.equal(onRecord(9, traits), [true, 2, true, false], 'a record has room for three things');
});

test('all that stands in the way - of a named host that is set aside it is told until when', () => {
  const view = viewOf({ host: 'h1' });
  learnHost(view, 'c1', { host: 'h1', provider: 'p-h1', state: 'set-aside', until: 90_000 });
  const spec: RequestSpec = {
    groups: [{ name: '', resources: { VCPU: 1 } }],
    groupPolicy: 'none',
    tree: { oneOf: ['p-h1'] },
  };
  assert.is(recordOnNamed(firstOnNamed({ rankings, view }, { spec }))?.told[0]?.refusal.until, 90_000);
});

test('all that stands in the way - of a named host that lacks very much, nothing that is told is cut short', () => {
  const view = viewOf({ host: 'h1' });
  const tell = (count: number) => {
    const required = Array.from({ length: count }, (_, n) => `CUSTOM_RATHER_LONG_${n}`);
    const groups = [{ name: '', resources: { VCPU: 1 }, required }];
    const spec: RequestSpec = { groups, groupPolicy: 'none', tree: { oneOf: ['p-h1'] } };
    const words = wordsOnNamed(firstOnNamed({ rankings, view }, { spec }))[0]?.words ?? '';
    assert.ok(words.length <= 340, words);
    return words.split('; and ').slice(1);
  };
  const lacks = (n: number) => `provider 'h1' lacks the required trait CUSTOM_RATHER_LONG_${n}`;
  assert.equal(tell(4), [lacks(1), lacks(2), lacks(3)]);
  assert.equal(tell(7), [lacks(1), lacks(2), lacks(3), 'more stands in its way']);
});

test('all that stands in the way - of several that keep together it is told what they lack, and of nothing else', () => {
  const instanceGroup = { id: 'p/db', policy: 'affinity' as const };
  const groups = [{ name: '', resources: { VCPU: 2, MEMORY_MB: 1 } }];
  const spec: RequestSpec = { groups, groupPolicy: 'none', tree: { oneOf: ['p-h1'] }, instanceGroup };
  const view = viewOf({ host: 'h1', has: { VCPU: 6, MEMORY_MB: 2 }, used: { MEMORY_MB: 2 } });
  const abouts = (count: number) =>
    firstOnNamed({ rankings, view }, { spec }, count).map(({ found }) => found.all.map(({ about }) => about));
  assert.equal(abouts(3), [['MEMORY_MB']], 'there are CPUs for three, and none for a fourth');
  assert.equal(abouts(4), [['MEMORY_MB', 'VCPU']]);
});

test('all that stands in the way - of a named host it is said where more of a class on one device is not enough', () => {
  const view = viewOf({ host: 'h1' });
  const tell = (total: number) => {
    for (const name of ['gpu-0', 'gpu-1']) {
      const gpu = { ...device(name, 'VGPU'), inventories: { VGPU: inventory(total) } };
      learnProvider(view, { ...gpu, root: 'p-h1', generation: total, used: {} });
    }
    const groups = ['a', 'b'].map((name) => ({ name, resources: { VGPU: 4 } }));
    const spec: RequestSpec = { groups, groupPolicy: 'none', tree: { oneOf: ['p-h1'] } };
    return wordsOnNamed(firstOnNamed({ rankings, view }, { spec }))[0]?.words;
  };
  assert.match(tell(3) ?? '', /^c1\/h1, which it names: 8 VGPU, .* \(short by 2\); and more stands in its way$/);
  assert.is(tell(4), undefined);
});

test('all that stands in the way - too much for one device is told of all groups, too little or between steps of the one', () => {
  const toldBy = (units: Partial<ReturnType<typeof inventory>>, ...amounts: number[]) => {
    const view = viewOf({ host: 'h1' });
    const inventories = { VGPU: { ...inventory(16), max_unit: 4, ...units } };
    learnProvider(view, { ...device('gpu', 'VGPU'), inventories, root: 'p-h1', generation: 1, used: {} });
    const groups = amounts.map((amount, at) => ({ name: `g${at}`, resources: { VGPU: amount } }));
    const spec: RequestSpec = { groups, groupPolicy: 'none', tree: { oneOf: ['p-h1'] } };
    return firstOnNamed({ rankings, view }, { spec })[0]?.found.all[0]?.message ?? '';
  };
  const ofOne = /^6 VGPU on provider 'h1-gpu' violate its inventory's max_unit 4 \(off by 2\)$/;
  assert.match(toldBy({}, 6, 2), /^8 VGPU, which the groups ask together, .*: 4 \(off by 4\)$/);
  assert.match(toldBy({ min_unit: 2 }, 6, 1), ofOne);
  assert.match(toldBy({ step_size: 2 }, 6, 3), ofOne);
});

test.run();
