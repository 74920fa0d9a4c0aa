// Area: scheduler, looking at all hosts. A dry run over many hosts goes slice by slice, with requests served in between; a
// claim that is refused is on record; and questions are declined when there are too many at once.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import { StoredDecision, unpackDecision } from '../../actors/messages/stored-decision.ts';
import { placementShardOf } from '../../actors/routing.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { SWEEP_WAKE } from '../../actors/scheduler/sweeps.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import type { Candidate } from '../../actors/scheduler/weighers/weigher.ts';
import { checkOf } from '../../runtime/schemas.ts';
import { countingFilter } from '../support/counting.ts';
import { schedulersOf, selectFor } from '../support/schedulers.ts';
import { sentOf } from '../support/turn.ts';

const test = suite('scheduler - sweeps');

const spec = { groups: [{ name: '', resources: { VCPU: 2 } }], groupPolicy: 'none' as const };
const SLICE = 500;

const manyHosts = (count: number) =>
  schedulersOf(Array.from({ length: count }, (_, n) => ({ cell: n % 2 === 0 ? 'c1' : 'c2', host: `h${n}` })));

test('sweeps - a dry run over many hosts takes its time, and a request that comes meanwhile is served', () => {
  const all = manyHosts(SLICE * 2 + 10);
  const [desk] = all.desks;
  assert.ok(desk);
  const asked = desk.tell({ type: 'fit', ask: 5, spec, count: 1, limit: 3 }, 'gateway/g');
  assert.equal(asked.sent, [], 'it is not answered in the turn in which it was asked');
  assert.is(all.choose(selectFor('web'))?.type, 'selected');
  const { sent } = { sent: desk.pass(1_000).flatMap((turned) => turned.sent) };
  const [told] = sent.filter(({ message }) => message.type === 'fitted').map(({ message }) => message);
  assert.ok(told?.type === 'fitted');
  assert.equal([told.ask, told.hosts, told.fits], [5, SLICE * 2 + 10, SLICE * 2 + 10]);
  assert.is(told.best.length, 3);
});

test('sweeps - one host is compared with all others', () => {
  const all = manyHosts(20);
  const [desk] = all.desks;
  const ask = (host: string, vcpu: number) => {
    const wanted = { ...spec, groups: [{ name: '', resources: { VCPU: vcpu } }] };
    const turned = desk?.tell({ type: 'why-not', ask: 1, spec: wanted, host }, 'gateway/g');
    const [told] = turned?.sent.map(({ message }) => message) ?? [];
    assert.ok(told?.type === 'why-not-told');
    return told.standing;
  };
  assert.is(all.choose(selectFor('web'))?.type, 'selected');
  const { rank, fits, weighing, best } = ask('h3', 2);
  assert.ok(rank !== undefined && rank <= fits);
  assert.ok((weighing?.weight ?? 0) <= (best?.weight ?? -1));
  const refused = ask('h3', 2_000);
  assert.is(refused.fits, 0);
  assert.is(refused.best, undefined);
  assert.ok(['unit-constraint', 'exceeds-capacity'].includes(refused.refusal?.code ?? ''));
  assert.is(refused.refusal?.about, 'VCPU');
  assert.ok((refused.refusal?.short ?? 0) > 1_900, 'by how much it falls short');
});

test('sweeps - of a host that is not known it is said whether its cell was heard of: it may be down since before', () => {
  const [desk] = manyHosts(4).desks;
  const reasonOf = (cell: string) => {
    const turned = desk?.tell({ type: 'why-not', ask: 1, spec, cell, host: 'absent' }, 'gateway/g');
    const [told] = turned?.sent.map(({ message }) => message) ?? [];
    assert.ok(told?.type === 'declined');
    return told.reason;
  };
  assert.is(reasonOf('c1'), "no host 'absent' is known in cell 'c1'");
  assert.is(reasonOf('c9'), "no host 'absent' is known: nothing was heard of cell 'c9' since the scheduler came up");
});

