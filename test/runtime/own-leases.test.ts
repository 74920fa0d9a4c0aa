// Area: own leases. What leases that a deployment brings itself do wrong neither holds a node up nor ends its process.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CellwrightError, messageOf } from '../../runtime/errors.ts';
import type { Leases, LeaseWatch, SeenLease } from '../../runtime/ownership/leases.ts';
import { guardedLeases } from '../../runtime/ownership/own-leases.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { failureOf } from '../support/until.ts';

const test = suite('own leases');

const SEEN: SeenLease = { record: null, revision: 0 };

const guarded = (more: Partial<Record<keyof Leases, unknown>>): Leases => {
  const own = { read: async () => SEEN, watch: () => ({ stop() {} }), write: async () => 1, ...more };
  return guardedLeases(own as Leases, 1_000, virtualClock());
};

/** What is told of a lease that is followed, and what is thrown where nobody waits for it. */
async function toldOf(
  watch: (...said: Parameters<Leases['watch']>) => unknown,
  see = (_: LeaseWatch | undefined) => {},
) {
  const told: unknown[] = [];
  const note = (reason: unknown) => told.push(['unhandled', reason]);
  process.on('unhandledRejection', note);
  try {
    let here: LeaseWatch | undefined;
    here = guarded({ watch }).watch(
      'cell/c1',
      ({ revision }) => {
        told.push(here === undefined ? 'too early' : revision);
        see(here);
      },
      (error) => told.push(`${error instanceof CellwrightError ? error.field : ''}: ${messageOf(error)}`),
    );
    await new Promise((resolve) => setImmediate(resolve));
    here.stop();
  } finally {
    process.off('unhandledRejection', note);
  }
  return told;
}

test('own leases - who tells how a lease stands before he answers that he follows it is heard after that', async () => {
  const watch: Leases['watch'] = (_, onSeen) => {
    onSeen(SEEN);
    onSeen({ ...SEEN, revision: 1 });
    return { stop() {} };
  };
  assert.equal(await toldOf(watch), [0, 1]);
  assert.equal(await toldOf(watch, (here) => here?.stop()), [0], 'it is followed no more');
});

test('own leases - a watch that throws, or is none, has come to its end', async () => {
  const throws = () => {
    throw new Error('no watch');
  };
  assert.equal(await toldOf(throws), [': no watch']);
  const late = async (_: unknown, onSeen: (seen: SeenLease) => void) => {
    onSeen(SEEN);
    throw new Error('late');
  };
  assert.equal(await toldOf(late), [
    "leases: the watch of the lease of 'cell/c1' is a promise: it must be made at once",
  ]);
  assert.equal(await toldOf(() => undefined), ["leases: the watch of the lease of 'cell/c1' lacks the method 'stop'"]);
});

test('own leases - a watch that cannot be stopped is left to itself, and what cannot be taken in ends it', async () => {
  let stops = 0;
  const stubborn = () => ({
    stop() {
      stops += 1;
      throw new Error('not now');
    },
  });
  assert.equal(await toldOf(stubborn), []);
  assert.is(stops, 1);
  const wrong: Leases['watch'] = (_, onSeen) => {
    onSeen(undefined as never);
    return { stop() {} };
  };
  assert.match(String(await toldOf(wrong)), /^: Cannot/);
});

test('own leases - a watch that has come to its end is stopped once, whoever stops it then', async () => {
  let stops = 0;
  const ending: Leases['watch'] = (_, _onSeen, onEnd) => {
    onEnd(new Error('it ends'));
    return {
      stop() {
        stops += 1;
      },
    };
  };
  assert.equal(await toldOf(ending), [': it ends']);
  assert.is(stops, 1);
});

test('own leases - a write that answers no revision is refused', async () => {
  const error = await failureOf(() => guarded({ write: async () => undefined }).write('cell/c1', {} as never, 0));
  assert.match(error.message, /^write of the lease of 'cell\/c1' must answer its new revision, or null/);
  assert.is(await guarded({ write: async () => null }).write('cell/c1', {} as never, 0), null);
});

test.run();
