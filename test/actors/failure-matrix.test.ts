// Area: failure matrix. Each way in which the system that this one descends from leaves a build stuck or resources held
// by nobody, made to happen here. After every record the invariants are checked, and at the end nothing is owed.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryStage, USUAL_PACES } from '../support/stages.ts';
import type { Rule } from '../support/wire.ts';
import { type Fleet, startWorld, type World } from '../support/world.ts';

const test = suite('failure matrix');

const FLEET: Fleet = { north: { n1: 4, n2: 4, n3: 4 } };
const BUILT = { outcome: 'built' } as const;
const FAILED = { outcome: 'failed', reason: 'no image' } as const;

const CLAIM_OF_SCHEDULER: Rule = { type: 'claim', from: 'scheduler/' };
const CLAIM_OF_CELL: Rule = { type: 'claim', from: 'cell/' };
const SELECTED: Rule = { type: 'selected', from: 'scheduler/' };
const START: Rule = { type: 'start', from: 'conductor/' };
const ORDER: Rule = { type: 'build', from: 'cell/' };
const RELEASE_OF_CELL: Rule = { type: 'release', from: 'cell/' };
const ENDED: Rule = { type: 'ended', from: 'cell/' };

/** Runs a case, and sees to it that in the end everything that is held belongs to an active instance. */
function failing(what: string, run: (world: World) => Promise<void>, fleet = FLEET): void {
  test(`failure matrix - ${what}`, async () => {
    const world = await startWorld(memoryStage(), fleet, USUAL_PACES);
    try {
      await run(world);
      const { placement, cells, conductor } = world.deployment;
      await world.until('nothing is owed', () => {
        const removals = [...cells.values()].reduce((sum, cell) => sum + cell.removals.size, 0);
        return removals === 0 && [...conductor.instances.values()].every(({ releaseOwed }) => !releaseOwed);
      });
      for (const [consumer, { held }] of placement.consumers.holding) {
        if (world.deployment.rivals.has(consumer) || held.length === 0) continue;
        assert.is(world.stateOf(consumer), 'active', `'${consumer}' holds something`);
      }
      assert.equal(world.faults, []);
    } finally {
      await world.stop();
    }
  });
}

const web = (more: { count?: number; alternates?: number; vcpu?: number } = {}) => {
  const { vcpu = 2, ...asked } = more;
  return { id: 'web', alternates: 2, ...asked, resources: { VCPU: vcpu } };
};

/** Lets every host build, but for the attempts that are to fail. */
function fates(world: World, fails: (attempt: number) => boolean): void {
  for (const room of world.deployment.rooms.values()) {
    room.fate = ({ attempt }) => (fails(attempt) ? FAILED : BUILT);
  }
}

const isState = (world: World, state: string, instance = 'web') =>
  world.until(`'${instance}' is ${state}`, () => world.stateOf(instance) === state);

const waits = (world: World, { type, from }: Rule) =>
  world.until(`${type} is said`, () =>
    world.wire.said.some((one) => one.message.type === type && one.from.startsWith(from)),
  );

const hostOf = (world: World, position = 0) => world.deployment.chosen.get('web')?.[position]?.host ?? '';

async function deleted(world: World, instance = 'web'): Promise<void> {
  await world.run(world.client.delete(instance));
  await world.until(
    `'${instance}' is deleted`,
    () => world.deployment.conductor.instances.get(instance)?.phase === 'deleted',
  );
  assert.equal(world.heldBy(instance), []);
}

failing(
  'a host that fills up before the claim is decided - the next one is claimed, no caller hears of it',
  async (world) => {
    fates(world, () => false);
    world.wire.hold(CLAIM_OF_SCHEDULER);
    await world.build(web({ vcpu: 4 }));
    await waits(world, CLAIM_OF_SCHEDULER);
    await world.fill('n1');
    await world.fill('n2');
    world.wire.free(CLAIM_OF_SCHEDULER);
    await isState(world, 'active');
    assert.is(hostOf(world), 'n3');
  },
);

failing('too few hosts for several instances - what was claimed for some of them goes back', async (world) => {
  await world.build(web({ count: 4, vcpu: 4 }));
  await world.until(
    'the request has failed',
    () => world.deployment.conductor.instances.get('web-0')?.phase === 'failed',
  );
  for (const instance of ['web-0', 'web-1', 'web-2', 'web-3']) {
    await isState(world, 'failed', instance);
    await world.until(`'${instance}' holds nothing`, () => world.heldBy(instance).length === 0);
  }
});

failing('placement dies in the middle of a request for several - it ends as if nothing had been', async (world) => {
  fates(world, () => false);
  world.wire.hold({ type: 'claim-granted', from: 'placement/' });
  await world.build(web({ count: 3, vcpu: 4 }));
  await world.until('a claim is decided', () => world.heldBy('web-0').length > 0);
  await world.restart('placement');
  world.wire.free({ type: 'claim-granted', from: 'placement/' });
  for (const instance of ['web-0', 'web-1', 'web-2']) await isState(world, 'active', instance);
});

failing('scheduler and conductor die after the claim - the request takes up what was claimed', async (world) => {
  fates(world, () => false);
  world.wire.hold(SELECTED);
  await world.build(web({ vcpu: 4 }));
  await waits(world, SELECTED);
  const before = JSON.stringify(world.deployment.placement.consumers.holding.get('web'));
  for (const host of ['n1', 'n2', 'n3']) await world.fill(host);
  await world.restart('api');
  world.wire.free(SELECTED);
  await isState(world, 'active');
  assert.is(JSON.stringify(world.deployment.placement.consumers.holding.get('web')), before);
});

