// Area: dry runs. Would it fit, where and how many times; why is an instance not on a host; and what a request that
// failed is told to change: over a real NATS server and in memory alike, and from the command line.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connect } from '../../runtime/connect.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { type Node, startNode } from '../../runtime/node.ts';
import { startTestServer } from '../support/nats-server.ts';
import { failureOf } from '../support/until.ts';
import { runCommand } from './commands.ts';
import { apiOf, eventually, inMemory, overNats, quickDriver, type System, type WithSystem } from './system.ts';

const HOSTS = { c1: ['h1', 'h2', 'h3'], c2: ['h1', 'k1'] };
const CONTRADICTION = { cells: ['c1'], avoidCells: ['c1'] };
const CLOSE_WITH_MOST = { name: 'close', policy: 'affinity' as const, maxPerHost: 2 };
const nested = (depth: number): object => (depth === 1 ? {} : { in: nested(depth - 1) });
const SMALL = { resources: { VCPU: 1, MEMORY_MB: 256 } };

function contract(name: string, withSystem: WithSystem): void {
  const test = suite(`dry runs ${name}`);
  const on = (what: string, run: (system: System) => Promise<void>) =>
    test(`dry runs - ${what}`, () =>
      withSystem({ hosts: HOSTS, scheduler: { warmUpMs: 200 } }, async (system) => {
        await eventually('the scheduler has heard of every host', async () => {
          const { hosts, refused } = await system.client.fit(SMALL);
          return hosts === 5 && refused.length === 0;
        });
        await run(system);
      }));

  on('what fits: where, and how many times', async ({ client }) => {
    const { fit, hosts, fits, times, refused, best, advice, words } = await client.fit({ ...SMALL, limit: 2 });
    assert.equal(
      { fit, hosts, fits, times, refused, advice },
      { fit: true, hosts: 5, fits: 5, times: 40, refused: [], advice: [] },
    );
    assert.is(best.length, 2);
    assert.is(best[0]?.times, 8);
    assert.match(words.join('\n'), /it would fit; of 5 hosts, 5 fit and 0 were refused; there is room for 40/);
    const { consumers } = (await client.list()).instances.length === 0 ? { consumers: 0 } : { consumers: 1 };
    assert.is(consumers, 0, 'nothing is held for it');
  });

  on('a build request is taken as it is', async ({ client }) => {
    const request = { id: 'web', count: 2, alternates: 1, wait: { forMs: 1_000 }, payload: nested(48), ...SMALL };
    assert.equal(await client.fit(request), await client.fit({ count: 2, ...SMALL }));
    assert.is((await client.list()).instances.length, 0, 'nothing is built');
  });

  on('what does not fit: the numbers add up, and one thing to change is named', async (system) => {
    const { client } = system;
    await client.host({ cell: 'c1', host: 'h3', enabled: false });
    await eventually('it is heard', async () => (await client.fit(SMALL)).fits === 4);
    const body = { resources: { VCPU: 6, MEMORY_MB: 256 }, required: ['CUSTOM_FAST'] };
    const { fit, hosts, fits, refused, advice, words } = await client.fit(body);
    assert.equal([fit, fits], [false, 0]);
    assert.is(
      refused.reduce((sum, one) => sum + one.hosts, 0),
      hosts,
    );
    assert.equal(advice[0], { code: 'without-required', group: '', about: 'CUSTOM_FAST', hosts: 4 });
    assert.match(words.join('\n'), /if trait CUSTOM_FAST were not required, it would fit on 4 hosts/);
    assert.ok((await client.fit({ resources: body.resources })).fit, 'it is true');

    const large = await client.fit({ resources: { VCPU: 24 } });
    assert.equal(large.advice[0], { code: 'less', group: '', about: 'VCPU', from: 24, to: 8, hosts: 4 });
    assert.match(large.words.join('\n'), /with 16 VCPU less \(8 instead of 24\) it would fit on 4 hosts/);

    const many = await client.fit({ count: 33, ...SMALL });
    assert.equal([many.fit, many.times], [false, 32]);
    assert.equal(many.advice[0], { code: 'fewer-instances', from: 33, to: 32, hosts: 4 });

    for (const host of ['h1', 'k1']) await client.host({ cell: 'c2', host, enabled: false });
    for (const host of ['h1', 'h2']) await client.host({ cell: 'c1', host, enabled: false });
    await eventually('they are out', async () => (await client.fit(SMALL)).fits === 0);
    const away = await client.fit(SMALL);
    const host = away.advice[0]?.host ?? '';
    assert.ok(['c1/h1', 'c1/h2', 'c1/h3', 'c2/h1', 'c2/k1'].includes(host));
    assert.equal(away.advice, [{ code: 'host-state', about: 'disabled', hosts: 5, host }]);
    assert.ok(away.words.includes(`with ${host}, which is disabled, it would fit (one of 5 such hosts)`));
  });

  on(
    'where it may go counts as it would for a build, and what stands in the way of it is named',
    async ({ client }) => {
      const inC2 = await client.fit({ ...SMALL, placement: { cells: ['c2'] } });
      assert.equal([inC2.fits, inC2.times], [2, 16]);
      assert.equal(inC2.refused, [{ code: 'not-in-cell', hosts: 3 }]);
      const nowhere = await client.fit({ ...SMALL, placement: { cells: ['c9'] } });
      assert.equal(nowhere.advice, [{ code: 'without-cells', about: 'c9', hosts: 5 }]);
      assert.match(nowhere.words.join('\n'), /if it need not be in cell c9, it would fit on 5 hosts/);
      assert.match(nowhere.words.join('\n'), /5 not-in-cell\nthere is no such cell, or/);
      const noHost = await client.fit({ ...SMALL, placement: { hosts: ['c1/absent', 'c9/h1'] } });
      assert.match(noHost.words.join('\n'), /5 not-a-named-provider\nthere is no such host, or/);
      const oneHost = await client.fit({ ...SMALL, placement: { hosts: ['c1/h1', 'c9/h1'] }, required: ['CUSTOM_X'] });
      assert.not.match(oneHost.words.join('\n'), /there is no such host/);
      await client.host({ cell: 'c1', host: 'h3', enabled: false });
      await eventually('it is heard', async () => (await client.fit(SMALL)).fits === 4);
      const disabled = await client.fit({ ...SMALL, placement: { hosts: ['c1/h3'] } });
      assert.ok(disabled.advice.some(({ code }) => code === 'host-state'));
      assert.not.match(disabled.words.join('\n'), /there is no such host/);
      assert.is(disabled.onNamed?.told[0]?.refusal.code, 'host-disabled');
      const line = /^c1\/h3, which it names, would be refused: host-disabled: host 'h3' is disabled/;
      assert.is(disabled.words.filter((one) => line.test(one)).length, 1);
      await client.host({ cell: 'c1', host: 'h3', enabled: true });
      await eventually('it is heard', async () => (await client.fit(SMALL)).fits === 5);
      await client.build({ id: 'web', placement: { cells: ['c2'] }, ...SMALL });
      await client.ended('web');
      const { decision, words } = await client.explain('web');
      assert.equal([decision?.chosen?.cell, decision?.fits, decision?.refused], ['c2', inC2.fits, inC2.refused]);
      assert.match(words.join('\n'), /2 fit and 3 were refused\n +3 not-in-cell/);
      const elsewhere = await client.whyNot({ id: 'web', cell: 'c1', host: 'h2' });
      assert.is(elsewhere.now?.refusal?.code, 'not-in-cell', 'what it asked for is remembered');
      await client.build({ id: 'lost', placement: { cells: ['c9'] }, ...SMALL });
      const { failure } = await client.ended('lost');
      assert.match(
        failure?.message ?? '',
        /none of 5 hosts: 5 not-in-cell; there is no such cell, or .*; if it need not be in cell c9/,
      );
      const { decision: none } = await client.explain('lost');
      assert.match((await client.explain('lost')).words.join('\n'), /5 not-in-cell\nthere is no such cell, or/);
      assert.equal([none?.fits, none?.refused, none?.narrowedBy], [0, [{ code: 'not-in-cell', hosts: 5 }], []]);
      const why = await client.whyNot({ id: 'lost', cell: 'c1', host: 'h2' });
      assert.is(why.now?.refusal?.code, 'not-in-cell');
    },
  );

  on(
    'names that nothing known carries are told, also where it fits, and of a request that failed',
    async ({ client }) => {
      const placement = {
        avoidHosts: ['c1/h9', 'c1/h1'],
        avoidCells: ['c7'],
        preferCells: ['c2', 'c8'],
        avoidAggregates: ['rack-7'],
        differentHostFrom: ['nobody'],
      };
      const asked = { ...SMALL, forbidden: ['HW_CPU_X86_AXV2'], placement };
      const licence = await client.fit({ resources: { ...SMALL.resources, CUSTOM_LICENCE: 1 } });
      assert.equal([licence.fit, licence.unknown], [false, [{ kind: 'class', name: 'CUSTOM_LICENCE' }]]);
      assert.match(licence.words.join('\n'), /^nothing .* this name of the request: resource class CUSTOM_LICENCE$/m);
      const { fit, unknown, words } = await client.fit(asked);
      const names = [
        { kind: 'trait', name: 'HW_CPU_X86_AXV2' },
        { kind: 'cell', name: 'c7' },
        { kind: 'cell', name: 'c8' },
        { kind: 'host', name: 'c1/h9' },
        { kind: 'aggregate', name: 'rack-7' },
        { kind: 'instance', name: 'nobody' },
      ];
      assert.equal([fit, unknown], [true, names]);
      const line =
        /^nothing known carries these names of the request: trait HW_CPU_X86_AXV2, cell c7, cell c8, host c1\/h9, /m;
      assert.match(words.join('\n'), line);
      assert.is(
        (await client.fit({ ...SMALL, placement: { hosts: ['c1/h1'], cells: ['c1', 'c2'] } })).unknown,
        undefined,
      );
      const some = await client.fit({ ...SMALL, placement: { hosts: ['c1/h1', 'c9/h1'], aggregates: ['rack-7'] } });
      assert.equal(
        some.unknown,
        [names[3], names[4]].map((one, at) => (at === 0 ? { kind: 'host', name: 'c9/h1' } : one)),
      );
      await client.build({ ...asked, id: 'web', resources: { VCPU: 9 } });
      const { state, failure } = await client.ended('web');
      assert.is(state, 'failed');
      assert.match(
        failure?.message ?? '',
        /; nothing known carries these names of the request: trait HW_CPU_X86_AXV2, /,
      );
      const explained = await client.explain('web');
      assert.equal(explained.decision?.unknown, names);
      assert.match(explained.words.join('\n'), line);
      await client.build({ id: 'store', ...SMALL });
      await client.ended('store');
      const misspelt = { ...SMALL, placement: { sameHostAs: ['stroe'] } };
      const like = [{ kind: 'instance', name: 'stroe', like: 'store' }];
      const dry = await client.fit(misspelt);
      assert.equal(dry.unknown, like);
      assert.match(dry.words.join('\n'), /: instance stroe \(holds nothing; store is known\)$/m);
      await client.build({ ...misspelt, id: 'beside' });
      await client.ended('beside');
      assert.equal((await client.explain('beside')).decision?.unknown, like);
      const refusal = (error: unknown) => (error as Error).message;
      assert.is(await client.explain('stroe').catch(refusal), "there is no instance 'stroe' (store is known)");
      const whyNot = client.whyNot({ id: 'stroe', host: 'c1/h1' });
      assert.is(await whyNot.catch(refusal), "there is no instance 'stroe' (store is known)");
    },
  );

  on(
    'a group that keeps together on a host that is disabled holds out who joins, and that is told',
    async ({ client }) => {
      const asked = { ...SMALL, instanceGroup: { name: 'close', policy: 'affinity' as const } };
      await client.build({ id: 'first', ...asked });
      const { cell = '', host = '' } = await client.ended('first');
      await client.host({ cell, host, enabled: false });
      await eventually(
        'the scheduler has heard of both',
        async () => (await client.fit(asked)).groupHeld !== undefined,
      );
      const where = `instance group 'close' is held on ${cell}/${host}, which is disabled, by`;
      const dry = await client.fit(asked);
      assert.ok(
        dry.words.includes(`${where} 1 instance, until that host is enabled, or it is deleted`),
        dry.words.join(),
      );
      await client.build({ id: 'second', ...asked });
      const { state, failure } = await client.ended('second');
      assert.is(state, 'failed');
      const words = `${where} first, until that host is enabled, or it is deleted`;
      assert.ok(failure?.message.includes(`; ${words}; `), failure?.message);
      const explained = await client.explain('second');
      assert.ok(explained.words.includes(words));
      assert.equal(explained.decision?.groupHeld?.named, ['first']);
    },
  );

  on(
    'an instance group that has another rule refuses every host, and that is told before and after',
    async (system) => {
      const { client } = system;
      const group = (policy: 'affinity' | 'anti-affinity') => ({ ...SMALL, instanceGroup: { name: 'close', policy } });
      await client.build({ id: 'first', ...group('affinity') });
      assert.is((await client.ended('first')).state, 'active');
      const conflict = { code: 'group-policy-conflict', hosts: 5 };
      await eventually('the scheduler has heard of the member', async () => {
        const { fits } = await client.fit(group('affinity'));
        return fits === 1;
      });
      const { fit, fits, refused, advice } = await client.fit({ ...group('anti-affinity'), count: 2 });
      assert.equal([fit, fits, refused], [false, 0, [conflict]]);
      const large = await client.fit({ ...group('anti-affinity'), resources: { VCPU: 99 } });
      assert.not.ok(
        large.refused.some(({ code }) => code === conflict.code),
        'other things come first on each host',
      );
      assert.equal(large.groupRule, { group: 'close', rule: 'affinity', asked: 'anti-affinity' });
      const line =
        "instance group 'close' has the rule 'affinity', not 'anti-affinity', and keeps it as long as it has members";
      assert.ok(large.words.includes(line));
      assert.is((await client.fit(group('affinity'))).groupRule, undefined);
      assert.equal(advice, [
        { code: 'with-group-policy', about: 'affinity', hosts: 1, instancesTogether: 2 },
        { code: 'without-instance-group', about: 'close', hosts: 5, instances: 2 },
      ]);
      await client.build({ id: 'second', ...group('anti-affinity') });
      const { state, failure } = await client.ended('second');
      assert.is(state, 'failed');
      assert.match(
        failure?.message ?? '',
        /has the rule 'affinity', not 'anti-affinity'; none of 5 hosts: 5 group-policy-conflict; if it said the rule that the instance group has, 'affinity', it would fit on 1 host/,
      );
      const { decision } = await client.explain('second');
      assert.equal([decision?.fits, decision?.refused, decision?.advice[0]?.code], [0, [conflict], advice[0]?.code]);
      assert.is((await client.whyNot({ id: 'second', cell: 'c1', host: 'h1' })).now?.refusal?.code, conflict.code);
      await client.delete('first');
      assert.is((await client.ended('first')).state, 'deleted');
      await eventually('the group has ended', async () => (await client.fit(group('anti-affinity'))).fits === 5);
    },
  );

  on('a request that failed says what would have let it fit, and applied it does', async ({ client }) => {
    await client.build({ id: 'big', resources: { VCPU: 12 } });
    const { state, failure } = await client.ended('big');
    assert.is(state, 'failed');
    assert.match(failure?.message ?? '', /; with 4 VCPU less \(8 instead of 12\) it would fit on 5 hosts$/);
    const { decision } = await client.explain('big');
    assert.equal(decision?.advice[0], { code: 'less', group: '', about: 'VCPU', from: 12, to: 8, hosts: 5 });
    await client.build({ id: 'less', resources: { VCPU: 8 } });
    assert.is((await client.ended('less')).state, 'active');

    await client.build({ id: 'too-many', count: 5, resources: { VCPU: 8 } });
    const [first] = (await client.list()).instances.filter(({ instance }) => instance.startsWith('too-many'));
    const ended = await client.ended(first?.instance ?? '');
    assert.match(ended.failure?.message ?? '', /; 4 instances instead of 5 would fit$/);
  });

  on('why an instance is not on a host: then and now', async (system) => {
    const { client } = system;
    await client.build({ id: 'web', resources: { VCPU: 5 } });
    const { cell = '', host = '' } = await client.ended('web');
    const chosen = await client.whyNot({ id: 'web', cell, host });
    assert.ok(chosen.there);
    assert.is(chosen.then?.verdict, 'chosen');
    assert.is(chosen.now?.refusal?.code, 'exceeds-capacity');
    assert.is(chosen.now?.refusal?.short, 2);
    assert.match(
      chosen.words.join('\n'),
      /is on .*: active\nthen: it was chosen\nnow: another like it would be refused: .*\(short by 2\); /,
    );

    const { decision } = await client.explain('web');
    const second = decision?.weights[1];
    assert.ok(second);
    const runnerUp = await client.whyNot({ id: 'web', cell: second.cell, host: second.host });
    assert.not(runnerUp.there);
    assert.ok(['runner-up', 'alternate'].includes(runnerUp.then?.verdict ?? ''));
    assert.is(runnerUp.then?.weight, second.weight);
    assert.ok((runnerUp.now?.rank ?? 0) >= 1);
    assert.is(runnerUp.now?.fits, 4);

    const { body } = await apiOf(system).ask('why-not', { id: 'web', host: 'k1' });
    assert.equal([body.cell, body.host, body.id], ['c2', 'k1', 'web']);
    const named = await client.whyNot({ id: 'web', host: 'c2/h1' });
    assert.equal(named, await client.whyNot({ id: 'web', host: 'h1', cell: 'c2' }));
    assert.equal([named.cell, named.host], ['c2', 'h1']);
  });

  on('why a deleted instance was not on a host: the cell is found, or has to be named', async ({ client }) => {
    await client.build({ id: 'web', ...SMALL, placement: { cells: ['c2'], hosts: ['c2/k1'] } });
    await client.ended('web');
    await client.delete('web');
    assert.is((await client.ended('web')).state, 'deleted');
    const { cell, now, words } = await client.whyNot({ id: 'web', host: 'h2' });
    assert.equal([cell, now], ['c1', null]);
    assert.match(words[0] ?? '', /^instance 'web' is not on c1\/h2: it is deleted/);
    const was = await client.whyNot({ id: 'web', host: 'k1' });
    assert.equal([was.cell, was.then?.verdict], ['c2', 'chosen']);
    const cases: [{ host: string; cell?: string }, string, string][] = [
      [{ host: 'absent' }, 'not-found', 'host'],
      [{ cell: 'c2', host: 'h2' }, 'not-found', 'host'],
      [{ host: 'h1' }, 'ambiguous', 'cell'],
    ];
    for (const [place, code, field] of cases) {
      const error = (await failureOf(() => client.whyNot({ id: 'web', ...place }))) as CellwrightError;
      assert.equal([error.code, error.field], [code, field]);
    }
  });

  on('with another instance, or apart from it: as it stands now', async ({ client }) => {
    await client.build({ id: 'web', ...SMALL });
    const { cell = '', host = '' } = await client.ended('web');
    const same = await client.fit({ ...SMALL, placement: { sameHostAs: ['web', 'nobody'] }, limit: 5 });
    assert.equal([same.fits, same.times], [1, 7]);
    assert.equal(
      same.best.map((one) => `${one.cell}/${one.host}`),
      [`${cell}/${host}`],
    );
    assert.equal(same.refused, [{ ...same.refused[0], code: 'consumer-missing', hosts: 4 }]);
    const apart = await client.fit({ ...SMALL, placement: { differentHostFrom: ['web'] }, limit: 5 });
    assert.equal([apart.fits, apart.times], [4, 32]);
    assert.equal(apart.refused, [{ ...apart.refused[0], code: 'consumer-present', hosts: 1 }]);
    assert.is((await client.fit({ ...SMALL, placement: { sameHostAs: ['nobody'] } })).fits, 0);

    await client.build({ id: 'alone', ...SMALL, placement: { differentHostFrom: ['web'] } });
    await client.ended('alone');
    const { now } = await client.whyNot({ id: 'alone', host, cell });
    assert.is(now?.refusal?.code, 'consumer-present');
  });

  on('bad questions name the field', async (system) => {
    const { client } = system;
    await client.build({ id: 'web', ...SMALL });
    await client.ended('web');
    const cases: [() => Promise<unknown>, string, string][] = [
      [() => client.fit({ resources: { NO_SUCH: 1 } }), 'malformed', 'resources.NO_SUCH'],
      [() => client.fit({}), 'malformed', 'resources'],
      [() => client.fit({ ...SMALL, limit: 101 }), 'malformed', 'limit'],
      [() => client.fit({ ...SMALL, id: 'i'.repeat(63), count: 2 }), 'malformed', 'id'],
      [() => client.fit({ ...SMALL, alternates: -1 }), 'malformed', 'alternates'],
      [() => client.fit({ ...SMALL, wait: { forMs: 0 } }), 'malformed', 'wait.forMs'],
      [() => client.fit({ ...SMALL, payload: nested(49) }), 'malformed', 'payload'],
      [() => client.fit({ ...SMALL, unheardOf: 1 } as never), 'malformed', 'unheardOf'],
      [() => client.fit({ ...SMALL, placement: { zones: ['z1'] } }), 'malformed', 'placement.zones.0'],
      [() => client.fit({ ...SMALL, placement: CONTRADICTION }), 'malformed', 'placement.avoidCells.0'],
      [() => client.fit({ ...SMALL, sameSubtree: [['gpu']] }), 'malformed', 'sameSubtree.0.0'],
      [() => client.fit({ ...SMALL, instanceGroup: CLOSE_WITH_MOST }), 'malformed', 'instanceGroup.maxPerHost'],
      [() => client.whyNot({ id: 'nobody', host: 'k1' }), 'not-found', 'id'],
      [() => client.whyNot({ id: 'web', host: 'absent' }), 'not-found', 'host'],
      [() => client.whyNot({ id: 'web', host: 'h1' }), 'ambiguous', 'cell'],
      [() => client.whyNot({ id: 'web', host: 'c1.h1' }), 'malformed', 'host'],
      [() => client.whyNot({ id: 'web', host: 'c1/' }), 'malformed', 'host'],
      [() => client.whyNot({ id: 'web', host: `c1/${'h'.repeat(65)}` }), 'malformed', 'host'],
      [() => client.whyNot({ id: 'web', host: 'c1/h1', cell: 'c1' }), 'malformed', 'cell'],
      [() => client.whyNot({ id: 'web', host: 'c9/h1' }), 'not-found', 'host'],
    ];
    for (const [ask, code, field] of cases) {
      const error = (await failureOf(ask)) as CellwrightError;
      assert.equal([error.code, error.field], [code, field]);
      assert.not.match(error.message, /the build request/);
    }
  });

  test.run();
}

