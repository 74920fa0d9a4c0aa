// Area: explanations of real situations. Fleets and requests of every kind are drawn by a seed and put to a deployment in
// memory: what is said of all hosts adds up, one host at a time says the same, what is said to fit is built and what is
// said not to fit fails, and each change that is advised, made, lets the request fit.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Advice } from '../../actors/messages/advice.ts';
import type { Client } from '../../runtime/client.ts';
import type { ProviderReport } from '../../runtime/drivers/driver.ts';
import { fakeDriver } from '../../runtime/drivers/fake.ts';
import { ADVICE_CODES, REFUSAL_CODES } from '../../runtime/gateway/codes.ts';
import type { FitAnswer } from '../../runtime/gateway/question-answers.ts';
import type { BuildRequest, FitRequest } from '../../runtime/gateway/requests.ts';
import { type Random, seededRandom } from '../../runtime/random.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { eventually, inMemory } from './system.ts';

const test = suite('explanations of random situations');

const SEEDS = 8;
const REQUESTS = 30;
const TRAITS = ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_OLD'];
const AGGREGATES = ['rack-1', 'rack-2', 'kept'];
const HOSTS = { c1: ['h1', 'h2', 'h3', 'h4'], c2: ['h1', 'k1', 'k2'], c3: ['m1', 'm2'] };
const GROUPS = [
  { name: 'apart', policy: 'anti-affinity' },
  { name: 'pairs', policy: 'anti-affinity', maxPerHost: 2 },
  { name: 'close', policy: 'affinity' },
] as const;
/** Asked for, but of no filler: without members, or with those of another rule. */
const OTHER_GROUPS = [
  { name: 'new', policy: 'anti-affinity' },
  { name: 'pairs', policy: 'anti-affinity' },
] as const;
const PLACES = Object.entries(HOSTS).flatMap(([cell, hosts]) => hosts.map((host) => ({ cell, host })));

const some = <T>(random: Random, items: readonly T[], share: number) => items.filter(() => random.next() < share);
const one = <T>(random: Random, items: readonly T[]) => items[random.integer(0, items.length - 1)] as T;

function treeOf(random: Random, name: string): ProviderReport {
  const gpus = random.integer(0, 2);
  const isNuma = random.next() < 0.4;
  const gpu = (n: number) => ({
    name: `${name}-g${n}`,
    inventories: { VGPU: { total: 2 } },
    traits: some(random, TRAITS, 0.4),
  });
  const cpus = { VCPU: { total: 4 + random.integer(0, 4) }, MEMORY_MB: { total: 4_096, step_size: 256 } };
  const devices = Array.from({ length: gpus }, (_, n) => gpu(n));
  return {
    name,
    inventories: isNuma ? { DISK_GB: { total: 50 } } : { ...cpus, DISK_GB: { total: 50, max_unit: 20 } },
    traits: some(random, TRAITS, 0.4),
    aggregates: some(random, AGGREGATES, 0.4),
    children: isNuma ? [{ name: `${name}-n0`, inventories: cpus, children: devices }] : devices,
  };
}

