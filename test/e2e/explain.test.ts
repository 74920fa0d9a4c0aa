// Area: explanations. Why an instance is where it is, or nowhere: over a real NATS server and in memory alike, from the
// API, from the command line, and when the scheduler that decided is gone.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Decision } from '../../actors/messages/decision.ts';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { clientOf } from '../../runtime/client.ts';
import type { Driver } from '../../runtime/drivers/driver.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import type { Explanation } from '../../runtime/gateway/explaining.ts';
import { memoryJournals } from '../../runtime/journal/memory.ts';
import { startNode } from '../../runtime/node.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { failureOf } from '../support/until.ts';
import { runCommand } from './commands.ts';
import { apiOf, eventually, hostsUp, inMemory, overNats, quickDriver, type System, type WithSystem } from './system.ts';

const HOSTS = { c1: ['h1', 'h2', 'h3'], c2: ['k1'] };
const SMALL = { resources: { VCPU: 1, MEMORY_MB: 256 } };

/** A build of `unlucky` fails once, one of `doomed` always; what becomes of `stuck` is not known, and it is not destroyed. */
function driver({ cell, host }: { cell: string; host: string }): Driver {
  const real = quickDriver(cell, host);
  const unreachable = () => Promise.reject(new Error('the daemon\nis away'));
  return {
    ...real,
    build: async (order) => {
      if (order.instance === 'stuck') return unreachable();
      return order.instance === 'doomed' || (order.instance === 'unlucky' && order.attempt === 1)
        ? { outcome: 'failed', reason: 'no disk' }
        : real.build(order);
    },
    destroy: (instance, attempt) => (instance === 'stuck' ? unreachable() : real.destroy(instance, attempt)),
  };
}

function addsUp(decision: Decision | null, hosts: number): Decision {
  assert.ok(decision);
  assert.is(decision.hosts, hosts);
  assert.is(
    decision.refused.reduce((sum, one) => sum + one.hosts, decision.fits),
    hosts,
  );
  return decision;
}