test('sweeps - of a host that is not known the one is named that it is like, in its cell or by that name in another', () => {
  const hosts = Array.from({ length: SLICE }, (_, n) => ({ host: `host-${n}`, cell: n % 2 === 0 ? 'north' : 'south' }));
  const [desk] = schedulersOf(hosts).desks;
  assert.ok(desk);
  const reasonOf = (host: string, cell?: string, field = 'host') => {
    const first = desk.tell(
      { type: 'why-not', ask: 1, spec, host, ...(cell === undefined ? {} : { cell }) },
      'gateway/g',
    );
    const [told] = [first, ...desk.pass(1_000)].flatMap(({ sent }) => sent).map(({ message }) => message);
    assert.ok(told?.type === 'declined');
    assert.equal([told.code, told.field], ['not-found', field]);
    return told.reason.slice("no host '".length);
  };
  assert.is(reasonOf('hsot-6', 'north'), "hsot-6' is known in cell 'north' (north/host-6 is known)");
  assert.is(reasonOf('hst-7'), "hst-7' is known (host-7 is known)");
  assert.is(reasonOf('host-7', 'north'), "host-7' is known in cell 'north' (south/host-7 is known)");
  assert.is(reasonOf('host-9999', 'north'), "host-9999' is known in cell 'north'");
  const unheard = "host-6' is known: nothing was heard of cell 'nroth' since the scheduler came up";
  assert.is(reasonOf('host-6', 'nroth', 'cell'), `${unheard} (north/host-6 is known)`);
});

test('sweeps - a short name of a host is not said to be like others because its cell has a long one', () => {
  const cell = 'production-west';
  const [desk] = schedulersOf(['web1', 'abc', 'db-07'].map((host) => ({ host, cell }))).desks;
  const reasonOf = (host: string) => {
    const turned = desk?.tell({ type: 'why-not', ask: 1, spec, host, cell }, 'gateway/g');
    const [told] = turned?.sent.map(({ message }) => message) ?? [];
    assert.ok(told?.type === 'declined');
    return told.reason;
  };
  assert.is(reasonOf('db1'), "no host 'db1' is known in cell 'production-west'");
  assert.is(reasonOf('x'), "no host 'x' is known in cell 'production-west'");
  assert.match(reasonOf('db07'), /\(production-west\/db-07 is known\)$/);
});

test('sweeps - a host that comes while those like it are looked for is compared as if it had been known', () => {
  const all = manyHosts(SLICE * 2 + 10);
  const [busy] = all.desks;
  assert.ok(busy);
  const asked = { type: 'why-not', ask: 1, spec, host: 'late', cell: 'c1' } as const;
  busy.tell({ type: 'fit', ask: 2, spec, count: 1, limit: 3 }, 'gateway/g');
  assert.equal(busy.tell(asked, 'gateway/g').sent, [], 'another question is looked at first');
  all.tellHost({ cell: 'c1', host: 'late', state: 'disabled' });
  const answers = busy.pass(2_000).flatMap(({ sent }) => sent.map(({ message }) => message));
  const [told] = answers.filter(({ type }) => type === 'why-not-told' || type === 'declined');
  assert.ok(told?.type === 'why-not-told', JSON.stringify(told));
  assert.equal([told.standing.host, told.standing.refusal?.code], ['late', 'host-disabled']);
});

