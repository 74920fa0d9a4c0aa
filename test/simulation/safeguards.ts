// What keeps a deployment safe, taken away one at a time and from outside: the production actors and ports stay as they
// are, and what stands around them forgets, repeats or ignores. Each must be found by the simulation.

import type { Message } from '../../actors/actor.ts';
import { allocationsOf } from '../../actors/allocations.ts';
import type { CellState } from '../../actors/cell/state.ts';
import type { ComputeState } from '../../actors/compute/state.ts';
import type { ConductorState } from '../../actors/conductor/state.ts';
import type { ComputeBuild } from '../../actors/messages/compute.ts';
import type { Claim, ClaimGranted } from '../../actors/messages/placement.ts';
import type { PlacementState } from '../../actors/placement/state.ts';
import type { SchedulerState } from '../../actors/scheduler/state.ts';
import { Table } from '../../actors/table.ts';
import type { Allocation } from '../../machines/instance-build.ts';
import { alteredTurn } from '../support/altered-turn.ts';
import { forgetting, receiving, type Safeguard } from './alterations.ts';
import type { Alteration } from './run.ts';
import { kindOf } from './watching.ts';

/** Sends nothing that an obligation asks for, and arms no wake for it, when an actor is recovered. */
function recoveringNothing(kind: string): Alteration {
  const OWED = /^(?:build|remove|release|delete|request) /;
  return {
    actor(address, actor) {
      if (kindOf(address) !== kind) return actor;
      return {
        ...actor,
        recover(state, turn) {
          const wakeAfter = (id: string, afterMs: number) => {
            if (!OWED.test(id)) turn.wakeAfter(id, afterMs);
          };
          actor.recover(state, alteredTurn(turn, { send() {}, wakeAfter }));
          if (kind !== 'conductor') return;
          const { unasked, unaskedAhead } = state as ConductorState;
          for (const waiting of [unasked, unaskedAhead]) waiting.clear();
        },
      };
    },
  };
}

/** Never says anything again: what was said is taken to have arrived. Deadlines stay. */
function sayingOnce(kind: string, isAgain: RegExp, endOf: (state: unknown, id: string) => number | null): Alteration {
  return receiving(kind, (receive) => (state, message, from, turn) => {
    const { type, id = '' } = message as Message & { id?: string };
    if (type !== 'wake' || !isAgain.test(id)) return receive(state, message, from, turn);
    const endsAt = endOf(state, id);
    if (endsAt !== null && endsAt <= turn.steady) return receive(state, message, from, turn);
    if (endsAt !== null) turn.wakeAfter(id, endsAt - turn.steady);
  });
}

const nameIn = (id: string) => id.slice(id.indexOf(' ') + 1);

function endInConductor(state: unknown, id: string): number | null {
  const { requests } = state as ConductorState;
  if (!id.startsWith('request ')) return null;
  return requests.get(nameIn(id))?.ends?.unheard ?? null;
}

function endInCell(state: unknown, id: string): number | null {
  if (!id.startsWith('build ')) return null;
  return (state as CellState).instances.get(nameIn(id))?.build.endsAt ?? null;
}

/** Placement checks nothing that a claim asks for: whatever it names is taken. */
const unchecked = receiving('placement', (receive) => (state, message, from, turn) => {
  if (message.type !== 'claim') return receive(state, message, from, turn);
  const stocks = [...(state as PlacementState).providers.values()].flatMap(({ stocks: all }) => [...all.values()]);
  const capacities = stocks.map(({ capacity }) => capacity);
  for (const stock of stocks) (stock as { capacity: number }).capacity = Number.POSITIVE_INFINITY;
  receive(state, message, from, turn);
  stocks.forEach((stock, position) => {
    (stock as { capacity: number }).capacity = capacities[position] as number;
  });
});

