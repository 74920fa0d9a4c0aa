// Area: growth, cell. What a word costs a cell is the same, however many hosts and instances it has, whatever became of them.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cell } from '../../actors/cell/cell.ts';
import type { CellMessage } from '../../actors/messages/cell.ts';
import { granted, OPTIONS, ofAttempt, startOf, up } from '../support/cells.ts';
import { type Amounts, testGrowth } from '../support/growth.ts';
import { bench, type Sent, viewOf } from '../support/turn.ts';

const test = suite('growth, cell');

const things = {
  hosts: [30, 1_000],
  'hosts that are silent': [3, 1_000],
  'hosts that are disabled': [3, 1_000],
  'hosts that are fenced': [3, 1_000],
  'hosts that rest': [1, 100],
  instances: [10, 2_000],
  'instances of one host': [10, 2_000],
  'instances that are being built': [10, 2_000],
  'instances that have failed': [10, 2_000],
  'instances that are being cleared away': [10, 2_000],
  'instances that are lost': [10, 2_000],
  'deleted instances': [10, 2_000],
} as const;
type Thing = keyof typeof things;

const actor = cell({ ...OPTIONS, asideShare: 1 });

/** What computes and placement say to a cell when all is well. */
function answerTo({ to, message }: Sent): { message: CellMessage; from: string } | null {
  const [kind, , host = ''] = to.split('/');
  const { type, instance = '', attempt = 1 } = message as { type: string; instance?: string; attempt?: number };
  const answer = (said: CellMessage) => ({ message: said, from: to });
  if (kind === 'compute' && type === 'build') return answer({ type: 'built', ...ofAttempt(instance, attempt, host) });
  if (type === 'destroy') return answer({ type: 'destroyed', ...ofAttempt(instance, attempt, host) });
  if (message.type === 'claim') return answer(granted(message.consumer, message.attempt));
  if (message.type === 'release') return answer({ ...message, type: 'released' } as CellMessage);
  return null;
}

function make({ named, each }: Amounts<Thing>) {
  const on = bench(actor, { address: 'cell/c1' });
  const hosts = named('hosts', 'h');
  const fenced = [...named('hosts that are fenced', 'fenced'), 'gone'];
  const silent = named('hosts that are silent', 'silent');
  const resting = named('hosts that rest', 'resting');
  const disabled = named('hosts that are disabled', 'disabled');
  const others = [...hosts, ...resting, ...disabled];

  /** Says a word, and what comes of it, but that what `isLeft` names is not answered. */
  function say(message: CellMessage, from: string, isLeft: (sent: Sent) => boolean = () => false): void {
    const { sent } = on.tell(message, from);
    for (const one of sent) {
      const answer = isLeft(one) ? null : answerTo(one);
      if (answer !== null) say(answer.message, answer.from, isLeft);
    }
  }
  const areOrders = ({ message }: Sent) => message.type === 'build';
  const areRemovals = ({ message }: Sent) => message.type === 'destroy';
  const start = (instance: string, host: string, isLeft?: (sent: Sent) => boolean, alternates: string[] = []) =>
    say(startOf(instance, alternates, host), 'conductor/0', isLeft);
  const world = {
    ...on,
    say,
    start,
    fail(instance: string, host: string, alternates: string[] = []): void {
      start(instance, host, areOrders, alternates);
      say({ type: 'build-failed', ...ofAttempt(instance, 1, host), reason: 'no image' }, `compute/c1/${host}`);
    },
    stateOf: (instance: string) => viewOf(on, instance)?.state,
    isAlive: (host: string) => say({ type: 'alive', host, incarnation: 'life-1' }, `compute/c1/${host}`),
  };

  for (const host of [...others, ...silent, ...fenced]) say(up(host), `compute/c1/${host}`);
  each('instances that are lost', 'lost', (instance) => start(instance, 'gone'));
  for (let passed = 0; passed < 25_000; passed += 5_000) {
    on.pass(5_000);
    for (const host of others) world.isAlive(host);
  }
  for (const host of fenced) say({ type: 'fence-host', ask: 1, host }, 'gateway/g');
  for (const host of disabled) say({ type: 'set-host', ask: 1, host, enabled: false }, 'gateway/g');
  for (const host of resting) for (let n = 0; n < 5; n += 1) world.fail(`on-${host}-${n}`, host);
  const spread = (n: number) => hosts[3 + (n % 20)] as string;
  each('instances', 'active', (instance, n) => start(instance, spread(n)));
  each('instances of one host', 'beside', (instance) => start(instance, 'h-0'));
  each('instances that are being built', 'building', (instance, n) => {
    start(instance, spread(n), areOrders);
    say({ type: 'accepted', ...ofAttempt(instance, 1, spread(n)) }, `compute/c1/${spread(n)}`);
  });
  // One after the other on hosts that are in use, so that none of them rests.
  each('instances that have failed', 'failed', (instance, n) => {
    world.fail(instance, spread(n));
    start(`after-${instance}`, spread(n));
    say({ type: 'delete', instance: `after-${instance}` }, 'conductor/0');
  });
  each('instances that are being cleared away', 'clearing', (instance, n) => {
    start(instance, spread(n));
    say({ type: 'delete', instance }, 'conductor/0', areRemovals);
  });
  each('deleted instances', 'deleted', (instance, n) => {
    start(instance, spread(n));
    say({ type: 'delete', instance }, 'conductor/0');
  });
  const states = ['lost-1', 'active-1', 'building-1', 'failed-1', 'clearing-1', 'deleted-1'].map(world.stateOf);
  assert.equal(states, ['lost', 'active', 'building', 'failed', 'deleting', undefined]);
  return world;
}

