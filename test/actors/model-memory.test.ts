// Area: models against the actors. Every step of the build machine made to happen in a deployment in memory, with what
// must always hold checked after every record; and the machines of services, removals and selections likewise.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { EventFrom, SnapshotFrom } from 'xstate';
import { removalKey } from '../../actors/cell/removals.ts';
import type { Claim } from '../../actors/messages/placement.ts';
import type { HostsChanged } from '../../actors/messages/scheduler.ts';
import { cellAddress, placementAddress } from '../../actors/routing.ts';
import { computeService } from '../../machines/compute-service.ts';
import { instanceBuild } from '../../machines/instance-build.ts';
import { removal } from '../../machines/removal.ts';
import { selection } from '../../machines/selection.ts';
import { selectionEvents } from '../../machines/testing.ts';
import { type Build, buildModel, everyStepOfBuilds, FOUND_BY_CELL, MODEL_FLEET } from '../support/build-model.ts';
import { nameOf, removalPaths, servicePaths, shortestPaths } from '../support/machine-paths.ts';
import { type ModelHandlers, modelRun } from '../support/model.ts';
import { memoryStage, USUAL_PACES } from '../support/stages.ts';
import type { Rule } from '../support/wire.ts';
import { type Fleet, startWorld, type World } from '../support/world.ts';

const test = suite('models in memory');

async function inWorld(fleet: Fleet, run: (world: World) => Promise<void>, paces = USUAL_PACES): Promise<void> {
  const world = await startWorld(memoryStage(), fleet, paces);
  try {
    await run(world);
    assert.equal(world.faults, []);
  } finally {
    await world.stop();
  }
}

// --- builds

const builds = modelRun<Build>(instanceBuild);

for (const path of everyStepOfBuilds()) {
  test(`models in memory - a build: ${nameOf(path)}`, () =>
    inWorld(MODEL_FLEET, async (world) => {
      const model = buildModel(world, path);
      await model.begin();
      await builds.test(path, model.handlers);
      await model.finish();
    }));
}

test('models in memory - the builds went through every state and event', () => builds.assertCoverage([FOUND_BY_CELL]));

// --- services of hosts

type Service = SnapshotFrom<typeof computeService>;
const services = modelRun<Service>(computeService);

/** One failure is enough, and a rest is longer than it takes for a host to be silent, and come back. */
const QUICK_TO_REST = { ...USUAL_PACES, cell: { ...USUAL_PACES.cell, failuresBeforeAside: 1, asideMs: 300_000 } };

function serviceModel(world: World): ModelHandlers<Service> {
  const cell = 'north';
  const host = 'n1';
  const set = async (enabled: boolean, reason?: string) => {
    await world.run(world.client.host({ cell, host, enabled, ...(reason === undefined ? {} : { reason }) }));
  };
  const serviceContext = () => world.deployment.cells.get(cell)?.hosts.get(host)?.service.context;
  let builds = 0;
  /** A build that can go to this host alone, and fails there. */
  const failOne = async () => {
    builds += 1;
    const id = `fails-${builds}`;
    for (const other of world.deployment.rooms.keys()) if (other !== host) await world.fill(other);
    world.room(host).fate = () => ({ outcome: 'failed', reason: 'no image' });
    await world.build({ id, resources: { VCPU: 1 }, alternates: 0 });
    await world.until(`'${id}' has failed`, () => world.stateOf(id) === 'failed');
  };
  const state = async ({ value, context }: Service) => {
    await world.until(`'${host}' is ${value}`, () => world.serviceOf(host) === value);
    await world.settle();
    const { hosts } = await world.run(world.client.hosts({ cell }));
    const seen = hosts.find((one) => one.host === host);
    const shown = value === 'aside' ? 'set-aside' : value;
    assert.is(seen?.state, shown);
    if (value === 'aside') assert.match(seen?.reason ?? '', /^a build failed: no image/);
    else if (value !== 'fenced') assert.is(seen?.reason ?? null, context.disabledReason);
    assert.is((serviceContext()?.rest ?? null) !== null, (context.rest ?? null) !== null);
    assert.is(lastTold(world, host), shown, 'every change is announced to the schedulers');
    assert.equal(world.faults, []);
  };
  return {
    states: { down: state, up: state, aside: state, disabled: state, fenced: state },
    events: {
      HEARD: () => world.wire.mend(host),
      REBORN: () => world.restart(host),
      SILENT: () => world.wire.cut(host),
      SET_ASIDE: failOne,
      RESTED: () => world.until('the host has rested', () => (serviceContext()?.rest ?? null) === null),
      FENCE: async () => {
        await world.run(world.client.host({ cell, host, fence: true }));
      },
      DISABLE: ({ event }) => set(false, (event as { reason?: string }).reason),
      ENABLE: () => set(true),
    },
  };
}

