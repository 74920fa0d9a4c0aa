// Area: scheduler, requests for more than any host can give. That nothing which comes free would help is said plainly, and only
// where it is so.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { RequestSpec } from '../../actors/messages/common.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import { tooLargeWords } from '../../actors/scheduler/explaining/too-large.ts';
import { learnProvider } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { fitWords } from '../../runtime/gateway/question-words.ts';
import { type HostWords, inventory, viewOf } from '../support/facts.ts';
import { randomFleet } from '../support/fleets.ts';
import { schedulersOf, selectFor } from '../support/schedulers.ts';
import { emptied, hostsThatFit, survey } from '../support/survey.ts';

const test = suite('scheduler - requests for more than any host can give');

const specOf = (...groups: Record<string, number>[]): RequestSpec => ({
  groups: groups.map((resources, n) => ({ name: n === 0 ? '' : `g${n}`, resources })),
  groupPolicy: 'none',
});
const together = { instanceGroup: { id: 'p/g', policy: 'affinity' } } as const;

const HOSTS: readonly HostWords[] = [
  { host: 'h1', has: { VCPU: 8, MEMORY_MB: 4_096 } },
  { host: 'h2', has: { VCPU: 16, MEMORY_MB: 2_048 }, used: { VCPU: 12 } },
];

test('too large - a class of which no host has enough is told with the most that one has, and no other', () => {
  const of = (spec: RequestSpec, count = 1) => survey(viewOf(...HOSTS), spec, count).tooLarge;
  assert.equal(of(specOf({ VCPU: 17, MEMORY_MB: 64 })), [{ about: 'VCPU', asked: 17, most: 16 }]);
  assert.is(of(specOf({ VCPU: 16 })), undefined, 'it is only full');
  assert.is(
    of(specOf({ VCPU: 16, MEMORY_MB: 4_096 })),
    undefined,
    'not on one host, but of each class there is enough',
  );
  assert.is(of(specOf({ VGPU: 1 })), undefined, 'that no host has any is another thing');
  assert.equal(of(specOf({ VCPU: 9 }, { VCPU: 9 })), [{ about: 'VCPU', asked: 18, most: 16 }]);
  assert.is(of(specOf({ VCPU: 9 }), 2), undefined, 'several need not share a host');
  assert.equal(of({ ...specOf({ VCPU: 9 }), ...together }, 2), [{ about: 'VCPU', asked: 18, most: 16 }]);
});

test('too large - what one group asks for is to come from one provider, of which a host may have several', () => {
  const view = viewOf({ host: 'h1', has: { MEMORY_MB: 512 } });
  const told = { root: 'p-h1', parent: 'p-h1', generation: 1, traits: [], aggregates: [], used: {} };
  for (const id of ['n0', 'n1']) learnProvider(view, { ...told, id, name: id, inventories: { VCPU: inventory(8) } });
  assert.equal(survey(view, specOf({ VCPU: 12 })).tooLarge, [{ about: 'VCPU', asked: 12, most: 8, onOne: true }]);
  const moreThanAll = survey(view, specOf({ VCPU: 64 })).tooLarge;
  assert.equal(moreThanAll, [{ about: 'VCPU', asked: 64, most: 8, onOne: true }], '16 of one would be refused, too');
  assert.equal(survey(view, specOf({ VCPU: 8 }, { VCPU: 8 }, { VCPU: 8 })).tooLarge, [
    { about: 'VCPU', asked: 24, most: 16 },
  ]);
  assert.is(survey(view, specOf({ VCPU: 8 }, { VCPU: 8 }, { MEMORY_MB: 1_024 })).tooLarge?.length, 1);
  assert.is(
    tooLargeWords([{ about: 'VCPU', asked: 12, most: 8, onOne: true }]),
    'no host can give more than 8 VCPU from one provider even when empty (12 asked of one)',
  );
});

test('too large - no host gives an instance more than units allow, whatever it has', () => {
  const view = viewOf();
  const told = { root: 'p', parent: null, generation: 1, traits: [], aggregates: [], used: {} };
  const inventories = { VCPU: { ...inventory(64), max_unit: 8 } };
  learnProvider(view, { ...told, id: 'p', name: 'h', inventories });
  learnHost(view, 'c1', { host: 'h', provider: 'p', state: 'up' });
  assert.equal(survey(view, specOf({ VCPU: 9 })).tooLarge, [{ about: 'VCPU', asked: 9, most: 8 }]);
  assert.equal(survey(view, specOf({ VCPU: 5 }, { VCPU: 5 })).tooLarge, [{ about: 'VCPU', asked: 10, most: 8 }]);
  assert.is(survey(view, { ...specOf({ VCPU: 8 }), ...together }, 8).tooLarge, undefined);
  assert.equal(survey(view, { ...specOf({ VCPU: 8 }), ...together }, 9).tooLarge, [
    { about: 'VCPU', asked: 72, most: 64 },
  ]);
});

test('too large - nothing is said while it is not known of a host what it has', () => {
  const view = viewOf(...HOSTS);
  learnHost(view, 'c1', { host: 'h3', provider: 'p-h3', state: 'up' });
  assert.is(survey(view, specOf({ VCPU: 17 })).tooLarge, undefined);
});

test('too large - what no host has, one that is empty does not give either', () => {
  let told = 0;
  for (let seed = 0; seed < 200; seed += 1) {
    const fleet = randomFleet(`too large ${seed}`, 8);
    const spec = fleet.spec();
    if (survey(fleet.view, spec).tooLarge === undefined) continue;
    told += 1;
    assert.is(hostsThatFit(emptied(fleet.view), spec).length, 0, `seed ${seed}`);
  }
  assert.ok(told > 5, String(told));
});

test('too large - it stands in the reason of a failure, in its record, and in the words of a dry run', () => {
  const on = schedulersOf(HOSTS);
  const answer = on.choose(selectFor('r', { vcpu: 17 }));
  assert.ok(answer?.type === 'no-valid-host');
  const words = 'no host can give more than 16 VCPU even when empty (17 asked of one)';
  assert.ok(answer.reason.includes(`(short by 1); ${words}; with 1 VCPU less`), answer.reason);
  assert.equal(unpackDecision(JSON.parse(answer.decision ?? '')).tooLarge, [{ about: 'VCPU', asked: 17, most: 16 }]);
  const [sent] =
    on.desks[0]?.tell({ type: 'fit', ask: 1, spec: specOf({ VCPU: 17 }), count: 1, limit: 1 }, 'g').sent ?? [];
  assert.ok(sent?.message.type === 'fitted');
  const lines = fitWords({ ...sent.message, fit: false, certain: true, count: 1 } as never);
  assert.ok(lines.includes(words), lines.join('\n'));
});

test.run();
