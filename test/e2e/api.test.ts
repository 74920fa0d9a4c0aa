// Area: api. What people and programs may rely on, over a real NATS server and in memory alike: answers in kind,
// repeated requests, errors that say what is not there, pages, and hosts taken out of service.
// Bad input is in api-bad-input.test.ts, what comes to the actors beside the API in api-junk.test.ts.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { encode, isJson } from '../../runtime/codec.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import type { ListAnswer } from '../../runtime/gateway/looking.ts';
import { failureOf } from '../support/until.ts';
import { apiOf, eventually, inMemory, overNats, type System, type SystemOptions, type WithSystem } from './system.ts';

const SMALL = { resources: { VCPU: 1, MEMORY_MB: 256 } };
const TWICE_ACTIVE = JSON.stringify([
  ['once-0', 'active'],
  ['once-1', 'active'],
]);

async function refusal(work: () => Promise<unknown>): Promise<Pick<CellwrightError, 'code' | 'field' | 'retryable'>> {
  const { code, field, retryable } = (await failureOf(work)) as CellwrightError;
  return { code, field, retryable };
}

function contract(name: string, withSystem: WithSystem): void {
  const test = suite(`api ${name}`);
  const on = (what: string, run: (system: System) => Promise<void>, options: SystemOptions = {}) =>
    test(`api - ${what}`, () => withSystem(options, run));

  on('a build is answered at once, becomes active, is shown, and is deleted', async ({ client }) => {
    assert.equal(await client.build({ id: 'web', project: 'shop', ...SMALL }), { request: 'web', instances: ['web'] });
    const view = await client.ended('web');
    assert.is(view.state, 'active');
    assert.is(view.cell, 'c1');
    assert.is(view.project, 'shop');
    assert.equal(view.allocations?.[0]?.resources, SMALL.resources);
    assert.equal(await client.show('web'), view);
    assert.equal(await client.delete('web'), { id: 'web', state: 'deleting' });
    assert.is((await client.ended('web')).state, 'deleted');
  });

  on('a request without an id is given one; with a count its instances are numbered', async ({ client }) => {
    const { request, instances } = await client.build(SMALL);
    assert.match(request, /^i-[0-9a-f-]{36}$/);
    assert.equal(instances, [request]);
    assert.equal((await client.build({ id: 'many', count: 3, ...SMALL })).instances, ['many-0', 'many-1', 'many-2']);
    for (const instance of ['many-0', 'many-1', 'many-2']) assert.is((await client.ended(instance)).state, 'active');
  });

  on('an answer goes to no actor, journal or interface of the server on behalf of whoever asks', async (system) => {
    const { bus, subjects, client } = system;
    const replies = [subjects.journal('placement/0'), subjects.of('conductor/0'), '$KV.cw_leases.placement.0'];
    const got: string[] = [];
    for (const reply of replies) {
      bus.subscribe(reply, ({ headers, data }) => {
        if (headers['Cw-Type'] === undefined && Buffer.from(data).includes('of-others')) got.push(reply);
      });
    }
    await bus.flush();
    for (const reply of replies) {
      bus.publish(subjects.api('show'), encode({ id: 'of-others' }), { reply });
      bus.publish(subjects.api('build'), encode({ id: 'of-others', ...SMALL }), { reply });
    }
    await bus.flush();
    assert.is((await refusal(() => client.show('of-others'))).code, 'not-found', 'nothing was done');
    assert.equal(got, []);
    await client.build({ id: 'own', ...SMALL });
    assert.is((await client.ended('own')).state, 'active');
  });

  on('JSON is answered in JSON and MessagePack in MessagePack, errors too', async (system) => {
    const api = apiOf(system);
    const bodies = [
      { id: 'in-kind', ...SMALL },
      { id: 'Not.an.id', ...SMALL },
      { id: 'in-kind', count: 2, ...SMALL },
    ];
    for (const body of bodies) {
      assert.ok(isJson((await api.ask('build', body)).data));
      assert.not(isJson((await api.ask('build', encode(body))).data));
    }
    for (const verb of ['show', 'delete']) {
      assert.ok(isJson((await api.ask(verb, { id: 'nobody' })).data));
      assert.not(isJson((await api.ask(verb, encode({ id: 'nobody' }))).data));
    }
    assert.ok(isJson((await api.ask('list', new Uint8Array(0))).data), 'no body at all is for people');
  });

  on('a request that is repeated is answered as before, and built once', async ({ client }) => {
    const asked = { id: 'once', count: 2, payload: { image: 'a', tags: [1, 2] }, ...SMALL };
    const answer = await client.build(asked);
    assert.equal(await client.build(asked), answer, 'while it is under way');
    for (const instance of answer.instances) await client.ended(instance);
    const reordered = {
      payload: { tags: [1, 2], image: 'a' },
      resources: { MEMORY_MB: 256, VCPU: 1 },
      count: 2,
      id: 'once',
    };
    assert.equal(await client.build(reordered), answer, 'when it is done, in another order of the fields');
    await eventually('two are listed, and both as active', async () => {
      const { instances } = await client.list();
      return JSON.stringify(instances.map(({ instance, state }) => [instance, state])) === TWICE_ACTIVE;
    });
    for (const instance of answer.instances) assert.is((await client.show(instance)).attempt, 1);
  });

  on(
    'a request that has failed and is sent again is answered with what it came to, and not built',
    async ({ client }) => {
      const asked = { id: 'large', count: 2, resources: { VCPU: 1_000 } };
      const answer = await client.build(asked);
      const { failure } = await client.ended('large-1');
      assert.is(failure?.code, 'no-valid-host');
      await client.ended('large-0');
      const again = await client.build(asked);
      assert.equal(again, { ...answer, failed: { instances: ['large-0', 'large-1'], ...failure } });
      assert.is((await client.show('large-0')).state, 'failed');
    },
  );

  on('another request by the name of one that is there is refused, and changes nothing', async ({ client, dump }) => {
    const asked = { id: 'taken', count: 2, alternates: 1, project: 'a', payload: [1], ...SMALL };
    for (const instance of (await client.build(asked)).instances) await client.ended(instance);
    await client.build({ id: 'alone', ...SMALL });
    await client.ended('alone');
    const before = await dump();
    const others = [
      { ...asked, count: 3 },
      { ...asked, alternates: 2 },
      { ...asked, project: 'b' },
      { ...asked, payload: [1, 1] },
      { ...asked, resources: { VCPU: 2, MEMORY_MB: 256 } },
      { ...asked, resources: { VCPU: 1 } },
      { ...asked, required: ['HW_CPU_X86_AVX2'] },
      { ...asked, groupPolicy: 'isolate' as const },
      { id: 'taken-0', ...SMALL },
      { id: 'alone', ...SMALL, alternates: 0 },
    ];
    for (const other of others) {
      const { code, field } = await refusal(() => client.build(other));
      assert.equal([code, field], ['already-exists', 'id'], JSON.stringify(other));
    }
    assert.equal(await dump(), before);
  });

  on('however many come, nothing overtakes the build that it is about', async ({ client }) => {
    const asked: Promise<unknown>[] = [];
    const ask = (work: Promise<unknown>) => {
      // A refusal is told at the end.
      work.catch(() => undefined);
      asked.push(work);
    };
    for (let n = 0; n < 400; n += 1) {
      const id = `brief-${n}x`;
      ask(client.build({ id, ...SMALL }));
      ask(client.show(id));
      ask(client.delete(id));
      ask(client.show(id));
      // Evenly, so that very many come in each of several beats.
      if (n % 8 === 7) await new Promise((resolve) => setTimeout(resolve, 2));
    }
    await Promise.all(asked);
    await eventually('all are gone', async () => {
      const { instances } = await client.list({ limit: 1_000 });
      return instances.length === 400 && instances.every(({ state }) => state === 'deleted');
    });
  });

  on('what is not there is said to be not there, by the field', async ({ client }) => {
    const notFound = (field: string) => ({ code: 'not-found', field, retryable: false });
    assert.equal(await refusal(() => client.show('nobody')), notFound('id'));
    assert.equal(await refusal(() => client.delete('nobody')), notFound('id'));
    await client.build({ id: 'pair', count: 2, resources: { VCPU: 1 } });
    const { message } = await failureOf(() => client.delete('pair'));
    assert.is(message, "there is no instance 'pair': the request 'pair' is of several, 'pair-0' and so on");
    assert.equal(await refusal(() => client.ended('nobody')), notFound('id'));
    assert.equal(await refusal(() => client.host({ cell: 'c1', host: 'h9', enabled: true })), notFound('host'));
  });

  on(
    'a cell that nobody serves is said to have no owner, by its name, when the time for an answer is up',
    async ({ client }) => {
      const noOwner = { code: 'no-owner', field: 'cell', retryable: true };
      const [failure, ...told] = await Promise.all([
        failureOf(() => client.hosts({ cell: 'c9' })),
        refusal(() => client.hosts({ cell: 'c9' })),
        refusal(() => client.list({ cell: 'c9' })),
        refusal(() => client.host({ cell: 'c9', host: 'h1', enabled: false })),
      ]);
      assert.equal(told, [noOwner, noOwner, noOwner]);
      assert.match(failure.message, /'cell\/c9'/);
    },
    { leaseTtlMs: 500 },
  );

  on(
    'instances and hosts are listed by pages, each once',
    async ({ client }) => {
      const { instances: built } = await client.build({ id: 'page', count: 7, ...SMALL });
      for (const instance of built) await client.ended(instance);
      for (const scope of [{}, { cell: 'c1' }]) {
        const sizes: number[] = [];
        const seen: string[] = [];
        let after: { after?: string } = {};
        for (;;) {
          const { instances, next } = await client.list({ ...scope, ...after, limit: 3 });
          sizes.push(instances.length);
          seen.push(...instances.map(({ instance }) => instance));
          if (next === null) break;
          after = { after: next };
        }
        assert.equal([sizes, seen], [[3, 3, 1], built]);
      }
      const first = await client.hosts({ cell: 'c1', limit: 2 });
      const second = await client.hosts({ cell: 'c1', limit: 2, after: first.next ?? 'none' });
      assert.equal(
        [...first.hosts, ...second.hosts].map(({ host }) => host),
        ['h1', 'h2', 'h3'],
      );
      assert.is(second.next, null);
      assert.equal((await client.list({ after: 'zzz' })).instances, []);
    },
    { hosts: { c1: ['h1', 'h2', 'h3'] } },
  );

  on('a disabled host is given nothing new until it is enabled', async ({ client }) => {
    const onHost = async (id: string) => (await client.ended(id)).host;
    assert.equal(await client.host({ cell: 'c1', host: 'h1', enabled: false, reason: 'new disks' }), {
      cell: 'c1',
      host: 'h1',
      state: 'disabled',
    });
    const told = (await client.hosts({ cell: 'c1' })).hosts.find(({ host }) => host === 'h1');
    assert.equal([told?.state, told?.reason], ['disabled', 'new disks']);
    const meanwhile: (string | undefined)[] = [];
    for (let n = 0; n < 4; n += 1) {
      await client.build({ id: `during-${n}`, resources: { MEMORY_MB: 1 } });
      meanwhile.push(await onHost(`during-${n}`));
    }
    assert.equal([...new Set(meanwhile)], ['h2']);

    await client.host({ cell: 'c1', host: 'h2', enabled: false });
    await client.host({ cell: 'c1', host: 'h1', enabled: true });
    await client.build({ id: 'after', resources: { MEMORY_MB: 1 } });
    assert.is(await onHost('after'), 'h1');
  });

  on('with every host disabled a request fails with the reason, and nothing stays held', async ({ client, dump }) => {
    for (const host of ['h1', 'h2']) await client.host({ cell: 'c1', host, enabled: false });
    await client.build({ id: 'nowhere', ...SMALL });
    const { state, failure } = await client.ended('nowhere');
    assert.is(state, 'failed');
    assert.match(failure?.message ?? '', /2 hosts disabled/);
    assert.equal(((await dump()) as { consumers: unknown[] }).consumers, []);
  });

  on(
    'of a cell that is out of service every host is disabled, whoever asks, until it is put back',
    async ({ client }) => {
      const told = await client.cell({ cell: 'c1', enabled: false, reason: 'new switches' });
      assert.equal(told, { cell: 'c1', enabled: false, reason: 'new switches', revision: 1 });
      assert.equal(await client.cell({ cell: 'c1' }), told);
      await client.build({ id: 'nowhere', ...SMALL });
      const { state, failure } = await client.ended('nowhere');
      assert.is(state, 'failed');
      assert.match(
        failure?.message ?? '',
        /2 hosts disabled; if cell c1 were back in service, it would fit on 2 hosts$/,
      );
      assert.equal((await client.cells()).cells, [{ cell: 'c1', hosts: 2, up: 0, disabled: 'new switches' }]);
      const { now, words } = await client.whyNot({ id: 'nowhere', host: 'h1' });
      assert.is(now?.refusal?.code, 'host-disabled');
      assert.match(words.join('\n'), /disabled: its cell is out of service: new switches/);
      const { hosts } = await client.hosts({ cell: 'c1' });
      assert.equal([...new Set(hosts.map((one) => one.state))], ['disabled']);

      await client.build({ id: 'later', ...SMALL, wait: { forMs: 600_000 } });
      await eventually('it waits', async () => (await client.show('later')).waiting !== undefined);
      assert.equal(await client.cell({ cell: 'c1', enabled: true }), { cell: 'c1', enabled: true, revision: 2 });
      assert.is((await client.ended('later')).state, 'active');
      assert.equal((await client.cells()).cells, [{ cell: 'c1', hosts: 2, up: 2 }]);
      for (const [request, code, field] of [
        [{ cell: 'c1', reason: 'new switches' }, 'malformed', 'reason'],
        [{ cell: 'c1', enabled: 'no' }, 'malformed', 'enabled'],
        [{ enabled: false }, 'malformed', 'cell'],
        [{ cell: 'c1', enabled: false, revision: 0 }, 'outdated', 'revision'],
        [{ cell: 'c9', enabled: false }, 'no-owner', 'cell'],
      ] as const) {
        const refused = await refusal(() => client.cell(request as never));
        assert.equal([refused.code, refused.field], [code, field], JSON.stringify(request));
      }
    },
  );

  on(
    'a request to which nobody can answer is not carried out, and does no harm',
    async ({ bus, subjects, client, dump }) => {
      const before = await dump();
      for (const verb of ['build', 'delete', 'show', 'list', 'hosts', 'host', 'cell', 'nothing']) {
        bus.publish(subjects.api(verb), Buffer.from(JSON.stringify({ id: 'mute', ...SMALL })));
        bus.publish(subjects.api(verb), new Uint8Array([0xc1]));
      }
      await bus.flush();
      assert.equal(await dump(), before);
      await client.build({ id: 'heard', ...SMALL });
      assert.is((await client.ended('heard')).state, 'active');
      assert.is((await refusal(() => client.show('mute'))).code, 'not-found');
    },
  );

  on(
    'where the server takes small messages, a page has as many rows as fit into one, and the next goes on from there',
    async (system) => {
      const { client } = system;
      const instances: string[] = [];
      for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((one) => `${one}-long-name-of-a-request`))
        instances.push(
          ...(await client.build({ id, count: 50, resources: { VCPU: 1 }, wait: { forMs: 60_000 } })).instances,
        );
      for (const ask of [
        async (after: object) => client.list({ limit: 1_000, ...after }),
        async (after: object) =>
          (await apiOf(system).ask('list', { limit: 1_000, ...after })).body as never as ListAnswer,
      ]) {
        const seen: string[] = [];
        let pages = 0;
        for (let after: object | null = {}; after !== null; pages += 1) {
          const { instances: told, next }: ListAnswer = await ask(after);
          seen.push(...told.map(({ instance }) => instance));
          after = next === null ? null : { after: next };
        }
        assert.equal(seen, [...instances].sort());
        assert.ok(pages > 1 && pages < 30, `${pages} pages`);
      }
    },
    { maxPayloadBytes: 16 * 1024, conductorShards: 4 },
  );

  test.run();
}

contract('in memory', inMemory);
contract('over NATS', overNats);
