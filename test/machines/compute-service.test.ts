// Area: the service machine of a host. That a host is up, disabled or down as its words and its operator say, that
// every change is announced, and that only going down loses builds.

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
  disabled: ['announce'],
};

/** What an operator and a listener would say of the host, kept beside the machine. */
interface Seen {
  silent: boolean;
  disabled: string | null;
}

function handlers(sut: Stepped<typeof computeService>): ModelHandlers<Service> {
  const seen: Seen = { silent: true, disabled: null };
  const state = (expected: Service) => {
    const { value, context } = sut.snapshot;
    assert.is(value, expected.value);
    assert.is(context.disabledReason, seen.disabled);
    assert.is(value, seen.silent ? 'down' : seen.disabled === null ? 'up' : 'disabled');
    const changed = sut.before === null || sut.before.value !== value;
    assert.equal(sut.effects, changed ? EFFECTS[value as ComputeServiceState] : []);
  };
  const event = ({ event: told }: { event: { type: string } }) => {
    const taken = told as ComputeServiceEvent;
    if (taken.type === 'HEARD') seen.silent = false;
    if (taken.type === 'SILENT') seen.silent = true;
    if (taken.type === 'DISABLE') seen.disabled = taken.reason;
    if (taken.type === 'ENABLE') seen.disabled = null;
    sut.take(taken);
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

test('compute service - it has no end', () => {
  assert.ok(servicePaths().every(({ state }) => (state as Service).status === 'active'));
});

test.run();
