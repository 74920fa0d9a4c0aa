// Area: cell. Whatever is said to it, in whatever order, its journal leads to its state, hosts are tried in order, nothing
// that may run is given back, and whatever a crash cuts off is taken up again.

import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CellMessage } from '../../actors/messages/cell.ts';
import type { Selection } from '../../machines/instance-build.ts';
import { actor, type Desk, desk, granted, HOSTS, ofAttempt, refused, startOf, up } from '../support/cells.ts';
import { bench, converse, type Letter, replayed, restored, type Sent, type Turned } from '../support/turn.ts';

const test = suite('cell, by chance');

const INSTANCES = ['i1', 'i2'];
const some = <T>(...items: readonly T[]) => fc.constantFrom(...items);

const words: fc.Arbitrary<CellMessage | { pass: number } | { answer: number }> = fc.oneof(
  { weight: 4, arbitrary: some(...INSTANCES).map((instance) => startOf(instance)) },
  { weight: 2, arbitrary: some(...INSTANCES).map((instance): CellMessage => ({ type: 'delete', instance })) },
  { weight: 10, arbitrary: fc.nat(12).map((answer) => ({ answer })) },
  {
    weight: 8,
    arbitrary: fc
      .tuple(
        some('accepted', 'built', 'build-refused', 'build-failed', 'build-aborted'),
        some(...INSTANCES),
        some(1, 2, 3),
      )
      .map(([type, instance, attempt]) => ({ type, ...ofAttempt(instance, attempt), reason: 'chance' }) as CellMessage),
  },
  { weight: 3, arbitrary: fc.tuple(some(...INSTANCES), some(2, 3)).map(([one, attempt]) => refused(one, attempt)) },
  { weight: 2, arbitrary: fc.tuple(some(...HOSTS), some('life-1', 'life-2')).map(([host, life]) => up(host, life)) },
  { weight: 2, arbitrary: fc.tuple(some(...HOSTS), some('life-1', 'life-2')).map(alive) },
  { weight: 1, arbitrary: some(...HOSTS).map((host): CellMessage => ({ type: 'fence-host', ask: 1, host })) },
  { weight: 1, arbitrary: some(...HOSTS).map((host): CellMessage => ({ type: 'remove-host', ask: 1, host })) },
  { weight: 1, arbitrary: some(...INSTANCES).map((instance): CellMessage => ({ type: 'lost-noted', instance })) },
  { weight: 1, arbitrary: some(...INSTANCES).map((instance): CellMessage => ({ type: 'do-again', instance })) },
  { weight: 3, arbitrary: fc.integer({ min: 100, max: 25_000 }).map((pass) => ({ pass })) },
);

function alive([host, incarnation]: [string, string]): CellMessage {
  return { type: 'alive', host, incarnation };
}

/** What hosts and placement in good health answer. */
function answered({ to, message }: Sent): Letter<CellMessage>[] {
  const from = to;
  switch (message.type) {
    case 'build': {
      const { instance, attempt } = message as { instance: string; attempt: number };
      const ofBuild = { host: to.split('/')[2] ?? '', instance, attempt };
      return [
        { message: { type: 'accepted', ...ofBuild }, from },
        { message: { type: 'built', ...ofBuild }, from },
      ];
    }
    case 'destroy': {
      const { instance, attempt } = message;
      return [{ message: { type: 'destroyed', host: to.split('/')[2] ?? '', instance, attempt }, from }];
    }
    case 'claim':
      return [{ message: granted(message.consumer, message.attempt), from }];
    case 'release': {
      const { consumer, deleted, attempt } = message;
      return [
        { message: { type: 'released', consumer, deleted, ...(attempt === undefined ? {} : { attempt }) }, from },
      ];
    }
    case 'withdraw-tree':
      return [{ message: { type: 'tree-withdrawn', ask: 0, root: message.root }, from }];
    case 'who-are-you':
      if (message.incarnation !== undefined && message.incarnation !== 'life-3') return [];
      return [{ message: { ...up(to.split('/')[2] ?? '', 'life-3'), challenge: message.challenge as number }, from }];
    default:
      return [];
  }
}

