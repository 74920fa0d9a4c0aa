// The build machine as the specification of a whole deployment: each of its events is made to happen for real, and
// after each the deployment must be in the state that the machine says, with nothing that must hold broken.

import * as assert from 'uvu/assert';
import type { SnapshotFrom } from 'xstate';
import type { AnyMessage } from '../../actors/messages/any.ts';
import { cellAddress, computeAddress } from '../../actors/routing.ts';
import { type InstanceBuildEvent, instanceBuild, type Selection } from '../../machines/instance-build.ts';
import { buildEvents } from '../../machines/testing.ts';
import type { BuildOutcome } from '../../runtime/drivers/driver.ts';
import { eventsOf, shortestPaths } from './machine-paths.ts';
import type { ModelHandlers, RunnablePath } from './model.ts';
import { stepped } from './stepped.ts';
import type { Rule } from './wire.ts';
import type { Fleet, World } from './world.ts';

export type Build = SnapshotFrom<typeof instanceBuild>;
type BuildPath = RunnablePath<Build>;

/** Three hosts in one cell, and in another one a host that is too small for the instance. */
export const MODEL_FLEET: Fleet = { north: { n1: 4, n2: 4, n3: 4 }, south: { s1: 1 } };
const CELL = 'north';
const VCPU = 2;

/** The gates by which the model goes from state to state: what must not happen yet waits there. */
const SELECT: Rule = { type: 'select', from: 'conductor/' };
const ORDER: Rule = { type: 'build', from: 'cell/' };
const CLAIM: Rule = { type: 'claim', from: 'cell/' };
const ACCEPTED: Rule = { type: 'accepted', from: 'compute/' };
const GATES = [SELECT, ORDER, CLAIM, ACCEPTED];

/** Every event that means something, in every state, with every number of alternates left. */
export function everyStepOfBuilds(): readonly BuildPath[] {
  return shortestPaths(instanceBuild, {
    input: { instance: 'model' },
    events: befalling,
    sameAs: (snapshot, event, before) => [before && standing(before), event?.type, standing(snapshot)],
  });
}

/** Every event in every state once: for where a step takes real time. */
export function everyEventOfBuilds(): readonly BuildPath[] {
  return shortestPaths(instanceBuild, {
    input: { instance: 'model' },
    events: (snapshot) =>
      befalling(snapshot).filter((event) => event.type !== 'SELECTED' || event.alternates.length === 1),
    sameAs: (snapshot, event, before) => [before?.value, event?.type, snapshot.value],
  });
}

/** What a cell finds by itself on entering a state, and so is nothing that could be made to happen to a build in it. */
export const FOUND_BY_CELL = 'PASSED_OVER';

type Befalling = Exclude<InstanceBuildEvent['type'], typeof FOUND_BY_CELL>;
const befalling = (snapshot: Build) =>
  buildEvents(snapshot).filter((event) => snapshot.can(event) && event.type !== FOUND_BY_CELL);

const standing = ({ value, context }: Build) => [value, context.alternates.length, context.attempt];

