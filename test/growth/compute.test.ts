// Area: growth, compute. What a word costs a compute is the same, however many instances are on its host, and were.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { compute } from '../../actors/compute/compute.ts';
import type { ComputeMessage } from '../../actors/messages/compute.ts';
import { fnv1a } from '../../actors/routing.ts';
import { type Amounts, testGrowth } from '../support/growth.ts';
import { bench, sentOf } from '../support/turn.ts';

const test = suite('growth, compute');

const things = {
  'instances that are there': [10, 2_000],
  'instances that are being built': [10, 2_000],
  'instances that are being destroyed': [10, 2_000],
  'builds that have failed': [10, 2_000],
  'instances that are no more': [10, 2_000],
} as const;
type Thing = keyof typeof things;

const LIFE = 'life-1';
const CELL = 'cell/c1';
const DRIVER = 'driver/c1/h1';
const PROVIDER = { id: 'p1', name: 'h1', parent: null, inventories: {}, traits: [], aggregates: [] };
const actor = compute({
  cell: 'c1',
  host: 'h1',
  incarnation: () => LIFE,
  patience: { firstMs: 3_600_000, mostMs: 3_600_000 },
});

function make({ each }: Amounts<Thing>) {
  const on = bench(actor);
  const say = (message: ComputeMessage, from = CELL) => on.tell(message, from);
  const order = (instance: string): ComputeMessage => ({
    type: 'build',
    instance,
    attempt: 1,
    incarnation: LIFE,
    allocations: [],
  });
  say({ type: 'described', providers: [PROVIDER], running: [] }, DRIVER);
  say({ type: 'tree-put', ask: fnv1a(LIFE), root: 'p1' }, 'placement/0');
  say({ type: 'welcome', incarnation: LIFE });
  const world = {
    ...on,
    say,
    order,
    build(instance: string): void {
      say(order(instance));
      const built = say({ type: 'driver-built', instance, attempt: 1 }, DRIVER);
      assert.is(sentOf(built, 'built').length, 1);
    },
    fail(instance: string): void {
      say(order(instance));
      const failed = say({ type: 'driver-failed', instance, attempt: 1, reason: 'no image', aborted: false }, DRIVER);
      assert.is(sentOf(failed, 'build-failed').length, 1);
    },
    destroy(instance: string): void {
      say({ type: 'destroy', instance, attempt: 1 });
      const destroyed = say({ type: 'driver-destroyed', instance, attempt: 1 }, DRIVER);
      assert.is(sentOf(destroyed, 'destroyed').length, 1);
    },
  };
  each('instances that are there', 'there', world.build);
  each('instances that are being built', 'building', (instance) => say(order(instance)));
  each('builds that have failed', 'failed', world.fail);
  each('instances that are being destroyed', 'going', (instance) => {
    world.build(instance);
    say({ type: 'destroy', instance, attempt: 1 });
  });
  each('instances that are no more', 'gone', (instance) => {
    world.build(instance);
    world.destroy(instance);
  });
  return world;
}

testGrowth(test, 'compute', {
  things,
  make,
  messages: {
    'an instance is built, and destroyed': ({ build, destroy }, n) => {
      build(`i${n}`);
      destroy(`i${n}`);
    },
    'a build fails': ({ fail }, n) => fail(`i${n}`),
    'a build is ordered again': ({ say, order }) => say(order('there-1')),
    'one that is gone is destroyed again': ({ say }) => say({ type: 'destroy', instance: 'gone-1', attempt: 1 }),
    'a heartbeat': ({ pass }) => assert.ok(pass(5_000).length > 0),
  },
});

test.run();
