// The compute of one host: it carries its cell's orders to its driver and says what came of them. It owns nothing but
// what its driver reports, and keeps no journal: after a restart it asks the driver what runs, presents itself, and
// is asked again for whatever it had not answered.
//
// It takes: build, destroy, welcome, who-are-you, retired, tree-withdrawn (from its cell), tree-put, tree-refused (from
// placement), list-instances, list-driven (from gateways), and its driver's answers. See actors/messages/compute.ts.

import type { Actor, Address, Turn, Wake } from '../actor.ts';
import type { ComputeMessage } from '../messages/compute.ts';
import { cellAddress, computeAddress, driverAddress } from '../routing.ts';
import { type Snapshot, snapshotOf } from '../snapshot.ts';
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

export function compute(options: ComputeOptions): Actor<ComputeState, ComputeMessage, never> {
  return new ComputeActor(options);
}

/** A class, for a process may have thousands of them: its methods are made once. */
class ComputeActor implements Actor<ComputeState, ComputeMessage, never> {
  readonly #settings: Settings;
  readonly #incarnation: ComputeOptions['incarnation'];

  constructor(options: ComputeOptions) {
    const { cell, host, placementShards = 1 } = options;
    this.#incarnation = options.incarnation;
    this.#settings = {
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
  }

  init(): ComputeState {
    return newLife(this.#incarnation());
  }

  receive(state: ComputeState, message: ComputeMessage | Wake, from: Address, turn: Turn<never>): void {
    receive({ settings: this.#settings, state, turn }, message, from);
  }

  apply(): void {}

  recover(state: ComputeState, turn: Turn<never>): void {
    comeUp({ settings: this.#settings, state, turn });
  }

  isReplaced({ phase }: ComputeState): boolean {
    return phase === 'retired';
  }

  snapshot(): Snapshot {
    return snapshotOf({}, {});
  }

  restore(): ComputeState {
    return this.init();
  }
}
