// The parts by themselves, in process: a step of a machine, a claim, a selection.

import type { Message, Turn } from '../../actors/actor.ts';
import type { Claim } from '../../actors/messages/placement.ts';
import { placement } from '../../actors/placement/placement.ts';
import { buildLimit, instanceLimit } from '../../actors/scheduler/filters/limits.ts';
import { best } from '../../actors/scheduler/picking.ts';
import { emptyRankings, statsMatter } from '../../actors/scheduler/ranking/ranking.ts';
import { scheduler } from '../../actors/scheduler/scheduler.ts';
import { emptyView, learnProvider, learnUsage, type View } from '../../actors/scheduler/view/view.ts';
import { learnHost, passTime, promiseBuild } from '../../actors/scheduler/view/view-hosts.ts';
import { fewBuilds } from '../../actors/scheduler/weighers/busyness.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { instanceBuild } from '../../machines/instance-build.ts';
import { begin, step } from '../../machines/step.ts';
import { type Random, seededRandom } from '../../runtime/random.ts';
import { aStep, type Limits, manyRequests, manySteps, perSecond } from './limits.ts';
import { resourcesOf } from './load.ts';
import { progress, quantile, type Report } from './report.ts';

export const silentTurn: Turn<unknown> = {
  now: 0,
  steady: 0,
  record() {},
  send() {},
  publish() {},
  wakeAfter() {},
  cancelWake() {},
};

export const spec = { groups: [{ name: '', resources: { VCPU: 1, MEMORY_MB: 512 } }], groupPolicy: 'none' as const };

export function stepOfMachine(limits: Limits, report: Report): void {
  progress('steps of a machine');
  const selection = { cell: 'c1', host: 'h1', provider: 'p1', allocations: [] };
  const chosen = { type: 'SELECTED' as const, selection, alternates: [] };
  const { snapshot } = begin(instanceBuild, { instance: 'i' });
  const value = perSecond(1_000_000, () => step(instanceBuild, snapshot, chosen));
  report({ name: 'one step of a build machine', value, unit: 'a second', beside: manySteps(limits) });
}

export function inventory(total: number) {
  return { total, reserved: 0, min_unit: 1, max_unit: total, step_size: 1, allocation_ratio: 1 };
}

export function provider(n: number, vcpus: number) {
  const inventories = { VCPU: inventory(vcpus), MEMORY_MB: inventory(vcpus * 1_024) };
  return { id: `p${n}`, name: `p${n}`, parent: null, inventories, traits: [], aggregates: [] };
}

export function claimsInActor(limits: Limits, report: Report): void {
  for (const [providers, vcpus, name] of [
    [10_000, 64, 'on 10,000 providers'],
    [1, 1_000_000, 'on one hot provider'],
  ] as const) {
    const actor = placement({ shard: 0 });
    const state = actor.init();
    const tell = (message: Message) => actor.receive(state, message as never, 'bench', silentTurn as Turn<never>);
    for (let n = 0; n < providers; n += 1)
      tell({ type: 'put-tree', ask: 0, providers: [provider(n, vcpus)] } as Message);
    actor.endTurn?.(state, silentTurn as Turn<never>);
    const value = perSecond(200_000, (n) => {
      const allocations = [{ provider: `p${n % providers}`, group: '', resources: spec.groups[0]?.resources }];
      tell({ type: 'claim', consumer: `i${n}`, attempt: 1, spec, allocations, keep: [], expiresAt: 1 } as Message);
      if (n % 256 === 255) actor.endTurn?.(state, silentTurn as Turn<never>);
    });
    const beside = manyRequests(limits);
    report({ name: `claims decided in the actor, ${name}`, value, unit: 'a second', beside });
  }
}

/** Of requests that differ in amounts: as many as rankings are kept of, and more. */
const SIZES = [100, 2_000];

/** How many selections each figure is taken from, after the first so many; fewer where all hosts are weighed for each. */
const SELECTIONS = { most: 20_000, ofManySizes: 4_000 };
const FIRST = 100;

/** A scheduler's picture of a fleet in ten cells, of which every tenth host is in an aggregate. */
function fleetOf(hosts: number): View {
  const view = emptyView();
  fillView(view, hosts);
  return view;
}

function fillView(view: View, hosts: number): void {
  for (let n = 0; n < hosts; n += 1) {
    const aggregates = n % 10 === 0 ? ['ssd'] : [];
    learnProvider(view, { ...provider(n, 64), aggregates, root: `p${n}`, generation: 0, used: {} });
    learnHost(view, `c${n % 10}`, { host: `h${n}`, provider: `p${n}`, state: 'up' });
  }
}

/** Between two selections: three hosts are used by others, and a cell tells of what a fourth is doing. */
function churn(view: View, hosts: number, n: number, random: Random): void {
  for (let change = 0; change < 3; change += 1) {
    const used = { VCPU: random.integer(0, 60), MEMORY_MB: 0 };
    learnUsage(view, { id: `p${random.integer(0, hosts - 1)}`, generation: 3 * n + change + 1, used }, 0);
  }
  const host = random.integer(0, hosts - 1);
  const stats = { instances: random.integer(0, 40), builds: random.integer(0, 4) };
  learnHost(view, `c${host % 10}`, { host: `h${host}`, provider: `p${host}`, state: 'up', stats });
  passTime(view, { now: n, steady: n });
}

