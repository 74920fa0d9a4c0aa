// Production actors with an eye on them: what they take is counted, every message that they send is checked against
// the schema of whoever takes it, and a claim that placement refuses is reckoned again.

import type { Message, Turn, Wake } from '../../actors/actor.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import { cellMessages } from '../../actors/messages/cell.ts';
import type { Protocol } from '../../actors/messages/common.ts';
import { computeMessages } from '../../actors/messages/compute.ts';
import { conductorMessages } from '../../actors/messages/conductor.ts';
import { groupHomeMessages } from '../../actors/messages/group-homes.ts';
import { type Claim, type ClaimGranted, placementMessages } from '../../actors/messages/placement.ts';
import { schedulerMessages } from '../../actors/messages/scheduler.ts';
import { transactionMessages } from '../../actors/messages/transactions.ts';
import type { PlacementState } from '../../actors/placement/state.ts';
import { isSame } from '../../actors/same.ts';
import type { SchedulerState } from '../../actors/scheduler/state.ts';
import { checkOfProtocol } from '../../runtime/schemas.ts';
import { alteredTurn } from '../support/altered-turn.ts';
import type { OwnerActor } from './actors.ts';

const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  cell: cellMessages,
  compute: computeMessages,
  conductor: conductorMessages,
  placement: { ...placementMessages, ...transactionMessages, ...groupHomeMessages },
  scheduler: schedulerMessages,
};

const checks = new Map(Object.entries(PROTOCOLS).map(([kind, protocol]) => [kind, checkOfProtocol(protocol)]));

/** The types of message that each kind of actor takes over the wire. */
export const TAKEN: readonly string[] = Object.entries(PROTOCOLS).flatMap(([kind, protocol]) =>
  Object.keys(protocol).map((type) => `message ${kind} ${type}`),
);

export const kindOf = (address: string): string => address.slice(0, `${address}/`.indexOf('/'));

/** What is wrong with a message for an address, or null. */
export function messageFault(to: string, message: AnyMessage, cells: readonly string[]): string | null {
  const isFeed = to.endsWith('/feed');
  const kind = isFeed ? 'scheduler' : kindOf(to);
  try {
    checks.get(kind)?.(message);
  } catch (error) {
    return `well-formed: ${(error as Error).message} to ${to}`;
  }
  if (kind !== 'placement') return null;
  const text = JSON.stringify(message);
  return cells.some((cell) => text.includes(cell)) ? `blind placement: ${text}` : null;
}

export interface Watch {
  tally(what: string): void;
  onFault(fault: string): void;
  keep(state: unknown): void;
}

/** The same actor, watched. */
export function watched(address: string, actor: OwnerActor, { tally, onFault, keep }: Watch): OwnerActor {
  const kind = kindOf(address);
  const kept = (state: unknown) => {
    keep(state);
    return state;
  };
  function receive(state: unknown, message: Message | Wake, from: string, turn: Turn<unknown>): void {
    tally(`message ${kind} ${message.type}`);
    if (kind === 'placement' && message.type === 'group-elsewhere') {
      const send = (to: string, sent: AnyMessage) => {
        if (sent.type === 'claim-refused') tally(`refused ${sent.refusal.code} of another shard`);
        turn.send(to, sent);
      };
      return actor.receive(state, message, from, alteredTurn(turn, { send }));
    }
    if (kind === 'scheduler' && message.type === 'claim-granted') {
      noteUnheard(state as SchedulerState, message as Message & ClaimGranted);
    }
    if (kind !== 'placement' || message.type !== 'claim') return actor.receive(state, message, from, turn);
    const claim = message as Message & Claim;
    const { consumers, fences } = state as PlacementState;
    const isVoid = (claim.order ?? 0) <= (fences.get(claim.consumer)?.order ?? -1);
    const isDecidedAnew = !isVoid && claim.attempt > (consumers.holding.get(claim.consumer)?.latest ?? 0);
    const send = (to: string, sent: AnyMessage) => {
      if (sent.type === 'claim-refused' && isDecidedAnew) {
        tally(`refused ${sent.refusal.code}`);
        const fault = falseRefusal(state as PlacementState, claim, sent.refusal);
        if (fault !== null) onFault(fault);
      }
      if (sent.type === 'claim-granted' && isDecidedAnew && !isSame(sent.allocations, claim.allocations)) {
        tally(`granted others to ${kindOf(to)}`);
      }
      turn.send(to, sent);
    };
    actor.receive(state, message, from, alteredTurn(turn, { send }));
  }

  function noteUnheard({ view }: SchedulerState, { allocations, usages }: ClaimGranted): void {
    const isHostKnown = usages.some(({ id }) => view.hosts.has(id));
    const isUnheard = allocations.some(({ provider }) => !view.providers.has(provider));
    if (isHostKnown && isUnheard) tally('granted unheard to scheduler');
  }

  return {
    ...actor,
    init: () => kept(actor.init()),
    *restoring(stored) {
      return kept(actor.restoring === undefined ? actor.restore(stored) : yield* actor.restoring(stored));
    },
    receive,
  };
}