/** Placement takes every hard rule of a group for a wish: what schedulers know of the group is all that keeps it. */
const ungrouped = receiving('placement', (receive) => (state, message, from, turn) => {
  const { spec } = message as Message & Claim;
  const group = message.type === 'claim' ? spec.instanceGroup : undefined;
  if (group === undefined || group.policy.startsWith('soft-')) return receive(state, message, from, turn);
  const wish = { id: group.id, policy: `soft-${group.policy}` };
  const taken = { ...(message as Message & Claim), spec: { ...spec, instanceGroup: wish } };
  receive(state, taken as Message, from, turn);
});

/** A claim that was granted is decided once more when it comes again. */
const claimedTwice = receiving('placement', (receive) => (state, message, from, turn) => {
  const claim = message as Message & Claim;
  const consumer = (state as PlacementState).consumers.holding.get(claim.consumer);
  if (claim.type !== 'claim' || consumer === undefined || consumer.latest !== claim.attempt) {
    return receive(state, message, from, turn);
  }
  consumer.latest = claim.attempt - 1;
  receive(state, { ...claim, keep: consumer.held.map(({ attempt }) => attempt) } as Message, from, turn);
});

/** A build that was handed over before is begun anew. */
const startedTwice: Alteration = {
  actor(address, actor) {
    if (kindOf(address) !== 'cell') return actor;
    const forget = (state: unknown, instance: string) => void (state as CellState).instances.delete(instance);
    return {
      ...actor,
      receive(state, message, from, turn) {
        if (message.type === 'start') forget(state, (message as Message & { instance: string }).instance);
        actor.receive(state, message, from, turn);
      },
      apply(state, record) {
        const { type, facts } = record as { type: string; facts: { instance: string } };
        if (type === 'started') forget(state, facts.instance);
        actor.apply(state, record);
      },
    };
  },
};

/** What a claim names is granted, or nothing. */
const onlyAsNamed = receiving('placement', (receive) => (state, message, from, turn) => {
  if (message.type !== 'claim') return receive(state, message, from, turn);
  const { root: _, ...claim } = message as Message & Claim;
  receive(state, claim as Message, from, turn);
});

/** Whatever is granted, it is taken to be what the claim names. */
function asNamed(kind: string, namedFor: (state: unknown, granted: ClaimGranted) => readonly Allocation[]): Alteration {
  return receiving(kind, (receive) => (state, message, from, turn) => {
    if (message.type !== 'claim-granted') return receive(state, message, from, turn);
    const granted = message as Message & ClaimGranted;
    receive(state, { ...granted, allocations: namedFor(state, granted) } as Message, from, turn);
  });
}

function namedInCell(state: unknown, { consumer, allocations }: ClaimGranted): readonly Allocation[] {
  const build = (state as CellState).instances.get(consumer)?.build;
  const [next] = build?.snapshot.context.alternates ?? [];
  return build === undefined || next === undefined ? allocations : allocationsOf(build.facts.spec, next);
}

/** Only of the host that it has claimed: an earlier ask may have been granted another. */
function namedByScheduler(state: unknown, { consumer, allocations, usages }: ClaimGranted): readonly Allocation[] {
  const { open, selecting } = state as SchedulerState;
  const asked = open.get(selecting.get(consumer) ?? '');
  const candidate = asked?.machines.get(consumer)?.context.candidate;
  if (asked === undefined || candidate === null || candidate === undefined) return allocations;
  const isThere = usages.some(({ id }) => id === candidate.provider);
  return isThere ? allocationsOf(asked.asked.spec, candidate) : allocations;
}

/** Of what an instance is built with, an order names the first provider alone. */
const orderedInPart = receiving('compute', (receive) => (state, message, from, turn) => {
  if (message.type !== 'build') return receive(state, message, from, turn);
  const order = message as Message & ComputeBuild;
  receive(state, { ...order, allocations: order.allocations.slice(0, 1) } as Message, from, turn);
});

