// Area: build limits. How many builds a host may have under way is for schedulers to see to: each counts those that its
// cell tells of, and its own until the cell has told of them, or it is known that nothing comes of them.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { PlacementMessage } from '../../actors/messages/placement.ts';
import { buildLimit } from '../../actors/scheduler/filters/limits.ts';
import { ExpectedBuilds } from '../../actors/scheduler/view/expected-builds.ts';
import { seededRandom } from '../../runtime/random.ts';
import { chosenIn, schedulersOf, selectFor } from '../support/schedulers.ts';

const test = suite('build limits');

const FULL = /none of 1 host: 1 too-many-builds/;

const released = (consumer: string): PlacementMessage => ({ type: 'release', consumer, deleted: true });

function hostWith(most: number) {
  const on = schedulersOf([{ host: 'h1' }], [{ name: 's', filters: [buildLimit(most)] }]);
  return {
    ...on,
    place: (request: string) => chosenIn(on.choose(selectFor(request))),
    release(consumer: string) {
      on.ask(released(consumer));
      on.deliver();
    },
  };
}

/** One that was built there, some time ago, and one that is being built, of which the cell has not told yet. */
function oldAndNew() {
  const on = hostWith(1);
  assert.is(on.place('old'), 'h1');
  on.tellHost({ host: 'h1', instances: 1, builds: 0, ordered: 1 });
  on.run(4_000);
  assert.is(on.place('new'), 'h1');
  assert.match(on.place('next'), FULL);
  return on;
}

test('build limits - builds of which a cell never tells are counted for a while each, however one follows the other', () => {
  const on = hostWith(2);
  assert.is(on.place('one'), 'h1');
  on.run(1_500);
  assert.is(on.place('two'), 'h1');
  assert.match(on.place('early'), FULL);
  on.run(2_000);
  assert.is(on.place('three'), 'h1', 'the first is counted no more');
  assert.match(on.place('late'), FULL);
  on.run(2_000);
  assert.is(on.place('four'), 'h1', 'nor is the second');
  assert.match(on.place('last'), FULL);
});

test('build limits - that another instance is gone does not end a build, whoever tells it first', () => {
  const on = oldAndNew();
  on.release('old');
  assert.match(on.place('after'), FULL, 'its cell has not told that it is gone');
  on.tellHost({ host: 'h1', instances: 0, builds: 0, ordered: 1 });
  assert.match(on.place('later'), FULL, 'nor of the build');
  on.tellHost({ host: 'h1', instances: 1, builds: 1, ordered: 2 });
  assert.match(on.place('still'), FULL);
  on.tellHost({ host: 'h1', instances: 1, builds: 0, ordered: 2 });
  assert.is(on.place('last'), 'h1', 'now it is built');
});

test('build limits - who waits for the end of a build is not let in as another instance leaves', () => {
  const on = oldAndNew();
  on.hear(selectFor('waits', { waits: { since: 1 } }));
  on.deliver();
  on.release('old');
  on.run(5);
  assert.is(on.answers.at(-1)?.type, 'parked');
  on.release('new');
  assert.is(on.answers.at(-1)?.type, 'selected', 'it was deleted before its cell heard of it');
});

test('build limits - what was deleted before its cell heard of it is no build, whatever else there is on the host', () => {
  const on = hostWith(1);
  // As an instance that is lost, or an attempt that has failed and is being destroyed: it is no instance of the cell.
  on.take('lost', 'h1');
  on.deliver();
  for (const request of ['one', 'two', 'three']) {
    assert.is(on.place(request), 'h1', request);
    on.release(request);
  }
});

test('build limits - a claim that is refused for good ends no other build', () => {
  const on = hostWith(2);
  assert.is(on.place('one'), 'h1');
  // Its deletion has overtaken its claim.
  on.release('gone');
  assert.match(on.place('gone'), /consumer-deleted/);
  assert.is(on.place('two'), 'h1');
  assert.match(on.place('three'), FULL);
});

test('build limits - what is looked for several at once, to see whether there is room, is expected by nobody', () => {
  const on = hostWith(2);
  assert.is(on.place('one'), 'h1');
  on.hear(selectFor('both', { instances: ['both-0', 'both-1'] }));
  on.deliver();
  assert.is(on.answers.at(-1)?.type, 'no-valid-host');
  assert.is(on.place('two'), 'h1');
  assert.match(on.place('three'), FULL);
});

test('build limits - placement tells who was deleted while he held something, and nobody else who gives something back', () => {
  const on = hostWith(9);
  assert.is(on.place('one'), 'h1');
  const told = (message: PlacementMessage) => {
    on.ask(message);
    const news = on.underWay().flatMap((letter) => (letter.message.type === 'providers-changed' ? letter.message : []));
    on.deliver();
    return news.map(({ deleted }) => deleted);
  };
  assert.equal(told({ type: 'release', consumer: 'one', attempt: 1, deleted: false }), [undefined]);
  assert.equal(told(released('one')), [], 'it held nothing');
  assert.is(on.place('two'), 'h1');
  assert.equal(told(released('two')), [['two']]);
  assert.is(on.place('three'), 'h1');
  assert.equal(on.shard.tell(released('nobody')).sent.length, 1, 'nothing but the answer');
});

test('build limits - whatever is claimed, told and forgotten, a build is expected on the host that was claimed for it last', () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const random = seededRandom(seed);
    const builds = new ExpectedBuilds();
    /** The oldest first. */
    let known: { instance: string; root: string; at: number }[] = [];
    const forget = (gone: readonly unknown[]) => {
      known = known.filter((one) => !gone.includes(one));
    };
    for (let now = 1; now <= 100; now += 1) {
      const root = `p-h${random.integer(0, 2)}`;
      const instance = `i${random.integer(0, 7)}`;
      const on = known.filter((one) => one.root === root);
      const earlier = now - random.integer(0, 19);
      switch (random.integer(0, 4)) {
        case 0:
          assert.is(builds.delete(instance), known.find((one) => one.instance === instance)?.root);
          forget(known.filter((one) => one.instance === instance));
          break;
        case 1: {
          const count = random.integer(0, 2);
          builds.deleteOldest(root, count);
          forget(on.slice(0, count));
          break;
        }
        case 2:
          builds.deleteUntil(root, earlier);
          forget(on.filter(({ at }) => at <= earlier));
          break;
        default:
          builds.add(instance, root, now);
          forget(known.filter((one) => one.instance === instance));
          known.push({ instance, root, at: now });
      }
      for (const host of ['p-h0', 'p-h1', 'p-h2']) {
        const there = known.filter((one) => one.root === host);
        const after = there.filter(({ at }) => at > earlier).length;
        assert.equal([builds.oldestOn(host), builds.countOn(host, earlier)], [there[0]?.at, after], `seed ${seed}`);
      }
      assert.equal([...builds.roots()].sort(), [...new Set(known.map((one) => one.root))].sort(), `seed ${seed}`);
    }
  }
});

test.run();
