// Area: scheduler, which of two hosts that fit comes first, where they are compared for an answer.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup } from '../../actors/messages/common.ts';
import { type Contender, ranksBefore } from '../../actors/scheduler/explaining/precedence.ts';
import { learnMembers } from '../../actors/scheduler/view/groups-view.ts';
import { emptyView } from '../../actors/scheduler/view/view.ts';
import { viewOf } from '../support/facts.ts';
import { survey } from '../support/survey.ts';

const test = suite('scheduler - precedence');

/** From the first to the last, as each rule decides before the next is asked. */
function order(policy: InstanceGroup['policy'] | undefined, hosts: Readonly<Record<string, Contender>>): string[] {
  const view = { ...emptyView(), silentCells: new Set(['silent']) };
  const group = policy === undefined ? {} : { instanceGroup: { id: 'g', policy } };
  const spec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' as const, ...group };
  const request = { spec, where: { preferCells: ['preferred'] } };
  return Object.entries(hosts)
    .sort(([, one], [, other]) => (ranksBefore(view, request, one, other) ? -1 : 1))
    .map(([name]) => name);
}

test('precedence - who is silent comes last, then the soft rule counts, then preferred cells, then weight', () => {
  const hosts = {
    silent: { cell: 'silent', weight: 9, members: 5 },
    heavy: { cell: 'other', weight: 8, members: 1 },
    light: { cell: 'other', weight: 1, members: 1 },
    preferred: { cell: 'preferred', weight: 0, members: 1 },
    crowded: { cell: 'other', weight: 0, members: 2 },
    unclaimed: { cell: 'preferred', weight: 9, members: 6, silentShard: 2 },
  };
  assert.equal(order('soft-affinity', hosts), ['crowded', 'preferred', 'heavy', 'light', 'silent', 'unclaimed']);
  const alone = { ...hosts, silent: { cell: 'silent', weight: 9, members: 0 } };
  const inOrder = ['preferred', 'heavy', 'light', 'crowded', 'silent', 'unclaimed'];
  assert.equal(order('soft-anti-affinity', alone), inOrder);
});

test('precedence - without a soft rule preferred cells come first, whatever hosts of others weigh', () => {
  const hosts = {
    silent: { cell: 'silent', weight: 9 },
    heavy: { cell: 'other', weight: 8 },
    preferred: { cell: 'preferred', weight: 0 },
  };
  assert.equal(order(undefined, hosts), ['preferred', 'heavy', 'silent']);
});

test('precedence - of a group that keeps apart by a hard rule the host with the best weight comes first', () => {
  const view = viewOf({ host: 'large', has: { VCPU: 16 } }, { host: 'small', has: { VCPU: 8 } });
  learnMembers(view.groups, 'p-large', { g: 1 }, undefined);
  const bestFor = (policy: InstanceGroup['policy']) => {
    const instanceGroup = { id: 'g', policy, ...(policy === 'anti-affinity' ? { maxPerHost: 2 } : {}) };
    const { best } = survey(view, {
      groups: [{ name: '', resources: { VCPU: 1 } }],
      groupPolicy: 'none',
      instanceGroup,
    });
    return best.map(({ host, members }) => [host, members]);
  };
  assert.equal(bestFor('anti-affinity'), [
    ['large', undefined],
    ['small', undefined],
  ]);
  assert.equal(bestFor('soft-anti-affinity'), [
    ['small', 0],
    ['large', 1],
  ]);
});

test.run();
