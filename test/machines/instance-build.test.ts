// Area: the build machine. Its specification, the table at the top of machines/instance-build.ts, on every path that
// its own events make: who is tried in which order, what an attempt leaves behind, and why a build failed.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SnapshotFrom } from 'xstate';
import {
  type AttemptOutcome,
  type InstanceBuildContext,
  type InstanceBuildEvent,
  type InstanceBuildState,
  instanceBuild,
} from '../../machines/instance-build.ts';
import { buildEvents, selectionAt } from '../../machines/testing.ts';
import { buildPaths, nameOf } from '../support/machine-paths.ts';
import { type ModelHandlers, modelRun } from '../support/model.ts';
import { type Stepped, stepped } from '../support/stepped.ts';

const test = suite('instance build');

type Build = SnapshotFrom<typeof instanceBuild>;

const EFFECTS: Readonly<Record<InstanceBuildState, readonly string[]>> = {
  requested: ['askScheduler'],
  claimed: ['dispatch'],
  building: ['awaitCompute'],
  rescheduling: ['claimAlternate'],
  failed: ['release', 'report'],
  active: ['report'],
};

/** What an event makes of the attempt that it ends, and whether something may be left on the host. */
const ENDS: Readonly<Partial<Record<InstanceBuildEvent['type'], [AttemptOutcome, boolean]>>> = {
  REFUSED: ['refused', false],
  BUILD_FAILED: ['build-failed', false],
  BUILD_ABORTED: ['build-aborted', false],
  HOST_LOST: ['host-lost', true],
  TIMED_OUT: ['timed-out', true],
  DELETED: ['deleted', true],
  CLAIM_REFUSED: ['claim-refused', false],
  PASSED_OVER: ['passed-over', false],
};

const begun = () => stepped(instanceBuild, { instance: 'i1' });

const hostsOf = (selections: readonly { host: string }[]) => selections.map(({ host }) => host);

const passedOver = ({ attempts }: InstanceBuildContext): string[] =>
  hostsOf(attempts.filter(({ outcome }) => outcome === 'passed-over'));

/** Every host of the selection, in the order in which they stand: tried, under way, still to be tried. */
function hostsInOrder({ attempts, selection, alternates }: InstanceBuildContext): string[] {
  const tried = attempts.filter(({ outcome }) => outcome !== 'passed-over');
  return hostsOf([...tried, ...(selection === null ? [] : [selection]), ...alternates]);
}

/** What holds in every state, and over every step into it. */
function checkAlways({ snapshot, before, effects }: Stepped<typeof instanceBuild>, chosen: readonly string[]): void {
  const { context } = snapshot;
  const value = snapshot.value as InstanceBuildState;
  assert.equal(effects, snapshot === before ? [] : EFFECTS[value]);
  assert.equal(context.failure !== null, value === 'failed', 'a build has a failure if and only if it failed');
  if (context.failure !== null) assert.ok(context.failure.message.length > 0, 'a failure says why');
  assert.is(context.selection !== null, ['claimed', 'building', 'active'].includes(value), 'who holds a host');
  const last = passedOver(context);
  const order = [...chosen.filter((host) => !last.includes(host)), ...last];
  assert.equal(hostsInOrder(context), order, 'hosts are tried in the order of the selection, and none is forgotten');
  assert.is(new Set(last).size, last.length, 'each host is passed over once at most');
  assert.equal(
    context.attempts.map(({ attempt }) => attempt),
    context.attempts.map((_, position) => position + 1),
    'every attempt that came to nothing is told, once',
  );
  const underWay = context.selection === null ? 0 : 1;
  assert.is(context.attempt, context.attempts.length + underWay, 'attempts count the claims');
  if (before === null) return;
  const { length } = before.context.attempts;
  assert.equal(context.attempts.slice(0, length), before.context.attempts, 'attempts only grow');
  assert.ok(context.attempts.length <= length + 1);
}

/** What an event says of the attempt that it ends. */
function checkEnded({ snapshot, before }: Stepped<typeof instanceBuild>, event: InstanceBuildEvent): void {
  const ended = snapshot.context.attempts.slice(before?.context.attempts.length);
  const held = before?.context.selection ?? null;
  const [outcome, mayRun] = ENDS[event.type] ?? [];
  const isOfNext = event.type === 'CLAIM_REFUSED' || (event.type === 'PASSED_OVER' && held === null);
  if (outcome === undefined || (held === null && !isOfNext)) return assert.equal(ended, []);
  const host = isOfNext ? before?.context.alternates[0]?.host : held?.host;
  const reason = 'reason' in event ? event.reason : outcome;
  assert.equal(ended, [{ attempt: ended[0]?.attempt, host, outcome, reason, mayRun }]);
}