/** How the feed of the host's cell told the host last. */
function lastTold({ wire }: World, host: string): string | undefined {
  const told = wire.said.flatMap(({ message }) => (message as HostsChanged).hosts ?? []);
  return told.filter((one) => one.host === host).at(-1)?.state;
}

for (const path of servicePaths()) {
  test(`models in memory - a service: ${nameOf(path)}`, () =>
    inWorld(
      MODEL_FLEET,
      async (world) => {
        world.wire.cut('n1');
        await world.until('the host is down', () => world.serviceOf('n1') === 'down');
        await services.test(path, serviceModel(world));
      },
      QUICK_TO_REST,
    ));
}

test('models in memory - the services went through every state and event', () => services.assertCoverage());

test('models in memory - a host that is disabled keeps what it has and is offered nothing new', () =>
  inWorld({ north: { n1: 4, n2: 4 } }, async (world) => {
    for (const host of ['n1', 'n2']) world.room(host).fate = () => ({ outcome: 'built' });
    await world.build({ id: 'first', resources: { VCPU: 2 }, alternates: 0 });
    await world.until('it is active', () => world.stateOf('first') === 'active');
    const { host = '' } = await world.run(world.client.show('first'));
    await world.run(world.client.host({ cell: 'north', host, enabled: false, reason: 'a new disk' }));
    await world.build({ id: 'second', resources: { VCPU: 2 }, alternates: 1 });
    await world.until('it is active', () => world.stateOf('second') === 'active');
    const view = await world.run(world.client.show('second'));
    assert.not.equal(view.host, host);
    assert.equal(view.alternates, []);
    assert.is(world.stateOf('first'), 'active');
  }));

// --- removals

type Removing = SnapshotFrom<typeof removal>;
const removals = modelRun<Removing>(removal);

/** Of a build that the caller deletes (`final`), or of an attempt that timed out and may still run. */
function removalModel(world: World, final: boolean) {
  const instance = 'model';
  const destroy: Rule = { type: 'destroy', from: 'cell/' };
  const release: Rule = { type: 'release', from: 'cell/' };
  const key = removalKey({ instance, attempt: 1, final });
  const found = () => world.deployment.cells.get('north')?.removals.get(key);
  const isPresent = () => [...world.deployment.rooms.values()].some(({ present }) => present.includes(`${instance}/1`));

  async function begin(): Promise<void> {
    world.wire.hold(destroy);
    world.wire.hold(release);
    await world.build({ id: instance, resources: { VCPU: 2 }, alternates: 1 });
    await world.until('it is being built', () => world.stateOf(instance) === 'building');
    if (final) await world.run(world.client.delete(instance));
    await world.until('a removal is owed', () => found() !== undefined);
  }

  /** What holds in each state, and how it is to be told from the outside. */
  const state =
    (expected: string, { holds, runs }: { holds: boolean; runs: boolean }) =>
    async () => {
      await world.until(`the removal is ${expected}`, () => (found()?.snapshot.value ?? 'removed') === expected);
      await world.settle();
      assert.is(found()?.snapshot.value ?? 'removed', expected);
      assert.is(world.heldBy(instance).includes(1), holds, `it holds its resources when ${expected}`);
      assert.is(isPresent(), runs, `it is on its host when ${expected}`);
      assert.equal(world.faults, []);
    };
  const handlers: ModelHandlers<Removing> = {
    states: {
      destroying: state('destroying', { holds: true, runs: true }),
      releasing: state('releasing', { holds: true, runs: false }),
      removed: state('removed', { holds: false, runs: false }),
    },
    events: {
      // What comes too early or again comes from somebody else: it must mean nothing.
      DESTROYED: () => {
        if (found()?.snapshot.value === 'destroying') world.wire.pass(destroy);
        else world.say(cellAddress('north'), { type: 'destroyed', host: 'n1', instance, attempt: 1 });
      },
      RELEASED: () => {
        if (found()?.snapshot.value === 'releasing') return world.wire.pass(release);
        const ofAttempt = final ? {} : { attempt: 1 };
        world.say(cellAddress('north'), { type: 'released', consumer: instance, deleted: final, ...ofAttempt });
      },
    },
  };
  return { begin, handlers };
}

