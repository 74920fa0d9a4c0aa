// Area: overload. A full mailbox says when to come back, by its own pace; callers come back then, apart from each other
// and later each time; messages that nobody waits for are said again by whoever owes them; and in the end all is done.

import Type from 'typebox';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor, Message } from '../../actors/actor.ts';
import { waitMs } from '../../actors/builds.ts';
import { message } from '../../actors/messages/common.ts';
import { snapshotOf } from '../../actors/snapshot.ts';
import type { Bus, BusMessage } from '../../runtime/bus/bus.ts';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { clientOf } from '../../runtime/client.ts';
import type { Clock } from '../../runtime/clock.ts';
import { decode, encode } from '../../runtime/codec.ts';
import { endpointOf } from '../../runtime/endpoints.ts';
import { type CellwrightError, OverloadedError } from '../../runtime/errors.ts';
import { frameOf } from '../../runtime/frames.ts';
import { noJournal } from '../../runtime/journal/journal.ts';
import { startNode } from '../../runtime/node.ts';
import type { Outbox } from '../../runtime/outbox.ts';
import { seededRandom } from '../../runtime/random.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { actorHost } from '../../runtime/turn.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { hostsUp, quickDriver } from '../e2e/system.ts';
import { failureOf } from '../support/until.ts';

const test = suite('overload');

/** A clock that stands still, and runs what is due when it is told to. */
function handClock() {
  const tasks: (() => void)[] = [];
  const timer = () => ({ cancel() {} });
  const now = () => hand.at;
  const clock = { now, monotonic: now, soon: (task: () => void) => tasks.push(task), at: timer, after: timer };
  const hand = { at: 1_000, clock: clock as unknown as Clock, turn: () => tasks.shift()?.() };
  return hand;
}

async function fullHost(maxMailbox: number) {
  const hand = handClock();
  const idle: Actor<null, Message, never> = {
    init: () => null,
    receive() {},
    apply() {},
    recover() {},
    snapshot: () => snapshotOf({}, {}),
    restore: () => null,
  };
  const sent: { to: string; message: Record<string, unknown> }[] = [];
  const outbox = {
    send: (_: string, to: string, what: object) => sent.push({ to, message: { ...what } }),
    publish() {},
    local() {},
  } as unknown as Outbox;
  const host = actorHost({
    address: 'toy/0',
    actor: idle,
    journal: noJournal,
    clock: hand.clock,
    outbox,
    maxMailbox,
    onFailure: (error) => assert.unreachable(error.message),
  });
  await host.start();
  return { hand, host, sent, outbox };
}

test('overload - when to come back is told by the pace at which the mailbox is worked off', async () => {
  const { hand, host } = await fullHost(1_000);
  const fill = () => {
    while (host.deliver({ type: 'work' }, 'test'));
  };
  fill();
  assert.is(host.retryAfterMs(), 50, 'nothing is known yet: soon');
  hand.at += 3_000;
  assert.is(host.retryAfterMs(), 3_000, 'nothing was decided for that long: it may take as long again');
  hand.turn();
  fill();
  // 512 messages were decided in 3 seconds, and a thousand wait.
  assert.is(host.retryAfterMs(), Math.ceil((3_000 / 512) * 1_000));
  hand.at += 3_600_000;
  assert.is(host.retryAfterMs(), 10_000, 'never very long');
});

test('overload - a mailbox that a word of the process itself filled first is worked off since then, not since it was last filled', async () => {
  const { hand, host } = await fullHost(1_000);
  host.deliver({ type: 'work' }, 'test');
  hand.turn();
  hand.at += 3_600_000;
  host.deliverAnswer({ type: 'work' }, 'test');
  while (host.deliver({ type: 'work' }, 'test'));
  assert.is(host.retryAfterMs(), 50);
});

test('overload - a question is answered with when to come back; what is no question is reported once', async () => {
  const { hand, host, sent, outbox } = await fullHost(2);
  const errors: string[] = [];
  const protocol = { ask: message('ask', { ask: Type.Integer() }), tell: message('tell', {}) };
  const handler = endpointOf(host, {
    node: 'n',
    protocol,
    outbox,
    maxBytes: 1_000_000,
    answer() {},
    onError: (error, what) => errors.push(`${what}: ${(error as CellwrightError).code}`),
  });
  const bring = (...messages: Message[]) =>
    handler({ subject: 'cw.toy.0', headers: {}, data: encode([{ from: 'gateway/g', messages }]) } as BusMessage);
  const tell = { type: 'tell' };
  bring(tell, tell, { type: 'ask', ask: 7 } as Message, tell, tell, tell);
  assert.equal(sent, [
    {
      to: 'gateway/g',
      message: {
        type: 'declined',
        ask: 7,
        code: 'overloaded',
        reason: "the mailbox of 'toy/0' is full; try again in 50 ms",
        retryAfterMs: 50,
      },
    },
  ]);
  assert.is(host.stats.overloaded, 4);
  bring(tell, tell);
  assert.equal(errors, [], 'the question was told; nobody needs to be told again');
  hand.turn();
  bring(tell, tell, tell, tell);
  hand.turn();
  bring(tell, tell, tell);
  assert.equal(errors, ["messages for 'toy/0': overloaded", "messages for 'toy/0': overloaded"], 'once each time');
});