test('sweeps - of a host it is said whether more stands in its way than what is said of it', () => {
  const all = schedulersOf([
    { host: 'h1', has: { VCPU: 2, MEMORY_MB: 512 }, traits: ['CUSTOM_A'] },
    { host: 'h2', has: { VCPU: 64, MEMORY_MB: 4_096 } },
  ]);
  const [desk] = all.desks;
  const refusalOf = (group: object, more: object = {}) => {
    const wanted = { groups: [{ name: '', resources: { VCPU: 1 }, ...group }], groupPolicy: 'none' as const, ...more };
    const turned = desk?.tell({ type: 'why-not', ask: 1, spec: wanted, host: 'h1' } as never, 'gateway/g');
    const [told] = turned?.sent.map(({ message }) => message) ?? [];
    assert.ok(told?.type === 'why-not-told');
    const { refusal: { code, about, lacksMore } = {}, also = [], partly } = told.standing;
    assert.is(lacksMore === true, also.length > 0 || partly === true, 'what else there is is told one by one');
    others = [...also.map((one) => `${one.code} ${one.about}`), ...(partly === true ? ['more'] : [])];
    return [code, about, lacksMore];
  };
  let others: string[] = [];
  const short = ['exceeds-capacity', 'VCPU'];
  assert.equal(refusalOf({ resources: { VCPU: 4 } }), [...short, undefined]);
  assert.equal(refusalOf({ resources: { VCPU: 4, MEMORY_MB: 600 } }), [...short, true]);
  assert.equal(others, ['exceeds-capacity MEMORY_MB']);
  const all4 = { resources: { VCPU: 4, VGPU: 1 }, required: ['CUSTOM_B', 'CUSTOM_C'] };
  assert.equal(refusalOf(all4), [...short, true]);
  assert.equal(others, ['no-inventory VGPU', 'trait-missing CUSTOM_B', 'trait-missing CUSTOM_C']);
  assert.equal(refusalOf({ resources: { VCPU: 4 }, required: ['CUSTOM_B', 'CUSTOM_C'] }), [...short, true]);
  assert.equal(others, ['trait-missing CUSTOM_B', 'trait-missing CUSTOM_C']);
  assert.equal(refusalOf({ resources: { VCPU: 4 }, required: ['CUSTOM_B'] }), [...short, true]);
  assert.equal(refusalOf({ required: ['CUSTOM_A', 'CUSTOM_B'] }), ['trait-missing', 'CUSTOM_B', undefined]);
  assert.equal(refusalOf({ required: ['CUSTOM_B', 'CUSTOM_C'] }), ['trait-missing', 'CUSTOM_B', true]);
  assert.equal(refusalOf({ anyOf: [['CUSTOM_B', 'CUSTOM_C']] }), ['trait-missing', 'CUSTOM_B, CUSTOM_C', undefined]);
  assert.equal(refusalOf({ resources: { VGPU: 1 } }), ['no-inventory', 'VGPU', undefined]);
  const elsewhere = { tree: { oneOf: ['p-h2'] } };
  assert.equal(refusalOf({}, elsewhere), ['not-a-named-provider', undefined, undefined]);
  assert.equal(refusalOf({ resources: { VCPU: 4 } }, elsewhere), ['not-a-named-provider', undefined, true]);
  all.tellHost({ host: 'h1', state: 'disabled' });
  all.deliver();
  assert.equal(refusalOf({}), ['host-disabled', undefined, undefined]);
  assert.equal(refusalOf({}, elsewhere), ['host-disabled', undefined, true]);
  assert.equal(refusalOf({ resources: { VCPU: 4 } }, elsewhere), ['host-disabled', undefined, true]);
  assert.equal(others, ['not-a-named-provider undefined', 'exceeds-capacity VCPU']);
});

test('sweeps - of a host that several wishes of a request are against each of them is told', () => {
  const all = schedulersOf([{ host: 'h1' }, { host: 'h2' }]);
  const [desk] = all.desks;
  assert.ok(desk);
  const instanceGroup = { id: 'p/g', policy: 'affinity' } as const;
  all.choose(selectFor('first', { spec: { ...spec, tree: { oneOf: ['p-h1'] }, instanceGroup } }));
  all.choose(selectFor('second', { tree: { oneOf: ['p-h2'] } }));
  const tree = { heldBy: ['first'], notHeldBy: ['second'], oneOf: ['p-h1'], noneOf: ['p-h2'] };
  const where = { cells: ['c2'], avoidCells: ['c1'] };
  const wanted = { ...spec, tree, instanceGroup };
  const [locate] = desk.tell({ type: 'why-not', ask: 1, spec: wanted, where, host: 'h2' }, 'gateway/g').sent;
  const [located] = all.ask(locate?.message as never);
  const [told] = sentOf(desk.tell(located?.message as never, 'placement/0'), 'why-not-told');
  const { refusal, also = [], partly } = told?.message.standing ?? {};
  assert.equal(
    [refusal?.code, refusal?.lacksMore, ...also.map(({ code }) => code), partly],
    [
      ...['not-in-cell', true, 'in-avoided-cell', 'not-a-named-provider', 'avoided-provider'],
      ...['consumer-missing', 'consumer-present', 'group-affinity', undefined],
    ],
  );
  assert.is(also[4]?.message, "host 'h2' has an instance to be kept apart from: 'second'");
});