function requestOf(random: Random): FitRequest {
  const chance = (share: number) => random.next() < share;
  const conditions = () => {
    const required = chance(0.2) ? one(random, TRAITS) : undefined;
    const forbidden = chance(0.15) ? one(random, TRAITS) : undefined;
    return {
      // What is asked twice is as one.
      ...(required === undefined ? {} : { required: [required, required] }),
      ...(forbidden === undefined || forbidden === required ? {} : { forbidden: [forbidden] }),
      ...(chance(0.15) ? { anyOf: [[one(random, TRAITS), one(random, TRAITS)]] } : {}),
      ...(chance(0.15) ? { memberOf: [[one(random, AGGREGATES)]] } : {}),
    };
  };
  const groups = Array.from({ length: chance(0.35) ? random.integer(1, 2) : 0 }, (_, n) => ({
    name: `g${n}`,
    resources: chance(0.7) ? { VGPU: random.integer(1, 3) } : { VCPU: random.integer(1, 3) },
    ...conditions(),
  }));
  const places = PLACES.map(({ cell, host }) => `${cell}/${host}`);
  const placement = {
    ...(chance(0.1) ? { cells: [one(random, ['c1', 'c2', 'c9'])] } : {}),
    ...(chance(0.1) ? { avoidCells: ['c3'] } : {}),
    ...(chance(0.08) ? { sameHostAs: ['filler-0', 'filler-1'] } : {}),
    ...(chance(0.08) ? { differentHostFrom: ['filler-2', 'filler-3', 'filler-4'] } : {}),
    ...(chance(0.1) ? { zones: [one(random, ['north', 'south'])] } : {}),
    ...(chance(0.1) ? { avoidAggregates: ['rack-1'] } : {}),
    ...(chance(0.1) ? { aggregates: ['rack-2'] } : {}),
    ...(chance(0.1) ? { avoidZones: ['south'] } : {}),
    ...(chance(0.1)
      ? {
          hosts: [
            one(
              random,
              places.filter((place) => place.startsWith('c2/')),
            ),
          ],
        }
      : {}),
    ...(chance(0.1)
      ? {
          avoidHosts: some(
            random,
            places.filter((place) => place.startsWith('c1/')),
            0.7,
          ),
        }
      : {}),
  };
  if (placement.avoidHosts?.length === 0) delete placement.avoidHosts;
  if (placement.hosts !== undefined) delete placement.cells;
  if (placement.zones?.includes('south') === true) delete placement.avoidZones;
  return {
    resources: {
      VCPU: random.integer(1, chance(0.5) ? 3 : 8),
      ...(chance(0.6) ? { MEMORY_MB: 256 * random.integer(1, 14) } : {}),
    },
    ...conditions(),
    ...(groups.length === 0 ? {} : { groups, groupPolicy: one(random, ['none', 'isolate'] as const) }),
    ...(groups.length > 1 && chance(0.5) ? { sameSubtree: [['g0', 'g1']] } : {}),
    ...(chance(0.1) ? { rootRequired: [one(random, TRAITS)] } : {}),
    ...(chance(0.1) ? { rootForbidden: [one(random, TRAITS)], rootRequired: [] } : {}),
    ...(chance(0.3)
      ? {
          instanceGroup: one(random, [...GROUPS, ...OTHER_GROUPS]),
        }
      : {}),
    ...(chance(0.3) ? { project: 'p1' } : {}),
    ...(chance(0.3) ? { count: random.integer(2, 12) } : {}),
    ...(Object.keys(placement).length === 0 ? {} : { placement }),
  };
}

type InstanceGroup = NonNullable<FitRequest['instanceGroup']>;
const groupOf = ({ instanceGroup }: FitRequest) => instanceGroup as InstanceGroup;

/** The request with what is advised done to it; undefined when it is not about the request. */
function changed(
  request: FitRequest,
  { code, group, groups: names, about = '', to = 0 }: Advice,
): FitRequest | undefined {
  const { placement = {}, ...rest } = request;
  const lacking = <T extends object>(from: T, ...names: string[]): T =>
    Object.fromEntries(Object.entries(from).filter(([name]) => !names.includes(name))) as T;
  const placed = (...names: string[]) => ({ ...rest, placement: lacking(placement, ...names) });
  const without = (name: 'avoidZones' | 'avoidAggregates' | 'avoidCells' | 'differentHostFrom' | 'avoidHosts') => {
    const kept = (placement[name] ?? []).filter((one) => !about.split(', ').includes(one));
    return kept.length === 0 ? placed(name) : { ...rest, placement: { ...placement, [name]: kept } };
  };
  const left = <T>(all: readonly T[] = [], isIt: (item: T) => boolean) => {
    const at = all.findIndex(isIt);
    return all.filter((_, position) => position !== at);
  };
  const joined = (list: readonly string[]) => list.join(', ') === about;
  type Part = NonNullable<FitRequest['groups']>[number];
  const inGroup = (change: (part: Omit<Part, 'name'>) => Omit<Part, 'name'>): FitRequest =>
    names === undefined && (group === '' || group === undefined)
      ? { ...request, ...change(request as Omit<Part, 'name'>) }
      : {
          ...request,
          groups: (request.groups ?? []).map((part) =>
            names?.includes(part.name) || part.name === group ? { ...part, ...change(part) } : part,
          ),
        };
  switch (code) {
    case 'less':
    case 'more':
      return inGroup((part) => ({ ...part, resources: { ...part.resources, [about]: to } }));
    case 'without-resource':
      return inGroup((part) => ({ ...part, resources: lacking(part.resources ?? {}, about) }));
    case 'without-group': {
      const { sameSubtree = [], groups = [], ...others } = request;
      const lists = sameSubtree.map((names) => names.filter((name) => name !== group));
      const kept = groups.filter(({ name }) => name !== group);
      return { ...others, groups: kept, sameSubtree: lists.filter((names) => names.length > 1) };
    }
    case 'without-required':
      return inGroup((part) => ({ ...part, required: (part.required ?? []).filter((trait) => trait !== about) }));
    case 'without-forbidden':
      return inGroup((part) => ({ ...part, forbidden: left(part.forbidden, (trait) => trait === about) }));
    case 'without-any-of':
      return inGroup((part) => ({ ...part, anyOf: left(part.anyOf, (list) => joined([...new Set(list)])) }));
    case 'without-member-of':
      if (group !== undefined || names !== undefined)
        return inGroup((part) => ({ ...part, memberOf: left(part.memberOf, joined) }));
      return placed('aggregates');
    case 'without-zones':
      return placed('zones');
    case 'without-avoid-zones':
      return without('avoidZones');
    case 'without-avoid-aggregates':
      return without('avoidAggregates');
    case 'without-kept':
      // The groups of another project are other groups.
      return request.instanceGroup === undefined ? { ...request, project: 'p1' } : undefined;
    case 'without-cells':
      return placed('cells');
    case 'without-avoid-cells':
      return without('avoidCells');
    case 'without-hosts':
      return placed('hosts');
    case 'without-same-host':
      return placed('sameHostAs');
    case 'without-different-host':
      return without('differentHostFrom');
    case 'without-avoid-hosts':
      return without('avoidHosts');
    case 'without-root-required':
      return lacking(request, 'rootRequired');
    case 'without-root-forbidden':
      return lacking(request, 'rootForbidden');
    case 'without-same-subtree':
      return lacking(request, 'sameSubtree');
    case 'without-isolation':
      return { ...request, groupPolicy: 'none' };
    case 'without-instance-group':
      return lacking(request, 'instanceGroup');
    case 'more-per-host':
      return { ...request, instanceGroup: { ...groupOf(request), maxPerHost: to } };
    case 'with-group-policy': {
      const [policy, most] = about.split(', ');
      const maxPerHost = most === undefined ? {} : { maxPerHost: Number.parseInt(most, 10) };
      return { ...request, instanceGroup: { name: groupOf(request).name, policy, ...maxPerHost } as InstanceGroup };
    }
    case 'fewer-instances':
      return { ...request, count: to };
    default:
      return undefined;
  }
}