const GATEWAY = 'gateway/g';
testGrowth(test, 'cell', {
  things,
  make,
  messages: {
    'an instance is built': ({ start }, n) => start(`i${n}`, 'h-1'),
    'a build fails, and is made elsewhere': ({ fail, start, stateOf }, n) => {
      fail(`i${n}`, 'h-1', ['h-2', 'h-3']);
      assert.is(stateOf(`i${n}`), 'active');
      start(`i${n}-after`, 'h-1');
    },
    'an instance is deleted': ({ start, say, stateOf }, n) => {
      start(`i${n}`, 'h-1');
      say({ type: 'delete', instance: `i${n}` }, 'conductor/0');
      assert.is(stateOf(`i${n}`), undefined);
    },
    'a host is alive': ({ isAlive }) => isAlive('h-1'),
    'a host comes up once more': ({ say }) => say(up('h-2'), 'compute/c1/h-2'),
    'a host begins anew': ({ say }, n) => say(up('h-2', `life-${n}`), 'compute/c1/h-2'),
    'a host is disabled and enabled': ({ say }) => {
      for (const enabled of [false, true]) say({ type: 'set-host', ask: 1, host: 'h-1', enabled }, GATEWAY);
    },
    'an instance is shown': ({ say }) => say({ type: 'show', ask: 1, instance: 'active-1' }, GATEWAY),
    'an instance is explained': ({ say }) => say({ type: 'explain', ask: 1, instance: 'active-1' }, GATEWAY),
    'some are listed': ({ say }) => say({ type: 'list', ask: 1, after: 'b', limit: 5 }, GATEWAY),
    'a host is listed': ({ say }) => say({ type: 'list-hosts', ask: 1, host: 'h-1', limit: 5 }, GATEWAY),
    'some that are cleared away are listed': ({ say }) => say({ type: 'list-removals', ask: 1, limit: 5 }, GATEWAY),
    'somebody asks whether one has ended': ({ say }) =>
      say({ type: 'ask-ends', instances: ['active-1', 'building-1'] }, 'conductor/0'),
  },
});

test.run();
