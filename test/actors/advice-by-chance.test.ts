// Area: scheduler, explanations against an oracle that tries everything. Of small fleets and requests of every kind: what
// is counted adds up and is so, the nearest host is one that the request may use and none is nearer, each change that
// is advised makes it fit on as many hosts as are named, amounts are the nearest that do, and where one single change
// would do, one is advised.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Advice, adviceWords } from '../../actors/messages/advice.ts';
import type { RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import { type Survey, surveyOf } from '../../actors/scheduler/explaining/survey.ts';
import type { Filter } from '../../actors/scheduler/filters/filter.ts';
import { instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { emptyRankings } from '../../actors/scheduler/ranking/ranking.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { seededRandom } from '../../runtime/random.ts';
import {
  type Asked,
  asksForDevices,
  drawFleet,
  drawRequest,
  type Fleet,
  FOR_DEVICES,
  fittingHosts,
  GROUP,
  OLD,
  obstaclesOf,
  type PlainHost,
  type Said,
  sentOf,
  serves,
  viewOfFleet,
} from '../support/advice-oracle.ts';
import { split, sweepAll, withoutGroup } from '../support/survey.ts';

const test = suite('scheduler - explanations by chance');

const SEEDS = Number(process.env.ADVICE_SEEDS ?? 150);
const MOST_ASKED = 30;

const notOld: Filter = {
  name: 'old',
  refusal: ({ traits }) => (traits.has(OLD) ? { code: 'too-old', message: 'it is old' } : null),
};

const forDevices: Filter<boolean> = {
  name: 'devices',
  goesBy: ({ spec }) => asksForDevices(spec),
  refusal: ({ traits }, isForDevices) =>
    traits.has(FOR_DEVICES) && !isForDevices ? { code: 'for-devices', message: 'it is kept for others' } : null,
};

function survey(asked: Asked, fleet: Fleet, count: number, silentCells: readonly string[] = []): Survey {
  const view = { ...viewOfFleet(fleet), silentCells: new Set(silentCells) };
  const rankings = emptyRankings(DEFAULT_WEIGHERS, 's', { filters: [instanceLimit(fleet.most), notOld, forDevices] });
  let told: Survey | undefined;
  const sweep = surveyOf(rankings, view, { request: sentOf(asked), count, limit: 10 }, (found) => {
    told = found;
  });
  sweepAll(sweep, view);
  return told as Survey;
}

interface Changed {
  readonly key: string;
  /** The same for all groups that ask for the same. */
  readonly alike: string;
  readonly asked: Asked;
  readonly fleet: Fleet;
  /** The code, where it is of a list of what to avoid: at most one change of it is advised. */
  readonly list?: string;
  /** What is in the list. */
  readonly elements?: readonly string[];
  /** The request with so much of it left. */
  readonly having?: (left: readonly string[]) => Asked;
}

const keyOf = ({ code, group, about, to }: Omit<Advice, 'hosts'>) =>
  [code, group ?? '-', about ?? '-', ...(to === undefined ? [] : [to])].join(' ');

/** The first group that asks for the same as a named one. */
function firstLike({ groups }: RequestSpec, name: string): string {
  const asked = (of: string) => JSON.stringify({ ...groups.find((one) => one.name === of), name: '' });
  return name === '' ? '' : (groups.find((one) => one.name !== '' && asked(one.name) === asked(name))?.name ?? name);
}

const alikeOf = (spec: RequestSpec, { group, ...advice }: Omit<Advice, 'hosts'>) =>
  keyOf({ ...advice, ...(group === undefined ? {} : { group: firstLike(spec, group) }) });

/** Every single change of the request or the fleet that could be advised, but for amounts. */
function changesOf(asked: Asked, fleet: Fleet): Changed[] {
  const { spec, where = {}, company, said } = asked;
  const changes: Changed[] = [];
  const note = (advice: Omit<Advice, 'hosts'>, change: Omit<Changed, 'key' | 'alike'>) =>
    changes.push({ key: keyOf(advice), alike: alikeOf(spec, advice), ...change });
  const add = (advice: Omit<Advice, 'hosts'>, changed: Asked, of = fleet) =>
    note(advice, { asked: changed, fleet: of });
  const addList = (
    code: Advice['code'],
    about: string,
    elements: readonly string[],
    having: (left: readonly string[]) => Asked,
  ) => note({ code, about }, { asked: having([]), fleet, list: code, elements, having });
  const but = <T>(all: readonly T[] | undefined, at: number) => (all ?? []).filter((_, position) => position !== at);
  const withGroup = (position: number, change: Partial<ResourceGroup>): Asked => ({
    ...asked,
    spec: { ...spec, groups: spec.groups.map((one, at) => (at === position ? { ...one, ...change } : one)) },
  });
  const withSpec = (change: Partial<RequestSpec>): Asked => ({ ...asked, spec: { ...spec, ...change } });
  const lacking = <T extends object>(from: T, name: keyof T): T => {
    const { [name]: _, ...rest } = from;
    return rest as T;
  };
  for (const [at, group] of spec.groups.entries()) {
    const { name } = group;
    for (const [n, about] of (group.required ?? []).entries())
      add({ code: 'without-required', group: name, about }, withGroup(at, { required: but(group.required, n) }));
    for (const [n, list] of (group.anyOf ?? []).entries())
      add(
        { code: 'without-any-of', group: name, about: list.join(', ') },
        withGroup(at, { anyOf: but(group.anyOf, n) }),
      );
    for (const [n, about] of (group.forbidden ?? []).entries())
      add({ code: 'without-forbidden', group: name, about }, withGroup(at, { forbidden: but(group.forbidden, n) }));
    for (const [n, list] of (group.memberOf ?? []).entries())
      add(
        { code: 'without-member-of', group: name, about: list.join(', ') },
        withGroup(at, { memberOf: but(group.memberOf, n) }),
      );
    const changed = withoutGroup(spec, name);
    const isNothing = changed.groups.every(({ resources }) => Object.keys(resources).length === 0);
    if (name !== '' && !isNothing) add({ code: 'without-group', group: name }, withSpec(changed));
    const classes = Object.keys(group.resources);
    // Where it has one class it is left out as a whole.
    if (name !== '' && classes.length === 1) continue;
    const { required = [], anyOf = [] } = group;
    const isEither = classes.length === 2 && required.length === 0 && anyOf.length === 0;
    for (const about of isEither ? classes.slice(1) : classes)
      if (name !== '') add({ code: 'group-split', group: name, about }, withSpec(split(spec, [name], about)));
    for (const about of classes) {
      const changed = withGroup(at, { resources: lacking(group.resources, about) });
      const isNothing = changed.spec.groups.every(({ resources }) => Object.keys(resources).length === 0);
      if (!isNothing) add({ code: 'without-resource', group: name, about }, changed);
    }
  }
  for (const [n, about] of (spec.rootRequired ?? []).entries())
    add({ code: 'without-root-required', about }, withSpec({ rootRequired: but(spec.rootRequired, n) }));
  for (const [n, about] of (spec.rootForbidden ?? []).entries())
    add({ code: 'without-root-forbidden', about }, withSpec({ rootForbidden: but(spec.rootForbidden, n) }));
  for (const [n, names] of (spec.sameSubtree ?? []).entries())
    add({ code: 'without-same-subtree', about: names.join(', ') }, withSpec({ sameSubtree: but(spec.sameSubtree, n) }));
  if (spec.groupPolicy === 'isolate') add({ code: 'without-isolation' }, withSpec({ groupPolicy: 'none' }));
  if (spec.instanceGroup !== undefined)
    add({ code: 'without-instance-group', about: GROUP.slice(1) }, { ...asked, spec: lacking(spec, 'instanceGroup') });
  const { tree = {} } = spec;
  for (const [n, list] of (tree.memberOf ?? []).entries())
    add(
      { code: 'without-member-of', about: list.join(', ') },
      withSpec({ tree: { ...tree, memberOf: but(tree.memberOf, n) } }),
    );
  for (const [n, about] of (tree.notMemberOf ?? []).entries())
    add(
      { code: 'without-not-member-of', about },
      withSpec({ tree: { ...tree, notMemberOf: but(tree.notMemberOf, n) } }),
    );
  const withSaid = (changed: Said): Asked => ({ ...asked, said: changed });
  if (said?.zones !== undefined)
    add({ code: 'without-zones', about: said.zones.join(', ') }, withSaid(lacking(said, 'zones')));
  if (said?.avoidZones !== undefined)
    addList('without-avoid-zones', said.avoidZones.join(', '), said.avoidZones, (avoidZones) =>
      withSaid(avoidZones.length === 0 ? lacking(said, 'avoidZones') : { ...said, avoidZones: [...avoidZones] }),
    );
  if (said?.aggregates !== undefined)
    add({ code: 'without-member-of', about: said.aggregates.join(', ') }, withSaid(lacking(said, 'aggregates')));
  if (said?.avoidAggregates !== undefined)
    addList('without-avoid-aggregates', said.avoidAggregates.join(', '), said.avoidAggregates, (avoidAggregates) =>
      withSaid(
        avoidAggregates.length === 0
          ? lacking(said, 'avoidAggregates')
          : { ...said, avoidAggregates: [...avoidAggregates] },
      ),
    );
  if (said !== undefined) {
    const { kept, reserved, confined } = said;
    // What is kept for others in both ways is open when it is kept in neither.
    for (const about of new Set([...kept, ...Object.keys(reserved)])) {
      const others = kept.filter((id) => id !== about);
      add({ code: 'without-kept', about }, withSaid({ ...said, kept: others, reserved: lacking(reserved, about) }));
    }
    if (confined.length > 0)
      add({ code: 'without-confinement', about: confined.join(', ') }, withSaid({ ...said, confined: [] }));
  }
  if (tree.oneOf !== undefined) add({ code: 'without-hosts' }, withSpec({ tree: lacking(tree, 'oneOf') }));
  if (tree.noneOf !== undefined) {
    const { noneOf } = tree;
    const rootOf = ({ nodes: [root] }: PlainHost) => root?.id as string;
    const nameOf = ({ cell, host }: PlainHost) => `${cell}/${host}`;
    const avoided = fleet.hosts.filter((host) => noneOf.includes(rootOf(host)));
    const without = (left: readonly string[]) =>
      withSpec({ tree: { ...tree, noneOf: avoided.filter((host) => left.includes(nameOf(host))).map(rootOf) } });
    const helpful = fittingHosts(without([]), fleet).filter((host) => avoided.includes(host));
    addList('without-avoid-hosts', helpful.map(nameOf).sort().join(', '), avoided.map(nameOf), without);
  }
  if (where.cells !== undefined)
    add({ code: 'without-cells', about: where.cells.join(', ') }, { ...asked, where: lacking(where, 'cells') });
  if (where.avoidCells !== undefined)
    addList('without-avoid-cells', where.avoidCells.join(', '), where.avoidCells, (avoidCells) => ({
      ...asked,
      where: avoidCells.length === 0 ? lacking(where, 'avoidCells') : { ...where, avoidCells: [...avoidCells] },
    }));
  if (company?.near !== undefined) add({ code: 'without-same-host' }, { ...asked, company: { far: company.far } });
  if (company !== undefined && company.far.size > 0)
    addList('without-different-host', '', [...new Set([...(company.farFrom?.values() ?? [])].flat())], (left) => {
      const farFrom = new Map(
        [...(company.farFrom ?? [])].filter(([, there]) => there.some((one) => left.includes(one))),
      );
      return { ...asked, company: { near: company.near, far: new Set(farFrom.keys()), farFrom } };
    });
  for (const state of new Set(fleet.hosts.map((host) => host.state)))
    if (state !== 'up') {
      const back = (host: PlainHost): PlainHost => (host.state === state ? { ...host, state: 'up' } : host);
      add({ code: 'host-state', about: state }, asked, { ...fleet, hosts: fleet.hosts.map(back) });
    }
  const nodesOf = ({ nodes }: PlainHost) => nodes.map((node) => ({ ...node, used: {} }));
  // Those with whom it must be stay.
  const mustStay = ({ nodes: [root], members }: PlainHost) =>
    company?.near?.has(root?.id ?? '') === true || (spec.instanceGroup?.policy === 'affinity' && members > 0);
  const emptied = fleet.hosts.filter((host) => !mustStay(host));
  const empty = (host: PlainHost): PlainHost =>
    emptied.includes(host) ? { ...host, nodes: nodesOf(host), instances: 0, members: 0 } : host;
  const roots = new Set(emptied.map(({ nodes: [root] }) => root?.id ?? ''));
  const far = new Set([...(company?.far ?? [])].filter((root) => !roots.has(root)));
  const alone = company === undefined ? asked : { ...asked, company: { ...company, far } };
  add({ code: 'when-empty' }, alone, { ...fleet, hosts: fleet.hosts.map(empty) });
  add({ code: 'without-filter', about: 'instance-limit' }, asked, { ...fleet, most: 1_000 });
  for (const [about, lost] of [
    ['old', OLD],
    ['devices', FOR_DEVICES],
  ]) {
    const without = (host: PlainHost): PlainHost => ({
      ...host,
      nodes: host.nodes.map((node) => ({ ...node, traits: node.traits.filter((trait) => trait !== lost) })),
    });
    add({ code: 'without-filter', about: about as string }, asked, { ...fleet, hosts: fleet.hosts.map(without) });
  }
  return changes;
}

/** The request with another amount of a class. */
function withAmount(asked: Asked, at: number, about: string, amount: number): Asked {
  const change = (one: ResourceGroup, position: number) =>
    position === at ? { ...one, resources: { ...one.resources, [about]: amount } } : one;
  return { ...asked, spec: { ...asked.spec, groups: asked.spec.groups.map(change) } };
}

/**
 * Whether it is for want of so much of a class alone that a host does not serve a request: with so much more of it on one
 * node, or so much less asked by one group, it would, all conditions kept. Of what is off the units as much more may be
 * asked, too, or nodes may give any amount.
 */
function lacksThatAlone({ groups, ...spec }: RequestSpec, code: string, about: string, short: number, on: PlainHost) {
  type Node = PlainHost['nodes'][number];
  const isOfUnits = code === 'unit-constraint';
  const serve = (nodes: readonly Node[], asked = groups) => serves({ ...spec, groups: asked }, nodes);
  const withMore = (node: Node): Node => ({
    ...node,
    used: { ...node.used, [about]: (node.used[about] ?? 0) - short },
  });
  const ofAnyUnits = (node: Node): Node => {
    const { [about]: inventory, ...inventories } = node.inventories;
    if (inventory === undefined) return node;
    const units = { min_unit: 1, step_size: 1, max_unit: 1_000 };
    return { ...node, inventories: { ...inventories, [about]: { ...inventory, ...units } } };
  };
  const isEnough = isOfUnits
    ? serve(on.nodes.map(ofAnyUnits))
    : on.nodes.some((node) => serve(on.nodes.map((one) => (one === node ? withMore(one) : one))));
  if (isEnough) return true;
  // What is free may be less than the steps take.
  const steps = on.nodes.map(({ inventories }) => inventories[about]?.step_size ?? 1);
  return groups.some((asker) => {
    const { [about]: asked, ...others } = asker.resources;
    if (asked === undefined) return false;
    const less = steps.map((step) => asked - short - ((asked - short) % step));
    return [...less, ...(isOfUnits ? [asked + short] : [])].some((amount) => {
      const { name, resources: _, ...conditions } = asker;
      const resources = amount === 0 ? others : { ...others, [about]: amount };
      // Its conditions would go with all that it asks for.
      const isEmptied = Object.keys(resources).length === 0 && Object.values(conditions).some((all) => all.length > 0);
      // Nor is it a request that asks for nothing at all.
      const isNothing = groups.every((one) => Object.keys(one === asker ? resources : one.resources).length === 0);
      if (amount < 0 || isEmptied || isNothing) return false;
      return serve(
        on.nodes,
        groups.map((one) => (one === asker ? { ...asker, resources } : one)),
      );
    });
  });
}

/** Amounts with which it would fit, by group and class. */
function amountsThatFit(asked: Asked, holds: (changed: Asked) => boolean) {
  return asked.spec.groups.flatMap(({ name, resources }, at) =>
    Object.entries(resources).map(([about, from]) => {
      const all = Array.from({ length: MOST_ASKED }, (_, n) => n + 1);
      const to = all.filter((amount) => amount !== from && holds(withAmount(asked, at, about, amount)));
      return { at, group: name, about, from, to };
    }),
  );
}

/** What is advised, as one of the changes; of a list as much is left out as is named. */
function changeOf(changes: ReadonlyMap<string, Changed>, one: Advice): Changed | undefined {
  const list = [...changes.values()].find((change) => change.list === one.code);
  if (list === undefined) return changes.get(keyOf(one));
  const named = namesOf(one);
  const isOfList = named.every((name) => list.elements?.includes(name));
  return isOfList ? { ...list, asked: leaving(list, named) } : undefined;
}

const namesOf = ({ about = '' }: Advice) => about.split(', ');

const leaving = ({ elements = [], having, asked }: Changed, left: readonly string[]): Asked =>
  having?.(elements.filter((name) => !left.includes(name))) ?? asked;

/** Of a list one name where that is enough, and never one that need not be named. */
function assertFewest(change: Changed, one: Advice, holds: (changed: Asked) => boolean, about: string): void {
  const named = namesOf(one);
  const isOneEnough = (change.elements ?? []).some((name) => holds(leaving(change, [name])));
  assert.not.ok(isOneEnough && named.length > 1, about);
  for (const name of named) {
    const others = named.filter((other) => other !== name);
    assert.not.ok(holds(leaving(change, others)), `${name} need not be named: ${about}`);
  }
}

/** Whether more members on each host would do, and that is not said. */
const lacksPerHost = (advice: readonly Advice[], least: number | undefined) =>
  least !== undefined && !advice.some(({ code }) => code === 'more-per-host');

/** The traits that a request would need for an aggregate that is kept for others, and whether it is of other projects. */
function whomKeptFor({ spec, said }: Asked, id = ''): [string[] | undefined, true | undefined] {
  const { kept = [], reserved = {} } = said ?? {};
  const required = [...(spec.rootRequired ?? []), ...spec.groups.flatMap((group) => group.required ?? [])];
  const lacking = [...new Set(reserved[id])].filter((trait) => !required.includes(trait));
  return lacking.length === 0 ? [undefined, undefined] : [lacking, kept.includes(id) ? true : undefined];
}

const wordsOf = (advice: Advice) => adviceWords(advice, String);

test('scheduler - of one instance, what is told is so, and what would help is told', () => {
  const codes = new Map<string, number>();
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const random = seededRandom(`oracle ${seed}`);
    const fleet = drawFleet(random);
    const asked = drawRequest(random, fleet);
    const told = survey(asked, fleet, 1);
    const about = () => `seed ${seed} ${JSON.stringify(asked)} ${JSON.stringify(told)} ${JSON.stringify(fleet)}`;
    assert.is(told.hosts, fleet.hosts.length);
    assert.is(
      told.refused.reduce((sum, { hosts }) => sum + hosts, told.fits),
      told.hosts,
      about(),
    );
    assert.is(told.fits, fittingHosts(asked, fleet).length, about());
    // Each host by itself is refused for the same, and of those that lack nothing else none came nearer than the one named.
    const alone = fleet.hosts.flatMap((host) => {
      const { refused, advice } = survey(asked, { ...fleet, hosts: [host] }, 1);
      const less = advice.filter(({ code, from = 0, to = 0 }) => code === 'less' && from > to);
      for (const { about: what, nearest } of refused)
        for (const one of less)
          if (one.about === what && nearest !== undefined)
            assert.ok(
              nearest.short <= (one.from as number) - (one.to as number),
              `short by ${nearest.short}, ${wordsOf(one)} ${about()}`,
            );
      return refused.map((one) => ({ ...one, of: host }));
    });
    for (const { nearest, code, about: what, hosts } of told.refused) {
      const alike = alone.filter((one) => one.code === code && one.about === what);
      assert.is(alike.length, hosts, about());
      const shortsOf = (some: typeof alike) => some.flatMap((one) => one.nearest?.short ?? []);
      const isOfClass = code === 'exceeds-capacity' || code === 'unit-constraint';
      const isOutside = (of: PlainHost) => obstaclesOf(asked, fleet, of).includes('instance-group');
      const isAlone = ({ of, nearest: near }: (typeof alike)[number]) =>
        (isOfClass && near !== undefined
          ? lacksThatAlone(asked.spec, code, what ?? '', near.short, of)
          : serves(asked.spec, of.nodes)) && !isOutside(of);
      const ofNothingElse = shortsOf(alike.filter(isAlone));
      const shorts = ofNothingElse.length > 0 ? ofNothingElse : shortsOf(alike);
      assert.is(nearest?.short, shorts.length === 0 ? undefined : Math.min(...shorts), about());
      if (nearest === undefined) continue;
      assert.is(nearest.lacksMore ?? false, ofNothingElse.length === 0, about());
      assert.ok(Number.isInteger(nearest.short) && nearest.short > 0, `${nearest.short} ${about()}`);
      const host = fleet.hosts.find((one) => one.host === nearest.host) as PlainHost;
      const others = obstaclesOf(asked, fleet, host).filter((one) => one !== 'instance-group');
      assert.equal(others, code === 'too-many-instances' ? ['instance-limit'] : [], `${code} ${about()}`);
    }
    if (told.fits > 0) {
      assert.equal(told.advice, []);
      continue;
    }
    const changes = new Map(changesOf(asked, fleet).map((one) => [one.key, one]));
    const holds = (changed: Asked) => fittingHosts(changed, fleet).length > 0;
    const amounts = amountsThatFit(asked, holds);
    for (const one of told.advice) {
      codes.set(one.code, (codes.get(one.code) ?? 0) + 1);
      if (one.code === 'less' || one.code === 'more') {
        const known = amounts.find(({ group, about: what }) => group === one.group && what === one.about);
        if (known === undefined) throw new Error(`${wordsOf(one)} ${about()}`);
        const { from } = known;
        assert.ok(known.to.includes(one.to as number), `${wordsOf(one)} ${about()}`);
        const nearest = Math.min(...known.to.map((to) => Math.abs(to - from)));
        assert.is(Math.abs((one.to as number) - from), nearest, `${wordsOf(one)} ${known.to} ${about()}`);
        const changed = withAmount(asked, known.at, known.about, one.to as number);
        assert.is(fittingHosts(changed, fleet).length, one.hosts, `${wordsOf(one)} ${about()}`);
        continue;
      }
      if (one.code === 'without-kept') assert.equal([one.traits, one.projects], whomKeptFor(asked, one.about), about());
      const change = changeOf(changes, one);
      assert.ok(change, `${wordsOf(one)} ${about()}`);
      assert.is(fittingHosts(change.asked, change.fleet).length, one.hosts, `${wordsOf(one)} ${about()}`);
      if (change.list === undefined) continue;
      assertFewest(change, one, holds, `${wordsOf(one)} ${about()}`);
      const alone = (change.elements ?? []).map((name) => fittingHosts(leaving(change, [name]), fleet).length);
      assert.is(one.hosts, Math.max(0, ...alone) || one.hosts, `${wordsOf(one)} ${about()}`);
    }
    if (told.advice.length === 3) continue;
    const advised = new Set(told.advice.map((one) => alikeOf(asked.spec, one)));
    const lists = new Set<string>(told.advice.map(({ code }) => code));
    for (const { key, alike, asked: changed, fleet: other, list = '' } of changes.values())
      if (!advised.has(alike) && !lists.has(list))
        assert.is(fittingHosts(changed, other).length, 0, `missed: ${key} ${about()}`);
    for (const { group, about: what, to } of amounts) {
      const isAdvised = told.advice.some(
        (one) =>
          (one.code === 'less' || one.code === 'more') &&
          firstLike(asked.spec, one.group ?? '') === firstLike(asked.spec, group) &&
          one.about === what,
      );
      if (!isAdvised) assert.equal(to, [], `missed: ${what} in '${group}' ${about()}`);
    }
  }
  if (process.env.CELLWRIGHT_TEST_VERBOSE) console.log(JSON.stringify([...codes]));
  assert.ok(codes.size > 12, JSON.stringify([...codes]));
});

test('scheduler - of several instances, what is advised lets all of them fit, and what would help is told', () => {
  const codes = new Map<string, number>();
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const random = seededRandom(`several ${seed}`);
    const drawnFleet = drawFleet(random);
    const drawn = drawRequest(random, drawnFleet);
    const { instanceGroup: _, ...ungrouped } = drawn.spec;
    const chance = random.next();
    const isWithoutMembers = chance >= 0.2 && chance < 0.6;
    const policy = chance < 0.2 ? ('affinity' as const) : ('anti-affinity' as const);
    const maxPerHost = policy === 'anti-affinity' ? { maxPerHost: random.integer(1, 2) } : {};
    const grouped = { ...ungrouped, instanceGroup: { id: GROUP, policy, ...maxPerHost } };
    const asked = chance < 0.6 ? { ...drawn, spec: grouped } : drawn;
    const fleet = isWithoutMembers
      ? { ...drawnFleet, hosts: drawnFleet.hosts.map((host) => ({ ...host, members: 0 })) }
      : drawnFleet;
    const count = random.integer(2, 8);
    const told = survey(asked, fleet, count);
    const about = () =>
      `seed ${seed} ${count} ${JSON.stringify(asked)} ${JSON.stringify(told)} ${JSON.stringify(fleet)}`;
    if (told.times >= count) {
      assert.equal(told.advice, []);
      continue;
    }
    const [first] = told.advice;
    const { times, fits, best } = told;
    const isTogether = asked.spec.instanceGroup?.policy === 'affinity';
    const hosts = isTogether ? best.filter((one) => one.times === times).length : fits;
    if (fits > 0) assert.equal(first, { code: 'fewer-instances', from: count, to: times, hosts }, about());
    const advice = told.advice.filter(({ code }) => code !== 'fewer-instances');
    const changes = new Map(changesOf(asked, fleet).map((one) => [one.key, one]));
    const holds = (changed: Asked, other = fleet) => survey(changed, other, count).times >= count;
    const { instanceGroup } = asked.spec;
    const perHost = (to: number): Asked => ({
      ...asked,
      spec: { ...asked.spec, ...(instanceGroup && { instanceGroup: { ...instanceGroup, maxPerHost: to } }) },
    });
    const isNew = instanceGroup?.policy === 'anti-affinity' && fleet.hosts.every(({ members }) => members === 0);
    const leastPerHost = isNew
      ? Array.from({ length: count }, (_, n) => n + 1).find((to) => holds(perHost(to)))
      : undefined;
    const amounts = amountsThatFit(asked, holds);
    for (const one of advice) {
      codes.set(one.code, (codes.get(one.code) ?? 0) + 1);
      const known = amounts.find(({ group, about: what }) => group === one.group && what === one.about);
      if (one.code === 'less' || one.code === 'more') {
        assert.ok(known?.to.includes(one.to as number) === true, `${wordsOf(one)} ${known?.to} ${about()}`);
        // Larger amounts are looked for where none fits.
        const alike = known.to.filter((to) => to < known.from === (one.code === 'less'));
        const nearest = Math.min(...alike.map((to) => Math.abs(to - known.from)));
        assert.is(Math.abs((one.to as number) - known.from), nearest, `${wordsOf(one)} ${known.to} ${about()}`);
        continue;
      }
      if (one.code === 'more-per-host') {
        const { to = 0 } = one;
        assert.is(leastPerHost, to, `${wordsOf(one)} ${about()}`);
        continue;
      }
      const change = changeOf(changes, one);
      assert.ok(change && holds(change.asked, change.fleet), `${wordsOf(one)} ${about()}`);
      if (change.list !== undefined) assertFewest(change, one, holds, `${wordsOf(one)} ${about()}`);
    }
    if (advice.length === 3) continue;
    assert.is(lacksPerHost(advice, leastPerHost), false, `missed: ${leastPerHost} on each host ${about()}`);
    const advised = new Set(advice.map((one) => alikeOf(asked.spec, one)));
    const lists = new Set<string>(advice.map(({ code }) => code));
    // Hosts that fit would hold more if they were empty; it is said of those that are full.
    for (const { key, alike, asked: changed, fleet: other, list = '' } of changes.values())
      if (!advised.has(alike) && !lists.has(list) && !key.startsWith('when-empty'))
        assert.not.ok(holds(changed, other), `missed: ${key} ${about()}`);
    for (const { group, about: what, from, to } of amounts) {
      const isAdvised = advice.some(
        (one) =>
          (one.code === 'less' || one.code === 'more') &&
          firstLike(asked.spec, one.group ?? '') === firstLike(asked.spec, group) &&
          one.about === what,
      );
      if (!isAdvised && to.some((amount) => amount < from))
        assert.unreachable(`missed: ${what} in '${group}' ${about()}`);
    }
  }
  if (process.env.CELLWRIGHT_TEST_VERBOSE) console.log(JSON.stringify([...codes]));
  assert.ok(codes.size > 7, JSON.stringify([...codes]));
});