for (const final of [true, false]) {
  for (const path of removalPaths({ instance: 'model', attempt: 1, host: 'n1', final })) {
    test(`models in memory - the removal of ${final ? 'an instance' : 'an attempt'}: ${nameOf(path)}`, () =>
      inWorld(MODEL_FLEET, async (world) => {
        const model = removalModel(world, final);
        await model.begin();
        await removals.test(path, model.handlers);
      }));
  }
}

test('models in memory - the removals went through every state and event', () => removals.assertCoverage());

// --- selections

type Choice = SnapshotFrom<typeof selection>;
const selections = modelRun<Choice>(selection);
const CANDIDATES = ['n1', 'n2', 'n3'];
/** Long enough that a scheduler without a host waits for one, until the model lets that time pass. */
const PATIENT_PACES = { ...USUAL_PACES, scheduler: { warmUpMs: 60_000 } };

const choices = shortestPaths(selection, {
  input: { instance: 'model' },
  events: (snapshot) =>
    selectionEvents(snapshot).filter(
      (event) =>
        snapshot.can(event) &&
        (event.type !== 'REFUSED' || (event.isPassing !== true && snapshot.context.tried.length < 2)),
    ),
});

/** Hosts are put into service one by one, so that a scheduler has at most one to choose from. */
function selectionModel(world: World) {
  const instance = 'model';
  const claim: Rule = { type: 'claim', from: 'scheduler/' };
  const recall: Rule = { type: 'recall', from: 'scheduler/' };
  const providerOf = (host: string) =>
    [...world.deployment.placement.providers.values()].find(({ spec }) => spec.name === host)?.spec.id ?? '';
  const claimed = () => {
    const claims = world.wire.said.filter(
      ({ from, message }) => message.type === 'claim' && from.startsWith(claim.from),
    );
    return [...new Set(claims.map(({ message }) => (message as Claim).allocations[0]?.provider))];
  };
  const enable = (host: string, enabled: boolean) =>
    world.run(world.client.host({ cell: 'north', host, enabled })).then(() => world.settle());
  const recalls = () => world.wire.said.filter(({ message }) => message.type === 'recall').length;
  let recallsBefore = 0;
  let tried = 0;
  let held: string | undefined;

  async function begin(): Promise<void> {
    for (const host of [...CANDIDATES, 'other']) await enable(host, false);
    world.wire.hold(claim);
    world.wire.hold(recall);
    world.wire.hold({ type: 'start', from: 'conductor/' });
    await world.build({ id: instance, resources: { VCPU: 2 }, alternates: 0 });
    await world.settle();
  }

  const state = (stateOfBuild: string, claims: () => number) => async (expected: Choice) => {
    await world.until(`the build is ${stateOfBuild}`, () => world.stateOf(instance) === stateOfBuild);
    await world.settle();
    assert.is(world.stateOf(instance), stateOfBuild);
    assert.equal(claimed(), CANDIDATES.slice(0, claims()).map(providerOf), 'who was asked, in order');
    const view = await world.run(world.client.show(instance));
    if (expected.value === 'selected') assert.is(view.host, held);
    if (expected.value === 'exhausted') {
      assert.is(view.failure?.code, 'no-valid-host');
      assert.ok((view.failure?.message ?? '').length > 0);
    }
    assert.equal(world.faults, []);
  };
  const candidate = () => CANDIDATES[tried] as string;
  const handlers: ModelHandlers<Choice> = {
    states: {
      ranking: state('requested', () => tried),
      claiming: state('requested', () => tried + 1),
      recalling: state('requested', () => tried),
      selected: state('claimed', () => claimed().length),
      exhausted: state('failed', () => claimed().length),
    },
    events: {
      async RANKED() {
        await enable(candidate(), true);
        await letRecall();
      },
      async NONE_FITS() {
        await world.until('it has waited in vain', () => recalls() > recallsBefore);
      },
      NOTHING_HELD: letRecall,
      async GRANTED({ event }) {
        const { host } = (event as EventFrom<typeof selection> & { type: 'GRANTED' }).held;
        const isOther = host === 'h8' || host === 'h9';
        held = isOther ? 'other' : candidate();
        if (isOther) await claimEarlier(held);
        world.wire.pass(claim);
        await letRecall();
      },
      async REFUSED() {
        await world.fill(candidate());
        tried += 1;
        world.wire.pass(claim);
      },
      async GAVE_UP() {
        world.say(placementAddress(0), { type: 'release', consumer: instance, deleted: true });
        await world.until('the consumer is deleted', () => world.deployment.placement.consumers.deleted.has(instance));
        world.wire.pass(claim);
      },
    },
  };

  /** Lets placement hear what it is asked to recall, if it is, and holds the next such question. */
  async function letRecall(): Promise<void> {
    world.wire.pass(recall);
    await world.settle();
    recallsBefore = recalls();
    world.wire.hold(recall);
  }

  /** An earlier ask was granted another host, and its answer was lost. */
  async function claimEarlier(host: string): Promise<void> {
    const resources = { VCPU: 2 };
    world.say(placementAddress(0), {
      type: 'claim',
      consumer: instance,
      attempt: 1,
      spec: { groups: [{ name: '', resources }], groupPolicy: 'none' },
      allocations: [{ provider: providerOf(host), group: '', resources }],
      keep: [],
      expiresAt: world.clock.now() + 60_000,
    });
    await world.until('the earlier claim is granted', () => world.heldBy(instance).includes(1));
  }
  return { begin, handlers };
}