test('sweeps - which cells there are, with and without hosts, is told when all hosts are counted', () => {
  const all = manyHosts(SLICE + 11);
  const [desk] = all.desks;
  assert.ok(desk);
  all.tellHost({ cell: 'c1', host: 'h0', state: 'disabled' });
  all.hear({ type: 'hosts-changed', cell: 'a', epoch: 1, sequence: 0, hosts: [] }, 'scheduler/s', 'cell/a');
  all.deliver();
  assert.equal(desk.tell({ type: 'list-cells', ask: 7 }, 'gateway/g').sent, []);
  const told = desk.pass(100).flatMap(({ sent }) => sent.filter(({ message }) => message.type === 'cells'));
  const cells = [
    { cell: 'a', hosts: 0, up: 0 },
    { cell: 'c1', hosts: 256, up: 255 },
    { cell: 'c2', hosts: 255, up: 255 },
  ];
  assert.equal(told, [{ to: 'gateway/g', message: { type: 'cells', ask: 7, cells } }]);
  const apart = schedulersOf([{ host: 'h1' }], [{ name: 's', placementShards: 2, incarnation: () => 'x' }]);
  const [without] = apart.desks;
  assert.ok(without);
  assert.is(without.tell({ type: 'list-cells', ask: 1 }, 'gateway/g').sent[0]?.message.type, 'cells');
  const [fit] = without.tell({ type: 'fit', ask: 2, spec, count: 1, limit: 1 }, 'gateway/g').sent;
  assert.ok(fit?.message.type === 'declined');
  assert.is(fit.message.reason, 'the scheduler has not heard of all hosts yet: placement/1 has not told of them');
  const young = schedulersOf([]).desks[0];
  const [declined] = young?.tell({ type: 'list-cells', ask: 8 }, 'gateway/g').sent ?? [];
  assert.is(declined?.message.type, 'declined');
});

test('sweeps - of a placement shard of which nothing was ever heard no time is told at which it was heard last', () => {
  const all = schedulersOf([{ host: 'h1' }], [{ name: 's', placementShards: 2, incarnation: () => 'x' }]);
  const [desk] = all.desks;
  assert.ok(desk);
  const host = ['a', 'b', 'c', 'd', 'e', 'f'].find((name) => placementShardOf(`p-${name}`, 2) === 1);
  assert.ok(host);
  all.tellHost({ host });
  desk.pass(10_000);
  const asked = { type: 'why-not', ask: 1, spec, host } as const;
  const [told] = [...desk.tell(asked, 'gateway/g').sent, ...desk.pass(1_000).flatMap(({ sent }) => sent)]
    .map(({ message }) => message)
    .filter(({ type }) => type === 'why-not-told');
  assert.ok(told?.type === 'why-not-told');
  assert.is(told.standing.refusal?.message, `placement has not told of host '${host}'`);
  assert.equal(
    told.standing.silence?.map(({ cell, shard }) => cell ?? shard),
    ['c1'],
  );
});

test('sweeps - hosts that are gone when one has been compared with all others are told of as they were', () => {
  const hosts = Array.from({ length: 2 * SLICE }, (_, n) => ({ host: `h${n}`, has: { VCPU: n === 0 ? 16 : 8 } }));
  const all = schedulersOf(hosts);
  const [desk] = all.desks;
  assert.ok(desk);
  assert.equal(desk.tell({ type: 'why-not', ask: 1, spec, host: 'h1' }, 'gateway/g').sent, []);
  const { epoch = 0, sequence = 0 } = desk.state.followers.get('placement 0') ?? {};
  const gone = { shard: 0, epoch, sequence: sequence + 1, changed: [], used: [], removed: ['p-h0', 'p-h1'] };
  desk.tell({ type: 'providers-changed', ...gone }, 'placement/0');
  const [told] = desk.pass(1_000).flatMap(({ sent }) => sent.map(({ message }) => message));
  assert.ok(told?.type === 'why-not-told');
  const { best, weighing, rank } = told.standing;
  assert.equal([best?.host, weighing?.host, rank], ['h0', 'h1', 2]);
});

