// Keeping the hosts of a cell: who is up, who went silent, who came back, whom an operator takes out of service.

import type { ComputeServiceEvent } from '../../machines/compute-service.ts';
import type { Address } from '../actor.ts';
import { hostMostLike, likeWords } from '../alike.ts';
import { type AttemptId, attemptKey } from '../attempts.ts';
import { armBuild } from '../builds.ts';
import { BY_OPERATOR } from '../host-words.ts';
import type { CellMessage } from '../messages/cell.ts';
import { cellAddress, computeAddress } from '../routing.ts';
import { SparseSet } from '../sparse-set.ts';
import { order } from './building.ts';
import { clearAway } from './clearing.ts';
import { hostEvent } from './host-event.ts';
import { type Host, isAway, isForeign, stateOfHost, toldHost, whyDisabled } from './hosts.ts';
import { expectedOn, noteMissing, noteRunning } from './missing.ts';
import { destroyingOf } from './removals.ts';
import type { Entry } from './state.ts';
import { commit, type Work } from './work.ts';

export const SWEEP_WAKE = 'sweep-silent';

export function computeUp(
  work: Work,
  { host: hostName, provider, incarnation, challenge, running, listed }: Extract<CellMessage, { type: 'compute-up' }>,
  from: Address,
): void {
  const known = work.state.hosts.get(hostName);
  if (known?.superseded.includes(incarnation)) return work.turn.send(from, { type: 'retired', incarnation });
  const newLife = known?.incarnation !== incarnation;
  if (known !== undefined && newLife && (challenge === undefined || challenge !== known.challenge)) {
    return challengeLife(work, known, incarnation, from);
  }
  // On a host that is new to the cell nothing is of its ordering.
  const strays =
    known === undefined
      ? []
      : running.filter((one) => !belongs(work, one.instance, one.attempt, hostName) && !isForeign(known, one));
  if (known !== undefined && newLife && stateOfHost(known) === 'fenced' && strays.length > 0) {
    return clearFenced(work, known, strays, from);
  }
  if (newLife || known.provider !== provider) {
    // What the cell finds on a host that it never gave an order is not what it ordered, but another cell's or another name's.
    const foreign = known === undefined && running.length > 0 ? { foreign: running } : {};
    commit(work, { type: 'met', host: hostName, provider, incarnation, ...foreign });
  }
  const host = work.state.hosts.get(hostName) as Host;
  const wasAway = isAway(host);
  const wasUnheard = noteHeard(work, host);
  if (known === undefined && running.length > 0) setApart(work, hostName, running.length);
  if (newLife) hostEvent(work, hostName, { type: 'REBORN' });
  hostEvent(work, hostName, { type: 'HEARD' });
  destroyAll(work, host, strays, from);
  // The life of which an operator has said that it is over is made to clear up, and is given nothing else.
  if (stateOfHost(host) === 'fenced') return;
  noteRunning(work, host, running, listed);
  const expected = expectedOn(work, host, running);
  work.turn.send(from, { type: 'welcome', incarnation, ...(expected.length === 0 ? {} : { expected }) });
  if (known === undefined && work.state.removedHosts.has(hostName)) sayTreeIsGone(work, host);
  if (newLife || wasAway) clearAwayOn(work, hostName);
  if (wasUnheard) askForBuilds(work, host);
  if (!newLife || wasUnheard) return;
  // The life before may have forgotten what it was asked: this one is asked again. That gives a build no more time: of a
  // compute that begins anew again and again nothing would ever be held overdue.
  for (const instance of host.building) order(work, work.state.instances.get(instance) as Entry);
}

/**
 * What a fenced host still has was given back on an operator's word: until it is gone the host is given nothing else. It
 * presents itself again as long as it is not welcome, and is told so again.
 */
function clearFenced(work: Work, host: Host, strays: readonly AttemptId[], compute: Address): void {
  const isKnown = (one: AttemptId) =>
    host.clearing.some(({ instance, attempt }) => instance === one.instance && attempt === one.attempt);
  if (host.clearing.length !== strays.length || !strays.every(isKnown)) work.state.feed.untold.add(host.host);
  host.clearing = strays;
  destroyAll(work, host, strays, compute);
}

/** Of a host that is back: what its compute has told placement of it may have been withdrawn since. */
export function sayTreeIsGone({ turn, cell }: Work, { host, provider }: Host): void {
  turn.send(computeAddress(cell, host), { type: 'tree-withdrawn', ask: 0, root: provider });
}

/** A host tells of them until they are gone, and is asked for it each time; that is recorded once. */
function destroyAll(work: Work, host: Host, strays: readonly AttemptId[], compute: Address): void {
  for (const one of strays) {
    const { instance, attempt } = one;
    if (!host.strays.has(attemptKey(one))) commit(work, { type: 'stray', host: host.host, instance, attempt });
    work.turn.send(compute, { type: 'destroy', instance, attempt });
  }
  host.strays = new SparseSet(strays.map(attemptKey));
}

