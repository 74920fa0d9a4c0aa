// The compute of one host: it carries its cell's orders to its driver and says what came of them. It owns nothing but
// what its driver reports, and keeps no journal: after a restart it asks the driver what runs, presents itself, and
// is asked again for whatever it had not answered.
//
// It takes: build, destroy, welcome, who-are-you, retired, tree-withdrawn (from its cell), tree-put, tree-refused (from
// placement), list-instances, list-driven (from gateways), and its driver's answers. See actors/messages/compute.ts.

import type { Actor, Address, Wake } from '../actor.ts';
import type { ComputeMessage } from '../messages/compute.ts';
import { cellAddress, computeAddress, driverAddress } from '../routing.ts';
import { snapshotOf } from '../snapshot.ts';
import { readWake } from '../wakes.ts';
import { driverSaid } from './driver-words.ts';
import { expect } from './missing.ts';
import { type ComputeOptions, DEFAULTS } from './options.ts';
import { build, destroy, retry } from './orders.ts';
import { COME_UP_WAKE, comeUp, enter, presentItself, retire, tell } from './presence.ts';
import { type ComputeState, newLife, running, type Settings, type Work } from './state.ts';
import { firstLook, treeHeard, treeWithdrawn } from './tree.ts';

function receive(work: Work, message: ComputeMessage | Wake, from: Address): void {
  const { settings, state, turn } = work;
  switch (message.type) {
    case 'retired':
      if (message.incarnation === state.incarnation) retire(work);
      return;
    case 'build':
      if (state.phase === 'retired') return;
      return build(work, message, from);
    case 'destroy':
      if (state.phase === 'retired') return;
      return destroy(work, message, from);
    case 'tree-put':
      treeHeard(work, message);
      if (state.phase === 'registering' && message.ask === state.changes) enter(work, 'greeting');
      return;
    case 'tree-withdrawn':
      return treeWithdrawn(work);
    case 'welcome':
      if (message.incarnation !== state.incarnation) return;
      expect(work, message.expected ?? []);
      if (state.phase !== 'greeting') return;
      firstLook(work);
      return enter(work, 'up');
    case 'who-are-you':
      if (message.incarnation !== undefined && message.incarnation !== state.incarnation) return;
      if (state.phase === 'greeting' || state.phase === 'up') presentItself(work, message.challenge);
      return;
    case 'list-instances':
      if (state.phase === 'retired') return;
      return turn.send(from, { type: 'instances-running', ask: message.ask, running: running(work) });
    case 'list-driven':
      return turn.send(settings.toDriver, { type: 'list', ask: message.ask, to: from });
    case 'wake':
      if (message.id === COME_UP_WAKE) return comeUp(work);
      return retry(work, readWake(message.id)[1]);
    case 'tree-refused':
      treeHeard(work, message);
      // Of what was told before, or by an earlier life, nobody needs to know any more.
      if (message.ask !== state.changes) return;
      turn.send(settings.toDriver, { type: 'refused', reason: message.reason });
      return tell(work, 'tree-refused', message.reason, 'put-tree');
    default:
      return driverSaid(work, message);
  }
}

type ComputeActor = Actor<ComputeState, ComputeMessage, never>;

/** What all computes of a process have in common: there may be thousands. */
const COMMON = {
  receive: (state, message, from, turn) => receive({ settings: state.settings, state, turn }, message, from),
  apply() {},
  recover: (state, turn) => comeUp({ settings: state.settings, state, turn }),
  isReplaced: ({ phase }) => phase === 'retired',
  snapshot: () => snapshotOf({}, {}),
} satisfies Partial<ComputeActor>;

export function compute(options: ComputeOptions): ComputeActor {
  const { cell, host, placementShards = 1 } = options;
  const settings: Settings = {
    cell,
    host,
    placementShards,
    heartbeatMs: options.heartbeatMs ?? DEFAULTS.heartbeatMs,
    inventoryEveryMs: options.inventoryEveryMs ?? DEFAULTS.inventoryEveryMs,
    patience: options.patience ?? DEFAULTS.patience,
    rememberEndedMs: options.rememberEndedMs ?? DEFAULTS.rememberEndedMs,
    toCell: cellAddress(cell),
    toDriver: driverAddress(cell, host),
    own: computeAddress(cell, host),
  };
  const init = () => newLife(settings, options.incarnation());
  // Not spread: the engine would give each of them a hidden class of its own.
  const { receive, apply, recover, isReplaced, snapshot } = COMMON;
  return { init, receive, apply, recover, isReplaced, snapshot, restore: init };
}