test('sweeps - hosts that go while advice is sought are counted in it as they were, or not at all', () => {
  // The last step of the slice in which all are looked at is the first of the search for advice.
  const all = schedulersOf(Array.from({ length: SLICE - 1 }, (_, n) => ({ host: `h${n}`, has: { VCPU: 2 } })));
  const [desk] = all.desks;
  assert.ok(desk);
  assert.equal(desk.tell({ type: 'fit', ask: 1, spec, count: SLICE, limit: 0 }, 'gateway/g').sent, []);
  const { epoch = 0, sequence = 0 } = desk.state.followers.get('placement 0') ?? {};
  const gone = { shard: 0, epoch, sequence: sequence + 1, changed: [], used: [], removed: ['p-h0', `p-h${SLICE - 2}`] };
  desk.tell({ type: 'providers-changed', ...gone }, 'placement/0');
  const [told] = desk.pass(1_000).flatMap((turned) => sentOf(turned, 'fitted'));
  const less = told?.message.advice.find(({ code }) => code === 'less');
  assert.equal([less?.to, less?.hosts], [1, SLICE - 2]);
});

test('sweeps - hosts are compared as the soft rule of a group would have them, and by weight only then', () => {
  for (const policy of ['soft-affinity', 'soft-anti-affinity'] as const) {
    const all = schedulersOf([
      { host: 'h1', has: { VCPU: 8 } },
      { host: 'h2', has: { VCPU: 64 } },
      { host: 'h3', has: { VCPU: 16 } },
    ]);
    const ofGroup = { ...spec, instanceGroup: { id: 'g', policy } };
    all.take('member', 'h1', 2, { spec: ofGroup });
    all.deliver();
    const [desk] = all.desks;
    const told = (asked: object) => desk?.tell(asked as never, 'gateway/g').sent.map(({ message }) => message)[0];
    const fitted = told({ type: 'fit', ask: 1, spec: ofGroup, count: 1, limit: 2 });
    assert.ok(fitted?.type === 'fitted');
    const inOrder = fitted.best.map(({ host, members }) => [host, members]);
    const isTogether = policy === 'soft-affinity';
    // h1 weighs least.
    assert.equal(inOrder, [isTogether ? ['h1', 1] : ['h2', 0], isTogether ? ['h2', 0] : ['h3', 0]]);
    const standingOf = (host: string) => {
      const answer = told({ type: 'why-not', ask: 2, spec: ofGroup, host });
      assert.ok(answer?.type === 'why-not-told');
      return answer.standing;
    };
    const { rank, weighing, best } = standingOf('h1');
    assert.equal([rank, weighing?.members, best?.host, best?.members], isTogether ? [1, 1, 'h1', 1] : [3, 1, 'h2', 0]);
    assert.is(standingOf('h2').rank, isTogether ? 2 : 1);
    const picked = all.choose(selectFor('next', { spec: ofGroup }));
    assert.ok(picked?.type === 'selected');
    assert.is(picked.selections[0]?.selection.host === 'h1', isTogether, 'as it is picked');
  }
});

test('sweeps - hosts of cells that are preferred come first, whatever others weigh, as they are picked', () => {
  const heavy = { name: 'heavy', multiplier: 5_000, weigh: ({ host }: Candidate) => (host.host === 'h1' ? 1 : 0) };
  const all = schedulersOf(
    [
      { cell: 'c1', host: 'h1', has: { VCPU: 64 } },
      { cell: 'c2', host: 'h2', has: { VCPU: 8 } },
    ],
    [{ name: 's', weighers: [...DEFAULT_WEIGHERS, heavy] }],
  );
  const [desk] = all.desks;
  const where = { preferCells: ['c2'] };
  const told = (asked: object) => desk?.tell(asked as never, 'gateway/g').sent.map(({ message }) => message)[0];
  const fitted = told({ type: 'fit', ask: 1, spec, where, count: 1, limit: 2 });
  assert.equal(fitted?.type === 'fitted' && fitted.best.map(({ host }) => host), ['h2', 'h1']);
  const standing = told({ type: 'why-not', ask: 2, spec, where, host: 'h2' });
  assert.is(standing?.type === 'why-not-told' && standing.standing.rank, 1);
  const picked = all.choose(selectFor('web', { where }));
  assert.ok(picked?.type === 'selected');
  assert.is(picked.selections[0]?.selection.host, 'h2');
  const { weights } = unpackDecision(JSON.parse(picked.selections[0]?.decision ?? ''));
  assert.equal(
    weights.map(({ host }) => host),
    ['h2', 'h1'],
  );
});