contract('over NATS', overNats);
contract('in memory', inMemory);

const test = suite('dry runs');

test('dry runs - from the command line, with flags or a file', () =>
  overNats({ hosts: HOSTS, scheduler: { warmUpMs: 200 } }, async ({ client, node }) => {
    const servers = ['--servers', node.url ?? ''];
    await eventually('the scheduler has heard of every host', async () => (await client.fit(SMALL)).hosts === 5);
    const fits = await runCommand('fit', '--resources', 'VCPU=1,MEMORY_MB=256', '--limit', '1', ...servers);
    const { words } = await client.fit({ ...SMALL, limit: 1 });
    assert.equal([fits.code, fits.out.trim().split('\n')], [0, [...words]]);
    const folder = await mkdtemp(join(tmpdir(), 'cellwright-fit-'));
    try {
      const file = join(folder, 'request.json');
      await writeFile(
        file,
        JSON.stringify({ id: 'web', resources: { VCPU: 9 }, required: ['CUSTOM_X'], payload: 'p' }),
      );
      const not = await runCommand('fit', '--json-request', file, '--count', '2', '--json', ...servers);
      assert.is(not.code, 1);
      const answer = JSON.parse(not.out);
      assert.equal([answer.fit, answer.count, answer.hosts, answer.fits], [false, 2, 5, 0]);
    } finally {
      await rm(folder, { recursive: true });
    }
    await client.build({ id: 'web', ...SMALL });
    await client.ended('web');
    const why = await runCommand('why-not', 'web', 'c2/k1', ...servers);
    assert.is(why.code, 0);
    assert.match(why.out, /^instance 'web' is (not )?on c2\/k1: /);
  }));