/** An order that was carried out before is carried out again. */
const builtTwice = receiving('compute', (receive) => (state, message, from, turn) => {
  const { type, instance, attempt } = message as Message & { instance: string; attempt: number };
  if (type === 'build') {
    (state as ComputeState).outcomes.delete(`${instance} ${attempt}`);
    (state as ComputeState).jobs.delete(`${instance} ${attempt}`);
  }
  receive(state, message, from, turn);
});

/** Words of an earlier attempt are taken for words of this one. */
const anyAttempt = receiving('cell', (receive) => (state, message, from, turn) => {
  const { type, instance } = message as Message & { instance: string };
  const build = /^(?:accepted|built|build-.*)$/.test(type)
    ? (state as CellState).instances.get(instance)?.build
    : undefined;
  const meant = build === undefined ? {} : { attempt: build.snapshot.context.attempt };
  receive(state, { ...message, ...meant }, from, turn);
});

/** What a host has is what it had when it came up. */
const readOnce = receiving('compute', (receive) => (state, message, from, turn) => {
  if (message.type !== 'inventory-read') receive(state, message, from, turn);
});

/** What runs on a host is not asked again. */
const listedOnce = receiving('compute', (receive) => (state, message, from, turn) => {
  if (message.type !== 'driver-listed') receive(state, message, from, turn);
});

/** A compute goes by what its driver told it at first, whatever its cell expects. */
const unexpecting = receiving('compute', (receive) => (state, message, from, turn) => {
  const { expected: _, ...welcome } = message as Message & { expected?: unknown };
  receive(state, message.type === 'welcome' ? welcome : message, from, turn);
});

/** What is asked a second time, because the answer was lost, is not answered. */
function answeringOnce(kind: string, type: string): Alteration {
  const known = new WeakMap<object, Set<string>>();
  return receiving(kind, (receive) => (state, message, from, turn) => {
    if (message.type !== type) return receive(state, message, from, turn);
    const { instance, consumer, attempt } = message as Message & Record<'instance' | 'consumer' | 'attempt', unknown>;
    const key = `${instance ?? consumer} ${attempt}`;
    const seen = known.get(state as object) ?? new Set();
    known.set(state as object, seen);
    if (seen.has(key)) return;
    seen.add(key);
    receive(state, message, from, turn);
  });
}

/** What changes while a snapshot is taken stands in it as it is when its row is come to. */
const smeared: Alteration = {
  actor: (_address, actor) => ({
    ...actor,
    snapshot(state) {
      for (const table of Object.values(state as object)) if (table instanceof Table) table.touch = () => {};
      return actor.snapshot(state);
    },
  }),
};

const AN_END = /^(?:an end|islands|no orphan|hosts|view):/;
const NEVER_MS = 10_000_000;