test('sweeps - a question that names other instances waits until placement has said where they are', () => {
  const all = manyHosts(4);
  const [desk] = all.desks;
  assert.ok(desk);
  all.take('web', 'h2', 2, { spec });
  const fit = (ask: number, tree: object) =>
    desk.tell({ type: 'fit', ask, spec: { ...spec, tree }, count: 1, limit: 4 }, 'gateway/g').sent;
  const located = (sent: ReturnType<typeof fit>) => {
    const [question] = sent;
    assert.ok(question?.message.type === 'locate' && question.to === 'placement/0');
    return all.ask(question.message as never).map(({ message }) => message)[0];
  };
  const told = (answer: unknown) => desk.tell(answer as never, 'placement/0').sent.map(({ message }) => message)[0];
  const near = told(located(fit(1, { heldBy: ['web', 'nobody'] })));
  assert.ok(near?.type === 'fitted');
  assert.equal([near.fits, near.best[0]?.host], [1, 'h2']);
  const far = told(located(fit(2, { notHeldBy: ['web'] })));
  assert.is(far?.type === 'fitted' ? far.fits : 0, 3);
  // What is not answered is said again, and forgotten in the end.
  fit(3, { heldBy: ['web'] });
  const again = desk.pass(2_000).flatMap(({ sent }) => sent.filter(({ message }) => message.type === 'locate'));
  assert.ok(again.length > 0);
  assert.is(told(located(again)) !== undefined, true);
  fit(4, { heldBy: ['web'] });
  desk.pass(60_000);
  assert.is(desk.state.questions.size, 0);
});

test('sweeps - a host is compared as it is when it is known where the instances are that a question names', () => {
  const all = manyHosts(3);
  const [desk] = all.desks;
  assert.ok(desk);
  const asked = { type: 'why-not', ask: 1, spec: { ...spec, tree: { notHeldBy: ['web'] } }, host: 'h1' };
  const [question] = desk.tell(asked as never, 'gateway/g').sent;
  all.tellHost({ cell: 'c2', host: 'h1', state: 'disabled' });
  const [located] = all.ask(question?.message as never);
  const [answer] = sentOf(desk.tell(located?.message as never, 'placement/0'), 'why-not-told');
  const { refusal, hosts, fits, rank } = answer?.message.standing ?? {};
  assert.equal([refusal?.code, hosts, fits, rank], ['host-disabled', 3, 2, undefined]);
});

test('sweeps - it is said which claim of an instance counts as used while placement does not answer it', () => {
  const all = schedulersOf([
    { host: 'h1', has: { VCPU: 3 } },
    { host: 'h2', state: 'disabled' },
  ]);
  const [desk] = all.desks;
  assert.ok(desk);
  const standingOf = (host: string, instance: string) => {
    const [answer] = sentOf(desk.tell({ type: 'why-not', ask: 1, spec, host, instance }, 'gateway/g'), 'why-not-told');
    return answer?.message.standing;
  };
  assert.is(standingOf('h1', 'web')?.refusal, undefined);
  all.hear(selectFor('web', { spec }));
  const claiming = { cell: 'c1', host: 'h1', shard: 0 };
  const own = standingOf('h1', 'web');
  assert.equal([own?.refusal?.code, own?.claiming], ['exceeds-capacity', claiming]);
  assert.equal(standingOf('h2', 'web')?.claiming, claiming);
  assert.is(standingOf('h1', 'db')?.claiming, undefined);
  all.deliver();
  assert.is(standingOf('h1', 'web')?.claiming, undefined, 'it is answered');
});