function contract(name: string, withSystem: WithSystem): void {
  const test = suite(`explanations ${name}`);
  const on = (what: string, run: (system: System) => Promise<void>) =>
    test(`explanations - ${what}`, () => withSystem({ hosts: HOSTS, driver }, run));

  on('of an instance that is active: what was weighed, claimed, named as alternates', async ({ client }) => {
    await client.build({ id: 'web', ...SMALL });
    const { state, cell, host } = await client.ended('web');
    assert.is(state, 'active');
    const { id, instance, decision, words } = await client.explain('web');
    assert.is(id, 'web');
    assert.is(instance.state, 'active');
    const told = addsUp(decision, 4);
    assert.is(told.fits, 4);
    assert.equal(told.chosen, { cell, host });
    assert.equal(told.weights[0] && { cell: told.weights[0].cell, host: told.weights[0].host }, { cell, host });
    assert.is(told.weights.length, 3);
    assert.is(told.alternates.length, cell === 'c1' ? 2 : 0);
    assert.match(words.join('\n'), /of 4 hosts, 4 fit and 0 were refused/);
    assert.match(words.join('\n'), new RegExp(`claimed: ${cell}/${host}`));
  });

  on('of one whose driver does not say what came of it: what it says instead', async ({ client }) => {
    const says = async (what: RegExp) => (await client.explain('stuck')).words.some((line) => what.test(line));
    await client.build({ id: 'stuck', ...SMALL });
    await eventually('the driver is in trouble', () =>
      says(/^the driver did not say what came of attempt 1 on c\d\/\w+, and is asked again: the daemon is away$/),
    );
    const { trouble, attempt, state } = await client.show('stuck');
    assert.equal([state, attempt, trouble?.task, trouble?.reason], ['building', 1, 'build', 'the daemon\nis away']);
    const { deadlineAt, cell = '', host = '' } = await client.show('stuck');
    const until = new RegExp(
      `^attempt 1 on ${cell}/${host} from \\S+Z: building, until ${new Date(deadlineAt ?? 0).toISOString()} `,
    );
    assert.ok(await says(until));
    await client.delete('stuck');
    await eventually('it is not cleared away', () =>
      says(/^the driver has not cleared away attempt 1 on c\d\/\w+, and is asked again: the daemon is away$/),
    );
    const { instance } = await client.explain('stuck');
    assert.equal(
      instance.left?.map((one) => [one.attempt, one.host, one.state, typeof one.since]),
      [[1, host, 'destroying', 'number']],
    );
    const { there, mayRun, words } = await client.whyNot({ id: 'stuck', cell, host });
    assert.equal([there, mayRun], [false, true]);
    assert.match(
      words[0] ?? '',
      /it is deleting, but attempt 1 of it may still run there, and holds what it was given$/,
    );
    assert.match(words[2] ?? '', /^now: another like it would fit/);
  });

  on('of an instance that no host fits: each refusal, and the nearest miss', async (system) => {
    const { client } = system;
    await client.host({ cell: 'c1', host: 'h3', enabled: false, reason: 'maintenance' });
    await client.build({ id: 'big', resources: { VCPU: 9, MEMORY_MB: 256 } });
    const { state, failure } = await client.ended('big');
    assert.is(state, 'failed');
    const { body } = await apiOf(system).ask('explain', { id: 'big' });
    const { decision, instance, words } = body as unknown as Explanation;
    assert.equal(instance.failure, failure);
    const told = addsUp(decision, 4);
    assert.is(told.fits, 0);
    const byCode = new Map(told.refused.map((one) => [one.code, one]));
    assert.is(byCode.get('unit-constraint')?.hosts ?? byCode.get('exceeds-capacity')?.hosts, 3);
    assert.is(byCode.get('host-disabled')?.hosts, 1);
    assert.match(words.join('\n'), /1 host disabled/);
    assert.match(words.join('\n'), /claimed: none/);
  });

  on('of an instance that was built elsewhere at last: every attempt and its outcome', async ({ client }) => {
    await client.build({ id: 'unlucky', alternates: 2, required: [], ...SMALL });
    const view = await client.ended('unlucky');
    const { decision, instance, words } = await client.explain('unlucky');
    const told = addsUp(decision, 4);
    if (told.chosen?.cell === 'c2') return assert.is(view.state, 'failed', 'k1 has no alternates in its cell');
    assert.is(view.state, 'active');
    assert.equal(
      instance.attempts?.map(({ host, outcome }) => ({ host, outcome })),
      [{ host: told.chosen?.host, outcome: 'build-failed' }],
    );
    assert.is(instance.host, told.alternates[0]);
    const { begunAt = 0, endedAt = 0 } = instance.attempts?.[0] ?? {};
    const times = [told.at, begunAt, endedAt, instance.begunAt ?? 0, instance.builtAt ?? 0];
    assert.ok(
      times.every((time, position) => position === 0 || time >= (times[position - 1] as number)),
      `${times}`,
    );
    const [, from, to, since, built] = times.map((time) => new Date(time).toISOString());
    const first = `attempt 1 on c1/${told.chosen?.host} from ${from} to ${to}: build-failed: .*no disk`;
    assert.match(words.join('\n'), new RegExp(first));
    assert.ok(words.includes(`attempt 2 on c1/${instance.host} from ${since}: active since ${built}`));
  });

  on('of one that failed on all its hosts: what would have given it more to try', async ({ client }) => {
    await client.build({ id: 'doomed', alternates: 1, placement: { cells: ['c1'] }, ...SMALL });
    const { failure } = await client.ended('doomed');
    const { code, message = '' } = failure ?? {};
    assert.is(code, 'alternates-exhausted');
    const advice = 'with 2 alternates instead of 1 it would have had 1 more host of cell c1 to try';
    assert.ok(message.startsWith("no host is left to try in cell 'c1': "), message);
    assert.equal(message.split(`; ${advice}`).slice(1), [''], 'at the end, and once');
    const { decision, instance, words } = await client.explain('doomed');
    assert.equal(instance.failure, failure);
    assert.is(words.filter((line) => line === advice).length, 1);
    assert.equal(addsUp(decision, 4).advice, [{ code: 'more-alternates', about: 'c1', from: 1, to: 2, hosts: 1 }]);
    assert.is(words.at(-1), 'with 2 alternates instead of 1 it would have had 1 more host of cell c1 to try');
    await eventually('a list says so, too', async () => {
      const listed = (await client.list()).instances.find((one) => one.instance === 'doomed');
      return listed?.failure?.message === message;
    });
  });

  on(
    'of what was asked for, in its own words: before and after it has a host, and of no conditions made of it',
    async ({ client }) => {
      const group = { name: 'web', policy: 'anti-affinity' as const };
      const request = {
        ...SMALL,
        placement: { avoidHosts: ['c1/h3', 'c9/h9'], avoidAggregates: ['rack-1'], cells: ['c1'] },
      };
      await client.build({ id: 'web', ...request, instanceGroup: group, project: 'p' });
      assert.is((await client.ended('web')).state, 'active');
      const { asked, decision, words } = await client.explain('web');
      const { placement, ...more } = asked ?? {};
      assert.equal(more, { ...SMALL, instanceGroup: { ...group, maxPerHost: 1 }, project: 'p' });
      assert.equal(placement, request.placement);
      assert.equal(decision?.where, { cells: ['c1'] });
      assert.match(
        words.join('\n'),
        /^asked for: 1 VCPU, 256 MEMORY_MB; for project p; in cell c1; not in aggregate rack-1; /m,
      );
      assert.match(words.join('\n'), /; anti-affinity group 'web'$/m);
      await client.build({ id: 'big', resources: { VCPU: 9 }, project: 'p' });
      await client.ended('big');
      assert.equal((await client.explain('big')).asked, { resources: { VCPU: 9 }, project: 'p' });
    },
  );

  on('of a batch: each instance has a record of its own', async ({ client }) => {
    const { instances } = await client.build({ id: 'many', count: 4, ...SMALL });
    for (const instance of instances) {
      const { host } = await client.ended(instance);
      assert.is(addsUp((await client.explain(instance)).decision, 4).chosen?.host, host);
    }
  });

  on('of a deleted instance: still', async ({ client }) => {
    await client.build({ id: 'web', ...SMALL });
    await client.ended('web');
    await client.delete('web');
    assert.is((await client.ended('web')).state, 'deleted');
    const { decision, words } = await client.explain('web');
    addsUp(decision, 4);
    assert.match(words[0] ?? '', /^instance 'web' is deleted/);
  });

  on('of what is not there, or is no name: refused with the field', async (system) => {
    const { code, field } = (await failureOf(() => system.client.explain('nobody'))) as CellwrightError;
    assert.equal([code, field], ['not-found', 'id']);
    const { error } = (await apiOf(system).ask('explain', { id: 'Not.a.name' })).body;
    assert.equal([error?.code, error?.field], ['malformed', 'id']);
    const more = (await apiOf(system).ask('explain', { id: 'web', why: true })).body.error;
    assert.equal([more?.code, more?.field], ['malformed', 'why']);
  });

  test.run();
}

