// What keeps a deployment safe that has several placement shards, taken away one at a time.

import type { Message } from '../../actors/actor.ts';
import type { ConductorState } from '../../actors/conductor/state.ts';
import type { Release } from '../../actors/messages/placement.ts';
import type { Fence } from '../../actors/placement/fences.ts';
import type { Hold } from '../../actors/placement/holds.ts';
import { adjustUse } from '../../actors/placement/providers.ts';
import type { PlacementState } from '../../actors/placement/state.ts';
import { alteredTurn } from '../support/altered-turn.ts';
import { forgetting, receiving, type Safeguard } from './alterations.ts';
import type { Alteration } from './run.ts';
import { kindOf } from './watching.ts';

/** A round of asking is anybody's who wants to take it. */
const takenTwice = receiving('conductor', (receive) => (state, message, from, turn) => {
  const { type, request } = message as Message & { request: string };
  const open = type === 'taking' ? (state as ConductorState).requests.get(request) : undefined;
  if (open !== undefined) open.taker = null;
  receive(state, message, from, turn);
});

/** What a consumer leaves behind is said to be given back, and is not. */
function notReleased(isMeant: (asked: Release, shard: string) => boolean): Alteration {
  return {
    actor(address, actor) {
      if (kindOf(address) !== 'placement') return actor;
      return {
        ...actor,
        receive(state, message, from, turn) {
          const asked = message as Message & Release;
          if (asked.type !== 'release' || !isMeant(asked, address)) return actor.receive(state, message, from, turn);
          const { consumer, attempt, before, deleted } = asked;
          const which = { ...(attempt === undefined ? {} : { attempt }), ...(before === undefined ? {} : { before }) };
          turn.send(from, { type: 'released', consumer, deleted, ...which });
        },
      };
    },
  };
}

function forgettingFences(isMeant: (fence: Fence) => boolean): Alteration {
  return forgetting('placement', (state) => {
    const { fences } = state as PlacementState;
    for (const [consumer, fence] of fences) if (isMeant(fence)) fences.delete(consumer);
  });
}

