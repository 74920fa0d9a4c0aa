// Area: Placement API, several shards. Many callers through several fronts at once, in any order, while shards die: what
// is one in the deployment stays one, nobody sees half of a change, and nothing is left over. CELLWRIGHT_CHANCE_RUNS tells how many runs; default 40.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApiOutcome } from '../../../actors/messages/placement-api.ts';
import type { ConsumerView, ProviderSummary, Usages } from '../../../actors/placement/api/reads.ts';
import { fnv1a } from '../../../actors/routing.ts';
import { CellwrightError, TimeoutError } from '../../../runtime/errors.ts';
import type { Authority } from '../../../runtime/placement-api/authority.ts';
import { type Random, seededRandom } from '../../../runtime/random.ts';
import { hostOf, SHARDS } from '../../support/shards.ts';
import { type World, worldOf } from './world.ts';

const test = suite('Placement API, several shards - chance');
const RUNS = Number(process.env.CELLWRIGHT_CHANCE_RUNS ?? 40);
const STEPS = 14;
const CALLERS = 4;

const IDS = ['p0', 'p1', 'p2', 'p3'];
const NAMES = ['n0', 'n1', 'n2', 'n3', 'n4'];
const CLASSES = ['CUSTOM_A', 'CUSTOM_B'];
/** What shards tell a front, and a front no caller. */
const INSIDE = new Set(['consumer-moved', 'changed-meanwhile', 'name-exists']);
const inventory = { total: 8, reserved: 0, min_unit: 1, max_unit: 8, step_size: 1, allocation_ratio: 1 };
const owner = { project: 'pairs', user: 'user' };

interface Ledger {
  readonly faults: string[];
  /** Who was told to have made a new consumer, by consumer. */
  readonly winners: Map<string, string[]>;
  contests: number;
}

/** What came of it, or null when it is not known. */
async function tried<Content>(asked: Promise<ApiOutcome>, { faults }: Ledger): Promise<Content | string | null> {
  try {
    const outcome = await asked;
    const code = 'refused' in outcome ? outcome.refused.code : 'ok';
    if (INSIDE.has(code)) faults.push(`a caller was told '${code}'`);
    return 'refused' in outcome ? code : (outcome.ok as Content);
  } catch (error) {
    const isKnown = error instanceof TimeoutError || (error instanceof CellwrightError && error.retryable);
    if (!isKnown) faults.push(String(error));
    return null;
  }
}

const host = (random: Random) => hostOf(random.integer(0, SHARDS - 1));

/** It holds as much of one host as of another, or nothing. */
function pair(random: Random, consumer: string) {
  const vcpu = random.integer(1, 2);
  const [one, other] = random.shuffle([0, 1, 2]).map(hostOf) as [string, string];
  const hosts = random.chance(0.2) ? [] : [one, other];
  const allocations = hosts.map((provider) => ({ provider, resources: { VCPU: vcpu } }));
  return { consumer, allocations, ...owner };
}

function checkPair(view: ConsumerView, { faults }: Ledger): void {
  const amounts = Object.values(view.allocations).map(({ resources }) => resources.VCPU);
  if (amounts.length === 0 || (amounts.length === 2 && amounts[0] === amounts[1])) return;
  faults.push(`half of a change: ${JSON.stringify(view.allocations)}`);
}

