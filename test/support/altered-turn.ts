// A turn of which some is done otherwise, for tests that watch an actor or take something from it.

import type { Turn } from '../../actors/actor.ts';

export function alteredTurn<Recorded>(turn: Turn<Recorded>, otherwise: Partial<Turn<Recorded>>): Turn<Recorded> {
  return {
    now: turn.now,
    steady: turn.steady,
    record: (record) => turn.record(record),
    send: (to, message) => turn.send(to, message),
    publish: (event) => turn.publish(event),
    wakeAfter: (id, afterMs, awaited) => turn.wakeAfter(id, afterMs, awaited),
    cancelWake: (id) => turn.cancelWake(id),
    ...otherwise,
  };
}
