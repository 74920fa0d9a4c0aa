// Area: a cell as a whole, out of service at an operator's word. Its hosts are told as disabled, those that join it too, and
// what it has taken goes on.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { FEED_BEAT_MS } from '../../actors/feed-beat.ts';
import { desk } from '../support/cell-hosts.ts';
import { granted, up } from '../support/cells.ts';
import { bench, sentOf, type Turned } from '../support/turn.ts';

const test = suite('service of a cell');

type Desk = ReturnType<typeof desk>;

const set = ({ on }: Desk, enabled?: boolean, more: { reason?: string; revision?: number } = {}) =>
  on.tell({ type: 'set-cell', ask: 1, ...(enabled === undefined ? {} : { enabled }), ...more }, 'gateway/g');
const answerIn = (turned: Turned<unknown>) => {
  const [answer] = sentOf(turned, 'cell-set');
  return [answer?.message.disabled, answer?.message.revision];
};
/** What the feed tells of hosts, and of the cell. */
function feedIn(turned: Turned<unknown>) {
  return sentOf(turned, 'hosts-changed').map(({ message: { hosts, disabled } }) => [
    hosts.map(({ host, state, reason }) => [host, state, reason]),
    disabled,
  ]);
}
const listedIn = ({ on }: Desk) =>
  sentOf(on.tell({ type: 'list-hosts', ask: 1, limit: 9 }), 'hosts')[0]?.message.hosts.map(({ host, state }) => [
    host,
    state,
  ]);

test('service of a cell - out of service all of its hosts are told as disabled, and back they are as each was set', () => {
  const c1 = desk(['h1', 'h2']);
  c1.on.tell({ type: 'set-host', ask: 1, host: 'h2', enabled: false, reason: 'new disk' });
  const why = 'its cell is out of service: new switches';
  const disabled = set(c1, false, { reason: 'new switches' });
  assert.equal(answerIn(disabled), ['new switches', 1]);
  const told = [
    ['h1', 'disabled', why],
    ['h2', 'disabled', 'new disk'],
  ];
  assert.equal(feedIn(disabled), [[told, 'new switches']]);
  assert.equal(listedIn(c1), [
    ['h1', 'disabled'],
    ['h2', 'disabled'],
  ]);
  const joins = c1.on.tell(up('h3'), 'compute/c1/h3');
  assert.equal(feedIn(joins), [[[['h3', 'disabled', why]], 'new switches']]);
  const offService = () => {
    const [list] = sentOf(c1.on.tell({ type: 'list-hosts', ask: 1, limit: 9 }), 'hosts');
    return list?.message.hosts.map(({ withCell, disabled }) => [withCell, disabled]);
  };
  assert.equal(
    offService(),
    [
      [true, undefined],
      [true, true],
      [true, undefined],
    ],
    'those that are up when it is back, and those that are not',
  );
  c1.survives();

  const again = bench({ ...c1.actor, init: () => c1.actor.restore([c1.on.stored()]) });
  assert.equal(answerIn(again.tell({ type: 'set-cell', ask: 1 }, 'gateway/g')), ['new switches', 1]);
  const beats = again.pass(2 * FEED_BEAT_MS).flatMap(feedIn);
  assert.ok(beats.length > 0);
  assert.ok(
    beats.every(([, ofCell]) => ofCell === 'new switches'),
    'each beat tells it, also of a cell without hosts',
  );

  const enabled = set(c1, true);
  assert.equal(answerIn(enabled), [undefined, 2]);
  const back = [
    ['h1', 'up', undefined],
    ['h2', 'disabled', 'new disk'],
    ['h3', 'up', undefined],
  ];
  assert.equal(feedIn(enabled), [[back, undefined]]);
  assert.equal(offService(), Array(3).fill([undefined, undefined]));
  c1.survives();
});