async function act(front: Authority, random: Random, ledger: Ledger): Promise<void> {
  const ask = <Content>(question: Parameters<Authority['ask']>[0]) => tried<Content>(front.ask(question), ledger);
  const id = random.pick(IDS);
  const name = random.pick(NAMES);
  const resourceClass = random.pick(CLASSES);
  switch (random.integer(0, 15)) {
    case 0:
    case 1: {
      const consumers = random.chance(0.3) ? [pair(random, 'one'), pair(random, 'two')] : [pair(random, 'one')];
      await ask({ type: 'allocations-put', consumers });
      return;
    }
    case 2:
      await ask({ type: 'allocations-delete', consumer: 'one' });
      return;
    case 3:
    case 4: {
      ledger.contests += 1;
      const consumer = `new-${random.integer(0, 3)}`;
      const provider = host(random);
      const change = {
        consumer,
        allocations: [{ provider, resources: { VCPU: 1 } }],
        project: 'new',
        user: 'u',
        generation: null,
      };
      const outcome = await ask({ type: 'allocations-put', consumers: [change] });
      if (outcome !== null && typeof outcome === 'string') return;
      const known = outcome === null ? `${provider}?` : provider;
      ledger.winners.set(consumer, [...(ledger.winners.get(consumer) ?? []), known]);
      return;
    }
    case 5:
    case 6:
    case 7: {
      const parent = random.chance(0.6) ? null : random.pick([...IDS, hostOf(0), hostOf(2)]);
      await ask({ type: 'provider-create', id, name, parent });
      return;
    }
    case 8:
    case 9: {
      const parent = random.pick([null, ...IDS, hostOf(1)]);
      await ask({ type: 'provider-update', id, name, parent, reparent: true });
      return;
    }
    case 10:
      await ask({ type: 'provider-delete', id });
      return;
    case 11:
      await ask({ type: random.chance(0.6) ? 'class-put' : 'class-delete', name: resourceClass });
      return;
    case 12: {
      const inventories = random.chance(0.6) ? { [resourceClass]: inventory } : {};
      await ask({ type: 'inventories-put', id, how: 'all', inventories, removed: [], allReserved: true });
      return;
    }
    case 13: {
      const view = await ask<ConsumerView>({ type: 'consumer-show', consumer: 'one' });
      if (view !== null && typeof view !== 'string') checkPair(view, ledger);
      return;
    }
    case 14: {
      const usages = await ask<Usages>({ type: 'usages', project: 'pairs' });
      if (usages === null || typeof usages === 'string') return;
      const { consumers = 0, resources = {} } = usages[''] ?? {};
      const vcpu = resources.VCPU ?? 0;
      // One consumer holds 2 or 4, two hold 4, 6 or 8.
      const possible = [[0], [2, 4], [4, 6, 8]][consumers] ?? [];
      if (!possible.includes(vcpu)) ledger.faults.push(`usages of ${consumers} consumers: ${vcpu} VCPU`);
      return;
    }
    default: {
      const found = await ask<ProviderSummary[]>({
        type: 'providers-find',
        memberOf: [],
        notMemberOf: [],
        required: [],
        forbidden: [],
        resources: {},
      });
      if (found === null || typeof found === 'string') return;
      const ids = found.map((one) => one.id);
      if (new Set(ids).size < ids.length) ledger.faults.push(`listed twice: ${ids.sort().join()}`);
      const names = found.map((one) => one.name);
      if (new Set(names).size < names.length) ledger.faults.push(`two with one name: ${names.sort().join()}`);
    }
  }
}

