// Area: growth, placement. What a claim, a release or a question of the Placement API costs a placement shard is the same,
// however many providers, consumers, aggregates and traits there are elsewhere.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CandidateGroup, PlacementApiMessage } from '../../actors/messages/placement-api.ts';
import { type Amounts, testGrowth } from '../support/growth.ts';
import {
  actor,
  candidateGroup,
  candidatesFor,
  claimOf,
  inventoryOf,
  providerOf,
  put,
  refusalIn,
  release,
} from '../support/placement-desk.ts';
import { bench, sentOf } from '../support/turn.ts';

const test = suite('growth, placement');

const things = {
  hosts: [200, 4_000],
  'devices of another host': [10, 400],
  consumers: [10, 4_000],
  'consumers of another host': [10, 4_000],
  'consumers that callers put': [10, 4_000],
  'deleted consumers': [10, 4_000],
  'instance groups': [10, 4_000],
  aggregates: [10, 2_000],
  'aggregates of another host': [10, 900],
  traits: [10, 2_000],
} as const;
type Thing = keyof typeof things;

const AMPLE = 1_000_000;

function make({ counts, named, each }: Amounts<Thing>) {
  const on = bench(actor);
  const world = {
    ...on,
    ask(question: { type: string; [field: string]: unknown }): unknown {
      const turned = on.tell({ ask: 1, ...question } as unknown as PlacementApiMessage);
      const parts = sentOf(turned, 'placement-answer').map(({ message }) => message.text);
      const outcome = JSON.parse(parts.join('')) as { ok: unknown; refused?: { message: string } };
      assert.is(outcome.refused, undefined, `${question.type}: ${outcome.refused?.message}`);
      return outcome.ok;
    },
    claim(consumer: string, host: string, told: Parameters<typeof claimOf>[1] = {}): void {
      assert.is(refusalIn(on.tell(claimOf(consumer, { host, vcpu: 1, ...told }))), null);
    },
    remove: (consumer: string) => void on.tell(release(consumer, { deleted: true })),
    take: (consumer: string, host: string, project = 'p') => {
      const allocations = [{ provider: host, resources: { VCPU: 1 } }];
      world.ask({
        type: 'allocations-put',
        consumers: [{ consumer, allocations, project, user: 'u', generation: null }],
      });
    },
  };
  const host = (n: number) => `h${10 + (n % (counts.hosts - 10))}`;
  each('hosts', 'h', (_, n) => {
    on.tell(
      put([
        providerOf(`h${n}`, {
          inventories: { VCPU: inventoryOf({ total: AMPLE, max_unit: AMPLE }) },
          traits: n % 50 === 0 ? ['CUSTOM_RARE'] : ['CUSTOM_USUAL'],
          aggregates: n < 20 ? ['few', 'all'] : ['all'],
        }),
      ]),
    );
  });
  on.tell(
    put([
      providerOf('other', {
        aggregates: named('aggregates of another host', 'of-other'),
        inventories: { VCPU: inventoryOf({ total: AMPLE, max_unit: AMPLE }) },
      }),
      ...named('devices of another host', 'device').map((id) =>
        providerOf(id, { parent: 'other', inventories: { PGPU: inventoryOf() } }),
      ),
    ]),
  );
  each('aggregates', 'aggregate', (name, n) => on.tell(put([providerOf(`in-${n}`, { aggregates: [name] })])));
  each('traits', 'with', (name, n) => on.tell(put([providerOf(name, { traits: [`CUSTOM_T${n}`] })])));
  each('consumers', 'one', (name, n) => world.claim(name, host(n)));
  each('consumers of another host', 'of-other', (name) => world.claim(name, 'other'));
  each('consumers that callers put', 'put', (name, n) => world.take(name, host(n)));
  each('deleted consumers', 'deleted', (name, n) => {
    world.claim(name, host(n));
    world.remove(name);
  });
  each('instance groups', 'member', (name, n) => {
    const group = { id: `p/group-${n}`, policy: 'anti-affinity' as const };
    const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const, instanceGroup: group };
    world.claim(name, host(n), { spec });
  });
  return world;
}

