// Area: bus. The contract that every bus keeps: run against the one in memory and the one over a real NATS server.
// What each has of its own is in bus-memory.test.ts and bus-nats.test.ts.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Bus, BusMessage } from '../../runtime/bus/bus.ts';
import { NoRespondersError, TimeoutError } from '../../runtime/errors.ts';
import {
  bytes,
  EMPTY,
  greeter,
  hasCode,
  inMemory,
  loopedBack,
  overNats,
  type Rig,
  settled,
  textOf,
} from '../support/bus.ts';
import { failureOf, until } from '../support/until.ts';

function contract(name: string, withRig: (run: (rig: Rig) => Promise<void>) => Promise<void>): void {
  const test = suite(`bus ${name}`);
  const on = (what: string, run: (rig: Rig) => Promise<void>) => test(`bus - ${what}`, () => withRig(run));

  on('a message arrives with subject, body, headers and reply', async ({ connect }) => {
    const [sender, receiver] = [await connect(), await connect()];
    const got: BusMessage[] = [];
    receiver.subscribe('cw.cell.c1.conductor', (message) => got.push(message));
    await receiver.flush();
    sender.publish('cw.cell.c1.conductor', bytes('one'), {
      reply: 'cw.me',
      headers: { type: 'start', Cause: 'ä 1', none: '' },
    });
    sender.publish('cw.cell.c1.conductor', EMPTY);
    await until('both are there', () => got.length === 2);
    assert.equal(
      got.map((message) => [message.subject, textOf(message), message.reply, message.headers]),
      [
        ['cw.cell.c1.conductor', 'one', 'cw.me', { type: 'start', Cause: 'ä 1', none: '' }],
        ['cw.cell.c1.conductor', '', undefined, {}],
      ],
    );
  });

  on('who expects an answer is told at once that nobody listens, and nobody else is', async ({ connect }) => {
    const [asker, other] = [await connect(), await connect()];
    const told: string[] = [];
    const got: string[] = [];
    const listen = (bus: Bus, name: string) =>
      bus.subscribe('cw.me.unheard.>', () => got.push(name), {
        onUnheard: (subject) => told.push(`${name} of ${subject}`),
      });
    listen(asker, 'asker');
    listen(other, 'other');
    other.subscribe('cw.heard', () => {});
    await Promise.all([asker.flush(), other.flush()]);
    asker.publish('cw.heard', EMPTY, { reply: 'cw.me.unheard.heard' });
    asker.publish('cw.nobody', EMPTY, { reply: 'cw.me.unheard.nobody' });
    asker.publish('cw.nobody', EMPTY);
    asker.publish('cw.nobody', EMPTY, { reply: 'cw.elsewhere' });
    await settled(asker, other);
    assert.equal(told, ['asker of cw.me.unheard.nobody']);
    assert.equal(got, []);
  });

  on('those who serve in queue groups of their own each get every message', async ({ connect }) => {
    const [asker, one, two] = [await connect(), await connect(), await connect()];
    const got: string[] = [];
    for (const [bus, name] of [
      [one, 'one'],
      [two, 'two'],
    ] as const) {
      const { endpoints, ...service } = greeter('cw.hello', () => got.push(name));
      await bus.serve({ ...service, endpoints: endpoints.map((endpoint) => ({ ...endpoint, queue: name })) });
    }
    await Promise.all([one.flush(), two.flush()]);
    asker.publish('cw.hello', EMPTY);
    await asker.flush();
    await until('both have it', () => got.length === 2);
    assert.equal(got.sort(), ['one', 'two']);
  });

  on('wildcards match as they should, and no more', async ({ connect }) => {
    const bus = await connect();
    const got: string[] = [];
    for (const pattern of ['a.b', 'a.*', '*.b', 'a.>', '>', '*', 'a.*.c', 'a.b.c.>']) {
      bus.subscribe(pattern, ({ subject }) => {
        if (subject !== 'test.settled') got.push(`${pattern} < ${subject}`);
      });
    }
    for (const subject of ['a', 'a.b', 'a.b.c']) bus.publish(subject, EMPTY);
    await settled(bus);
    assert.equal(got.sort(), [
      '* < a',
      '*.b < a.b',
      '> < a',
      '> < a.b',
      '> < a.b.c',
      'a.* < a.b',
      'a.*.c < a.b.c',
      'a.> < a.b',
      'a.> < a.b.c',
      'a.b < a.b',
    ]);
  });

  on('messages of one publisher keep their order, over all subjects', async ({ connect }) => {
    const [sender, receiver] = [await connect(), await connect()];
    const got: string[] = [];
    receiver.subscribe('cw.>', (message) => got.push(textOf(message)));
    await receiver.flush();
    const sent = Array.from({ length: 2000 }, (_, n) => String(n));
    for (const n of sent) sender.publish(`cw.s${Number(n) % 7}`, bytes(n));
    await until('all are there', () => got.length === sent.length);
    assert.equal(got, sent);
  });

  on('nothing is delivered inside publish', async ({ connect }) => {
    const bus = await connect();
    let publishing = false;
    const inside: boolean[] = [];
    bus.subscribe('a', () => inside.push(publishing));
    publishing = true;
    bus.publish('a', EMPTY);
    publishing = false;
    await until('it is delivered', () => inside.length === 1);
    assert.equal(inside, [false]);
  });

  on('a queue group member gets each message once', async ({ connect }) => {
    const [sender, one, other] = [await connect(), await connect(), await connect()];
    const got: { by: string; n: string }[] = [];
    const take = (by: string) => (message: BusMessage) => void got.push({ by, n: textOf(message) });
    one.subscribe('work', take('red'), { queue: 'red' });
    other.subscribe('work', take('red'), { queue: 'red' });
    other.subscribe('work', take('red'), { queue: 'red' });
    one.subscribe('work', take('blue'), { queue: 'blue' });
    other.subscribe('work', take('plain'));
    // A group is one over all its patterns.
    other.subscribe('*', take('blue'), { queue: 'blue' });
    await Promise.all([one.flush(), other.flush()]);
    const sent = Array.from({ length: 50 }, (_, n) => String(n));
    for (const n of sent) sender.publish('work', bytes(n));
    await until('all are there', () => got.length >= 150);
    await settled(sender, one, other);
    for (const group of ['red', 'blue', 'plain']) {
      const numbers = got.filter(({ by }) => by === group).map(({ n }) => Number(n));
      assert.equal(
        numbers.sort((a, b) => a - b),
        sent.map(Number),
        group,
      );
    }
  });

  on('a request is answered by the first answer, with headers', async ({ connect }) => {
    const [asker, server] = [await connect(), await connect()];
    server.subscribe('sum', (message) => {
      assert.equal(message.headers, { n: '1' });
      server.publish(message.reply ?? '', bytes(`${textOf(message)}!`), { headers: { done: 'yes' } });
      server.publish(message.reply ?? '', bytes('too late'));
    });
    await server.flush();
    const answers = await Promise.all(
      ['x', 'y', 'z'].map((body) => asker.request('sum', bytes(body), { timeoutMs: 5000, headers: { n: '1' } })),
    );
    assert.equal(answers.map(textOf), ['x!', 'y!', 'z!']);
    assert.equal(answers[0]?.headers, { done: 'yes' });
  });

  on('a request that nobody listens to fails at once', async ({ connect }) => {
    const bus = await connect();
    const error = await failureOf(() => bus.request('nobody', EMPTY, { timeoutMs: 60_000 }));
    assert.instance(error, NoRespondersError);
    assert.match(error.message, "'nobody'");
  });

  on('a request without an answer times out', async ({ connect }) => {
    const bus = await connect();
    bus.subscribe('silent', () => {});
    const error = await failureOf(() => bus.request('silent', EMPTY, { timeoutMs: 30 }));
    assert.instance(error, TimeoutError);
    assert.match(error.message, "'silent' did not answer within 30 ms");
  });

  on(
    'a plain message that nobody listens to, or an answer that comes too late, is silent',
    async ({ connect, errors }) => {
      const bus = await connect();
      const replies: BusMessage[] = [];
      let late = '';
      bus.subscribe('my.replies', (message) => replies.push(message));
      bus.subscribe('slow', ({ reply }) => (late = reply ?? ''));
      bus.publish('nobody', EMPTY);
      bus.publish('nobody', EMPTY, { reply: 'my.replies' });
      await failureOf(() => bus.request('slow', EMPTY, { timeoutMs: 20 }));
      bus.publish(late, bytes('sorry'));
      await settled(bus);
      assert.equal([replies, errors], [[], []]);
    },
  );

  on('a subscriber that throws stops neither the others nor itself', async ({ connect, errors }) => {
    const [sender, receiver] = [await connect(), await connect()];
    const got: string[] = [];
    receiver.subscribe('news', (message) => {
      got.push(`first ${textOf(message)}`);
      throw new Error(`cannot take ${textOf(message)}`);
    });
    receiver.subscribe('news', (message) => got.push(`second ${textOf(message)}`));
    receiver.subscribe('other', () => got.push('other'));
    await receiver.flush();
    sender.publish('news', bytes('1'));
    sender.publish('news', bytes('2'));
    sender.publish('other', EMPTY);
    await until('all are there', () => got.length === 5);
    // Which of two subscribers is served first is the server's choice.
    assert.equal(got.slice().sort(), ['first 1', 'first 2', 'other', 'second 1', 'second 2']);
    assert.equal(
      errors.map(({ error, subject }) => `${subject}: ${(error as Error).message}`),
      ['news: cannot take 1', 'news: cannot take 2'],
    );
  });

  on('after unsubscribe nothing comes, not even what is under way', async ({ connect }) => {
    const bus = await connect();
    const got: string[] = [];
    const { unsubscribe } = bus.subscribe('a', (message) => got.push(textOf(message)));
    bus.publish('a', bytes('before'));
    await settled(bus);
    bus.publish('a', bytes('under way'));
    unsubscribe();
    unsubscribe();
    bus.publish('a', bytes('after'));
    await settled(bus);
    assert.equal(got, ['before']);
  });

  on('a message that is too large is refused, headers counted', async ({ connect, maxPayloadBytes }) => {
    const bus = await connect();
    assert.is(bus.maxPayloadBytes, maxPayloadBytes);
    let largest = 0;
    bus.subscribe('a', ({ data }) => (largest = Math.max(largest, data.length)));
    bus.publish('a', new Uint8Array(maxPayloadBytes));
    assert.throws(() => bus.publish('a', new Uint8Array(maxPayloadBytes + 1)), hasCode('payload-too-large'));
    const headers = { k: 'v' };
    assert.throws(() => bus.publish('a', new Uint8Array(maxPayloadBytes), { headers }), hasCode('payload-too-large'));
    // NATS/1.0, k: v, and three line breaks.
    bus.publish('a', new Uint8Array(maxPayloadBytes - 18), { headers });
    assert.throws(
      () => bus.publish('a', new Uint8Array(maxPayloadBytes - 17), { headers }),
      hasCode('payload-too-large'),
    );
    const error = await failureOf(() => bus.request('a', new Uint8Array(maxPayloadBytes + 1), { timeoutMs: 1000 }));
    assert.is(error.code, 'payload-too-large');
    await settled(bus);
    assert.is(largest, maxPayloadBytes);
  });

  on('a subject is as long as a server reads, with another one to answer to, and no longer', async ({ connect }) => {
    const bus = await connect();
    const long = (first: string) => `${first}.${'é'.repeat(999)}`;
    const arrived: (string | undefined)[] = [];
    bus.subscribe(long('a'), ({ reply }) => arrived.push(reply), { queue: long('q') });
    await bus.flush();
    bus.publish(long('a'), EMPTY, { reply: long('b'), headers: { k: 'v' } });
    await settled(bus);
    assert.equal(arrived, [long('b')]);
    const tooLong = `${long('a')}e`;
    assert.throws(() => bus.publish(tooLong, EMPTY), hasCode('bad-subject'));
    assert.throws(() => bus.publish('a', EMPTY, { reply: tooLong }), hasCode('bad-subject'));
    assert.throws(() => bus.subscribe(tooLong, () => {}), hasCode('bad-subject'));
    assert.throws(() => bus.subscribe('a', () => {}, { queue: tooLong }), hasCode('bad-subject'));
    bus.publish(long('a'), EMPTY, { reply: 'still-there' });
    await settled(bus);
    assert.is(arrived.length, 2);
  });

  on('subjects, queues and headers that would break the protocol are refused', async ({ connect }) => {
    const bus = await connect();
    for (const subject of ['', ' ', 'a b', 'a..b', '.a', 'a.', 'a.*', '>', 'a\r\nPUB b 0', 'a\tb']) {
      assert.throws(() => bus.publish(subject, EMPTY), hasCode('bad-subject'), subject);
      assert.is((await failureOf(() => bus.request(subject, EMPTY, { timeoutMs: 100 }))).code, 'bad-subject');
    }
    assert.throws(() => bus.publish('a', EMPTY, { reply: 'a b' }), hasCode('bad-subject'));
    for (const subject of ['', 'a b', 'a..b', '>.a', 'a.>.b', 'a.b*', 'a>']) {
      assert.throws(() => bus.subscribe(subject, () => {}), hasCode('bad-subject'), subject);
    }
    assert.throws(() => bus.subscribe('a', () => {}, { queue: 'q 1' }), hasCode('bad-subject'));
    const split = [
      { a: 'x\r\nb: y' },
      { a: '1', b: 'x\r\nc: y' },
      { 'a: x\r\nb': '1' },
      { a: 'x\nb: y' },
      { 'a: x': '1' },
      { 'a: ': '1' },
    ];
    for (const headers of [
      ...split,
      { 'a b': '1' },
      { 'a:': '1' },
      { a: 'x\r\ny' },
      { a: ' x' },
      { a: 'x ' },
      { '': 'x' },
    ]) {
      assert.throws(() => bus.publish('a', EMPTY, { headers }), hasCode('bad-header'));
    }
    await settled(bus);
  });

  on('close ends what is its own only: requests fail, other clients go on', async ({ connect }) => {
    const [one, other] = [await connect(), await connect()];
    const got: string[] = [];
    one.subscribe('a', () => got.push('one'));
    other.subscribe('a', () => got.push('other'));
    other.subscribe('silent', () => {});
    await Promise.all([one.flush(), other.flush()]);
    const pending = failureOf(() => one.request('silent', EMPTY, { timeoutMs: 60_000 }));
    await one.close();
    await one.close();
    assert.is((await pending).code, 'closed');
    assert.throws(() => one.publish('a', EMPTY), hasCode('closed'));
    assert.throws(() => one.subscribe('a', () => {}), hasCode('closed'));
    assert.is((await failureOf(() => one.request('a', EMPTY, { timeoutMs: 1000 }))).code, 'closed');
    assert.is((await failureOf(() => one.flush())).code, 'closed');
    assert.is((await failureOf(() => one.serve(greeter('a', () => {})))).code, 'closed');
    other.publish('a', EMPTY);
    await settled(other);
    assert.equal(got, ['other']);
  });

  on('close delivers what was published before it', async ({ connect }) => {
    const [sender, receiver] = [await connect(), await connect()];
    const got: string[] = [];
    receiver.subscribe('a', (message) => got.push(textOf(message)));
    await receiver.flush();
    const sent = Array.from({ length: 500 }, (_, n) => String(n));
    for (const n of sent) sender.publish('a', bytes(n));
    await sender.close();
    await receiver.close();
    assert.equal(got, sent);
  });

  on('a service answers, and its instances share the requests', async ({ connect }) => {
    const [asker, one, other] = [await connect(), await connect(), await connect()];
    let answered = 0;
    const serveOn = (bus: Bus) =>
      bus.serve(
        greeter('cw.greet', (message) => {
          answered++;
          bus.publish(message.reply ?? '', bytes(`hello ${textOf(message)}`));
        }),
      );
    const [first, second] = [await serveOn(one), await serveOn(other)];
    const answer = await asker.request('cw.greet', bytes('you'), { timeoutMs: 5000 });
    assert.is(textOf(answer), 'hello you');
    for (let n = 0; n < 20; n++) await asker.request('cw.greet', bytes(String(n)), { timeoutMs: 5000 });
    assert.is(answered, 21);
    await first.stop();
    await asker.request('cw.greet', EMPTY, { timeoutMs: 5000 });
    await second.stop();
    const gone = await failureOf(() => asker.request('cw.greet', EMPTY, { timeoutMs: 5000 }));
    assert.instance(gone, NoRespondersError);
  });

  on('a service handler that throws is answered as an error, and the service lives on', async ({ connect, errors }) => {
    const bus = await connect();
    await bus.serve(
      greeter('cw.greet', (message) => {
        if (textOf(message) === 'bad') throw new Error(`no\r\ngreeting ${'x'.repeat(1000)}`);
        bus.publish(message.reply ?? '', bytes('hello'));
      }),
    );
    const answer = await bus.request('cw.greet', bytes('bad'), { timeoutMs: 5000 });
    assert.is(answer.data.length, 0);
    assert.match(answer.headers['Nats-Service-Error'] ?? '', /^no greeting x{200,300}$/);
    assert.is(answer.headers['Nats-Service-Error-Code'], '500');
    assert.is(textOf(await bus.request('cw.greet', EMPTY, { timeoutMs: 5000 })), 'hello');
    assert.equal(
      errors.map(({ subject }) => subject),
      ['cw.greet'],
    );
  });

  on('a service with a name or version that NATS would not take is refused', async ({ connect }) => {
    const bus = await connect();
    const config = greeter('cw.greet', () => {});
    for (const wrong of [
      { name: 'a.b' },
      { name: '' },
      { version: '1' },
      { endpoints: config.endpoints.map((endpoint) => ({ ...endpoint, name: 'a b' })) },
    ]) {
      assert.is((await failureOf(() => bus.serve({ ...config, ...wrong }))).code, 'bad-service');
    }
  });

  test.run();
}

contract('in memory', inMemory);
contract('over NATS', overNats);
contract('looped back', loopedBack);