contract('over NATS', overNats);
contract('in memory', inMemory);

const test = suite('explanations');

test('explanations - outlive the scheduler that decided, and a new life of the conductor', async () => {
  const clock = systemClock();
  const server = memoryServer({ clock, onError() {} });
  const journals = memoryJournals({ clock });
  const shared = {
    clock,
    journals,
    driver: ({ cell, host }: { cell: string; host: string }) => quickDriver(cell, host),
  };
  const start = (name: string, roles: string[]) => startNode({ ...shared, name, roles, bus: server.connect() });
  const rest = await start('rest', ['placement', 'cell:c1', 'compute:c1/h1', 'compute:c1/h2']);
  let api = await start('api', ['conductor']);
  const scheduler = await start('fleeting', ['scheduler']);
  const client = clientOf({ bus: server.connect(), clock, subjects: subjectsOf() });
  try {
    await hostsUp(client, 'c1', 2);
    await client.build({ id: 'web', ...SMALL });
    assert.is((await client.ended('web')).state, 'active');
    await scheduler.stop();
    await api.stop();
    api = await start('api-again', ['conductor']);
    const { decision, instance } = await client.explain('web');
    assert.is(addsUp(decision, 2).scheduler, 'fleeting');
    assert.is(instance.state, 'active');
  } finally {
    await Promise.all([api.stop(), rest.stop(), scheduler.stop()]);
  }
});

test('explanations - where no scheduler runs they say that none answers, and so does the failure', async () => {
  const bus = memoryServer({ clock: systemClock(), onError() {} }).connect();
  const conductor = { requestedMs: 1_500, patience: { firstMs: 200, mostMs: 400 } };
  const { client, stop } = await startNode({ roles: ['placement', 'conductor'], bus, conductor });
  try {
    await client.build({ id: 'web', ...SMALL });
    const inVain = /schedulers were asked \d+ times in [\d.]+ s, and none has answered: /;
    await eventually('nobody answers', async () => {
      const { instance, words } = await client.explain('web');
      return (instance.asking?.times ?? 0) > 1 && inVain.test(words[1] ?? '');
    });
    const { failure } = await client.ended('web');
    assert.is(failure?.code, 'scheduling-timed-out');
    assert.match(failure?.message ?? '', inVain);
    const { decision, words } = await client.explain('web');
    assert.is(decision, null);
    assert.match(words[0] ?? '', inVain);
    const last =
      /^no scheduler has come to a decision on it, .*: see that a scheduler runs and .* placement shard is served/;
    assert.match(words.at(-1) ?? '', last);
  } finally {
    await stop();
  }
});

test('explanations - from the command line, in words and as JSON', () =>
  overNats({ hosts: HOSTS, driver }, async ({ client, node }) => {
    const servers = ['--servers', node.url ?? ''];
    await client.build({ id: 'web', ...SMALL });
    await client.ended('web');
    const explained = await client.explain('web');
    const inWords = await runCommand('explain', 'web', ...servers);
    assert.equal([inWords.code, inWords.out.trim().split('\n')], [0, [...explained.words]]);
    const asJson = await runCommand('explain', 'web', '--json', ...servers);
    assert.equal([asJson.code, JSON.parse(asJson.out)], [0, explained]);
    const absent = await runCommand('explain', 'nobody', ...servers);
    assert.is(absent.code, 2);
    assert.match(absent.err, /there is no instance 'nobody'/);
  }));

test.run();
