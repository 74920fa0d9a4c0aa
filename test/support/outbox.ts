// What it takes to send to actors: a bus in memory, on a clock that the test moves. A fault fails the test.

import { memoryServer } from '../../runtime/bus/memory.ts';
import { outboxOf } from '../../runtime/outbox.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';

export function outboxInMemory() {
  const clock = virtualClock();
  const server = memoryServer({ clock });
  const subjects = subjectsOf();
  const bus = server.connect();
  const onError = (error: unknown) => {
    throw error;
  };
  const outbox = outboxOf({ bus, clock, subjects, events: false, onError });
  return { clock, server, subjects, bus, onError, outbox };
}
