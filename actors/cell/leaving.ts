// Hosts that do not come back: an operator says so of one that is fenced. Its providers go first, which placement refuses
// while something is held on them; then the cell forgets it. Should its compute ever speak again, the host is a new one.

import type { Address } from '../actor.ts';
import type { CellMessage } from '../messages/cell.ts';
import { placementOf } from '../routing.ts';
import { hostToSet, sayTreeIsGone } from './hostkeeping.ts';
import { type Host, stateOfHost, toldHost } from './hosts.ts';
import type { CellState, Leaving } from './state.ts';
import { commit, type Work } from './work.ts';

export function removeHost(work: Work, asked: Extract<CellMessage, { type: 'remove-host' }>, from: Address): void {
  const { state, turn, placementShards } = work;
  const { ask, host: name } = asked;
  // Whoever did not get the answer asks again.
  if (!state.hosts.has(name) && state.removedHosts.has(name))
    return answerRemoved(work, { host: name, ask, asker: from });
  const host = hostToSet(work, asked, from);
  if (host === null) return;
  const leaving = { host: name, ask, asker: from };
  const why = whyItStays(work, host);
  if (why !== null) return refuse(work, leaving, why);
  state.leaving.set(host.provider, leaving);
  turn.send(placementOf(host.provider, placementShards), { type: 'withdraw-tree', ask: 0, root: host.provider });
}

export function treeWithdrawn(work: Work, root: string): void {
  const leaving = taken(work.state, root);
  const host = [...work.state.hosts.values()].find(({ provider }) => provider === root);
  if (host === undefined) return;
  // Its compute may have presented itself meanwhile.
  if (leaving === undefined) return sayTreeIsGone(work, host);
  const why = whyItStays(work, host);
  if (why !== null) {
    sayTreeIsGone(work, host);
    return refuse(work, leaving, why);
  }
  commit(work, { type: 'host-removed', host: leaving.host, at: work.turn.now });
  work.turn.publish({
    topic: ['cell', work.cell, 'host', leaving.host, 'removed'],
    body: { at: work.turn.now, host: leaving.host },
    cause: 'remove-host',
  });
  answerRemoved(work, leaving);
}

export function treeKept(work: Work, root: string, reason: string): void {
  const leaving = taken(work.state, root);
  if (leaving !== undefined) refuse(work, leaving, { code: 'host-in-use', reason });
}

function taken({ leaving }: CellState, root: string): Leaving | undefined {
  const one = leaving.get(root);
  leaving.delete(root);
  return one;
}

function answerRemoved({ turn }: Work, { host, ask, asker }: Leaving): void {
  turn.send(asker, { type: 'host-set', ask, host, state: 'removed' });
}

interface Why {
  readonly code: 'host-not-fenced' | 'host-in-use';
  readonly reason: string;
}

function refuse({ turn, cell }: Work, { host, ask, asker }: Leaving, { code, reason }: Why): void {
  const why = `host '${host}' of cell '${cell}' cannot be removed: ${reason}`;
  turn.send(asker, { type: 'declined', ask, code, reason: why, field: 'host' });
}

function whyItStays({ state }: Work, host: Host): Why | null {
  if (stateOfHost(host) !== 'fenced') {
    return {
      code: 'host-not-fenced',
      reason: `it is ${toldHost(host, state.service).state}, and must be fenced before`,
    };
  }
  if (host.clearing.length > 0) return { code: 'host-not-fenced', reason: 'its compute has been started anew' };
  const left = whatIsLeft(state, host);
  if (left.length === 0) return null;
  const [first] = left;
  const which =
    left.length === 1
      ? `'${first}', which was there, is`
      : `${left.length} instances that were there, such as '${first}', are`;
  return { code: 'host-in-use', reason: `${which} not deleted yet` };
}

/** The instances that have to do with the host still: those that were lost there, and those of which something is owed. */
function whatIsLeft({ removals }: CellState, { host, here, lost }: Host): string[] {
  const ofRemovals = removals.ofHost(host).map(({ snapshot }) => snapshot.context.instance);
  return [...new Set([...ofRemovals, ...here, ...lost])];
}