/** What a shard is asked for it says as if everything were decided. */
const sayingNothingOfDoubt = receiving('placement', (receive) => (state, message, from, turn) => {
  if (message.type !== 'consumers-read') return receive(state, message, from, turn);
  const send: typeof turn.send = (to, said) => {
    const { text } = said as { text: string };
    turn.send(to, { ...said, text: text.replaceAll(/"doubt":"[^"]*"/g, '"doubt":null') } as typeof said);
  };
  receive(state, message, from, alteredTurn(turn, { send }));
});

/** What is held takes nothing away from others. */
const forgettingExtra = forgetting('placement', (state) => {
  const { holds, providers } = state as PlacementState;
  for (const hold of holds.open.values()) {
    for (const { provider, resources } of hold.extra) {
      const one = providers.get(provider);
      if (one !== undefined) adjustUse(one, { VCPU: resources.VCPU ?? 0 }, -1);
    }
    (hold as { extra: Hold['extra'] }).extra = [];
  }
});

/** A coordinator that is recovered knows its changes, and does nothing about them until somebody asks. */
const pursuingNothing: Alteration = {
  actor(address, actor) {
    if (kindOf(address) !== 'placement') return actor;
    return {
      ...actor,
      recover(state, turn) {
        const wakeAfter = (id: string, afterMs: number) => {
          if (!id.startsWith('transaction ')) turn.wakeAfter(id, afterMs);
        };
        const send: typeof turn.send = (to, message) => {
          if (message.type !== 'hold' && message.type !== 'end-hold') turn.send(to, message);
        };
        actor.recover(state, alteredTurn(turn, { send, wakeAfter }));
      },
    };
  },
};

/** Every claim that is refused comes again, late, as a network may have it. */
function refusedClaimsAgain(more: Alteration): Alteration {
  return {
    actor(address, whole) {
      const actor = more.actor?.(address, whole) ?? whole;
      if (kindOf(address) !== 'placement') return actor;
      const late = new Map<string, { claim: Message; from: string }>();
      return {
        ...actor,
        receive(state, message, from, turn) {
          const again = late.get((message as { id?: string }).id ?? '');
          if (again !== undefined) return actor.receive(state, again.claim, again.from, turn);
          const send: typeof turn.send = (to, said) => {
            if (message.type === 'claim' && said.type === 'claim-refused') {
              for (const lateMs of LATE_MS) {
                const id = `late ${late.size}`;
                late.set(id, { claim: message, from });
                turn.wakeAfter(id, lateMs);
              }
            }
            turn.send(to, said);
          };
          actor.receive(state, message, from, alteredTurn(turn, { send }));
        },
      };
    },
  };
}

const LATE_MS = [300, 1_500, 4_000];

/** Every shard takes every group that keeps together for its own. */
const owningEveryGroup = forgetting('placement', (state) => (state as PlacementState).groupHomes.own.add('/close'));

/** Those that are only there, or only of use, with several placement shards. */
export const OF_SHARDS: readonly Safeguard[] = [
  {
    name: 'a scheduler has a round of asking for itself',
    without: takenTwice,
    placementShards: 4,
    fromSeed: 246,
    breaks: /^(?:one home|no orphan):/,
  },
  {
    name: 'claims of earlier rounds are void after a recall',
    without: forgettingFences(({ refusal }) => refusal === null),
    placementShards: 4,
    fromSeed: 30,
    breaks: /^(?:one home|no orphan):/,
  },
  {
    name: 'first claims that were refused stay refused',
    without: refusedClaimsAgain(forgettingFences(({ refusal }) => refusal !== null)),
    placementShards: 4,
    fromSeed: 393,
    breaks: /^(?:one home|no orphan):/,
  },
  {
    name: 'a build that moves to another shard is released in those that it leaves',
    without: notReleased(({ before }) => before !== undefined),
    placementShards: 4,
    breaks: /^(?:one home|no orphan):/,
  },
  {
    name: 'every shard knows what is deleted',
    without: notReleased(({ deleted }, shard) => deleted && shard !== 'placement/0'),
    placementShards: 4,
    breaks: /^no orphan:/,
  },
  {
    name: 'a shard says what is in doubt',
    without: sayingNothingOfDoubt,
    placementShards: 4,
    fromSeed: 99,
    breaks: /^half seen:/,
  },
  {
    name: 'what is held for a change counts as used',
    without: forgettingExtra,
    placementShards: 4,
    breaks: /^(?:capacity|replay):/,
  },
  {
    name: 'a shard remembers which changes are over',
    without: forgetting('placement', (state) => (state as PlacementState).holds.ended.clear()),
    placementShards: 4,
    breaks: /^(?:all or nothing|an end|half seen|replay):/,
  },
  {
    name: 'nothing else is decided for a consumer while a change of it is in doubt',
    without: forgetting('placement', (state) => (state as PlacementState).holds.doubtful.clear()),
    placementShards: 4,
    fromSeed: 99,
    breaks: /^(?:all or nothing|half seen|replay):/,
  },
  {
    name: 'a coordinator that is recovered goes on with its changes',
    without: pursuingNothing,
    placementShards: 4,
    breaks: /^an end:/,
  },
  {
    name: 'a shard grants nothing to a group that keeps together before it is told that the group is its own',
    without: owningEveryGroup,
    placementShards: 4,
    fromSeed: 227,
    breaks: /^groups:/,
  },
  {
    name: 'what a later round knows of is not given back by an earlier one',
    without: forgetting('placement', (state) => {
      const { holding } = (state as PlacementState).consumers;
      for (const consumer of holding.values()) if (consumer.order !== undefined) consumer.order = 0;
    }),
    breaks: /^(?:one home|no orphan):/,
    fromSeed: 845,
  },
];