test('service of a cell - of one without hosts it is told at once, too', () => {
  const c1 = desk([]);
  assert.equal(feedIn(set(c1, false, { reason: 'new switches' })), [[[], 'new switches']]);
  assert.equal(feedIn(set(c1, true)), [[[], undefined]]);
});

test('service of a cell - why is told of very many hosts in messages that a server carries', () => {
  const hosts = Array.from({ length: 500 }, (_, n) => `h${n}`);
  const c1 = desk(hosts);
  const disabled = set(c1, false, { reason: '\u65b0'.repeat(1_024) });
  const sizes = sentOf(disabled, 'hosts-changed').map(({ message }) => Buffer.byteLength(JSON.stringify(message)));
  assert.ok(Math.max(...sizes) < 1_000_000, `${sizes}`);
  const told = sentOf(disabled, 'hosts-changed').flatMap(({ message }) => message.hosts.map(({ host }) => host));
  assert.equal(told.sort(), hosts.sort());
});

test('service of a cell - hosts that are away or rest come back disabled, and one that is enabled meanwhile is so all the same', () => {
  const c1 = desk(['h1', 'h2', 'h3', 'h4'], { failuresBeforeAside: 1 });
  c1.silence('h1');
  c1.fail('h2');
  assert.is(c1.stateOf('h2'), 'set-aside');
  set(c1, false);
  assert.equal(listedIn(c1), [
    ['h1', 'down'],
    ['h2', 'disabled'],
    ['h3', 'disabled'],
    ['h4', 'disabled'],
  ]);
  const [away, resting] = sentOf(c1.on.tell({ type: 'list-hosts', ask: 1, limit: 9 }), 'hosts')[0]?.message.hosts ?? [];
  assert.equal([away?.disabled, away?.withCell], [true, true]);
  assert.is(resting?.withCell, true);
  assert.ok((resting?.asideUntil ?? 0) > c1.on.now, 'with its cell alone it would not be up');
  const why = 'its cell is out of service';
  const setHost = (host: string, enabled: boolean) => {
    const [answer] = sentOf(c1.on.tell({ type: 'set-host', ask: 1, host, enabled }), 'host-set');
    return [answer?.message.state, answer?.message.disabled];
  };
  assert.equal(setHost('h1', true), ['down', why]);
  assert.equal(setHost('h3', true), ['disabled', why]);
  assert.equal(setHost('h3', false), ['disabled', undefined]);
  c1.fence('h1');
  const [listed] = sentOf(c1.on.tell({ type: 'list-hosts', ask: 1, limit: 1 }), 'hosts');
  assert.equal(listed?.message.hosts[0]?.disabled, true);
  assert.is(listed?.message.hosts[0]?.withCell, true, 'to enable the host would not be enough when it is back');
  assert.match(listed?.message.hosts[0]?.reason ?? '', /, and is then disabled: its cell is out of service$/);
  set(c1, true);
  const [then] = sentOf(c1.on.tell({ type: 'list-hosts', ask: 1, limit: 1 }), 'hosts');
  assert.is(then?.message.hosts[0]?.withCell, undefined);
  assert.match(then?.message.hosts[0]?.reason ?? '', /; it comes back when its compute is started anew$/);
  assert.equal(listedIn(c1), [
    ['h1', 'fenced'],
    ['h2', 'set-aside'],
    ['h3', 'disabled'],
    ['h4', 'up'],
  ]);
});

test('service of a cell - of a host that is disabled by itself, too, no rest is told: who enables it ends that', () => {
  const c1 = desk(['h1', 'h2', 'h3'], { failuresBeforeAside: 1 });
  c1.fail('h2');
  assert.is(c1.stateOf('h2'), 'set-aside');
  c1.on.tell({ type: 'set-host', ask: 1, host: 'h2', enabled: false });
  const told = () => {
    const [, host] = sentOf(c1.on.tell({ type: 'list-hosts', ask: 1, limit: 9 }), 'hosts')[0]?.message.hosts ?? [];
    return [host?.disabled, host?.withCell, host?.asideUntil];
  };
  assert.equal(told(), [undefined, undefined, undefined]);
  set(c1, false);
  assert.equal(told(), [true, true, undefined]);
  c1.on.tell({ type: 'set-host', ask: 1, host: 'h2', enabled: true });
  assert.equal(told(), [undefined, true, undefined]);
});

