// Area: journal, its appends. Those that nobody acknowledges are sent again, and it is told, once, that an owner waits.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { BusMessage } from '../../runtime/bus/bus.ts';
import type { NatsBus } from '../../runtime/bus/nats.ts';
import { chain } from '../../runtime/journal/chain.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';

const test = suite('appends of a journal');

test('journal - a server that acknowledges nothing is told of after a while, once, and again in the next outage', () => {
  const clock = virtualClock();
  const sent: string[] = [];
  let acknowledge: (message: BusMessage) => void = () => assert.unreachable('nobody listens');
  const bus = {
    connected: true,
    inbox: () => 'inbox',
    publish: (_subject: string, _body: Uint8Array, { reply }: { reply: string }) => void sent.push(reply),
    subscribe(_subject: string, heard: (message: BusMessage) => void) {
      acknowledge = heard;
      return { unsubscribe() {} };
    },
  } as unknown as NatsBus;
  const told: string[] = [];
  const stored: number[] = [];
  const appends = chain({
    bus,
    clock,
    stream: 'cw-cell-c1-journal',
    subject: 'cw.cell.c1.journal',
    epoch: 1,
    readTail: () => new Promise(() => {}),
    onRefused: (reason) => told.push(reason),
    onBroken: (error) => assert.unreachable(error.message),
  });
  const pass = (ms: number) => clock.advanceTo(clock.now() + ms);
  const ack = (n: number) =>
    acknowledge({ subject: `inbox.${n}`, data: Buffer.from(JSON.stringify({ seq: n })), headers: {} } as BusMessage);

  appends.append(new Uint8Array(1), (sequence) => stored.push(sequence));
  pass(9_000);
  assert.equal(told, []);
  pass(30_000);
  assert.equal(told, ['nothing is acknowledged for 10 s']);
  assert.ok(sent.length > 5, 'it is sent again');
  ack(1);
  assert.equal(stored, [1]);
  pass(60_000);
  assert.is(told.length, 1);
  appends.append(new Uint8Array(1), (sequence) => stored.push(sequence));
  pass(12_000);
  assert.is(told.length, 2);
  ack(2);
  appends.close();
  assert.equal(stored, [1, 2]);
  assert.is(clock.pending, 0);
});

test.run();