/** Handlers by which one path is walked in a world of its own. Begin with `begin`, close with `finish`. */
export function buildModel(world: World, path: BuildPath) {
  const instance = 'model';
  const events = eventsOf(path) as InstanceBuildEvent[];
  const chosen = events.find((event) => event.type === 'SELECTED');
  const isHopeless = events.some((event) => event.type === 'NO_VALID_HOST');
  // Paths join at states that count as the same; where this one really is, is stepped beside it.
  const modelled = stepped(instanceBuild, { instance });

  async function begin(): Promise<void> {
    for (const gate of [SELECT, ORDER, CLAIM]) world.wire.hold(gate);
    const alternates = chosen?.alternates.length ?? 0;
    await world.build({ id: instance, alternates, resources: { VCPU: isHopeless ? 100 : VCPU } });
  }

  // --- making things happen

  const hosts = (): readonly Selection[] => world.deployment.chosen.get(instance) ?? [];

  /** The host of an attempt: attempts take the chosen hosts in order. */
  function placeOf(attempt: number): Selection {
    const place = hosts()[attempt - 1];
    if (place === undefined) throw new Error(`there is no host for attempt ${attempt}`);
    return place;
  }

  async function buildsOn(attempt: number): Promise<void> {
    const { host } = placeOf(attempt);
    await world.until(`attempt ${attempt} is being built`, () => world.room(host).isBuilding(instance, attempt));
  }

  /** The driver says what came of the build; before the compute was heard to accept it, if the model has it so. */
  async function driverSays(attempt: number, outcome: BuildOutcome): Promise<void> {
    if (modelled.before?.value === 'claimed') {
      world.wire.hold(ACCEPTED);
      world.wire.pass(ORDER);
    }
    await buildsOn(attempt);
    world.room(placeOf(attempt).host).finish(instance, attempt, outcome);
  }

  /** Somebody destroyed the attempt behind the cell's back: asked to build it, the compute refuses. */
  async function destroyUnseen(attempt: number): Promise<void> {
    const place = placeOf(attempt);
    world.say(computeAddress(place.cell, place.host), { type: 'destroy', instance, attempt });
    await world.until('the attempt is destroyed', () => world.room(place.host).wasDestroyed(instance, attempt));
    world.wire.free(ORDER);
    await world.until('the compute has refused', () => world.stateOf(instance) !== modelled.before?.value);
    world.wire.hold(ORDER);
  }

  const make: Record<Befalling, (attempt: number) => Promise<void>> = {
    async SELECTED() {
      world.wire.free(SELECT);
    },
    async NO_VALID_HOST() {
      world.wire.free(SELECT);
    },
    async ACCEPTED() {
      world.wire.free(ACCEPTED);
      world.wire.pass(ORDER);
    },
    async REFUSED(attempt) {
      await destroyUnseen(attempt);
    },
    async BUILT(attempt) {
      await driverSays(attempt, { outcome: 'built' });
    },
    async BUILD_FAILED(attempt) {
      await driverSays(attempt, { outcome: 'failed', reason: 'no image' });
    },
    async BUILD_ABORTED(attempt) {
      await driverSays(attempt, { outcome: 'aborted', reason: 'a bad request' });
    },
    async HOST_LOST(attempt) {
      const { host } = placeOf(attempt);
      world.wire.cut(host);
      await world.until(`'${host}' is down`, () => world.serviceOf(host) === 'down');
    },
    async CLAIM_GRANTED() {
      world.wire.pass(CLAIM);
    },
    async CLAIM_REFUSED(attempt) {
      await world.fill(placeOf(attempt).host);
      world.wire.pass(CLAIM);
    },
    async TIMED_OUT() {
      await world.until('the deadline has passed', () => world.stateOf(instance) !== modelled.before?.value);
    },
    async DELETED() {
      await world.run(world.client.delete(instance));
    },
  };

  // --- looking at what came of it

  /** Words of an attempt that is not the present one. */
  function strayWords({ context }: Build): AnyMessage[] {
    return [context.attempt - 1, context.attempt + 2]
      .filter((attempt) => attempt >= 0)
      .flatMap((attempt): AnyMessage[] => {
        const ofAttempt = { host: 'n1', instance, attempt };
        const refusal = { code: 'exceeds-capacity', message: 'a word of another attempt' } as const;
        return [
          { type: 'accepted', ...ofAttempt },
          { type: 'built', ...ofAttempt },
          { type: 'build-refused', ...ofAttempt, reason: 'stray' },
          { type: 'build-failed', ...ofAttempt, reason: 'stray' },
          { type: 'build-aborted', ...ofAttempt, reason: 'stray' },
          { type: 'destroyed', ...ofAttempt },
          { type: 'claim-granted', consumer: instance, attempt, allocations: [], usages: [] },
          { type: 'claim-refused', consumer: instance, attempt, refusal, usages: [] },
        ];
      });
  }

  async function look(expected: Build) {
    const view = await world.run(world.client.show(instance));
    const { context, value } = expected;
    assert.is(view.state, value);
    if (context.attempt > 0) assert.is(view.attempt, context.attempt);
    assert.is(view.host, context.selection === null ? undefined : placeOf(context.attempt).host);
    assert.is(view.failure?.code, context.failure?.code);
    if (world.deployment.chosen.has(instance)) {
      assert.equal(
        view.attempts?.map(({ attempt, outcome, host }) => ({ attempt, outcome, host })),
        context.attempts.map(({ attempt, outcome }) => ({ attempt, outcome, host: placeOf(attempt).host })),
      );
      for (const [position, { mayRun }] of (view.attempts ?? []).entries()) {
        assert.ok(!mayRun || context.attempts[position]?.mayRun === true, 'nothing was left that may run');
      }
      const left = hosts().slice(hosts().length - context.alternates.length);
      assert.equal(
        view.alternates,
        left.map(({ host }) => host),
      );
    }
    // What is owed is done at its own pace.
    const { owes: _, owedSince: __, attempts = [], ...lasting } = view;
    return { ...lasting, attempts: attempts.map(({ mayRun: ___, ...one }) => one) };
  }

  async function isAsModelled({ value }: Build): Promise<void> {
    const expected = modelled.snapshot;
    const { context } = expected;
    assert.is(expected.value, value);
    if (context.failure?.code === 'deleted') return isDeleted();
    await world.until(`'${instance}' is ${value}, attempt ${context.attempt}`, () => {
      const build = world.deployment.cells.get(CELL)?.instances.get(instance)?.build;
      // A refused claim comes back to the same state: it is told apart by its attempt.
      const isThisAttempt = build === undefined || build.snapshot.context.attempt === context.attempt;
      return isThisAttempt && world.stateOf(instance) === value;
    });
    const view = await look(expected);
    world.say(cellAddress(CELL), ...strayWords(expected));
    await world.settle();
    assert.equal(await look(expected), view, 'words of another attempt changed something');
    assert.equal(world.faults, []);
  }

  /** The caller's delete is honoured from whatever state; what is cleared away may wait for a host that is lost. */
  async function isDeleted(): Promise<void> {
    const view = await world.run(world.client.show(instance));
    assert.ok(['deleting', 'deleted'].includes(view.state), `a deleted instance is ${view.state}`);
    await world.settle();
    assert.equal(world.faults, []);
  }

  /** Everything is mended and let through: it comes to an end, what is owed is done, and only what is active stays. */
  async function finish(): Promise<void> {
    for (const host of world.deployment.rooms.keys()) world.wire.mend(host);
    for (const gate of GATES) world.wire.free(gate);
    for (const room of world.deployment.rooms.values()) room.fate = () => ({ outcome: 'built' });
    const phase = () => world.deployment.conductor.instances.get(instance)?.phase;
    await world.until('it has come to an end', () =>
      ['active', 'failed', 'deleted'].includes(world.stateOf(instance) ?? ''),
    );
    if (modelled.snapshot.context.failure?.code === 'deleted') {
      await world.until('it is deleted', () => phase() === 'deleted');
    }
    const build = world.deployment.cells.get(CELL)?.instances.get(instance)?.build;
    const active = build?.snapshot.value === 'active' ? [build.snapshot.context.attempt] : [];
    await world.until('only what is active holds anything', () => {
      const present = [...world.deployment.rooms.values()].flatMap((room) => room.present);
      const owed = [...world.deployment.cells.values()].some(({ removals }) => removals.size > 0);
      return !owed && world.heldBy(instance).join() === active.join() && present.length === active.length;
    });
    for (const attempt of active) {
      assert.equal(world.room(placeOf(attempt).host).present, [`${instance}/${attempt}`]);
    }
    const selects = world.wire.said.filter(({ message }) => message.type === 'select');
    const handedOver = world.wire.said.findIndex(({ message }) => message.type === 'start');
    assert.ok(
      handedOver < 0 || selects.every((select) => world.wire.said.indexOf(select) < handedOver),
      'a scheduler was asked after the hand-over',
    );
    assert.equal(cellsNamedTo(world), [], 'blind placement');
    assert.equal(world.faults, []);
  }

  const happens = async ({ event }: { event: { type: string } }) => {
    const taken = event as InstanceBuildEvent & { type: Befalling };
    modelled.take(taken);
    await make[taken.type]('attempt' in taken ? taken.attempt : 0);
  };
  const states = Object.fromEntries(Object.keys(instanceBuild.states).map((value) => [value, isAsModelled]));
  const executors = Object.fromEntries(Object.keys(make).map((type) => [type, happens]));
  const handlers: ModelHandlers<Build> = { states, events: executors };
  return { begin, handlers, finish };
}

/** What placement was told, or keeps, that names a cell. */
function cellsNamedTo({ wire, deployment }: World): string[] {
  const told = wire.said.filter(({ subject }) => /\.placement\.\d+$/.test(subject)).map(({ message }) => message);
  const names = new RegExp(`\\bcell|${[...deployment.cells.keys()].join('|')}`, 'i');
  const kept = [...deployment.placement.providers.values()].map(({ spec }) => spec);
  return [...told, ...kept].map((one) => JSON.stringify(one)).filter((text) => names.test(text));
}