/** Why a build failed, by the event that ended it. */
function checkFailure({ snapshot, before }: Stepped<typeof instanceBuild>, event: InstanceBuildEvent): void {
  const { failure, attempts } = snapshot.context;
  assert.ok(failure);
  switch (event.type) {
    case 'NO_VALID_HOST':
      return assert.equal(failure, { code: 'no-valid-host', message: event.reason });
    case 'BUILD_ABORTED':
      return assert.equal(failure, { code: 'build-aborted', message: event.reason });
    case 'DELETED':
      return assert.is(failure.code, 'deleted');
    case 'TIMED_OUT':
      if (before?.value === 'requested') return assert.is(failure.code, 'scheduling-timed-out');
  }
  assert.is(failure.code, 'alternates-exhausted');
  assert.equal(snapshot.context.alternates, [], 'a build that had an alternate left did not fail for want of one');
  for (const { host, outcome, reason } of attempts) {
    if (outcome === 'passed-over') continue;
    const told = `${host}: ${outcome}${reason === outcome ? '' : ` (${reason})`}`;
    assert.ok(failure.message.includes(told), `'${failure.message}' leaves out ${host}`);
  }
}

/** Handlers for one path: the machine takes each event, and is held against the table in each state. */
function handlers(sut: Stepped<typeof instanceBuild>): ModelHandlers<Build> {
  let chosen: string[] = [];
  const state = (expected: Build) => {
    assert.is(sut.snapshot.value, expected.value);
    assert.equal(sut.snapshot.context, expected.context);
    checkAlways(sut, chosen);
  };
  const event = ({ event: told }: { event: { type: string } }) => {
    const taken = told as InstanceBuildEvent;
    sut.take(taken);
    if (sut.snapshot === sut.before) return;
    if (taken.type === 'SELECTED') chosen = hostsOf([taken.selection, ...taken.alternates]);
    checkEnded(sut, taken);
    if (sut.snapshot.value === 'failed') checkFailure(sut, taken);
  };
  return {
    states: Object.fromEntries(Object.keys(EFFECTS).map((value) => [value, state])),
    events: Object.fromEntries(instanceBuild.events.map((type) => [type, event])),
  };
}

const run = modelRun<Build>(instanceBuild);

test('instance build - every path keeps to the table of states, effects, attempts and failures', async () => {
  for (const path of buildPaths()) {
    try {
      await run.test(path, handlers(begun()));
    } catch (error) {
      throw new Error(`on the path '${nameOf(path)}': ${String(error)}`, { cause: error });
    }
  }
});

test('instance build - the paths went through every state and event', () => run.assertCoverage());

test('instance build - every guard was taken both ways', () => {
  const taken = new Set<string>();
  for (const path of buildPaths()) {
    path.steps.forEach(({ event }, position) => {
      if (position === 0) return;
      const { value: from } = (path.steps[position - 1] as { state: Build }).state;
      const { value: to } = (path.steps[position] as { state: Build }).state;
      taken.add(`${String(from)} ${event.type} ${String(to)}`);
    });
  }
  for (const state of ['claimed', 'building']) {
    for (const event of ['REFUSED', 'BUILD_FAILED', 'HOST_LOST', 'TIMED_OUT']) {
      assert.ok(taken.has(`${state} ${event} rescheduling`), `${state} ${event} with an alternate`);
      assert.ok(taken.has(`${state} ${event} failed`), `${state} ${event} without one`);
    }
  }
  assert.ok(taken.has('rescheduling CLAIM_REFUSED rescheduling'));
  assert.ok(taken.has('rescheduling CLAIM_REFUSED failed'));
  for (const state of ['claimed', 'rescheduling']) assert.ok(taken.has(`${state} PASSED_OVER rescheduling`));
});

test('instance build - words of another attempt change nothing, in any state', () => {
  let heard = 0;
  for (const path of buildPaths()) {
    const { context, value } = path.state as Build;
    for (const event of buildEvents(path.state as Build)) {
      if (!('attempt' in event)) continue;
      const meant = value === 'rescheduling' ? context.attempt + 1 : context.attempt;
      if (event.attempt === meant) continue;
      const sut = begun();
      for (const { event: earlier } of path.steps.slice(1)) sut.take(earlier as InstanceBuildEvent);
      const { snapshot } = sut;
      sut.take(event);
      assert.is(sut.snapshot, snapshot, `${String(value)} took ${event.type} of attempt ${event.attempt}`);
      heard += 1;
    }
  }
  assert.ok(heard > 1_000);
});