test('sweeps - of hosts of one name the one is compared that is in the named cell; without a cell it is asked for', () => {
  const all = manyHosts(3);
  const [desk] = all.desks;
  assert.ok(desk);
  const hosts = [{ host: 'h1', provider: 'p-h2', state: 'disabled' as const }];
  desk.tell({ type: 'hosts-changed', cell: 'c1', epoch: 1, sequence: 3, hosts }, 'cell/c1');
  const asked = (told: object) =>
    desk.tell({ type: 'why-not', ask: 1, spec, host: 'h1', ...told }, 'gateway/g').sent.map(({ message }) => message);
  const standingsIn = (cell: string) =>
    asked({ cell }).map((one) => one.type === 'why-not-told' && [one.standing.cell, one.standing.refusal?.code]);
  assert.equal(standingsIn('c1'), [['c1', 'host-disabled']]);
  assert.equal(standingsIn('c2'), [['c2', undefined]]);
  const [declined, ...more] = asked({}).filter(({ type }) => type === 'declined');
  assert.ok(declined?.type === 'declined' && more.length === 0);
  assert.equal([declined.code, declined.field], ['ambiguous', 'cell']);
});

test('sweeps - too many questions at once are declined, to be asked again, and the others are answered', () => {
  const all = manyHosts(SLICE + 1);
  const [desk] = all.desks;
  assert.ok(desk);
  const declined = [];
  for (let ask = 0; ask < 20; ask += 1) {
    const { sent } = desk.tell({ type: 'fit', ask, spec, count: 1, limit: 0 }, 'gateway/g');
    declined.push(...sent.map(({ message }) => message).filter(({ type }) => type === 'declined'));
  }
  assert.is(declined.length, 4);
  for (const one of declined) {
    assert.ok(one.type === 'declined');
    assert.is(one.code, 'overloaded');
    assert.ok((one.retryAfterMs ?? 0) > 0);
  }
  const answers = desk.pass(60_000).flatMap(({ sent }) => sent.filter(({ message }) => message.type === 'fitted'));
  assert.is(answers.length, 16);
});

test('sweeps - a question that is said again while it is looked into, or waits, is answered once, by one look at all hosts', () => {
  const { filter, looks } = countingFilter();
  const hosts = Array.from({ length: SLICE * 2 + 10 }, (_, n) => ({ host: `h${n}` }));
  const all = schedulersOf(hosts, [{ name: 's', filters: [filter] }]);
  const [desk] = all.desks;
  assert.ok(desk);
  const said = (asked: object, from = 'gateway/g') => desk.tell(asked as never, from).sent;
  const finished = () => desk.pass(1_000).flatMap(({ sent }) => sent);
  const fit = { type: 'fit', ask: 1, spec, count: 1, limit: 0 };
  const before = looks();
  said(fit);
  assert.is(finished().length, 1);
  const once = looks() - before;
  const whyNot = { type: 'why-not', ask: 2, spec, host: 'h1' };
  const cells = { type: 'list-cells', ask: 3 };
  for (let times = 0; times < 10; times += 1) for (const asked of [fit, whyNot, cells]) assert.equal(said(asked), []);
  assert.equal(said(fit, 'gateway/other'), [], 'another asker has numbers of its own');
  assert.equal(
    finished().map(({ to, message }) => [to, message.type]),
    [
      ['gateway/g', 'fitted'],
      ['gateway/g', 'why-not-told'],
      ['gateway/g', 'cells'],
      ['gateway/other', 'fitted'],
    ],
  );
  assert.ok(looks() - before <= 4 * once, `${looks() - before} looks, of ${once} for one question`);
  // Its answer may be lost.
  said(fit);
  assert.equal(
    finished().map(({ message }) => message.type),
    ['fitted'],
  );
  const near = { ...fit, spec: { ...spec, tree: { heldBy: ['web'] } } };
  assert.is(said(near).length, 1, 'placement is asked where it is');
  assert.equal(said(near), []);
});