for (const path of choices) {
  test(`models in memory - a selection: ${nameOf(path)}`, () =>
    inWorld(
      { north: { n1: 4, n2: 4, n3: 4, other: 4 } },
      async (world) => {
        const model = selectionModel(world);
        await model.begin();
        await selections.test(path, model.handlers);
      },
      PATIENT_PACES,
    ));
}

test('models in memory - the selections went through every state and event', () => selections.assertCoverage());

// --- islands

test('models in memory - with the API gone a cell goes on rescheduling, and with a cell gone the others do not notice', () =>
  inWorld({ north: { n1: 4, n2: 4, n3: 4 }, south: { s1: 4 } }, async (world) => {
    await world.build({ id: 'model', resources: { VCPU: 2 }, alternates: 2 });
    await world.until('it is being built', () => world.stateOf('model') === 'building');
    for (const node of ['api', 'south']) world.wire.cut(node);
    for (const room of world.deployment.rooms.values()) {
      room.fate = ({ attempt }) => (attempt < 3 ? { outcome: 'failed', reason: 'no image' } : { outcome: 'built' });
    }
    const [first] = world.deployment.chosen.get('model') ?? [];
    world.room(first?.host ?? '').finish('model', 1, { outcome: 'failed', reason: 'no image' });
    await world.until('it is active on the last alternate', () => world.stateOf('model') === 'active');
    assert.equal(world.heldBy('model'), [3]);
    for (const node of ['api', 'south']) world.wire.mend(node);
    const view = await world.run(world.client.ended('model'));
    assert.is(view.state, 'active');
    assert.is(view.attempts?.length, 2);
  }));

test('models in memory - every node that dies is taken up again where its journal left it', () =>
  inWorld(MODEL_FLEET, async (world) => {
    for (const room of world.deployment.rooms.values()) {
      room.fate = ({ attempt }) => (attempt === 1 ? { outcome: 'failed', reason: 'no image' } : { outcome: 'built' });
    }
    for (const [position, node] of ['placement', 'api', 'north', 'n1', 'n2', 'n3'].entries()) {
      const id = `after-${position}`;
      await world.build({ id, resources: { VCPU: 1 }, alternates: 1 });
      await world.restart(node);
      await world.until(`'${id}' is active`, () => world.stateOf(id) === 'active');
    }
  }));

test.run();