/** What does not hold in the states of the shards, when all is quiet. */
function faultsAtTheEnd({ on }: World): string[] {
  const faults: string[] = [];
  const states = on.shards.map(({ state }) => state);
  const seen = { id: new Map<string, number>(), name: new Map<string, number>() };
  for (const [shard, { holds, transactions, providers, consumers, homes, trees }] of states.entries()) {
    if (holds.open.size + holds.locks.size + holds.parked.length > 0) faults.push(`shard ${shard} still holds`);
    if (transactions.known.size > 0) faults.push(`shard ${shard} has not settled ${[...transactions.known.keys()]}`);
    const used = new Map<string, number>();
    for (const [id, { held, generation }] of consumers.holding) {
      for (const { allocations } of held) {
        for (const { provider, resources } of allocations) {
          used.set(provider, (used.get(provider) ?? 0) + (resources.VCPU ?? 0));
        }
      }
      const home = fnv1a(id) % SHARDS;
      if (shard !== home && !states[home]?.homes.get(id)?.includes(shard)) faults.push(`${id}: its home knows nothing`);
      const others = states.map((state) => state.consumers.holding.get(id)?.generation ?? generation);
      if (others.some((other) => other !== generation)) faults.push(`${id} has the generations ${others.join()}`);
    }
    for (const [id, others] of homes) {
      const gone = others.filter((other) => !states[other]?.consumers.holding.has(id));
      if (gone.length > 0) faults.push(`${id} is registered with ${gone.join()}, and is not there`);
    }
    for (const [id, { spec, root, stocks }] of providers) {
      for (const [kind, value] of [['id', id] as const, ['name', spec.name] as const]) {
        if (seen[kind].has(value)) faults.push(`two providers have the ${kind} ${value}`);
        seen[kind].set(value, shard);
      }
      if (spec.parent !== null && providers.get(spec.parent)?.root !== root) faults.push(`${id} is in no tree`);
      if (!trees.get(root)?.includes(id)) faults.push(`${id} is not listed in its tree`);
      const vcpu = stocks.get('VCPU');
      if ((vcpu?.used ?? 0) !== (used.get(id) ?? 0)) faults.push(`${id}: ${vcpu?.used} used, ${used.get(id)} held`);
      if (vcpu !== undefined && vcpu.used > vcpu.capacity) faults.push(`${id} has too much used`);
    }
    const unknown = [...providers.values()].flatMap(({ spec }) => Object.keys(spec.inventories));
    for (const name of unknown) {
      if (name.startsWith('CUSTOM_') && !states.every(({ catalog }) => catalog.classes.has(name))) {
        faults.push(`an inventory of ${name}, and not all shards know the class`);
      }
    }
  }
  const catalogs = new Set(states.map(({ catalog }) => [...catalog.classes].sort().join()));
  if (catalogs.size > 1) faults.push(`the catalogs differ: ${[...catalogs].join(' | ')}`);
  return faults;
}

/** Of those who were told to have made a new consumer one did; of the others it must not be known. */
function faultsOfContests({ winners }: Ledger, { on }: World): string[] {
  return [...winners].flatMap(([consumer, told]) => {
    const sure = told.filter((one) => !one.endsWith('?'));
    const holds = on.held(consumer).flatMap((amounts, shard) => (amounts.length > 0 ? [hostOf(shard)] : []));
    if (sure.length > 1) return [`${consumer} was made by ${sure.join()}`];
    if (holds.length > 1) return [`${consumer} holds of ${holds.join()}`];
    const missing = sure.filter((one) => !holds.includes(one));
    return missing.map((one) => `${consumer} was made on ${one}, and holds of ${holds.join()}`);
  });
}

async function runOnce(seed: string, deaths: number, ledger: Ledger): Promise<string[]> {
  const random = seededRandom(seed);
  const world = worldOf(random.fork('world'));
  const callers = Array.from({ length: CALLERS }, async (_, caller) => {
    const mine = random.fork(`caller ${caller}`);
    const front = world.front();
    for (let step = 0; step < STEPS; step += 1) await act(front, mine, ledger);
  });
  await world.run(Promise.all(callers), deaths);
  await world.settle();
  world.on.check();
  return [...ledger.faults, ...faultsAtTheEnd(world), ...faultsOfContests(ledger, world)];
}

for (const [how, deaths] of [
  ['in any order', 0],
  ['while shards die', 0.004],
] as const) {
  test(`what callers do at once, ${how}, leaves all in order`, async () => {
    let contests = 0;
    for (let run = 0; run < RUNS; run += 1) {
      const ledger: Ledger = { faults: [], winners: new Map(), contests: 0 };
      const seed = `${how} ${run}`;
      const faults = await runOnce(seed, deaths, ledger);
      assert.equal(faults, [], seed);
      contests += ledger.contests;
    }
    assert.ok(contests > RUNS);
  });
}

test.run();