const sumOf = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);
const countsOf = (reasons: readonly string[]) => {
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  return Object.fromEntries([...counts].sort(([a], [b]) => (a < b ? -1 : 1)));
};

interface Seen {
  readonly codes: Map<string, number>;
  readonly reasons: Set<string>;
  built: number;
  failed: number;
}

/** Builds it, and holds what becomes of it, host by host, against what was said before. */
async function holdsTrue(client: Client, id: string, request: FitRequest, told: FitAnswer, seen: Seen): Promise<void> {
  const { limit: _, ...build } = request;
  const { instances } = await client.build({ ...(build as BuildRequest), id, alternates: 0 });
  const ends = await Promise.all(instances.map((instance) => client.ended(instance)));
  const about = `${id} ${JSON.stringify(request)} ${told.words.join(' | ')}`;
  if (told.fit) {
    seen.built += 1;
    assert.ok(
      ends.every(({ state }) => state === 'active'),
      `${about}: ${ends.map(({ failure }) => failure?.message)}`,
    );
  } else {
    seen.failed += 1;
    assert.ok(
      ends.every(({ state }) => state === 'failed'),
      about,
    );
    const [first] = ends;
    assert.is(first?.failure?.code, 'no-valid-host', about);
    const { decision } = await client.explain(instances[0] as string);
    assert.is(sumOf((decision?.refused ?? []).map(({ hosts }) => hosts)) + (decision?.fits ?? 0), told.hosts, about);
    if ((request.count ?? 1) === 1) {
      assert.equal(decision?.advice, [...told.advice], about);
      const codes = await Promise.all(
        PLACES.map(async ({ cell, host }) => {
          const { now } = await client.whyNot({ id: instances[0] as string, cell, host });
          const refusal = now?.refusal;
          if (refusal === undefined) return 'fits';
          seen.reasons.add(refusal.code);
          assert.ok(refusal.code in REFUSAL_CODES || refusal.code === 'too-old', refusal.code);
          return refusal.about === undefined ? refusal.code : `${refusal.code} ${refusal.about}`;
        }),
      );
      const counted = told.refused.flatMap(({ code, about: what, hosts }) =>
        Array.from({ length: hosts }, () => (what === undefined ? code : `${code} ${what}`)),
      );
      assert.equal(countsOf(codes), countsOf(counted), about);
    }
  }
  for (const instance of instances) await client.delete(instance);
  for (const instance of instances) assert.is((await client.ended(instance)).state, 'deleted');
}