/** no false refusal: what is refused did not fit at that moment. */
function falseRefusal(
  state: PlacementState,
  claim: Claim,
  refusal: { code: string; provider?: string | undefined; resourceClass?: string | undefined },
): string | null {
  const { providers } = state;
  const { consumer, attempt, allocations } = claim;
  const of = `attempt ${attempt} of '${consumer}'`;
  if (refusal.code.startsWith('group-')) {
    return keptOut(state, claim, refusal.code) ? null : `no false refusal: ${of}, its group allows it`;
  }
  const provider = providers.get(refusal.provider ?? '');
  if (OF_ONE_PROVIDER.has(refusal.code) && wouldDo(state, claim)) {
    return `no false refusal: ${of}, other providers of its tree would do`;
  }
  if (refusal.code === 'unknown-provider')
    return provider === undefined ? null : `no false refusal: ${of}, it is known`;
  if (refusal.code !== 'exceeds-capacity') return null;
  const resourceClass = refusal.resourceClass as string;
  let asked = 0;
  for (const one of allocations) if (one.provider === refusal.provider) asked += one.resources[resourceClass] ?? 0;
  const stock = provider?.stocks.get(resourceClass);
  if (stock === undefined || stock.used + asked > stock.capacity) return null;
  return `no false refusal: ${of}, ${asked} of ${stock.capacity - stock.used} free ${resourceClass}`;
}

/** Refusals for which it matters whether others of the tree are free. */
const OF_ONE_PROVIDER = new Set(['exceeds-capacity', 'unknown-provider']);

/**
 * Whether the tree that a claim means has what is asked, by plain counting: devices are single units, and nothing else is
 * asked of them.
 */
function wouldDo({ providers, holds }: PlacementState, { root, spec }: Claim): boolean {
  const isPlain = spec.instanceGroup === undefined && spec.tree === undefined;
  if (root === undefined || !isPlain || holds.locks.size > 0) return false;
  const free = new Map<string, number>();
  for (const one of providers.values()) {
    if (one.root !== root) continue;
    for (const [resourceClass, { used, capacity }] of one.stocks) {
      free.set(resourceClass, (free.get(resourceClass) ?? 0) + Math.max(0, capacity - used));
    }
  }
  const traits = providers.get(root)?.traits;
  return spec.groups.every(({ resources, required = [] }) => {
    for (const [resourceClass, amount] of Object.entries(resources)) {
      free.set(resourceClass, (free.get(resourceClass) ?? 0) - amount);
    }
    const isRoom = Object.keys(resources).every((resourceClass) => (free.get(resourceClass) as number) >= 0);
    return isRoom && required.every((trait) => traits?.has(trait));
  });
}

/** Whether the group of a claim keeps it out, by who holds what. */
function keptOut(
  { consumers, providers }: PlacementState,
  { consumer, allocations, spec, groupKnown }: Claim,
  code: string,
): boolean {
  const group = spec.instanceGroup;
  if (group === undefined) return false;
  const rootOf = (held: Claim['allocations'] | undefined) => providers.get(held?.[0]?.provider ?? '')?.root;
  const root = rootOf(allocations);
  const others = [...consumers.holding].filter(
    ([id, other]) => other.group?.id === group.id && other.held.length > 0 && id !== consumer,
  );
  if (code === 'group-policy-conflict') return others.some(([, other]) => other.group?.policy !== group.policy);
  if (code === 'group-affinity') {
    return others.some(([, { held, latest }]) =>
      held.some((one) => one.attempt === latest && rootOf([...one.allocations]) !== root),
    );
  }
  const there = others.filter(([, { held }]) => held.some((one) => rootOf([...one.allocations]) === root));
  if (code === 'group-changed') {
    const known = groupKnown ?? { members: Number.POSITIVE_INFINITY, others: 0 };
    if (group.policy === 'soft-anti-affinity') return there.length > known.members;
    const roots = new Set(others.flatMap(([, { held }]) => held.map((one) => rootOf([...one.allocations]))));
    return there.length === 0 && roots.size > (known.members > 0 ? 0 : (known.others ?? 0));
  }
  return there.length >= (group.maxPerHost ?? 1);
}
