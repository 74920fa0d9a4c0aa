// What placement answers to claims, and to the question what is held already: the view learns from it, and the selection
// of the instance goes on.

import type { Address } from '../actor.ts';
import type { ClaimGranted, ClaimRefused, Refusal } from '../messages/placement.ts';
import type { NothingHeld } from '../messages/scheduler.ts';
import { shardOf } from '../routing.ts';
import { advance, gathered, holdsNothing, lookOnceMore } from './choosing.ts';
import { concerns, isAnswer } from './claiming.ts';
import { noteAll, noteGrantedEarlier, noteRefused, noteStanding } from './decision.ts';
import { GROUP_CHANGED, GROUP_CONFLICT } from './group-rules.ts';
import { locate, MOVED } from './locating.ts';
import { tellCame } from './parking-others.ts';
import { haveAllSaid, orderOfClaim, orderOfRecall } from './rounds.ts';
import { contextOf, countToPlace, draftOf, isOpen, openOf, settle, settleRest } from './selecting.ts';
import type { Open, Work } from './state.ts';
import { noteShard } from './view/silence.ts';
import { learnUsage, noteChange, type View, type ViewHost } from './view/view.ts';
import { expectNoMore } from './view/view-hosts.ts';
import { tellGranted } from './weighers/weigher.ts';

/** Refusals after which no other host would do. */
const HOPELESS: ReadonlySet<string> = new Set(['consumer-deleted', 'superseded', 'expired', GROUP_CONFLICT]);

/**
 * The host that was granted. Of one that is known it may be a provider that is not, such as a device that it was given
 * meanwhile: of each provider that was granted its root is told too.
 */
function hostOf({ hosts, providers }: View, { allocations, usages }: ClaimGranted): ViewHost | undefined {
  const root = providers.get(allocations[0]?.provider ?? '')?.root ?? usages.find(({ id }) => hosts.has(id))?.id;
  return hosts.get(root ?? '');
}

export function granted(work: Work, told: ClaimGranted, from: Address): void {
  const { consumer, attempt, allocations, usages } = told;
  const shard = shardOf(from);
  tellCame(work, consumer);
  const open = openOf(work, consumer);
  if (open === undefined || attempt !== 1 || !isAnswer(work, open, told)) {
    for (const usage of usages) learnUsage(work.state.view, usage, shard);
    return;
  }
  settle(work, open, consumer, usages, shard);
  const { rankings, view } = work.state;
  const isWeighedAnew = tellGranted(rankings.weighers, allocations);
  const host = hostOf(view, told);
  if (host !== undefined && isWeighedAnew) noteChange(view, host.root);
  // An earlier ask was granted a host that this scheduler has not heard of yet: the asker will ask again.
  if (host === undefined) {
    open.heldUnheard.add(consumer);
    return;
  }
  // Of one that an earlier ask was granted nothing was ranked here: how hosts stand now is what can be said.
  const draft = open.drafts.get(consumer);
  if (draft === undefined) {
    noteStanding(draftOf(open, consumer), work.state, open.request, countToPlace(open));
  } else if (contextOf(open, consumer).candidate?.provider !== host.root) noteGrantedEarlier(draft, host);
  const held = { cell: host.cell, host: host.host, provider: host.root, allocations };
  advance(work, open, consumer, { type: 'GRANTED', held });
  if (open.gathering !== null && isOpen(work, open)) gathered(work, open);
  lookAgainForStranded(work, open);
}

/** What placement said, which knows no cells: hosts of several cells may have one name. */
function withCell({ hosts }: View, { message, provider }: Refusal): string {
  const named = hosts.get(provider ?? '');
  return named === undefined ? message : message.replace(`host '${named.host}'`, `host '${named.cell}/${named.host}'`);
}

export function refused(work: Work, { consumer, refusal, usages, order }: ClaimRefused, from: Address): void {
  for (const usage of usages) learnUsage(work.state.view, usage, shardOf(from));
  const open = openOf(work, consumer);
  const hopeless = HOPELESS.has(refusal.code);
  if (open?.machines.has(consumer) !== true || order !== orderOfClaim(work, open, consumer).order) {
    // Nobody waits for the answer any more, such as of one that was deleted meanwhile; the picture was out of date all the same.
    // Within a try only a refusal takes the order further: that of an earlier claim was counted, and this one was said twice.
    const isCounted = open?.machines.has(consumer) === true && order !== undefined && order > orderOfRecall(open);
    if (!hopeless && !isCounted) work.state.conflicts += 1;
    return;
  }
  // A claim that was said twice is refused twice: the second time another host is being asked already.
  if (!hopeless && usages.length > 0 && !concerns(usages, open, consumer)) return;
  expectNoMore(work.state.view, consumer);
  settle(work, open, consumer);
  if (!hopeless) {
    work.state.conflicts += 1;
    work.state.view.takenAt = work.turn.steady;
  }
  const { candidate } = contextOf(open, consumer);
  if (candidate !== null)
    noteRefused(draftOf(open, consumer), candidate, refusal.code, withCell(work.state.view, refusal));
  const reason = `${refusal.code}: ${refusal.message}`;
  if (hopeless) open.hopeless = refusal.code;
  if (refusal.code === GROUP_CONFLICT) {
    settleRest(work, open);
    noteAll(draftOf(open, consumer), work.state, open.request, countToPlace(open));
  }
  const isChanged = refusal.code === GROUP_CHANGED;
  const isElsewhere = isChanged && open.asked.spec.instanceGroup?.policy === 'soft-affinity';
  if (isElsewhere || refusal.code === 'group-affinity') {
    open.request = { ...open.request, groupAt: refusal.provider };
  }
  const hasMoved = MOVED.has(refusal.code);
  if (hasMoved && open.locating === null) {
    // It has just been heard, and must say where they are.
    noteShard(work.state.view, shardOf(from), false);
    locate(work, open);
  }
  const isPassing = hasMoved || isChanged;
  advance(work, open, consumer, hopeless ? { type: 'GAVE_UP', reason } : { type: 'REFUSED', reason, isPassing });
  lookAgainForStranded(work, open);
}

export function nothingHeld(work: Work, { consumer: instance, order }: NothingHeld, from: Address): void {
  const open = openOf(work, instance);
  if (open === undefined || open.machines.get(instance)?.value !== 'recalling') return;
  if (haveAllSaid(work, open, instance, order, from)) holdsNothing(work, open, instance);
}

/** All that was claimed is answered: those that were left without a host are looked at once more, and told. */
function lookAgainForStranded(work: Work, open: Open): void {
  if (open.promised.size > 0) return;
  for (const instance of [...open.stranded]) {
    open.stranded.delete(instance);
    if (!isOpen(work, open) || open.failing) return;
    if (open.machines.get(instance)?.value === 'recalling') lookOnceMore(work, open, instance);
  }
}
