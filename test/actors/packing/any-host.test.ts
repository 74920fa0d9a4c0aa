// Area: any host. That one of all hosts that fit is drawn, each as often as the others, also when most of what was
// weighed is out of date.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { best } from '../../../actors/scheduler/picking.ts';
import { emptyRankings } from '../../../actors/scheduler/ranking/ranking.ts';
import { emptyView, learnProvider, learnUsage } from '../../../actors/scheduler/view/view.ts';
import { learnHost } from '../../../actors/scheduler/view/view-hosts.ts';
import { specOf } from './hosts.ts';

const test = suite('any host');

const HOSTS = 20;
const spec = specOf(1_000);

/** A view of hosts, in several cells, of which every third has no room. */
function someHosts() {
  const view = emptyView();
  const inventories = {
    CUSTOM_CPU_MILLI: { total: 4_000, reserved: 0, min_unit: 1, max_unit: 4_000, step_size: 1, allocation_ratio: 1 },
  };
  const use = (host: number, generation: number, used: number) =>
    learnUsage(view, { id: `h${host}`, generation, used: { CUSTOM_CPU_MILLI: used } });
  for (let host = 0; host < HOSTS; host += 1) {
    const id = `h${host}`;
    const told = { id, name: id, parent: null, inventories, traits: [], aggregates: [] };
    learnProvider(view, { ...told, root: id, generation: 0, used: {} });
    learnHost(view, `c${host % 3}`, { host: id, provider: id, state: 'up' });
    if (host % 3 === 0) use(host, 1, 3_500);
  }
  return { view, use };
}

function counts(times: number, draw: (time: number) => string): Map<string, number> {
  const found = new Map<string, number>();
  for (let time = 0; time < times; time += 1) {
    const root = draw(time);
    found.set(root, (found.get(root) ?? 0) + 1);
  }
  return found;
}

/** Any host, whatever its weight. */
const anyHost = () => emptyRankings([], 'test', { pickAmong: Number.POSITIVE_INFINITY });

test('any host - each that fits is drawn as often as the others, and none that does not', () => {
  const { view, use } = someHosts();
  const rankings = anyHost();
  let generation = 1;
  const found = counts(13_000, (time) => {
    // One host changes all the time: what was weighed of it before must not be drawn.
    generation += 1;
    use(1, generation, generation % 2);
    return best({ rankings, view }, { spec }, () => false, `request-${time}`)?.root ?? 'none';
  });
  assert.is(found.size, 13, '20 hosts, of which 7 have no room');
  for (const [root, times] of found) {
    assert.not.match(root, /^h(?:0|3|6|9|12|15|18)$/);
    assert.ok(times > 850 && times < 1_150, `${root} was drawn ${times} times of 13,000`);
  }
});

test('any host - when hardly any of many is left, that one is found', () => {
  const { view, use } = someHosts();
  const rankings = anyHost();
  const drawn = (skip: (root: string) => boolean) =>
    counts(50, (time) => best({ rankings, view }, { spec }, skip, `${time}`)?.root ?? 'none');
  assert.is(drawn(() => false).size > 5, true);
  assert.equal([...drawn((root) => root !== 'h8')], [['h8', 50]]);
  for (let host = 0; host < HOSTS; host += 1) if (host !== 7) use(host, 2, 4_000);
  assert.equal([...drawn(() => false)], [['h7', 50]]);
  assert.equal([...drawn((root) => root === 'h7')], [['none', 50]]);
  use(7, 2, 4_000);
  assert.equal([...drawn(() => false)], [['none', 50]]);
});

test('any host - the same request draws the same, another scheduler another', () => {
  const { view } = someHosts();
  const drawnBy = (name: string) => {
    const rankings = emptyRankings([], name, { pickAmong: Number.POSITIVE_INFINITY });
    const roots = Array.from(
      { length: 20 },
      (_, time) => best({ rankings, view }, { spec }, () => false, `r${time}`)?.root,
    );
    return roots.join(' ');
  };
  assert.is(drawnBy('a'), drawnBy('a'));
  assert.is.not(drawnBy('a'), drawnBy('b'));
});

test.run();
