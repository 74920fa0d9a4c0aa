// Area: the ownership machine. That an actor is only ever opened with the lease, that no turn is taken while the lease
// is in doubt, that everything is dropped before the lease is given up, and that a stop always comes to its end.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { SnapshotFrom } from 'xstate';
import { type OwnershipEvent, type OwnershipState, ownership } from '../../machines/ownership.ts';
import { nameOf, ownershipPaths } from '../support/machine-paths.ts';
import { type ModelHandlers, modelRun } from '../support/model.ts';
import { type Stepped, stepped } from '../support/stepped.ts';

const test = suite('ownership');

type Owning = SnapshotFrom<typeof ownership>;

const EFFECTS: Readonly<Record<OwnershipState, readonly string[]>> = {
  standby: ['watch'],
  acquiring: ['acquire'],
  opening: ['renew', 'open'],
  owning: ['serve'],
  unsure: ['hold'],
  draining: ['drain'],
  dropping: ['drop'],
  releasing: ['release'],
  resting: ['rest'],
  stopped: [],
};
const input = { address: 'placement/0' };

/** What the world holds while the machine's effects are carried out, kept beside it. */
interface World {
  /** The lease is ours; a loss that we have heard of ends it. */
  lease: boolean;
  open: boolean;
  turns: boolean;
  told: boolean;
}

function carryOut(world: World, effect: string): void {
  if (effect === 'acquire') assert.not.ok(world.lease || world.open, 'what is acquired is neither held nor open');
  if (effect === 'open') {
    assert.ok(world.lease, 'only the holder of the lease opens');
    world.open = true;
  }
  if (effect === 'serve') {
    assert.ok(world.lease && world.open, 'turns are taken with the lease and the journal');
    world.turns = true;
  }
  if (effect === 'hold') world.turns = false;
  if (effect === 'drop') {
    world.turns = false;
    world.open = false;
  }
  if (effect === 'release') assert.ok(world.lease && !world.open, 'what is released is held and no longer open');
  if (effect === 'watch' || effect === 'rest') assert.not.ok(world.lease || world.open, 'others may have it');
}

function handlers(sut: Stepped<typeof ownership>): ModelHandlers<Owning> {
  const world: World = { lease: false, open: false, turns: false, told: false };
  const state = (expected: Owning) => {
    const { value, context, status } = sut.snapshot;
    assert.is(value, expected.value);
    assert.equal(context, expected.context);
    const changed = sut.before === null || sut.before.value !== value;
    assert.equal(sut.effects, changed ? EFFECTS[value as OwnershipState] : []);
    assert.is(context.leaving, world.told);
    assert.is(world.open, ['opening', 'owning', 'unsure', 'draining'].includes(value));
    if (value === 'unsure') assert.not.ok(world.turns, 'no turn is taken in doubt');
    assert.is(status, value === 'stopped' ? 'done' : 'active');
    if (value === 'stopped') assert.not.ok(world.lease || world.open, 'nothing is kept by who has stopped');
  };
  const event = ({ event: said }: { event: { type: string } }) => {
    const taken = said as OwnershipEvent;
    if (sut.snapshot.can(taken)) {
      if (taken.type === 'ACQUIRED') world.lease = true;
      if (taken.type === 'LOST' || taken.type === 'RELEASED') world.lease = false;
      if (taken.type === 'STOP') world.told = true;
    }
    sut.take(taken);
    for (const effect of sut.effects) carryOut(world, effect);
  };
  return {
    states: Object.fromEntries(Object.keys(EFFECTS).map((value) => [value, state])),
    events: Object.fromEntries(ownership.events.map((type) => [type, event])),
  };
}

const run = modelRun<Owning>(ownership);

for (const path of ownershipPaths()) {
  test(`ownership - ${nameOf(path)}`, () => run.test(path, handlers(stepped(ownership, input))));
}

test('ownership - the paths went through every state and event', () => run.assertCoverage());

function after(...types: OwnershipEvent['type'][]): Stepped<typeof ownership> {
  const sut = stepped(ownership, input);
  for (const type of types) sut.take({ type });
  return sut;
}

const OWNED = ['VACANT', 'ACQUIRED', 'OPENED'] as const;

test('ownership - a clean stop finishes what is there, then hands the lease over', () => {
  const sut = after(...OWNED);
  const seen: string[] = [];
  for (const type of ['STOP', 'DRAINED', 'DROPPED', 'RELEASED'] as const) {
    sut.take({ type });
    seen.push(`${sut.snapshot.value}: ${sut.effects.join(' ')}`);
  }
  assert.equal(seen, ['draining: drain', 'dropping: drop', 'releasing: release', 'stopped: ']);
});

test('ownership - a lease that was not renewed in time holds the turns, and is served again once it is', () => {
  const sut = after(...OWNED, 'STALE');
  assert.is(sut.snapshot.value, 'unsure');
  sut.take({ type: 'RENEWED' });
  assert.equal([sut.snapshot.value, sut.effects], ['owning', ['serve']]);
});

test('ownership - one that lost its lease drops all and stands by, and releases nothing', () => {
  const sut = after(...OWNED, 'STALE', 'LOST');
  assert.equal(sut.effects, ['drop']);
  sut.take({ type: 'DROPPED' });
  assert.equal([sut.snapshot.value, sut.effects], ['standby', ['watch']]);
});

test('ownership - one that fails again and again gives the lease up and lets others try first', () => {
  const sut = after(...OWNED, 'FAILED', 'DROPPED', 'RELEASED');
  assert.is(sut.snapshot.value, 'resting');
  sut.take({ type: 'RESTED' });
  assert.is(sut.snapshot.value, 'standby');
});

test('ownership - told to stop while the lease is being taken, it gives back what it gets', () => {
  assert.is(after('EXPIRED', 'STOP', 'ACQUIRED', 'RELEASED').snapshot.value, 'stopped');
  assert.is(after('EXPIRED', 'STOP', 'TAKEN').snapshot.value, 'stopped');
});

test('ownership - from every state, a stop ends it once what is under way has ended', () => {
  const ENDS = ['ACQUIRED', 'DRAINED', 'DROPPED', 'RELEASED'] as const;
  for (const path of ownershipPaths()) {
    const sut = stepped(ownership, input);
    for (const { event } of path.steps.slice(1)) sut.take(event as OwnershipEvent);
    sut.take({ type: 'STOP' });
    for (let round = 0; round < ENDS.length; round += 1) for (const type of ENDS) sut.take({ type });
    assert.is(sut.snapshot.value, 'stopped', nameOf(path));
  }
});

test.run();
