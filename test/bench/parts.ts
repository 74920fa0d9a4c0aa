// The parts by themselves, in process: a step of a machine, a claim, a selection.

import type { Message, Turn } from '../../actors/actor.ts';
import { placement } from '../../actors/placement/placement.ts';
import { best } from '../../actors/scheduler/picking.ts';
import { emptyRankings } from '../../actors/scheduler/ranking.ts';
import { emptyView, learnProvider, promise } from '../../actors/scheduler/view.ts';
import { learnHost } from '../../actors/scheduler/view-hosts.ts';
import { DEFAULT_WEIGHERS } from '../../actors/scheduler/weighers/defaults.ts';
import { instanceBuild } from '../../machines/instance-build.ts';
import { begin, step } from '../../machines/step.ts';
import type { Figure } from './bench.ts';

type Report = (figure: Figure) => void;

export const silentTurn: Turn<unknown> = {
  now: 0,
  record() {},
  send() {},
  publish() {},
  wakeAt() {},
  cancelWake() {},
};

export const spec = { groups: [{ name: '', resources: { VCPU: 1, MEMORY_MB: 512 } }], groupPolicy: 'none' as const };

function perSecond(times: number, once: (n: number) => void): number {
  const begun = performance.now();
  for (let n = 0; n < times; n += 1) once(n);
  return (times / (performance.now() - begun)) * 1_000;
}

export function stepOfMachine(report: Report): void {
  const selection = { cell: 'c1', host: 'h1', provider: 'p1', allocations: [] };
  const value = perSecond(100_000, () => {
    const { snapshot } = begin(instanceBuild, { instance: 'i' });
    const claimed = step(instanceBuild, snapshot, { type: 'SELECTED', selection, alternates: [] });
    step(instanceBuild, claimed.snapshot, { type: 'BUILT', attempt: 1 });
  });
  report({ name: 'one build machine begun and stepped twice', value, unit: 'a second' });
}

function inventory(total: number) {
  return { total, reserved: 0, min_unit: 1, max_unit: total, step_size: 1, allocation_ratio: 1 };
}

export function provider(n: number, vcpus: number) {
  const inventories = { VCPU: inventory(vcpus), MEMORY_MB: inventory(vcpus * 1_024) };
  return { id: `p${n}`, name: `p${n}`, parent: null, inventories, traits: [], aggregates: [] };
}

export function claimsInActor(report: Report): void {
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
    report({ name: `claims decided in the actor, ${name}`, value, unit: 'a second' });
  }
}

export function selects(report: Report): void {
  for (const hosts of [1_000, 10_000, 100_000]) {
    const view = emptyView();
    for (let n = 0; n < hosts; n += 1) {
      learnProvider(view, { ...provider(n, 64), root: `p${n}`, generation: 0, used: {} });
      learnHost(view, `c${n % 10}`, { host: `h${n}`, provider: `p${n}`, state: 'up' });
    }
    const rankings = emptyRankings(DEFAULT_WEIGHERS, 'bench');
    const tookMs: number[] = [];
    best(rankings, view, { spec }, () => false);
    for (let n = 0; n < 20_000; n += 1) {
      const begun = performance.now();
      const found = best(rankings, view, { spec }, () => false);
      if (found !== null) promise(view, found.allocations, 1);
      tookMs.push(performance.now() - begun);
    }
    tookMs.sort((one, other) => one - other);
    const name = `select of ${hosts.toLocaleString('en')} hosts`;
    report({ name: `${name}, p50`, value: (tookMs[10_000] ?? 0) * 1_000, unit: 'us' });
    report({ name: `${name}, p99`, value: (tookMs[19_800] ?? 0) * 1_000, unit: 'us' });
  }
}
