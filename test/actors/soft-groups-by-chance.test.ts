// Area: scheduler. That members of a group with a soft rule, which come to several schedulers at once, share hosts or keep
// apart as the rule wishes while there is room: each scheduler knows only what it has heard.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup } from '../../actors/messages/common.ts';
import { type Random, seededRandom } from '../../runtime/random.ts';
import { fleetByChance, TOTAL } from '../support/fleet-by-chance.ts';
import { selectFor } from '../support/schedulers.ts';

const test = suite('soft groups, by chance');

/** How many members of a group each host gets, fewest first; they come one or several at a time, while chance has it. */
function placed(
  random: Random,
  on: ReturnType<typeof fleetByChance>,
  group: InstanceGroup,
  wave: string,
  count: number,
) {
  const requests: string[] = [];
  for (let left = count; left > 0; ) {
    const instances = Array.from({ length: random.integer(1, Math.min(left, 3)) }, (_, n) => `${wave}${left - n}`);
    const request = `${wave}-${left}`;
    const { spec, ...told } = selectFor(request, { vcpu: 1, instances });
    on.ask({ ...told, spec: { ...spec, instanceGroup: group }, ...(random.next() < 0.5 ? { ordered: true } : {}) });
    requests.push(request);
    left -= instances.length;
    for (let steps = random.integer(0, 6); steps > 0; steps -= 1) on.step();
  }
  on.live(10_000);
  const counts = new Map<string, number>();
  for (const request of requests) {
    const answer = on.answers.get(request);
    if (answer?.type !== 'selected') throw new Error(`${request} has no host: ${JSON.stringify(answer)}`);
    for (const { selection } of answer.selections) counts.set(selection.host, (counts.get(selection.host) ?? 0) + 1);
  }
  return [...counts.values()].sort((one, other) => one - other);
}

test('scheduler - those that would rather keep apart share no host while there is another, whoever they come to', () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = seededRandom(seed);
    const hostCount = random.integer(2, 6);
    const on = fleetByChance(random, { placementShards: random.integer(1, 3), hostCount });
    const group = { id: '/g', policy: 'soft-anti-affinity' } as const;
    const oneEach = Array.from({ length: hostCount }, () => 1);
    for (const wave of ['a', 'b']) {
      assert.equal(placed(random, on, group, wave, hostCount), oneEach, `wave ${wave} of seed ${seed}`);
    }
  }
});

test('scheduler - those that would rather be together share a host that has room for all, whoever they come to', () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const random = seededRandom(seed);
    const on = fleetByChance(random, { placementShards: random.integer(1, 3), hostCount: random.integer(2, 6) });
    const group = { id: '/g', policy: 'soft-affinity' } as const;
    const count = random.integer(2, TOTAL / 2);
    assert.equal(placed(random, on, group, 'a', count), [count], `seed ${seed}`);
  }
});

test.run();
