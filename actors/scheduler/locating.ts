// Finding out where the instances are that a request wants to be with, or apart from, and whether the members of its group
// have another rule: every shard of placement is asked, since any may hold something for them. The request waits for all
// answers, but for those of shards that are silent: where what they hold is theirs alone to say, they say it at the claim.

import type { RequestSpec } from '../messages/common.ts';
import type { Located } from '../messages/placement.ts';
import { append } from '../multimap.ts';
import { placementAddress } from '../routing.ts';
import { mayHaveOtherRule, otherRuleOf } from './group-rules.ts';
import type { Company } from './request.ts';
import type { Locating, Open, Work } from './state.ts';
import { silencedIn } from './view/silence.ts';

/** Whether it wants to be with other instances, or apart from them: where they are must be known before a host is chosen. */
export function namesOthers({ tree }: RequestSpec): boolean {
  return tree?.heldBy !== undefined || tree?.notHeldBy !== undefined;
}

/** What placement says of a claim when others are not where they were located. */
export const MOVED: ReadonlySet<string> = new Set(['consumer-missing', 'consumer-present']);

/** Asks, or asks again those who have not answered. */
export function locate(work: Work, open: Open): void {
  const { spec, instances } = open.asked;
  if (open.locating !== null) {
    askWhere(work, spec, instances, open.locating);
    return;
  }
  open.locating = askWhere(work, spec, instances);
  work.state.locating.set(open.locating.ask, open.key);
}

/**
 * @param instances What is asked for: one of them is named where the request names no others.
 * @param before The question, if it was put before: then it is put again to those who have not answered.
 */
export function askWhere(
  { state, turn, placementShards }: Work,
  { tree, instanceGroup }: RequestSpec,
  instances: readonly string[],
  before?: Locating,
): Locating {
  let locating = before;
  if (locating === undefined) {
    state.asks += 1;
    const waiting = new Set(Array.from({ length: placementShards }, (_, shard) => shard));
    locating = { ask: state.asks, waiting, roots: new Map(), homes: new Map(), rules: new Set() };
  }
  const { heldBy = [], notHeldBy = [] } = tree ?? {};
  const others = [...new Set([...heldBy, ...notHeldBy])];
  const consumers = others.length > 0 ? others : instances.slice(0, 1);
  const group = instanceGroup === undefined ? {} : { group: instanceGroup.id };
  for (const shard of locating.waiting) {
    turn.send(placementAddress(shard), { type: 'locate', ask: locating.ask, consumers, ...group });
  }
  return locating;
}

/** Takes an answer; true when the request knows enough of where everybody is, and of the rule of its group. */
export function learnLocated(work: Work, open: Open, message: Located): boolean {
  const { locating } = open;
  return locating !== null && learnRoots(locating, message) && endLocating(work, open);
}

/** Goes on with what is known, if that is enough. */
export function endLocating(work: Work, open: Open): boolean {
  const { locating } = open;
  const { spec } = open.asked;
  if (locating === null || !isEnough(work, spec, locating)) return false;
  const isWhole = locating.waiting.size === 0;
  if (!isWhole && mayHaveOtherRule(work.state.view, spec)) return false;
  if (namesOthers(spec)) open.request = { ...open.request, company: companyOf(spec, locating) };
  // A rule that a silent shard may know of is asked for again, if members of another one are told of.
  open.otherRule = otherRuleOf(spec, locating.rules) ?? (isWhole ? null : undefined);
  open.locating = null;
  work.state.locating.delete(locating.ask);
  return true;
}

/**
 * Whether enough is known to choose a host: all, or all that is to be had while some shards are silent. Who is on a host is
 * known by the shard of that host alone, and it refuses the claim of whoever wants to be apart from them; whoever wants to be
 * with one of several must know of all.
 */
export function isEnough(
  { state: { view }, placementShards }: Work,
  spec: RequestSpec,
  { waiting, homes }: Locating,
): boolean {
  if (waiting.size === 0) return true;
  const { heldBy } = spec.tree ?? {};
  const isKnown = (consumer: string) => (homes.get(consumer)?.size ?? 0) > 0;
  if (waiting.size === placementShards || heldBy?.every(isKnown) === false) return false;
  if (!namesOthers(spec)) return false;
  const { shards: silent } = silencedIn(view);
  return [...waiting].every((shard) => silent.has(shard));
}

/** Takes an answer; false when it was not waited for. */
export function learnRoots(locating: Locating, { ask, shard, consumers, rule }: Located): boolean {
  if (locating.ask !== ask || !locating.waiting.delete(shard)) return false;
  if (rule !== undefined) locating.rules.add(rule);
  for (const { consumer, roots, homes = roots } of consumers) {
    note(locating.roots, consumer, roots);
    note(locating.homes, consumer, homes);
  }
  return true;
}

function note(known: Map<string, Set<string>>, consumer: string, roots: readonly string[]): void {
  known.set(consumer, new Set([...(known.get(consumer) ?? []), ...roots]));
}

/** To be with others is to be where they are; to be apart from them also keeps away from where something of them may run. */
export function companyOf(
  { tree }: RequestSpec,
  { roots, homes, waiting }: Pick<Locating, 'roots' | 'homes' | 'waiting'>,
): Company {
  const { heldBy, notHeldBy = [] } = tree ?? {};
  const rootsOf = (consumer: string) => [...(roots.get(consumer) ?? [])];
  const farFrom = new Map<string, string[]>();
  for (const consumer of notHeldBy) {
    for (const root of rootsOf(consumer)) append(farFrom, root, consumer);
  }
  const nowhere =
    waiting.size > 0 ? [] : [...new Set([...(heldBy ?? []), ...notHeldBy])].filter((one) => rootsOf(one).length === 0);
  const apart = { far: new Set(farFrom.keys()), farFrom, nowhere };
  return heldBy === undefined
    ? apart
    : { ...apart, near: new Set(heldBy.flatMap((one) => [...(homes.get(one) ?? [])])), nearTo: heldBy };
}