/** Says the words; what the cell says may be answered late, twice or never. */
function sayAll(
  on: Desk,
  script: readonly (CellMessage | { pass: number } | { answer: number })[],
  check: (turned: Turned<unknown>) => void,
) {
  const said: Sent[] = [];
  const heard = (turned: Turned<unknown>) => {
    said.push(...turned.sent);
    check(turned);
  };
  for (const word of script) {
    if ('pass' in word) {
      for (const turned of on.pass(word.pass)) heard(turned);
    } else if ('answer' in word) {
      const sent = said[said.length - 1 - word.answer];
      for (const { message, from } of sent === undefined ? [] : answered(sent)) heard(on.tell(message, from));
    } else {
      heard(on.tell(word, 'host' in word ? `compute/c1/${word.host}` : 'conductor/0'));
    }
  }
}

const scripts = fc.array(words, { maxLength: 50 });
const hosts = (selections: readonly Selection[]) => selections.map(({ host }) => host);

test('cell - after every turn its journal leads to its state, and so does its stored state', () => {
  fc.assert(
    fc.property(scripts, (script) => {
      const on = desk();
      sayAll(on, script, () => {
        assert.equal(replayed(actor, on.entries), on.stored());
        assert.equal(restored(actor, on.stored()), on.stored());
      });
    }),
    { numRuns: 100 },
  );
});

test('cell - whatever is said, hosts are tried in order, and nothing that may run is given back', () => {
  fc.assert(
    fc.property(scripts, (script) => {
      const on = desk();
      const clean = new Set<string>();
      const clear = (instance: string, attempt: number) => clean.add(`${instance}/${attempt}`);
      sayAll(on, script, (turned) => {
        for (const record of turned.records as { type: string; key: string; event: { type: string } }[]) {
          const removal = on.state.removals.get(record.key)?.snapshot.context;
          if (record.type === 'removal-event' && record.event.type === 'DESTROYED' && removal !== undefined) {
            clear(removal.instance, removal.attempt);
          }
        }
        for (const { build } of on.state.instances.values()) {
          const { attempts, selection, alternates } = build.snapshot.context;
          const underWay = selection === null ? [] : [selection.host];
          assert.equal([...attempts.map(({ host }) => host), ...underWay, ...hosts(alternates)], HOSTS);
          for (const { attempt, mayRun } of attempts) if (!mayRun) clear(build.facts.instance, attempt);
        }
        for (const { to, message } of turned.sent) {
          assert.ok(!to.startsWith('scheduler'), 'a scheduler is asked');
          if (message.type !== 'release') continue;
          const { consumer, attempt, keep = [] } = message;
          const build = on.state.instances.get(consumer)?.build.snapshot.context;
          const given = attempt === undefined ? build?.attempts.map((one) => one.attempt) : [attempt];
          for (const one of given ?? []) {
            assert.ok(
              keep.includes(one) || clean.has(`${consumer}/${one}`),
              `attempt ${one} may run and is given back`,
            );
          }
        }
      });
    }),
    { numRuns: 300 },
  );
});

test('cell - after a crash at any moment it does what is owed, until nothing is', () => {
  fc.assert(
    fc.property(scripts, fc.nat(), (script, cut) => {
      const live = desk();
      sayAll(live, script, () => {});
      const again = bench(actor, {
        address: 'cell/c1',
        at: live.now,
        entries: live.entries.slice(0, cut % (live.entries.length + 1)),
      });
      const met = HOSTS.flatMap((host) => again.tell(up(host, 'life-3'), `compute/c1/${host}`).sent);
      const isOver = () =>
        again.state.removals.size === 0 &&
        [...again.state.instances.values()].every(({ build, deleting }) => {
          return !deleting && ['active', 'failed'].includes(build.snapshot.value as string);
        });
      converse(again, [...again.first.sent, ...met], answered, isOver);
      assert.equal(replayed(actor, again.entries), again.stored());
    }),
    { numRuns: 300 },
  );
});

test.run();
