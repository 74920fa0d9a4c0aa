// Area: scheduler, groups that keep together and are on a host that takes no more. Whoever cannot join is told where the
// group is held, by whom, and what would free it; where something else is in the way, nothing is said of that.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceGroup, RequestSpec } from '../../actors/messages/common.ts';
import type { GroupHeld } from '../../actors/messages/decision.ts';
import type { Fitted } from '../../actors/messages/questions.ts';
import { unpackDecision } from '../../actors/messages/stored-decision.ts';
import { heldWords } from '../../actors/scheduler/explaining/group-held.ts';
import type { HostWords } from '../support/facts.ts';
import { schedulersOf, selectFor } from '../support/schedulers.ts';

const test = suite('scheduler - held groups');

type On = ReturnType<typeof schedulersOf>;

const GROUP: InstanceGroup = { id: 'p/db', policy: 'affinity' };
const specOf = (vcpu: number, instanceGroup = GROUP): RequestSpec => ({
  groups: [{ name: '', resources: { VCPU: vcpu } }],
  groupPolicy: 'none',
  instanceGroup,
});

/** A fleet with members of the group on its first host, which is then as it is said to be. */
function held(members: number, state: HostWords['state'] = 'down', hosts: readonly HostWords[] = []): On {
  const on = schedulersOf([{ host: 'h1' }, { host: 'h2' }, ...hosts]);
  for (let n = 0; n < members; n += 1) on.take(`db-${n}`, 'h1', 1, { spec: specOf(1) });
  on.deliver();
  if (state !== undefined) on.tellHost({ host: 'h1', state });
  on.deliver();
  return on;
}

function failureOn(on: On, spec: RequestSpec, deliver: () => void = () => on.deliver()) {
  const before = on.answers.length;
  on.hear({ ...selectFor(`new-${before}`), spec });
  for (let passed = 0; passed < 2_000 && on.answers.length === before; passed += 100) {
    deliver();
    on.pass(100);
  }
  const answer = on.answers[before];
  assert.ok(answer?.type === 'no-valid-host', JSON.stringify(answer));
  return { reason: answer.reason, held: unpackDecision(JSON.parse(answer.decision ?? '')).groupHeld };
}

test('held groups - where a group is held is the cause, and no host is near that lacks more than that', () => {
  const { reason } = failureOn(held(1, 'down', [{ host: 'h3', has: { VCPU: 1 } }]), specOf(2));
  assert.match(reason, /1 exceeds-capacity VCPU.*; instance group 'db' is held on c1\/h1/);
  assert.not.match(reason, /nearest/);
});

test('held groups - of a group on a host that is down it is said by whom it is held, and what frees it', () => {
  const on = held(2);
  const { reason, held: told } = failureOn(on, specOf(1));
  const by = "instance group 'db' is held on c1/h1, which is down, by db-0 and db-1";
  assert.ok(reason.includes(`; ${by}, until that host is back, or is fenced and they are deleted; `), reason);
  assert.match(reason, /^none of 2 hosts: /);
  assert.equal(told, {
    group: 'db',
    cell: 'c1',
    host: 'h1',
    state: 'down',
    members: 2,
    named: ['db-0', 'db-1'],
    freedBy: ['host', 'members'],
  });
});

test('held groups - what is said frees it: the host comes back, or the members are deleted', () => {
  for (const free of [
    (on: On) => on.tellHost({ host: 'h1' }),
    (on: On) => {
      for (const consumer of ['db-0', 'db-1']) on.release(consumer);
    },
  ]) {
    const on = held(2, 'disabled');
    assert.match(failureOn(on, specOf(1)).reason, /, until that host is enabled, or they are deleted; /);
    free(on);
    on.deliver();
    assert.is(on.choose({ ...selectFor('again'), spec: specOf(1) })?.type, 'selected');
  }
});

test('held groups - of a host that is down and disabled it is said that it has to be enabled, too', () => {
  const on = held(2);
  on.tellHost({ host: 'h1', state: 'down', reason: 'new disk' });
  const { reason, held: told } = failureOn(on, specOf(1));
  const until = 'until that host is back and enabled, or is fenced and they are deleted';
  assert.ok(reason.includes(`c1/h1, which is down and disabled, by db-0 and db-1, ${until}; `), reason);
  assert.is(told?.disabled, true);
});

test('held groups - of a host that is down and was set aside it is said that it takes nothing until its time is over', () => {
  const on = held(2);
  on.tellHost({ host: 'h1', state: 'down', asideUntil: 2_000_000 });
  const { reason, held: told } = failureOn(on, specOf(1));
  const until =
    'until that host is back (not before 00:33:20Z: it is set aside, too), or is fenced and they are deleted';
  assert.ok(reason.includes(`c1/h1, which is down, by db-0 and db-1, ${until}; `), reason);
  assert.is(told?.asideUntil, 2_000_000);
});

test('held groups - of a host that is disabled with its cell it is said that the cell has to be put back', () => {
  const on = held(2);
  on.tellHost({ host: 'h1', state: 'disabled', reason: 'its cell is out of service', withCell: true });
  const { reason, held: told } = failureOn(on, specOf(1));
  const until = 'until cell c1 is back in service, or they are deleted';
  assert.ok(reason.includes(`c1/h1, which is disabled, by db-0 and db-1, ${until}; `), reason);
  assert.is(told?.withCell, true);
  const down = held(2);
  down.tellHost({ host: 'h1', state: 'down', reason: 'its cell is out of service', disabled: true, withCell: true });
  const { freedBy } = failureOn(down, specOf(1)).held ?? {};
  assert.equal(freedBy, ['members'], 'of one that is down, too, the cell would have to be put back as well');
});