const NO_CONDITIONS = { memberOf: [], notMemberOf: [], required: [], forbidden: [], resources: {} };
const candidatesOf = (told: Partial<CandidateGroup>, limit = 2) => ({
  type: 'candidates',
  ...candidatesFor([candidateGroup(told)], { limit }),
});

testGrowth(test, 'placement', {
  things,
  make,
  messages: {
    'a claim, and its end': ({ claim, remove }, n) => {
      claim(`c${n}`, 'h1');
      remove(`c${n}`);
    },
    'a claim that is refused': ({ tell }, n) =>
      assert.is(refusalIn(tell(claimOf(`c${n}`, { host: 'h1', vcpu: 2 * AMPLE })))?.code, 'unit-constraint'),
    'a claim of a new group': ({ claim, remove }, n) => {
      const group = { id: `p/new-${n}`, policy: 'anti-affinity' as const };
      const spec = {
        groups: [{ name: '', resources: { VCPU: 1 } }],
        groupPolicy: 'none' as const,
        instanceGroup: group,
      };
      claim(`c${n}`, 'h1', { spec });
      remove(`c${n}`);
    },
    'a consumer is located': ({ tell }) => tell({ type: 'locate', ask: 1, consumers: ['one-1'] }),
    'a tree is told again': ({ tell }, n) =>
      tell(
        put([providerOf('h2', { inventories: { VCPU: inventoryOf({ total: 10 + n }) }, aggregates: ['few', 'all'] })]),
      ),
    'some providers are listed': ({ tell }) => tell({ type: 'list-providers', ask: 1, after: 'i', limit: 5 }),
    'some consumers are listed': ({ tell }) => tell({ type: 'list-consumers', ask: 1, after: 'o', limit: 5 }),
    'a provider comes and goes': ({ ask }, n) => {
      ask({ type: 'provider-create', id: `new-${n}`, name: `new-${n}`, parent: 'h3' });
      ask({ type: 'provider-delete', id: `new-${n}` });
    },
    'a provider has another name': ({ ask }, n) =>
      ask({ type: 'provider-update', id: 'h3', name: `h3-${n}`, reparent: false }),
    'a provider moves': ({ ask }) => {
      for (const parent of ['h3', null]) ask({ type: 'provider-update', id: 'h4', name: 'h4', parent, reparent: true });
    },
    'a provider has other traits': ({ ask }) => {
      for (const traits of [['CUSTOM_T1'], ['CUSTOM_USUAL']]) ask({ type: 'traits-put', id: 'h3', traits });
    },
    'a provider is in other aggregates': ({ ask }) => {
      for (const aggregates of [['aggregate-1'], ['few', 'all']])
        ask({ type: 'aggregates-put', id: 'h3', aggregates, counted: true });
    },
    'a caller takes something, and gives it back': ({ ask, take }, n) => {
      take(`c${n}`, 'h3', 'p-few');
      ask({ type: 'allocations-delete', consumer: `c${n}` });
    },
    'a provider is shown': ({ ask }) => ask({ type: 'provider-show', id: 'h3' }),
    'a provider is found by its name': ({ ask }) => ask({ type: 'providers-find', ...NO_CONDITIONS, name: 'h4' }),
    'those of an aggregate are found': ({ ask }) =>
      ask({ type: 'providers-find', ...NO_CONDITIONS, memberOf: [['few']] }),
    'who is on a provider is shown': ({ ask }) => ask({ type: 'provider-allocations', id: 'h1' }),
    'a consumer is shown': ({ ask }) => ask({ type: 'consumer-show', consumer: 'one-1' }),
    'what a project uses is told': ({ ask }) => ask({ type: 'usages', project: 'p-few' }),
    candidates: ({ ask }) => ask(candidatesOf({})),
    'candidates of an aggregate': ({ ask }) => ask(candidatesOf({ memberOf: [['few']] }, 50)),
    'candidates of a tree': ({ ask }) => ask(candidatesOf({ inTree: 'h5' })),
    'candidates with a trait': ({ ask }) => ask(candidatesOf({ required: [['CUSTOM_RARE']] })),
  },
});

test.run();