test('instance build - a refused claim of an alternate enters rescheduling anew, for the next one', () => {
  const sut = begun();
  sut.take({ type: 'SELECTED', selection: selectionAt('h1'), alternates: [selectionAt('h2'), selectionAt('h3')] });
  sut.take({ type: 'BUILD_FAILED', attempt: 1, reason: 'no image' });
  sut.take({ type: 'CLAIM_REFUSED', attempt: 2, reason: 'full' });
  assert.is(sut.snapshot.value, 'rescheduling');
  assert.equal(sut.effects, ['claimAlternate']);
  assert.equal(
    sut.snapshot.context.alternates.map(({ host }) => host),
    ['h3'],
  );
});

test('instance build - a host that is passed over comes after all others, once, and nothing passes over the last one', () => {
  const sut = begun();
  const left = () => hostsOf(sut.snapshot.context.alternates);
  sut.take({ type: 'SELECTED', selection: selectionAt('h1'), alternates: [selectionAt('h2'), selectionAt('h3')] });
  sut.take({ type: 'PASSED_OVER', attempt: 1, reason: 'set aside' });
  assert.equal([sut.snapshot.value, left()], ['rescheduling', ['h2', 'h3', 'h1']]);
  assert.equal(sut.effects, ['claimAlternate']);
  sut.take({ type: 'PASSED_OVER', attempt: 2, reason: 'set aside' });
  assert.equal([sut.snapshot.value, left()], ['rescheduling', ['h3', 'h1', 'h2']]);
  assert.equal(sut.effects, ['claimAlternate']);
  sut.take({ type: 'CLAIM_REFUSED', attempt: 3, reason: 'full' });
  sut.take({ type: 'PASSED_OVER', attempt: 4, reason: 'set aside' });
  assert.equal(left(), ['h1', 'h2'], 'it was passed over before');
  sut.take({ type: 'CLAIM_GRANTED', attempt: 4 });
  assert.is(sut.snapshot.context.selection?.host, 'h1');
  sut.take({ type: 'PASSED_OVER', attempt: 4, reason: 'set aside' });
  assert.is(sut.snapshot.value, 'claimed');
  sut.take({ type: 'BUILD_FAILED', attempt: 4, reason: 'no image' });
  sut.take({ type: 'CLAIM_REFUSED', attempt: 5, reason: 'full' });
  const tried = 'h3: claim-refused (full); h1: build-failed (no image); h2: claim-refused (full)';
  assert.is(sut.snapshot.context.failure?.message, `no host is left to try in cell 'c1': ${tried}`);
});

test('instance build - a failure tells of attempts and refused claims what is known of them, and nothing twice', () => {
  const sut = begun();
  const alternates = [selectionAt('h2'), selectionAt('h3')];
  sut.take({ type: 'SELECTED', selection: selectionAt('h1'), alternates });
  sut.take({ type: 'BUILD_FAILED', attempt: 1, reason: '' });
  sut.take({ type: 'CLAIM_REFUSED', attempt: 2, reason: 'full' });
  sut.take({ type: 'CLAIM_GRANTED', attempt: 3 });
  sut.take({ type: 'TIMED_OUT' });
  const message = "no host is left to try in cell 'c1': h1: build-failed; h2: claim-refused (full); h3: timed-out";
  assert.equal(sut.snapshot.context.failure, { code: 'alternates-exhausted', message });
});

test('instance build - a failure names the cell in which no host is left, also where the last of them refused its claim', () => {
  for (const last of ['BUILD_FAILED', 'CLAIM_REFUSED'] as const) {
    const sut = begun();
    sut.take({ type: 'SELECTED', selection: selectionAt('h1'), alternates: [selectionAt('h2')] });
    sut.take({ type: 'BUILD_FAILED', attempt: 1, reason: 'no image' });
    if (last === 'BUILD_FAILED') sut.take({ type: 'CLAIM_GRANTED', attempt: 2 });
    sut.take({ type: last, attempt: 2, reason: 'full' });
    const { failure } = sut.snapshot.context;
    assert.match(failure?.message ?? '', /^no host is left to try in cell 'c1': h1: build-failed \(no image\); h2: /);
  }
});

test('instance build - active and failed are ends: nothing moves them', () => {
  for (const path of buildPaths()) {
    const end = path.state as Build;
    assert.is(end.status, end.value === 'active' || end.value === 'failed' ? 'done' : 'active');
    if (end.status === 'done') assert.ok(buildEvents(end).every((event) => !end.can(event)));
  }
});

test.run();
