// Area: the service machine of a host. That a host is up, disabled, set aside, down or fenced as its words, its builds
// and its operator say, that every change is announced, and that only going down loses builds.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SnapshotFrom } from 'xstate';
import { type ComputeServiceEvent, type ComputeServiceState, computeService } from '../../machines/compute-service.ts';
import { nameOf, servicePaths } from '../support/machine-paths.ts';
import { type ModelHandlers, modelRun } from '../support/model.ts';
import { type Stepped, stepped } from '../support/stepped.ts';

const test = suite('compute service');

type Service = SnapshotFrom<typeof computeService>;

const EFFECTS: Readonly<Record<ComputeServiceState, readonly string[]>> = {
  down: ['announce', 'loseBuilds'],
  up: ['announce'],
  aside: ['announce'],
  disabled: ['announce'],
  fenced: ['announce', 'confirmGone'],
};

/** What an operator and a listener would say of the host, kept beside the machine. */
interface Seen {
  silent: boolean;
  fenced: boolean;
  resting: boolean;
  disabled: string | null;
}

function stateBy({ silent, fenced, resting, disabled }: Seen): ComputeServiceState {
  if (fenced) return 'fenced';
  if (silent) return 'down';
  if (disabled !== null) return 'disabled';
  return resting ? 'aside' : 'up';
}

function note(seen: Seen, taken: ComputeServiceEvent): void {
  const before = stateBy(seen);
  if (taken.type === 'HEARD') seen.silent = false;
  if (taken.type === 'SILENT') seen.silent = true;
  if (taken.type === 'FENCE' && before === 'down') seen.fenced = true;
  if (taken.type === 'REBORN' && before === 'fenced') Object.assign(seen, { fenced: false, silent: false });
  if (taken.type === 'SET_ASIDE' && before === 'up') seen.resting = true;
  if (taken.type === 'RESTED') seen.resting = false;
  if (taken.type === 'DISABLE') seen.disabled = taken.reason;
  if (taken.type === 'ENABLE') Object.assign(seen, { disabled: null, resting: false });
}

function handlers(sut: Stepped<typeof computeService>): ModelHandlers<Service> {
  const seen: Seen = { silent: true, fenced: false, resting: false, disabled: null };
  const state = (expected: Service) => {
    const { value, context } = sut.snapshot;
    assert.is(value, expected.value);
    assert.is(context.disabledReason, seen.disabled);
    assert.is(context.rest !== null, seen.resting);
    assert.is(value, stateBy(seen));
    const changed = sut.before === null || sut.before.value !== value;
    assert.equal(sut.effects, changed ? EFFECTS[value as ComputeServiceState] : []);
  };
  const event = ({ event: told }: { event: { type: string } }) => {
    note(seen, told as ComputeServiceEvent);
    sut.take(told as ComputeServiceEvent);
  };
  return {
    states: Object.fromEntries(Object.keys(EFFECTS).map((value) => [value, state])),
    events: Object.fromEntries(computeService.events.map((type) => [type, event])),
  };
}

const run = modelRun<Service>(computeService);

for (const path of servicePaths()) {
  test(`compute service - ${nameOf(path)}`, () => run.test(path, handlers(stepped(computeService, { host: 'h1' }))));
}

test('compute service - the paths went through every state and event', () => run.assertCoverage());

test('compute service - one that was disabled while down comes back disabled, and up when it is enabled', () => {
  const sut = stepped(computeService, { host: 'h1' });
  sut.take({ type: 'DISABLE', reason: 'a new disk' });
  assert.is(sut.snapshot.value, 'down');
  sut.take({ type: 'HEARD' });
  assert.is(sut.snapshot.value, 'disabled');
  sut.take({ type: 'ENABLE' });
  assert.is(sut.snapshot.value, 'up');
});

test('compute service - one that is set aside and goes silent comes back set aside, until it has rested', () => {
  const sut = stepped(computeService, { host: 'h1' });
  for (const type of ['HEARD', 'SILENT', 'HEARD'] as const) {
    if (type === 'SILENT') sut.take({ type: 'SET_ASIDE', reason: 'five in a row', until: 9 });
    sut.take({ type });
  }
  assert.equal([sut.snapshot.value, sut.snapshot.context.rest], ['aside', { reason: 'five in a row', until: 9 }]);
  sut.take({ type: 'RESTED' });
  assert.equal([sut.snapshot.value, sut.snapshot.context.rest], ['up', null]);
});

test('compute service - a fenced host is not listened to, but in a new life', () => {
  const sut = stepped(computeService, { host: 'h1' });
  sut.take({ type: 'FENCE' });
  sut.take({ type: 'HEARD' });
  assert.is(sut.snapshot.value, 'fenced');
  sut.take({ type: 'REBORN' });
  assert.is(sut.snapshot.value, 'up');
  sut.take({ type: 'FENCE' });
  assert.is(sut.snapshot.value, 'up', 'one that is up cannot be fenced');
});

test('compute service - it has no end', () => {
  assert.ok(servicePaths().every(({ state }) => (state as Service).status === 'active'));
});

test.run();
