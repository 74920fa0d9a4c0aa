// Carries out what mends a finding. Before anything is taken from an instance that nobody knows, or destroyed, the super
// conductor is asked once more: an id may have been asked for anew since the look. What one attempt holds that is over
// stays over: attempts only count up.

import type { AnyMessage } from '../../actors/messages/any.ts';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import { cellAddress, computeAddress, everyPlacement } from '../../actors/routing.ts';
import type { Client } from '../client.ts';
import { CellwrightError } from '../errors.ts';
import type { Asking } from '../gateway/asking.ts';
import type { Outbox } from '../outbox.ts';
import type { Repair } from './finding.ts';

export interface RepairTools {
  readonly client: Client;
  readonly asking: Asking;
  readonly outbox: Outbox;
  /** How many placement shards the deployment has; default 1. */
  readonly placementShards?: number;
}

/** Says what was asked for, or answers null when it is not certain any more that it should be. Whether it helped is seen. */
export async function carryOut(repair: Repair, tools: RepairTools): Promise<string | null> {
  const shards = everyPlacement(tools.placementShards ?? 1);
  const say = (to: string, message: AnyMessage) => tools.outbox.send(tools.asking.address, to, message);
  switch (repair.type) {
    case 'release': {
      const { consumer, attempt } = repair;
      if (attempt === null) {
        if ((await knownNow(consumer, tools)) !== null) return null;
        for (const shard of shards) say(shard, { type: 'release', consumer, deleted: true });
        return `asked placement to give back all that '${consumer}' holds`;
      }
      for (const shard of shards) say(shard, { type: 'release', consumer, attempt, deleted: false });
      return `asked placement to give back what '${consumer}' holds for attempt ${attempt}`;
    }
    case 'destroy': {
      const { cell, host, instance, attempt } = repair;
      if (await isCurrent(repair, tools)) return null;
      say(computeAddress(cell, host), { type: 'destroy', instance, attempt, isSeen: true });
      return `asked host '${cell}/${host}' to destroy attempt ${attempt} of '${instance}'`;
    }
    case 'do-again':
      say(cellAddress(repair.cell), { type: 'do-again', instance: repair.instance });
      return `asked cell '${repair.cell}' to do again what it owes for '${repair.instance}'`;
  }
}

/** An instance as the super conductor knows it; null: it knows nothing of it, or that it is deleted. */
async function knownNow(instance: string, { client }: RepairTools): Promise<InstanceView | null> {
  try {
    const view = await client.show(instance);
    return view.state === 'deleted' ? null : view;
  } catch (error) {
    if (error instanceof CellwrightError && error.code === 'not-found') return null;
    throw error;
  }
}

/** Whether an attempt is, after all, the one in which its instance lives, or may be about to. */
async function isCurrent({ instance, attempt }: { instance: string; attempt: number }, tools: RepairTools) {
  const view = await knownNow(instance, tools);
  return view !== null && (view.attempt ?? 0) <= attempt && view.state !== 'failed';
}
