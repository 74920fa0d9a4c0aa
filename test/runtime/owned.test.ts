// Area: the duty of an owner. Whatever fails while it is taken up, nothing stays on the bus of what was given up.

import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Actor, Message } from '../../actors/actor.ts';
import { snapshotOf } from '../../actors/snapshot.ts';
import type { Service } from '../../runtime/bus/bus.ts';
import { memoryJournals } from '../../runtime/journal/memory.ts';
import type { Outbox } from '../../runtime/outbox.ts';
import { ownedActor } from '../../runtime/owned.ts';
import { supervision } from '../../runtime/supervision.ts';
import { actorHost } from '../../runtime/turn.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';

const test = suite('duty of an owner');

const ADDRESS = 'cell/c1';

/** An owner whose actor fails the first times that it is read, and which comes onto the bus when the test says so. */
function owner(failures: number) {
  const clock = virtualClock();
  const said: string[] = [];
  let left = failures;
  const actor: Actor<object, Message, never> = {
    init: () => ({}),
    receive() {},
    apply() {},
    recover() {
      left -= 1;
      if (left >= 0) throw new Error('not yet');
    },
    snapshot: () => snapshotOf({}, {}),
    restore: () => ({}),
  };
  const care = supervision({
    address: ADDRESS,
    node: 'n',
    clock,
    logger: pino({ level: 'silent' }),
    countsStarts: true,
    start: () => duty.restart(),
    giveUp: () => said.push('given up'),
    onError() {},
  });
  const outbox: Outbox = { send() {}, publish() {}, flush() {}, setEpoch() {} } as never;
  const journal = memoryJournals({ clock })(ADDRESS);
  const host = actorHost({
    address: ADDRESS,
    actor,
    journal,
    clock,
    outbox,
    maxMailbox: 10,
    onFailure: (error) => care.failed(error),
  });
  let arrive = (_: Service) => {};
  const duty = ownedActor({
    host,
    supervision: care,
    serve: () => new Promise<Service>((resolve) => (arrive = resolve)),
    onUp: () => said.push('up'),
    onError() {},
  });
  const comeOntoBus = () => arrive({ stop: async () => void said.push('off the bus') } as never);
  const settle = () => clock.runAsync(() => true);
  return { duty, host, said, comeOntoBus, settle };
}

test('duty - one that failed before it was on the bus, and is given up, does not stay there nor says that it is up', async () => {
  const { duty, said, comeOntoBus, settle } = owner(1);
  const opened = duty.open();
  await settle();
  const dropped = duty.drop();
  await settle();
  comeOntoBus();
  await Promise.all([opened, dropped]);
  assert.equal(said, ['off the bus']);
});

test('duty - one that failed before it was on the bus says that it is up when it is there', async () => {
  const { duty, host, said, comeOntoBus, settle } = owner(1);
  const opened = duty.open();
  await settle();
  assert.equal([host.isUp(), said], [true, []]);
  comeOntoBus();
  await opened;
  await settle();
  assert.equal(said, ['up']);
  await duty.drop();
});

test.run();