export const SAFEGUARDS: readonly Safeguard[] = [
  { name: 'the fence', without: { fenced: false }, breaks: /^one writer:/ },
  {
    name: 'the output gate',
    without: {
      journal: (_owner, journal) => ({
        ...journal,
        get wantsSnapshot() {
          return journal.wantsSnapshot;
        },
        append(records, done) {
          journal.append(records, (error) => {
            if (error !== null) done(error);
          });
          done(null);
        },
      }),
    },
    breaks: /^(?:no orphan|one home|capacity|an end|hosts|islands|built once):/,
  },
  { name: 'the note of what changes while a snapshot is taken', without: smeared, breaks: /^replay:/ },
  {
    name: "the check of a claim's conditions where it is decided",
    without: unchecked,
    fromSeed: 7,
    breaks: /^capacity:/,
  },
  { name: 'the check of a group where a claim is decided', without: ungrouped, fromSeed: 20, breaks: /^groups:/ },
  { name: 'the obligations of a recovered conductor', without: recoveringNothing('conductor'), breaks: AN_END },
  { name: 'the obligations of a recovered cell', without: recoveringNothing('cell'), fromSeed: 108, breaks: AN_END },
  {
    name: 'the memory of deleted consumers',
    without: forgetting('placement', (state) => (state as PlacementState).consumers.deleted.clear()),
    breaks: /^(?:no orphan|one home):/,
  },
  {
    name: 'the memory of deleted instances',
    without: forgetting('cell', (state) => (state as CellState).deleted.clear()),
    fromSeed: 9,
    breaks: /^(?:no orphan|one home|an end):/,
  },
  { name: 'a claim is decided once an attempt', without: claimedTwice, breaks: /^(?:one home|capacity|no orphan):/ },
  {
    name: 'where others have what a claim names, other devices of that host are granted',
    without: onlyAsNamed,
    fromSeed: 26,
    breaks: /^no false refusal:.*would do/,
  },
  {
    name: 'a cell records what it was granted where that is not what the alternate names',
    without: asNamed('cell', namedInCell),
    fromSeed: 61,
    breaks: /^told:/,
  },
  {
    name: 'a scheduler tells what it was granted where that is not what it claimed',
    without: asNamed('scheduler', namedByScheduler),
    fromSeed: 8,
    breaks: /^told:/,
  },
  { name: 'an order to build names all that is held', without: orderedInPart, breaks: /^told: host/ },
  {
    name: 'a build is started once in its cell',
    without: startedTwice,
    fromSeed: 14,
    breaks: /^(?:no orphan|one home|alternates|built once):/,
  },
  {
    name: 'an attempt is built once on its host',
    without: builtTwice,
    fromSeed: 135,
    breaks: /^(?:no orphan|built once|one home):/,
  },
  { name: 'a host that is up is asked again what it has', without: readOnce, breaks: /^inventory:/ },
  { name: 'a host that is up is asked again what runs there', without: listedOnce, fromSeed: 34, breaks: /^missing:/ },
  {
    name: 'a compute that begins anew is told what is expected of it',
    without: unexpecting,
    fromSeed: 34,
    breaks: /^missing:/,
  },
  {
    name: 'words of an earlier attempt mean nothing',
    without: anyAttempt,
    fromSeed: 49,
    breaks: /^(?:no orphan|one home|hosts|an end|islands):/,
  },
  {
    name: 'what is destroyed is said to be so again',
    without: answeringOnce('compute', 'destroy'),
    fromSeed: 36,
    breaks: AN_END,
  },
  { name: 'what is released is said to be so again', without: answeringOnce('placement', 'release'), breaks: AN_END },
  { name: 'what is started is said to be so again', without: answeringOnce('cell', 'start'), breaks: AN_END },
  {
    name: 'what is removed is said to be so again',
    without: answeringOnce('cell', 'delete'),
    fromSeed: 19,
    breaks: AN_END,
  },
  { name: 'the deadline of requested', without: { paces: { requestedMs: NEVER_MS } }, breaks: AN_END },
  { name: 'the deadline of claimed', without: { paces: { claimedMs: NEVER_MS } }, breaks: AN_END },
  { name: 'the deadline of building', without: { paces: { buildingMs: NEVER_MS } }, breaks: AN_END },
  {
    name: 'a conductor that hears nothing asks again',
    without: sayingOnce('conductor', /^(?:build|release|delete|request) /, endInConductor),
    breaks: AN_END,
  },
  {
    name: 'a conductor that hears of no end asks for it',
    without: sayingOnce('conductor', /^ask-ends$/, () => null),
    breaks: AN_END,
  },
  {
    name: 'a cell that hears nothing asks again',
    without: sayingOnce('cell', /^(?:build|remove) /, endInCell),
    breaks: AN_END,
  },
  {
    name: 'a cell says that an instance is lost until that is noted',
    without: sayingOnce('cell', /^lost /, () => null),
    fromSeed: 321,
    breaks: AN_END,
  },
  {
    name: 'a scheduler that hears nothing asks again',
    without: sayingOnce('scheduler', /^(?:select|resync) /, () => null),
    breaks: AN_END,
  },
  {
    name: 'a compute that hears nothing asks again',
    without: sayingOnce('compute', /^(?:come-up$|retry )/, () => null),
    fromSeed: 21,
    breaks: AN_END,
  },
];
