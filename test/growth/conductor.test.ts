// Area: growth, conductor. What a word costs a conductor is the same, however many instances it knows, whatever became of
// them, and however many requests wait.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { conductor } from '../../actors/conductor/conductor.ts';
import type { Build, ConductorMessage } from '../../actors/messages/conductor.ts';
import { answered, buildOf, lastSelect, noHost } from '../support/conductor-desk.ts';
import { type Amounts, testGrowth } from '../support/growth.ts';
import { bench, type Sent, viewOf } from '../support/turn.ts';

const test = suite('growth, conductor');

const things = {
  instances: [10, 2_000],
  'instances that failed': [10, 2_000],
  'instances that nobody could place': [10, 2_000],
  'instances that are being deleted': [10, 2_000],
  'deleted instances': [10, 2_000],
  'requests that are being placed': [10, 50],
  'requests that wait': [10, 2_000],
  'projects with a request that waits': [10, 2_000],
  'requests that wait each for something else': [10, 2_000],
  'instances that no cell has taken yet': [10, 2_000],
} as const;
type Thing = keyof typeof things;

const GATEWAY = 'gateway/g';
const SCHEDULER = 'scheduler/s';
const FAILED = { code: 'alternates-exhausted', reason: 'no image' } as const;
const actor = conductor({ shard: 0, patience: { firstMs: 3_600_000, mostMs: 3_600_000 }, parkedAskMs: 3_600_000 });

function make({ each }: Amounts<Thing>) {
  const on = bench(actor);

  /** Says a word, and what comes of it, but that what `isLeft` names is not answered. */
  function say(message: ConductorMessage, from: string, isLeft: (sent: Sent) => boolean = () => false): void {
    for (const sent of on.tell(message, from).sent) {
      if (isLeft(sent)) continue;
      for (const answer of answered(sent)) say(answer.message, answer.from, isLeft);
    }
  }
  const are = (type: string) => (sent: Sent) => sent.message.type === type;
  const world = {
    ...on,
    say,
    build: (request: string, isLeft?: (sent: Sent) => boolean, more: Partial<Build> = {}, count = 1) =>
      say(buildOf(request, count, more), GATEWAY, isLeft),
    remove: (instance: string, isLeft?: (sent: Sent) => boolean) =>
      say({ type: 'delete', ask: 1, instance }, GATEWAY, isLeft),
    ended: (instance: string, state: 'active' | 'failed') =>
      say({ type: 'ended', instance, state, ...(state === 'failed' ? FAILED : {}) }, 'cell/c1'),
    refuse(request: string): void {
      const { message } = lastSelect(on.tell(buildOf(request), GATEWAY));
      say(noHost(request, (message as { round: number }).round), SCHEDULER);
    },
    park(request: string, more: Partial<Build> = {}): void {
      const waiting = buildOf(request, 1, { waitMs: 3_600_000, project: 'p', ...more });
      const { round } = lastSelect(on.tell(waiting, GATEWAY)).message as { round: number };
      say({ type: 'parked', request, round, reason: 'none of 3 hosts', decision: '{}' }, SCHEDULER);
    },
    stateOf: (instance: string) => viewOf(on, instance)?.state,
  };
  each('instances', 'active', (name) => {
    world.build(name);
    world.ended(name, 'active');
  });
  each('instances that failed', 'failed', (name) => {
    world.build(name);
    world.ended(name, 'failed');
  });
  each('instances that nobody could place', 'unplaced', world.refuse);
  each('instances that are being deleted', 'deleting', (name) => {
    world.build(name);
    world.remove(name, are('delete'));
  });
  each('deleted instances', 'deleted', (name) => {
    world.build(name);
    world.remove(name);
  });
  each('requests that are being placed', 'placing', (name) => world.build(name, are('select')));
  each('requests that wait', 'waiting', (name) => world.park(name));
  each('projects with a request that waits', 'of-project', (name, n) => world.park(name, { project: `p-${n}` }));
  each('requests that wait each for something else', 'other', (name, n) =>
    world.park(name, { spec: { groups: [{ name: '', resources: { VCPU: n + 2 } }], groupPolicy: 'none' } }),
  );
  each('instances that no cell has taken yet', 'starting', (name) => world.build(name, are('start')));
  const names = [
    'active-1',
    'failed-1',
    'unplaced-1',
    'deleting-1',
    'deleted-1',
    'placing-1',
    'waiting-1',
    'starting-1',
  ];
  assert.equal(names.map(world.stateOf), [
    'active',
    'failed',
    'failed',
    'deleting',
    'deleted',
    'requested',
    'requested',
    'claimed',
  ]);
  return world;
}

testGrowth(test, 'conductor', {
  things,
  make,
  messages: {
    'an instance is built': ({ build, ended }, n) => {
      build(`i${n}`);
      ended(`i${n}`, 'active');
    },
    'several are built at once': ({ build }, n) => build(`i${n}`, undefined, {}, 3),
    'one finds no host': ({ refuse }, n) => refuse(`i${n}`),
    'one waits, and is withdrawn': ({ park, remove }, n) => {
      park(`i${n}`);
      remove(`i${n}`);
    },
    'an instance is deleted': ({ build, remove }, n) => {
      build(`i${n}`);
      remove(`i${n}`);
    },
    'a request is sent again': ({ build }) => build('active-1'),
    'an instance is shown': ({ say }) => say({ type: 'show', ask: 1, instance: 'active-1' }, GATEWAY),
    'an instance is explained': ({ say }) => say({ type: 'explain', ask: 1, instance: 'active-1' }, GATEWAY),
    'some are listed': ({ say }) => say({ type: 'list', ask: 1, after: 'b', limit: 5 }, GATEWAY),
    'a cell says how one ended': ({ ended }) => ended('active-2', 'active'),
  },
});

test.run();