/** The cell could hear nobody until now: hosts are given time to speak. */
export function couldNotHear({ state, turn }: Work): void {
  for (const host of state.hosts.values()) Object.assign(host, { heard: turn.steady, isUnheard: true });
}

/** Takes note that a host has spoken; answers whether that is its first word since the cell could hear nobody. */
function noteHeard({ turn }: Work, host: Host): boolean {
  const { isUnheard } = host;
  Object.assign(host, { heard: turn.steady, heardAt: turn.now, isUnheard: false });
  return isUnheard;
}

/** Asks a host, now that it can be heard, for all that it should be building, and gives it until it would be asked again. */
function askForBuilds(work: Work, { host, building }: Host): void {
  for (const instance of building) {
    const entry = work.state.instances.get(instance) as Entry;
    order(work, entry);
    armBuild(entry.build, work, computeAddress(work.cell, host));
  }
}

/** Until an operator has looked into it nothing new goes there, since nobody knows what room there is. */
function setApart(work: Work, hostName: string, count: number): void {
  const what = count === 1 ? 'an instance runs there that' : `${count} instances run there that`;
  const reason = `${what} cell '${work.cell}' did not order: another cell's, or of a name or a journal that is no more; see the audit`;
  hostEvent(work, hostName, { type: 'DISABLE', reason });
}

/**
 * Two lives of a compute: only one that answers now can take the place of the one that is known. All are asked with one
 * number: two that present themselves at once would else make out of date, for ever, what the other was asked with.
 */
function challengeLife({ turn }: Work, known: Host, incarnation: string, from: Address): void {
  known.challenge ??= Math.max(turn.now, known.lastChallenge + 1);
  known.lastChallenge = known.challenge;
  turn.send(from, { type: 'who-are-you', incarnation, challenge: known.challenge });
}

/** Asks a host at once for everything that it still has to clear away. */
function clearAwayOn(work: Work, hostName: string): void {
  for (const removal of work.state.removals.ofHost(hostName)) {
    removal.repeats = 0;
    clearAway(work, removal);
  }
}

/** Whether an attempt that runs on a host is the one that should. */
function belongs(work: Work, instance: string, attempt: number, host: string): boolean {
  const entry = work.state.instances.get(instance);
  if (entry === undefined || entry.deleting || entry.lost !== null) return false;
  const { selection, attempt: current } = entry.build.snapshot.context;
  return selection?.host === host && current === attempt;
}

/**
 * What is built on a host and should not be there any more, nor is to be cleared away already, is destroyed: an order that
 * was held up until its compute had forgotten that the attempt is over was carried out.
 */
export function destroyStray(work: Work, { host, instance, attempt }: AttemptId & { readonly host: string }): void {
  if (!work.state.hosts.has(host) || belongs(work, instance, attempt, host)) return;
  // Attempts only count up: of one that is still to come nobody has a word. What the cell does not know is not its own.
  const current = work.state.instances.get(instance)?.build.snapshot.context.attempt;
  if (current === undefined ? !work.state.deleted.has(instance) : attempt > current) return;
  // What is given back already, since nothing of it was there, is destroyed all the same.
  if (destroyingOf(work.state.removals, instance, attempt) !== undefined) return;
  commit(work, { type: 'stray', host, instance, attempt });
  work.turn.send(computeAddress(work.cell, host), { type: 'destroy', instance, attempt, isSeen: true });
}

/**
 * Looks for silent hosts by and by: the cell says a word to itself, and looks when it hears it. Cut off from the bus it
 * hears neither that nor any host, and so finds none of them silent.
 */
export function sweepByEcho(work: Work): void {
  const { cell, turn } = work;
  turn.send(cellAddress(cell), { type: 'echo' });
  turn.wakeAfter(SWEEP_WAKE, sweepEveryMs(work));
}

const sweepEveryMs = ({ silentMs }: Work): number => silentMs / 3;

/** How many hosts, and builds on them, are lost in one turn: of a large cell half may go silent at once. */
const MOST_LOST_IN_TURN = 100;
/** How long until the next ones are, ms: others have a turn meanwhile. */
const SWEEP_ON_MS = 5;

/** Whether it has been held up or cut off, and could hear nobody. */
export function wasHeldUp({ state, turn, silentMs }: Work): boolean {
  return turn.steady - state.swept > silentMs / 2;
}

export function sweepSilent(work: Work): void {
  const { state, turn, silentMs } = work;
  if (wasHeldUp(work)) couldNotHear(work);
  state.swept = turn.steady;
  let lost = 0;
  for (const host of state.hosts.values()) {
    if (isAway(host) || host.heard + silentMs > turn.steady) continue;
    if (lost >= MOST_LOST_IN_TURN) return turn.wakeAfter(SWEEP_WAKE, SWEEP_ON_MS);
    lost += 1 + host.building.size;
    hostEvent(work, host.host, { type: 'SILENT' });
  }
}

