// Opening an owner with a million records behind it: how long until its state stands again, and what its stream takes.

import type { Message, Turn } from '../../actors/actor.ts';
import { forgetAgainMs } from '../../actors/deleted.ts';
import { placement } from '../../actors/placement/placement.ts';
import type { PlacementRecord } from '../../actors/placement/records.ts';
import { connectNats } from '../../runtime/bus/nats.ts';
import { jetStreamJournals } from '../../runtime/journal/jetstream.ts';
import { slicerOf, type Taking, takeSnapshot } from '../../runtime/journal/slices.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { type Limits, storingOf } from './limits.ts';
import { provider, spec } from './parts.ts';
import { progress, type Report } from './report.ts';

/** How many of them are read again, because no snapshot stands for them, is told beside the time. */
const RECORDS = 1_025_000;
const PROVIDERS = 1_000;
const RECORDS_A_TURN = 100;
const TURNS_IN_FLIGHT = 64;
/** Consumers that hold something at one time; the oldest gives back when another claims. */
const HOLDING = 50_000;

export async function recovery(url: string, limits: Limits, report: Report): Promise<void> {
  progress('opening an owner');
  const bus = await connectNats({ servers: url, name: 'bench-recovery' });
  const clock = systemClock();
  const slicer = slicerOf(clock);
  const fail = (error: unknown) => {
    throw error;
  };
  const journals = jetStreamJournals({ bus, clock, subjects: subjectsOf('recovery') });
  const owner = 'placement/0';
  const actor = placement({ shard: 0, rememberDeletedMs: 1 });
  try {
    const journal = journals<PlacementRecord>(owner);
    await journal.open();
    const state = actor.init();
    let records: PlacementRecord[] = [];
    let isMoreToForget = false;
    const turn = {
      now: 0,
      record: (one: PlacementRecord) => void records.push(one),
      send() {},
      publish() {},
      // What is deleted is forgotten some at a time: soon after there is more.
      wakeAfter(_id: string, afterMs: number) {
        isMoreToForget = afterMs === forgetAgainMs(0, false);
      },
      cancelWake() {},
    };
    const tell = (message: unknown) =>
      actor.receive(state, message as Message as never, 'bench', turn as unknown as Turn<PlacementRecord>);
    for (let n = 0; n < PROVIDERS; n += 1) tell({ type: 'put-tree', ask: 0, providers: [provider(n, 1_000)] });
    let taking: Taking | undefined;
    let inFlight = 0;
    let wake = (): void => {};
    let written = 0;
    for (let n = 0; written < RECORDS; n += 1) {
      const allocations = [{ provider: `p${n % PROVIDERS}`, group: '', resources: spec.groups[0]?.resources }];
      tell({ type: 'claim', consumer: `i${n}`, attempt: 1, spec, allocations, keep: [], expiresAt: turn.now + 1 });
      turn.now += 1;
      if (n % HOLDING === 0) isMoreToForget = true;
      if (isMoreToForget) tell({ type: 'wake', id: 'forget-deleted' });
      if (n >= HOLDING) tell({ type: 'release', consumer: `i${n - HOLDING}`, deleted: true });
      if (records.length < RECORDS_A_TURN) continue;
      written += records.length;
      inFlight += 1;
      journal.append(records, () => {
        inFlight -= 1;
        wake();
      });
      taking?.recorded(records.length);
      records = [];
      if (journal.wantsSnapshot) {
        const options = { snapshot: actor.snapshot(state), writer: journal.beginSnapshot(), slicer };
        taking = takeSnapshot({ ...options, isWanted: () => true, onFailure: fail });
      }
      if (inFlight >= TURNS_IN_FLIGHT) await new Promise<void>((resolve) => (wake = resolve));
    }
    while (inFlight > 0) await new Promise<void>((resolve) => (wake = resolve));
    await journal.close();

    const begun = performance.now();
    const again = journals<PlacementRecord>(owner);
    const { snapshot, records: after } = await again.open();
    const restored = snapshot === null ? actor.init() : actor.restore(snapshot);
    let replayed = 0;
    for (const record of after) {
      actor.apply(restored, record);
      replayed += 1;
    }
    const seconds = (performance.now() - begun) / 1_000;
    await again.close();
    const { streams } = await bus.connection.jetstreamManager();
    const { bytes } = (await streams.info('recovery-placement-0-journal')).state;
    const note = `${restored.consumers.holding.size.toLocaleString('en')} consumers, ${replayed.toLocaleString('en')} records replayed, ${Math.round(bytes / 2 ** 20)} MiB in the stream`;
    report({
      name: `opening an owner with ${RECORDS.toLocaleString('en')} records behind it`,
      value: seconds,
      unit: 's',
      beside: storingOf(limits, RECORDS),
      note,
    });
  } finally {
    await bus.close();
  }
}