export function selects(limits: Limits, report: Report): void {
  const beside = aStep(limits);
  const filters = [instanceLimit(), buildLimit()];
  const plain = {
    name: '',
    rankings: () => emptyRankings(DEFAULT_WEIGHERS, 'bench'),
    requestOf: () => ({ spec }),
    selections: SELECTIONS.most,
  };
  const sized = SIZES.map((sizes) => {
    const requests = Array.from({ length: sizes }, (_, n) => ({
      spec: { ...spec, groups: [{ name: '', resources: resourcesOf(n, sizes) }] },
    }));
    return {
      ...plain,
      name: `, of ${sizes.toLocaleString('en')} sizes`,
      requestOf: (n: number) => requests[n % sizes] as (typeof requests)[number],
      selections: sizes === SIZES[0] ? SELECTIONS.most : SELECTIONS.ofManySizes,
    };
  });
  const rich = {
    ...plain,
    name: ', limits and conditions',
    rankings: () => emptyRankings([...DEFAULT_WEIGHERS, fewBuilds], 'bench', { filters, pickAmong: 5 }),
    requestOf: () => ({
      spec: { ...spec, tree: { memberOf: [['ssd']], noneOf: ['p0', 'p10', 'p20'] } },
      where: { avoidCells: ['c1', 'c2'] },
    }),
  };
  for (const { name: what, rankings: make, requestOf, selections } of [plain, rich, ...sized]) {
    for (const hosts of [1_000, 10_000, 100_000]) {
      progress(`select of ${hosts} hosts${what}`);
      const random = seededRandom(hosts);
      const view = fleetOf(hosts);
      const rankings = make();
      view.statsMatter = statsMatter(rankings);
      const fleet = { rankings, view };
      const tookUs: number[] = [];
      for (let n = 0; n < FIRST; n += 1) best(fleet, requestOf(n), () => false);
      for (let n = 0; n < selections; n += 1) {
        churn(view, hosts, n, random);
        const request = requestOf(n);
        const begun = performance.now();
        const found = best(fleet, request, () => false, `i${n}`);
        if (found !== null) promiseBuild(view, `i${n}`, found.root, found.allocations);
        tookUs.push((performance.now() - begun) * 1_000);
      }
      const name = `select of ${hosts.toLocaleString('en')} hosts${what}`;
      report({ name: `${name}, p50`, value: quantile(tookUs, 0.5), unit: 'us', beside });
      report({ name: `${name}, p99`, value: quantile(tookUs, 0.99), unit: 'us', beside });
    }
  }
}

/** How many turns each figure is taken from. */
const TURNS = 4_000;

/**
 * Whole turns of a scheduler: from the request to its claim, and from what placement answers to the answer with alternates
 * and the record of the decision, which tells of all hosts. The fleet is used at random, requests are of 100 sizes.
 */
export function turnsOfScheduler(limits: Limits, report: Report): void {
  const beside = aStep(limits);
  for (const hosts of [1_000, 10_000, 100_000]) {
    progress(`turns of a scheduler of ${hosts} hosts`);
    const random = seededRandom(hosts);
    const actor = scheduler({ name: 'bench', warmUpMs: 0, hostsATurn: hosts });
    const state = actor.init();
    fillView(state.view, hosts);
    for (let n = 0; n < hosts; n += 1) {
      const used = { VCPU: random.integer(0, 60), MEMORY_MB: 1_024 * random.integer(0, 60) };
      learnUsage(state.view, { id: `p${n}`, generation: 1, used }, 0);
    }
    state.isForming = false;
    let claim: Claim | undefined;
    const turn: Turn<never> = {
      ...silentTurn,
      send(_, message) {
        if (message.type === 'claim') claim = message as Claim;
      },
    };
    const tell = (message: Message, from: string): number => {
      const begun = performance.now();
      actor.receive(state, message as never, from, turn);
      actor.endTurn?.(state, turn);
      return (performance.now() - begun) * 1_000;
    };
    const took: { readonly select: number[]; readonly granted: number[] } = { select: [], granted: [] };
    for (let n = 0; n < FIRST + TURNS; n += 1) {
      churn(state.view, hosts, n + 1, random);
      const groups = [{ name: '', resources: resourcesOf(n, SIZES[0] as number) }];
      const asked = { request: `r${n}`, round: 1, instances: [`r${n}`], spec: { ...spec, groups }, alternates: 2 };
      claim = undefined;
      const selectUs = tell({ type: 'select', ...asked, expiresAt: 1e12 } as Message, 'conductor/0');
      if (claim === undefined) continue;
      const { consumer, attempt, allocations } = claim as Claim;
      const grantedUs = tell(
        { type: 'claim-granted', consumer, attempt, allocations, usages: [] } as Message,
        'placement/0',
      );
      if (n < FIRST) continue;
      took.select.push(selectUs);
      took.granted.push(grantedUs);
    }
    const name = `of ${hosts.toLocaleString('en')} hosts, of 100 sizes`;
    for (const [what, times] of [
      ['to a claim', took.select],
      ['from its grant to the answer', took.granted],
    ] as const) {
      report({ name: `a scheduler's turn ${what} ${name}, p50`, value: quantile(times, 0.5), unit: 'us', beside });
      report({ name: `a scheduler's turn ${what} ${name}, p99`, value: quantile(times, 0.99), unit: 'us', beside });
    }
  }
}