failing('delete before a host is claimed - the claim that comes late is refused', async (world) => {
  world.wire.hold(CLAIM_OF_SCHEDULER);
  await world.build(web());
  await waits(world, CLAIM_OF_SCHEDULER);
  await deleted(world);
  world.wire.free(CLAIM_OF_SCHEDULER);
  await world.settle();
  assert.equal(world.heldBy('web'), []);
});

failing(
  'delete between the claim and the cell - the claim goes back, and the build that comes late does not begin',
  async (world) => {
    fates(world, () => false);
    world.wire.hold(START);
    await world.build(web());
    await waits(world, START);
    await deleted(world);
    world.wire.free(START);
    await world.settle();
    assert.equal(
      [...world.deployment.rooms.values()].flatMap(({ present }) => present),
      [],
    );
  },
);

failing('the compute dies before it has the order - it is given it again when it is back', async (world) => {
  fates(world, () => false);
  world.wire.hold(ORDER);
  await world.build(web());
  await waits(world, ORDER);
  const host = hostOf(world);
  world.wire.cut(host);
  world.wire.free(ORDER);
  await world.restart(host);
  await isState(world, 'active');
  assert.is(world.room(host).begun.get('web/1'), 1);
});

failing(
  'the host is lost in the middle of a build - an alternate takes over, and nothing is given back while it may run',
  async (world) => {
    await world.build(web());
    await isState(world, 'building');
    const [lost, next] = [hostOf(world), hostOf(world, 1)];
    fates(world, () => false);
    world.wire.cut(lost);
    await isState(world, 'active');
    assert.equal(world.heldBy('web'), [1, 2]);
    assert.ok(world.room(next).present.includes('web/2'));
    world.wire.mend(lost);
    await world.until('the first attempt is given back', () => world.heldBy('web').join() === '2');
    assert.ok(world.room(lost).wasDestroyed('web', 1));
  },
);

failing('a build is aborted - no alternate is tried, and what it held goes back', async (world) => {
  await world.build(web());
  await isState(world, 'building');
  world.room(hostOf(world)).finish('web', 1, { outcome: 'aborted', reason: 'no such image' });
  await isState(world, 'failed');
  await world.until('nothing is held', () => world.heldBy('web').length === 0);
  const view = await world.run(world.client.show('web'));
  assert.is(view.attempts?.length, 1);
  assert.match(view.failure?.message ?? '', /no such image/);
});

failing('the cell dies between a failed host and its alternate - the reschedule goes on', async (world) => {
  fates(world, (attempt) => attempt === 1);
  world.wire.hold(CLAIM_OF_CELL);
  await world.build(web());
  await isState(world, 'rescheduling');
  await world.restart('north');
  world.wire.free(CLAIM_OF_CELL);
  await isState(world, 'active');
  assert.equal(world.heldBy('web'), [2]);
});

failing('a release is lost - it is said again until placement has answered', async (world) => {
  fates(world, () => true);
  world.wire.hold(RELEASE_OF_CELL);
  await world.build(web({ alternates: 0 }));
  await isState(world, 'failed');
  world.wire.cut('placement');
  world.wire.free(RELEASE_OF_CELL);
  await world.settle();
  assert.equal(world.heldBy('web'), [1]);
  world.wire.mend('placement');
  await world.until('nothing is held', () => world.heldBy('web').length === 0);
});

failing("delete during a reschedule - the alternate's claim is given back", async (world) => {
  fates(world, (attempt) => attempt === 1);
  world.wire.hold(CLAIM_OF_CELL);
  await world.build(web());
  await isState(world, 'rescheduling');
  await world.run(world.client.delete('web'));
  world.wire.free(CLAIM_OF_CELL);
  await deleted(world);
});

failing('all alternates fail - nothing stays held, and the reason tells of every attempt', async (world) => {
  fates(world, () => true);
  await world.build(web());
  await isState(world, 'failed');
  await world.until('nothing is held', () => world.heldBy('web').length === 0);
  const { failure, attempts } = await world.run(world.client.ended('web'));
  assert.is(failure?.code, 'alternates-exhausted');
  assert.equal(
    attempts?.map(({ outcome }) => outcome),
    ['build-failed', 'build-failed', 'build-failed'],
  );
});

failing('delete while building - nothing is left on the host, then its resources go back', async (world) => {
  await world.build(web());
  await isState(world, 'building');
  const host = hostOf(world);
  await deleted(world);
  assert.ok(world.room(host).wasDestroyed('web', 1));
});

failing(
  'delete while the host is down - its resources stay held until it is back and has cleaned up',
  async (world) => {
    fates(world, () => false);
    await world.build(web());
    await isState(world, 'active');
    const host = hostOf(world);
    world.wire.cut(host);
    await world.until('the host is down', () => world.serviceOf(host) === 'down');
    await world.run(world.client.delete('web'));
    await world.settle();
    assert.equal(world.heldBy('web'), [1]);
    world.wire.mend(host);
    await world.until('it is gone', () => world.heldBy('web').length === 0);
    assert.ok(world.room(host).wasDestroyed('web', 1));
  },
);

failing('the conductor is away when a build ends - it learns of the end when it is back', async (world) => {
  await world.build(web());
  await isState(world, 'building');
  world.wire.hold(ENDED);
  world.room(hostOf(world)).finish('web', 1, BUILT);
  await isState(world, 'active');
  await waits(world, ENDED);
  world.wire.cut('north');
  world.wire.free(ENDED);
  world.wire.mend('north');
  await world.restart('api');
  await world.until('it has heard', () => world.deployment.conductor.instances.get('web')?.told?.state === 'active');
});

test.run();