test('service of a cell - whoever asks for more about a host hears that it is disabled, as lists have it', () => {
  const c1 = desk(['h1', 'h2', 'h3'], { failuresBeforeAside: 1 });
  c1.activate('web', 'h1');
  c1.activate('db', 'h2');
  c1.fail('h3');
  const notUpOf = (instance: string) =>
    sentOf(c1.on.tell({ type: 'explain', ask: 1, instance }), 'explained')[0]?.message.view?.hostsNotUp;
  set(c1, false, { reason: 'new switches' });
  const reason = 'its cell is out of service: new switches';
  assert.equal(notUpOf('web'), [{ host: 'h1', state: 'disabled', reason }]);
  c1.on.tell({ type: 'set-host', ask: 1, host: 'h2', enabled: false, reason: 'new disk' });
  assert.equal(notUpOf('db'), [{ host: 'h2', state: 'disabled', reason: 'new disk', since: c1.on.now }]);
  for (const host of ['h1', 'h3']) {
    for (const type of ['fence-host', 'remove-host'] as const) {
      const [declined] = sentOf(c1.on.tell({ type, ask: 1, host }, 'gateway/g'), 'declined');
      assert.match(declined?.message.reason ?? '', /is disabled\b/);
      if (type === 'fence-host') assert.match(declined?.message.reason ?? '', / after 15 to 20 s of silence$/);
    }
  }
  set(c1, true);
  assert.is(notUpOf('web'), undefined);
});

test('service of a cell - how long a host is silent before it can be fenced is said as one number where it is one', () => {
  const c1 = desk(['h1'], { silentMs: 600 });
  const [declined] = sentOf(c1.on.tell({ type: 'fence-host', ask: 1, host: 'h1' }, 'gateway/g'), 'declined');
  assert.match(declined?.message.reason ?? '', / counts as down after 1 s of silence$/);
});

test('service of a cell - what is handed over to it is built, on alternates too', () => {
  const c1 = desk(['h1', 'h2']);
  set(c1, false);
  const begun = c1.start('web', 'h1', ['h2']);
  assert.equal(
    sentOf(begun, 'build').map(({ to }) => to),
    ['compute/c1/h1'],
  );
  c1.on.tell({ type: 'build-failed', host: 'h1', instance: 'web', attempt: 1, reason: 'no image' });
  const moved = c1.on.tell(granted('web', 2), 'placement/0');
  assert.equal(
    sentOf(moved, 'build').map(({ to }) => to),
    ['compute/c1/h2'],
  );
});

test('service of a cell - what an operator said and was held up on its way undoes nothing that was said since', () => {
  const c1 = desk(['h1']);
  const outdated = (turned: Turned<unknown>) => {
    const [declined] = sentOf(turned, 'declined');
    return [declined?.message.code, declined?.message.field, declined?.message.reason];
  };
  assert.equal(answerIn(set(c1)), [undefined, 0]);
  set(c1, false, { revision: 0 });
  set(c1, true, { revision: 1 });
  const late = set(c1, false, { revision: 0 });
  const reason = "cell 'c1' is at revision 2, not 0: it has been set otherwise";
  assert.equal([outdated(late), late.records], [['outdated', 'revision', reason], []]);
  // What changes nothing is a word too; who says no revision means it in any case.
  const same = set(c1, true, { revision: 2 });
  assert.equal([answerIn(same), feedIn(same)], [[undefined, 3], []]);
  assert.equal(answerIn(set(c1, false)), ['by an operator', 4]);
});

test.run();