export function setHost(work: Work, asked: Extract<CellMessage, { type: 'set-host' }>, from: Address): void {
  const { enabled, reason } = asked;
  const host = hostToSet(work, asked, from);
  if (host === null) return;
  const event = enabled ? { type: 'ENABLE' as const } : { type: 'DISABLE' as const, reason: reason ?? BY_OPERATOR };
  setTo(work, host, event, asked.ask, from);
}

/** Takes an operator's word that nothing runs on a host: not while its compute is there to say otherwise. */
export function fenceHost(work: Work, asked: Extract<CellMessage, { type: 'fence-host' }>, from: Address): void {
  const { ask, host: hostName } = asked;
  const host = hostToSet(work, asked, from);
  if (host === null) return;
  if (!isAway(host)) {
    const least = Math.ceil(work.silentMs / 1_000);
    const most = Math.ceil((work.silentMs + sweepEveryMs(work)) / 1_000);
    const silence = least === most ? least : `${least} to ${most}`;
    const reason = `host '${hostName}' of cell '${work.cell}' is ${toldHost(host, work.state.service).state}: only one that is down can be fenced; power it off first, it counts as down after ${silence} s of silence`;
    return work.turn.send(from, { type: 'declined', ask, code: 'host-is-up', reason, field: 'host' });
  }
  // A life that answered before it was said to be over, and whose answer comes late, is asked again.
  host.challenge = null;
  setTo(work, host, { type: 'FENCE' }, ask, from);
}

function setTo(work: Work, host: Host, event: ComputeServiceEvent, ask: number, from: Address): void {
  commit(work, { type: 'host-set', host: host.host });
  hostEvent(work, host.host, event);
  const { service } = work.state;
  const { state } = toldHost(host, service);
  const reason = whyDisabled(host, service);
  // Of one that is away the setting takes all the same, and of one that is back in service its cell's does: the state does not
  // tell these.
  const isTold = reason !== null && (isAway(host) || host.service.context.disabledReason === null);
  const disabled = isTold ? { disabled: reason } : {};
  work.turn.send(from, { type: 'host-set', ask, host: host.host, state, ...disabled });
}

/** An operator takes the whole cell out of service, or puts it back: builds that have a host there go on. */
export function setCell(
  work: Work,
  { ask, enabled, reason, revision }: Extract<CellMessage, { type: 'set-cell' }>,
  from: Address,
): void {
  const { state, turn, cell } = work;
  if (revision !== undefined && revision !== state.service.revision) {
    const outdated = `cell '${cell}' is at revision ${state.service.revision}, not ${revision}: it has been set otherwise`;
    return turn.send(from, { type: 'declined', ask, code: 'outdated', reason: outdated, field: 'revision' });
  }
  if (enabled !== undefined) commit(work, { type: 'cell-set', disabled: enabled ? null : (reason ?? BY_OPERATOR) });
  const { disabled, revision: now } = state.service;
  turn.send(from, { type: 'cell-set', ask, ...(disabled === null ? {} : { disabled }), revision: now });
}

/** Null: there is no such host, or somebody has set it meanwhile; the asker is told. */
export function hostToSet(
  { state, cell, turn }: Work,
  { ask, host: hostName, revision }: { ask: number; host: string; revision?: number },
  from: Address,
): Host | null {
  const host = state.hosts.get(hostName);
  if (host === undefined) {
    const like = likeWords(hostMostLike(cell, hostName, state.hosts.keys()));
    const reason = `cell '${cell}' has no host '${hostName}'${like}`;
    turn.send(from, { type: 'declined', ask, code: 'not-found', reason, field: 'host' });
    return null;
  }
  // What was held up on its way must not undo what was said since, and acknowledged.
  if (revision === undefined || revision === host.revision) return host;
  const reason = `host '${hostName}' of cell '${cell}' is at revision ${host.revision}, not ${revision}: it has been set otherwise`;
  turn.send(from, { type: 'declined', ask, code: 'outdated', reason, field: 'revision' });
  return null;
}

export function alive(
  work: Work,
  { host: hostName, incarnation, metrics, missing, listed }: Extract<CellMessage, { type: 'alive' }>,
  from: Address,
): void {
  const host = work.state.hosts.get(hostName);
  // Two computes of one host would take turns for ever: the one that presented itself last stays.
  if (host?.superseded.includes(incarnation)) return work.turn.send(from, { type: 'retired', incarnation });
  if (host?.incarnation !== incarnation) return work.turn.send(from, { type: 'who-are-you' });
  if (noteHeard(work, host)) askForBuilds(work, host);
  if (metrics !== undefined || host.metrics !== undefined) work.state.feed.recounted.add(hostName);
  host.metrics = metrics;
  if (missing !== undefined) noteMissing(work, host, missing, listed);
  const wasAway = isAway(host);
  hostEvent(work, hostName, { type: 'HEARD' });
  if (!wasAway) return;
  // Builds went elsewhere while it was silent: it is to say what it has, and clear up what it should not.
  work.turn.send(from, { type: 'who-are-you' });
  if (!isAway(host)) clearAwayOn(work, hostName);
}