test('dry runs - while the only placement shard is silent it is not known whether a request fits, and why is said', async () => {
  const server = await startTestServer();
  const nats = { servers: server.url };
  const nodes: Node[] = [];
  const begin = async (...roles: string[]) => {
    const quick = { driver: () => quickDriver('c1', 'h1'), scheduler: { warmUpMs: 200 } };
    nodes.push(await startNode({ roles, nats, logger: pino({ level: 'silent' }), ...quick }));
  };
  const client = await connect(nats);
  try {
    await begin('placement');
    await begin('scheduler', 'conductor', 'cell:c1', 'compute:c1/h1');
    await eventually('the host is known', async () => (await client.cells()).cells[0]?.up === 1);
    await eventually('it fits', async () => (await client.fit(SMALL)).fit);
    await client.build({ id: 'web', ...SMALL });
    await client.ended('web');
    await nodes.shift()?.stop();
    await eventually('placement is found silent', async () => !(await client.fit(SMALL)).certain);
    const line =
      'nothing was heard lately of placement/0: the hosts kept there are chosen only when no other fits, and their claims wait';
    const { fit, certain, silentShards, needsSilentShards, words } = await client.fit(SMALL);
    assert.equal([fit, certain, silentShards, needsSilentShards], [true, false, [0], true]);
    assert.match(words[0] ?? '', /^it is not known whether it would fit; of 1 host, 1 fits and 0 were refused/);
    assert.ok(words.includes(line), words.join('\n'));
    const fits = await runCommand('fit', '--resources', 'VCPU=1', '--servers', server.url);
    assert.is(fits.code, 2, fits.out);
    assert.ok((await client.whyNot({ id: 'web', host: 'c1/h1' })).words.join('\n').includes('of placement/0, so'));
    await client.build({ id: 'waits', ...SMALL });
    await begin('placement');
    assert.is((await client.ended('waits')).state, 'active');
    await eventually('placement is heard again', async () => (await client.fit(SMALL)).certain);
  } finally {
    await client.close();
    for (const node of nodes) await node.stop();
    await server.stop();
  }
});

test('dry runs - wrong usage is refused by the name of the flag', async () => {
  const cases: [string[], RegExp][] = [
    [['fit', '--resources', 'VCPU'], /--resources.*CLASS=AMOUNT/s],
    [['fit', '--resources', 'VCPU=0'], /--resources.*whole number from 1/s],
    [['fit', '--group', 'VGPU=1'], /--group.*NAME:CLASS=AMOUNT/s],
    [['fit', '--count', '0', '--resources', 'VCPU=1'], /--count/],
    [['fit', '--json-request', 'README.md'], /--json-request 'README.md': it is not readable JSON/],
    [['why-not', 'web'], /host/],
  ];
  const ended = await Promise.all(cases.map(([args]) => runCommand(...args)));
  for (const [position, { code, err }] of ended.entries()) {
    assert.is(code, 2, err);
    assert.match(err, cases[position]?.[1] ?? /^$/);
  }
});

test.run();