/** Puts the hosts that are out of service back for a moment: as many as were named are then said to fit. */
async function backInService(client: Client, request: FitRequest, advice: Advice): Promise<void> {
  const away: { cell: string; host: string }[] = [];
  for (const cell of Object.keys(HOSTS)) {
    for (const { host, state } of (await client.hosts({ cell })).hosts)
      if (state === advice.about) away.push({ cell, host });
  }
  const before = (await client.fit(request)).fits;
  for (const place of away) await client.host({ ...place, enabled: true });
  await eventually(`${advice.hosts} more fit when they are back`, async () => {
    const { fit, fits } = await client.fit(request);
    return fit && fits === before + advice.hosts;
  });
  for (const place of away) await client.host({ ...place, enabled: false });
  await eventually('they are away again', async () => (await client.fit(request)).fits === before);
}

test('explanations - in random situations all adds up, comes true, and what is advised helps', async () => {
  const seen: Seen = { codes: new Map(), reasons: new Set(), built: 0, failed: 0 };
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const random = seededRandom(`advice ${seed}`);
    const clock = systemClock();
    const driver = ({ cell, host }: { cell: string; host: string }) =>
      fakeDriver({
        host: treeOf(seededRandom(`advice ${seed} ${cell}/${host}`), host),
        clock,
        random: seededRandom(seed),
        buildMs: { min: 1, max: 2 },
        destroyMs: { min: 1, max: 2 },
      });
    const aggregates = { 'rack-1': { zone: 'north' }, 'rack-2': { zone: 'south' }, kept: { projects: ['p1'] } };
    const isOld = {
      name: 'not-old',
      refusal: ({ traits }: { traits: ReadonlySet<string> }) =>
        traits.has('CUSTOM_OLD') && seed % 2 === 0 ? { code: 'too-old', message: 'it is old' } : null,
    };
    const scheduler = { warmUpMs: 50, filters: [isOld] };
    await inMemory({ hosts: HOSTS, driver, aggregates, scheduler }, async ({ client }) => {
      const plain = { resources: { DISK_GB: 1 } };
      await eventually('all hosts are known', async () => {
        const { hosts, refused } = await client.fit(plain);
        return (
          hosts === PLACES.length && refused.every(({ code }) => code === 'too-old' || code === 'in-avoided-aggregate')
        );
      });
      for (const { cell, host } of some(random, PLACES, 0.15)) await client.host({ cell, host, enabled: false });
      for (let n = 0; n < 6; n += 1) {
        const instanceGroup = n < GROUPS.length ? GROUPS[n] : one(random, GROUPS);
        await client.build({
          id: `filler-${n}`,
          resources: { VCPU: 1 + (n % 3) },
          ...(instanceGroup && { instanceGroup }),
        });
        await client.ended(`filler-${n}`);
      }
      for (let n = 0; n < REQUESTS; n += 1) {
        const request = requestOf(random);
        const about = `seed ${seed} request ${n} ${JSON.stringify(request)}`;
        let told = await client.fit(request);
        await eventually('what is known has settled', async () => {
          const before = told;
          await new Promise((resolve) => setTimeout(resolve, 15));
          told = await client.fit(request);
          return (
            JSON.stringify([told.fits, told.times, told.refused]) ===
            JSON.stringify([before.fits, before.times, before.refused])
          );
        });
        assert.is(told.hosts, PLACES.length, about);
        assert.is(told.fits + sumOf(told.refused.map(({ hosts }) => hosts)), told.hosts, about);
        assert.is(told.fit, told.times >= (request.count ?? 1), about);
        const rough = await client.fit({ ...request, limit: 0 });
        assert.equal([rough.fit, rough.fits, rough.times], [told.fit, told.fits, told.times], about);
        if (told.fit) assert.equal(told.advice, [], about);
        for (const advice of told.advice) {
          assert.ok(advice.code in ADVICE_CODES, advice.code);
          seen.codes.set(advice.code, (seen.codes.get(advice.code) ?? 0) + 1);
          if (advice.code === 'host-state') await backInService(client, request, advice);
          const asked = changed(request, advice);
          if (asked === undefined) continue;
          const then = await client.fit(asked);
          const what = `${about} ${JSON.stringify(advice)} ${then.words.join(' | ')}`;
          assert.ok(then.fit, what);
          if (advice.code === 'less' || advice.code === 'more') assert.ok(then.fits >= advice.hosts, what);
          else if (told.fits === 0 && advice.code !== 'without-kept') assert.is(then.fits, advice.hosts, what);
        }
        if (!told.fit || n % 3 === 0) await holdsTrue(client, `r${n}`, request, told, seen);
      }
    });
  }
  const report = `${JSON.stringify([...seen.codes])} ${[...seen.reasons].join(', ')}`;
  if (process.env.CELLWRIGHT_TEST_VERBOSE) console.log(report, seen.built, seen.failed);
  assert.ok(seen.built > 10 && seen.failed > 20, `${seen.built} built, ${seen.failed} failed`);
});

test.run();