test('overload - what actors ask and answer each other is not declined, and what no actor knows is refused by its type', async () => {
  const { hand, host, sent, outbox } = await fullHost(2);
  const errors: string[] = [];
  const handler = endpointOf(host, {
    node: 'n',
    protocol: { providers: message('providers', { ask: Type.Integer() }) },
    outbox,
    maxBytes: 1_000_000,
    answer() {},
    onError: (error) => errors.push((error as CellwrightError).message),
  });
  // As it is handed over in one process, where nothing is decoded and checked.
  const bring = (...messages: Message[]) =>
    handler({
      subject: 'cw.toy.0',
      headers: {},
      ...frameOf([{ from: 'placement/0', messages }]),
    } as unknown as BusMessage);
  const answer = { type: 'providers', ask: 1 } as Message;
  bring(answer, answer, answer);
  assert.equal(errors.splice(0), ["the mailbox of 'toy/0' is full; try again in 50 ms"]);
  hand.turn();
  bring({ type: 'declined', ask: 1 } as Message);
  assert.equal(errors, ['there is no message of type "declined" here']);
  assert.equal([host.waiting(), sent], [0, []]);
});

/** Whether work that was given before is settled; from the first time on it is watched. */
const settled = new WeakMap<Promise<unknown>, boolean>();
function isOver(work: Promise<unknown>): boolean {
  if (!settled.has(work)) {
    settled.set(work, false);
    const end = () => settled.set(work, true);
    work.then(end, end);
  }
  return settled.get(work) === true;
}

/** A client of an API that answers so many times that it is overloaded; notes when it is called. */
function refusedClient(times: number, seed: string) {
  const clock = virtualClock({ startMs: 0 });
  const calls: number[] = [];
  const bus = {
    maxPayloadBytes: 1_000_000,
    async request() {
      calls.push(clock.now());
      const body =
        calls.length > times ? { id: 'i1', state: 'deleting' } : { error: new OverloadedError('x', 200).toJSON() };
      return { data: encode(body), headers: {}, subject: '' };
    },
  } as unknown as Bus;
  const client = clientOf({ bus, clock, subjects: subjectsOf(), random: seededRandom(seed) });
  return { clock, calls, client };
}

test('overload - a client comes back when it is told to, later each time, and not when others do', async () => {
  const ways = [];
  for (const seed of ['1', '2', '1']) {
    const { clock, calls, client } = refusedClient(3, seed);
    const answer = client.delete('i1');
    await clock.runAsync(() => isOver(answer));
    assert.equal(await answer, { id: 'i1', state: 'deleting' });
    const waits = calls.slice(1).map((at, position) => at - (calls[position] as number));
    for (const [tries, wait] of waits.entries()) {
      const base = 200 * 2 ** tries;
      assert.ok(wait >= base / 2 && wait <= base * 1.5 + 1, waits.join());
    }
    ways.push(waits.join());
  }
  assert.is(ways[0], ways[2]);
  assert.is.not(ways[0], ways[1]);
});

test('overload - a client gives up when its time is over, and says when to come back', async () => {
  const { clock, calls, client } = refusedClient(1_000, '1');
  const failing = failureOf(() => client.delete('i1'));
  await clock.runAsync(() => isOver(failing));
  const error = (await failing) as CellwrightError;
  assert.equal([error.code, error.retryable, error.retryAfterMs], ['overloaded', true, 200]);
  assert.ok(calls.length >= 4 && clock.now() <= 10_000, `${calls.length} calls in ${clock.now()} ms`);
});

test('overload - what is owed by many is done again at a time of its own for each, and never too late', () => {
  const patience = { firstMs: 1_000, mostMs: 8_000 };
  for (const repeats of [0, 1, 3, 9]) {
    const longest = Math.min(8_000, 1_000 * 2 ** repeats);
    assert.is(waitMs(patience, repeats), longest);
    const waits = Array.from({ length: 200 }, (_, n) => waitMs(patience, repeats, `i-${n}`));
    assert.ok(waits.every((wait) => wait > longest * 0.74 && wait <= longest));
    assert.ok(new Set(waits).size > 100, 'they are spread');
    assert.is(waitMs(patience, repeats, 'i-7'), waits[7], 'and always the same for one');
  }
});

test('overload - a deployment of tiny mailboxes takes a rush, and everything comes to its end', async () => {
  const clock = systemClock();
  const server = memoryServer({ clock });
  const bus = server.connect();
  const patience = { firstMs: 50, mostMs: 200 };
  const node = await startNode({
    roles: ['placement', 'scheduler', 'conductor', 'cell:c1', 'compute:c1/h1', 'compute:c1/h2'],
    bus: server.connect(),
    driver: ({ cell, host }) => quickDriver(cell, host),
    maxMailbox: 3,
    conductor: { patience, watchMs: 300 },
    cell: { patience },
    compute: { patience },
    scheduler: { patience },
    logger: (await import('pino')).default({ level: 'silent' }),
  });
  let refused = 0;
  const counted: Bus = {
    ...bus,
    maxPayloadBytes: bus.maxPayloadBytes,
    async request(...question) {
      const answer = await bus.request(...question);
      const { error } = decode(answer.data, bus.maxPayloadBytes) as { error?: { code: string; retryAfterMs?: number } };
      if (error?.code === 'overloaded') refused += 1;
      if (error?.code === 'overloaded') assert.ok((error.retryAfterMs ?? 0) >= 50);
      return answer;
    },
  };
  try {
    const client = clientOf({ bus: counted, clock, subjects: subjectsOf() });
    await hostsUp(client, 'c1', 2);
    const ids = Array.from({ length: 16 }, (_, n) => `rush-${n}x`);
    await Promise.all(ids.map((id) => client.build({ id, resources: { VCPU: 1 } })));
    for (const id of ids) assert.is((await client.ended(id)).state, 'active', id);
    assert.ok(refused > 0, 'nobody was refused: there was no rush');
  } finally {
    await node.stop();
    await bus.close();
  }
});

test.run();