test('sweeps - filters that refuse whatever would be advised are asked of a bounded number of hosts in each turn', () => {
  let calls = 0;
  const filter: Filter = {
    name: 'own',
    refusal: (_, part) => {
      calls += 1;
      const { VCPU = 0, MEMORY_MB = 0 } = (part as RequestSpec).groups[0]?.resources ?? {};
      return VCPU < 30 || MEMORY_MB < 2_048 ? { code: 'own', message: 'no' } : null;
    },
  };
  const has = (n: number) => ({ VCPU: 8 + (n % 7), MEMORY_MB: 4_096 });
  const hosts = Array.from({ length: SLICE * 4 }, (_, n) => ({ host: `h${n}`, has: has(n) }));
  const all = schedulersOf(hosts, [{ name: 's', filters: [filter] }]);
  const [desk] = all.desks;
  assert.ok(desk);
  const resources = { VCPU: 30, MEMORY_MB: 2_048 };
  const wanted = { groups: [{ name: '', resources }], groupPolicy: 'none' as const };
  for (const count of [1, 100]) {
    let most = 0;
    let fitted = sentOf(desk.tell({ type: 'fit', ask: count, spec: wanted, count, limit: 0 }, 'gateway/g'), 'fitted');
    for (let turns = 0; fitted.length === 0 && turns < 100; turns += 1) {
      const before = calls;
      fitted = desk.pass(3).flatMap((turned) => sentOf(turned, 'fitted'));
      most = Math.max(most, calls - before);
    }
    assert.equal(fitted[0]?.message.advice, []);
    assert.ok(most > 0 && most <= 3 * SLICE, `${most} calls in a turn, for ${count}`);
  }
});

test('sweeps - whoever waits for an answer is told meanwhile that the question is looked into', () => {
  const all = manyHosts(SLICE * 7);
  const [desk] = all.desks;
  assert.ok(desk);
  for (const ask of [1, 2]) desk.tell({ type: 'fit', ask, spec, count: 1, limit: 0 }, 'gateway/g');
  /** What each turn says, which takes so long. */
  const toldEvery = (ms: number): string[] => {
    desk.now += ms;
    const { sent } = desk.tell({ type: 'wake', id: SWEEP_WAKE });
    return sent.map(({ message }) => `${message.type} ${'ask' in message ? message.ask : ''}`);
  };
  const turns = Array.from({ length: 16 }, () => toldEvery(250));
  const both = ['answering 1', 'answering 2'];
  assert.equal(turns.slice(0, 8), [[], both, [], both, [], both, ['fitted 1'], ['answering 2']]);
  assert.equal(turns.flat().at(-1), 'fitted 2');
});

test('sweeps - whoever waits for an answer is told so, though the time of day is set back meanwhile', () => {
  const all = manyHosts(SLICE * 7);
  const [desk] = all.desks;
  assert.ok(desk);
  desk.tell({ type: 'fit', ask: 1, spec, count: 1, limit: 0 }, 'gateway/g');
  desk.setBack(3_600_000);
  desk.now += 400;
  assert.is(sentOf(desk.tell({ type: 'wake', id: SWEEP_WAKE }), 'answering').length, 1);
});

test('sweeps - a claim that placement refused is on record, with the host that was claimed in the end', () => {
  const all = schedulersOf([
    { host: 'h1', has: { VCPU: 64 } },
    { host: 'h2', has: { VCPU: 8 } },
  ]);
  all.take('rival', 'h1', 64);
  // The feed that tells of it is lost on its way.
  all.drop(() => true);
  const answer = all.choose(selectFor('web'));
  assert.ok(answer?.type === 'selected');
  const stored = JSON.parse(answer.selections[0]?.decision ?? '');
  assert.is(checkOf(StoredDecision, 'the record')(stored), null);
  const decision = unpackDecision(stored);
  assert.is(decision.claimsRefused, 1);
  assert.equal(
    decision.refusedClaims.map(({ host, code }) => [host, code]),
    [['h1', 'exceeds-capacity']],
  );
  assert.equal(decision.chosen, { cell: 'c1', host: 'h2' });
});

test.run();