test('held groups - of many members some are named, the rest are counted', () => {
  const { reason, held: told } = failureOn(held(7), specOf(1));
  assert.match(reason, /, by db-0, db-1, db-2, db-3, db-4 and 2 more, until /);
  assert.equal([told?.members, told?.named.length], [7, 5]);
});

test('held groups - where placement does not tell the members it is said how many they are, in time', () => {
  for (const lost of ['locate', 'located']) {
    const on = held(2);
    const { reason, held: told } = failureOn(on, specOf(1), () =>
      on.deliver(undefined, ({ message }) => message.type !== lost),
    );
    assert.match(reason, /, which is down, by 2 instances, until /, lost);
    assert.equal(told?.named, []);
    assert.is(on.desks[0]?.state.naming.size, 0, lost);
  }
  const on = held(2);
  const noName = { type: 'located' as const, shard: 0, consumers: [] };
  const { reason } = failureOn(on, specOf(1), () => {
    // A shard of an earlier version answers without members.
    for (const { message } of on.underWay())
      if (message.type === 'locate') on.hear({ ...noName, ask: message.ask }, 'scheduler/s', 'placement/0');
    on.deliver(undefined, ({ message }) => message.type !== 'locate');
  });
  assert.match(reason, /, by 2 instances, until /);
});

test('held groups - nothing is said of it where the group is on a host that is up, or something else is in the way', () => {
  const onUp = failureOn(held(8, 'up'), specOf(1));
  assert.not.match(onUp.reason, /is held on/);
  const tooLarge = failureOn(held(2), specOf(100));
  assert.not.match(tooLarge.reason, /is held on/);
  assert.equal([onUp.held, tooLarge.held], [undefined, undefined]);
  const other = failureOn(held(2), specOf(100, { id: 'p/other', policy: 'affinity' }));
  assert.not.match(other.reason, /is held on/);
  const soft = held(2).choose({ ...selectFor('soft'), spec: specOf(1, { id: 'p/x', policy: 'soft-affinity' }) });
  assert.is(soft?.type, 'selected');
});

test('held groups - many that fail together ask for the names once', () => {
  const on = held(2);
  const asked = new Set<object>();
  for (let n = 0; n < 20; n += 1) on.hear({ ...selectFor(`r-${n}`), spec: specOf(1) });
  for (let passed = 0; passed < 1_000; passed += 100) {
    on.deliver(undefined, ({ message }) => {
      if (message.type === 'locate') asked.add(message);
      return true;
    });
    on.pass(100);
  }
  assert.is(on.answers.length, 20);
  for (const answer of on.answers) assert.match('reason' in answer ? answer.reason : '', /by db-0 and db-1, until/);
  assert.is(asked.size, 1);
});

test('held groups - one that waits is told as well', () => {
  const on = held(1, 'disabled');
  const waits = { since: 1 };
  on.hear({ ...selectFor('patient', { waits, ordered: true }), spec: specOf(1) });
  for (let passed = 0; passed < 1_000 && on.answers.length === 0; passed += 100) {
    on.deliver();
    on.pass(100);
  }
  const [answer] = on.answers;
  assert.is(answer?.type, 'parked');
  const words =
    "instance group 'db' is held on c1/h1, which is disabled, by db-0, until that host is enabled, or it is deleted";
  assert.ok(answer !== undefined && 'reason' in answer && answer.reason.includes(words), JSON.stringify(answer));
});

test('held groups - a dry run says it too, by how many', () => {
  const on = held(2);
  on.hear({ type: 'fit', ask: 1, spec: specOf(1), count: 1, limit: 1 });
  on.deliver();
  const { groupHeld } = on.answers[0] as unknown as Fitted;
  assert.equal([groupHeld?.host, groupHeld?.members, groupHeld?.named], ['h1', 2, []]);
});

test('held groups - in words, by how the host is', () => {
  const of: GroupHeld = { group: 'db', cell: 'c1', host: 'h1', state: 'fenced', members: 1, named: ['db-0'] };
  const end = (state: string, members = 1) =>
    heldWords({ ...of, state, members })
      .split(', ')
      .slice(1)
      .join(', ');
  assert.is(end('fenced'), 'which is fenced, by db-0, until that host is back, or it is deleted');
  assert.is(end('set-aside'), 'which is set aside, by db-0, until that host is back, or it is deleted');
  assert.is(
    end('down', 3),
    'which is down, by db-0 and 2 more, until that host is back, or is fenced and they are deleted',
  );
  const freed = (state: string, by: 'host' | 'members', members = 1) =>
    heldWords({ ...of, state, members, named: [], freedBy: [by] }).split('which is ')[1];
  assert.is(freed('fenced', 'host'), 'fenced, by 1 instance, until that host is back', 'else more is in the way');
  assert.is(freed('fenced', 'members'), 'fenced, by 1 instance, until it is deleted');
  assert.is(freed('down', 'members', 2), 'down, by 2 instances, until that host is fenced and they are deleted');
});

test.run();