test('scheduler - while a cell is silent, what would help without it is told as if it were not there, and then what would only with it', () => {
  const codes = new Set<string>();
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const random = seededRandom(`silent ${seed}`);
    const drawn = drawFleet(random);
    const hosts = drawn.hosts.map((host) => (host.cell === 'c1' ? host : { ...host, members: 0 }));
    const fleet = { ...drawn, hosts };
    const heard = { ...drawn, hosts: hosts.filter(({ cell }) => cell === 'c1') };
    const asked = drawRequest(random, fleet);
    const count = random.integer(1, 3);
    const told = survey(asked, fleet, count, ['c2']);
    const about = () =>
      `seed ${seed} ${count} ${JSON.stringify(asked)} ${JSON.stringify(told)} ${JSON.stringify(fleet)}`;
    if (told.times >= count) {
      assert.equal(told.advice, [], about());
      continue;
    }
    const onSilent = told.advice.filter(({ silentCells }) => silentCells !== undefined);
    const onHeard = told.advice.slice(0, told.advice.length - onSilent.length);
    assert.equal(onHeard, survey(asked, heard, count).advice, about());
    for (const one of onSilent) {
      assert.equal([one.silentCells, one.silentShards], [['c2'], undefined]);
      assert.match(wordsOf(one), /, but not without hosts of cell c2, which is silent$/);
      assert.ok(!onHeard.some((other) => keyOf(other) === keyOf(one)), `${wordsOf(one)} ${about()}`);
      codes.add(one.code);
      const timesWith = (of: Fleet) => {
        if (one.code === 'fewer-instances') return [survey(asked, of, count).times, one.to ?? 0];
        if (one.code === 'less' || one.code === 'more') {
          const at = asked.spec.groups.findIndex(({ name }) => name === one.group);
          return [survey(withAmount(asked, at, one.about ?? '', one.to ?? 0), of, count).times, count];
        }
        if (one.code === 'more-per-host') return undefined;
        const change = changeOf(new Map(changesOf(asked, of).map((change) => [change.key, change])), one);
        return change === undefined ? [0, count] : [survey(change.asked, change.fleet, count).times, count];
      };
      const [[all = 0, needed = 0] = [], [without = 0, most = 0] = []] = [timesWith(fleet), timesWith(heard)];
      assert.ok(all >= needed, `${wordsOf(one)} ${about()}`);
      assert.ok(without < most || needed === 0, `it does without: ${wordsOf(one)} ${about()}`);
    }
    const codesOf = (advice: readonly Advice[]) => advice.map(({ code }) => code);
    const advice = told.advice.filter(({ code }) => code !== 'fewer-instances');
    if (advice.length === 3) continue;
    for (const code of codesOf(survey(asked, fleet, count).advice))
      assert.ok(codesOf(told.advice).includes(code), about());
  }
  assert.ok(codes.size > 7, JSON.stringify([...codes]));
});

test.run();
