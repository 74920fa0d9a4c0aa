// Area: the check of the clock. A process whose clock differs from the server's says so, when it starts and later on.

import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats, type NatsBus } from '../../runtime/bus/nats.ts';
import type { Clock } from '../../runtime/clock.ts';
import { checkClock } from '../../runtime/clock-check.ts';
import { messageOf } from '../../runtime/errors.ts';
import { startNode } from '../../runtime/node.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { startTestServer, type TestServer } from '../support/nats-server.ts';
import { until } from '../support/until.ts';

const test = suite('clock check');
const MINUTE_MS = 60_000;
// What is told is less by as long as the server took to answer: a second or more on a busy machine.
let server: TestServer;
let bus: NatsBus;

test.before(async () => {
  server = await startTestServer();
  bus = await connectNats({ servers: server.url, name: 'clock', onError() {} });
});

test.after(async () => {
  await bus.close();
  await server.stop();
});

/** A clock that shows another time, and may be set. */
function clockThatIsOff(byMs: number) {
  const right = systemClock();
  const clock: Clock = { ...right, now: () => right.now() + byMs, at: (at, wake) => right.at(at - byMs, wake) };
  const set = (toMs: number) => {
    byMs = toMs;
  };
  return { clock, set };
}

async function nodeWith(clock: Clock, prefix: string) {
  const told: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => told.push(line) });
  const node = await startNode({ roles: ['placement'], nats: { servers: server.url }, prefix, clock, logger });
  return { node, told };
}

test('clock check - a node whose clock is 45 minutes ahead says so when it has started', async () => {
  const { node, told } = await nodeWith(clockThatIsOff(45 * MINUTE_MS).clock, 'ahead');
  try {
    await until('the clock is told of', () => told.length > 0);
    assert.match(told[0] ?? '', /the clock of this process is 2(6\d\d|700) seconds ahead of the NATS server's/);
  } finally {
    await node.stop();
  }
});

test('clock check - every ten minutes the clocks are compared anew, and what is alike is passed over', async () => {
  const { node } = await nodeWith(systemClock(), 'again');
  const { clock, set } = clockThatIsOff(0);
  const told: string[] = [];
  const waiting: { delayMs: number; wake(): void }[] = [];
  let cancelled = 0;
  const check = checkClock({
    bus,
    subjects: subjectsOf('again'),
    clock: {
      ...clock,
      after(delayMs, wake) {
        waiting.push({ delayMs, wake });
        return { cancel: () => (cancelled += 1) };
      },
    },
    onError: (error) => told.push(messageOf(error)),
  });
  const checks = async (count: number) => {
    await until('the clocks were compared', () => waiting.length === count);
    assert.is(waiting.at(-1)?.delayMs, 10 * MINUTE_MS);
  };
  try {
    await checks(1);
    assert.equal(told, []);
    set(-MINUTE_MS);
    waiting[0]?.wake();
    await checks(2);
    assert.match(told[0] ?? '', /is (5\d|60) seconds behind the NATS server's/);
    set(9_000);
    waiting[1]?.wake();
    await checks(3);
    assert.is(told.length, 1);
  } finally {
    check.stop();
    await node.stop();
  }
  assert.is(cancelled, 1);
});

test('clock check - where the server cannot be asked nothing is told', async () => {
  const told: unknown[] = [];
  const { clock } = clockThatIsOff(MINUTE_MS);
  let compared = false;
  const check = checkClock({
    bus,
    subjects: subjectsOf('nobody'),
    clock: {
      ...clock,
      after() {
        compared = true;
        return { cancel() {} };
      },
    },
    onError: (error) => told.push(error),
  });
  await until('the clocks were compared', () => compared);
  check.stop();
  assert.equal(told, []);
});

const USERS = `authorization { users: [
  { user: all, password: p }
  { user: one, password: p, permissions: { subscribe: ["_INBOX.>"], publish: [
    "$JS.API.INFO", "$JS.API.STREAM.INFO.KV_cw_leases"
  ] } }
] }`;

test('clock check - a user who may make no consumer learns the time of servers from 2.10 on, and of older ones is refused once', async () => {
  const log: string[] = [];
  const guarded = await startTestServer({ config: USERS, log: (line) => log.push(line) });
  const connectAs = (user: string) =>
    connectNats({ servers: guarded.url.replace('//', `//${user}:p@`), name: user, onError() {} });
  const [operator, one] = await Promise.all([connectAs('all'), connectAs('one')]);
  const told: string[] = [];
  const waiting: (() => void)[] = [];
  const { clock } = clockThatIsOff(MINUTE_MS);
  const after: Clock['after'] = (_, wake) => {
    waiting.push(wake);
    return { cancel() {} };
  };
  const onError = (error: unknown) => told.push(messageOf(error));
  try {
    await operator.connection.jetstream().views.kv('cw_leases');
    const check = checkClock({ bus: one, subjects: subjectsOf(), clock: { ...clock, after }, onError });
    const violations = () => log.filter((line) => /\[ERR\].* Violation - /.test(line));
    const [major = 0, minor = 0] = (one.connection.info?.version ?? '').split('.').map(Number);
    if (major > 2 || minor >= 10) {
      await until('the clocks were compared', () => waiting.length === 1);
      assert.match(told[0] ?? '', /is (5\d|60) seconds ahead of the NATS server's/);
      assert.equal(violations(), []);
    } else {
      await until('the server refuses', () => violations().length > 0);
      await one.flush();
      assert.equal([told, waiting], [[], []]);
    }
    check.stop();
  } finally {
    await Promise.all([operator.close(), one.close()]);
    await guarded.stop();
  }
});

test.run();
