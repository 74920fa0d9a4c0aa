// Area: listing. What several conductor shards tell of their instances is one list, whose pages fit a message.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import { page } from '../../actors/page.ts';
import { conductorOf } from '../../actors/routing.ts';
import { CellwrightError, TimeoutError } from '../../runtime/errors.ts';
import type { Asking } from '../../runtime/gateway/asking.ts';
import { explainingOf } from '../../runtime/gateway/explaining.ts';
import { likeInstances, withLikeInstances } from '../../runtime/gateway/like-instances.ts';
import { lookingOf, unknownOf } from '../../runtime/gateway/looking.ts';
import { failureOf } from '../support/until.ts';

const test = suite('listing');

/** What a message carries unless the server is told otherwise, bytes. */
const MAX_PAYLOAD = 1024 * 1024;

/** Conductor shards to which these instances are dealt in turn. */
function shardsOf(views: readonly InstanceView[], shards: number): Pick<Asking, 'ask'> {
  const ask = async (to: string, question: { type: string; after?: string; limit: number }) => {
    assert.is(question.type, 'list');
    const shard = Number(to.split('/')[1]);
    const held = new Map(views.filter((_, at) => at % shards === shard).map((view) => [view.instance, view]));
    const [instances, next] = page(held, question.after, question.limit, (view) => view);
    return { type: 'listed', ask: 1, instances, next };
  };
  return { ask: ask as never };
}

test('listing - pages of several shards fit a message, however much their instances say, and leave nobody out', async () => {
  const views = Array.from({ length: 1_500 }, (_, at): InstanceView => {
    const instance = `i-${String(at).padStart(5, '0')}`;
    const failure = { code: 'no-valid-host' as const, message: 'no '.repeat(at % 7 === 0 ? 1 : 1_300) };
    return { instance, request: instance, state: 'failed', failure };
  });
  const conductorShards = 8;
  const { list } = lookingOf({ asking: shardsOf(views, conductorShards) as Asking, conductorShards });
  const seen: string[] = [];
  let pages = 0;
  for (let after: string | null = ''; after !== null; pages += 1) {
    const answer = await list({ limit: 1_000, ...(after === '' ? {} : { after }) });
    assert.ok(JSON.stringify(answer).length < MAX_PAYLOAD / 2, `page ${pages}`);
    assert.ok(answer.instances.length > 0, `page ${pages}`);
    seen.push(...answer.instances.map(({ instance }) => instance));
    after = answer.next;
  }
  assert.equal(
    seen,
    views.map(({ instance }) => instance),
  );
});

test('listing - where a page does not fit into a message of the server, fewer are asked for, and nobody is left out', async () => {
  const names = Array.from({ length: 90 }, (_, at) => `i-${String(at).padStart(2, '0')}`);
  const limits: number[] = [];
  const ask = async (_: string, { type, after, limit }: { type: string; after?: string; limit: number }) => {
    limits.push(limit);
    if (limit > 20) throw new CellwrightError('answer-too-large', 'a message is over the limit', { field: 'limit' });
    const [told, next] = page(new Map(names.map((one) => [one, one])), after, limit, (one) => one);
    if (type === 'list-hosts') return { type: 'hosts', hosts: told.map((host) => ({ host, state: 'up' })), next };
    return {
      type: 'listed',
      instances: told.map((one) => ({ instance: one, request: one, state: 'requested' })),
      next,
    };
  };
  const asking: Pick<Asking, 'ask'> = { ask: ask as never };
  const { list, hosts } = lookingOf({ asking: asking as Asking, conductorShards: 2 });
  const everyPage = async <Page extends { next: string | null }>(next: (from: { after?: string }) => Promise<Page>) => {
    const pages = [await next({})];
    for (let at = pages[0]?.next ?? null; at !== null; at = pages.at(-1)?.next ?? null)
      pages.push(await next({ after: at }));
    return pages;
  };
  const all = await everyPage((from) => hosts({ cell: 'c1', ...from }));
  assert.equal(
    all.flatMap((one) => one.hosts.map(({ host }) => host)),
    names,
  );
  assert.equal(limits.slice(0, 3), [100, 25, 7]);
  const listed = (await everyPage((from) => list(from))).flatMap(({ instances }) => instances);
  assert.equal([...new Set(listed.map(({ instance }) => instance))], names);
  const ofCell = await everyPage((from) => list({ cell: 'c1', ...from }));
  assert.is(ofCell.flatMap(({ instances }) => instances).length, 90);
});

test('looking - what is being deleted is not shown as active because its cell has not heard of that yet', async () => {
  const ofConductor = { instance: 'web', request: 'web', state: 'deleting', cell: 'c1', owes: 'removal', owedSince: 7 };
  const ofCell = { instance: 'web', request: 'web', cell: 'c1', host: 'h1', attempt: 1 };
  const asking = (stateInCell: string) => {
    const inCell = { ...ofCell, state: stateInCell };
    const ask = async (to: string, { type }: { type: string }) => {
      return { type, ask: 1, view: to.startsWith('cell/') ? inCell : ofConductor };
    };
    return { ask } as unknown as Asking;
  };
  const { show } = lookingOf({ asking: asking('active'), conductorShards: 1 });
  const deleting = { ...ofCell, state: 'deleting', owes: 'removal', owedSince: 7 };
  assert.equal(await show({ id: 'web' }), deleting);
  const { known } = explainingOf({ asking: asking('active'), conductorShards: 1 });
  assert.equal((await known('web')).view, deleting);
  const heard = lookingOf({ asking: asking('deleting'), conductorShards: 1 });
  assert.equal(await heard.show({ id: 'web' }), { ...ofCell, state: 'deleting' }, 'the cell knows best what is left');
});

test('looking - of a build that failed on all its hosts the failure says what would have given it more to try', async () => {
  const record = { v: 1, at: 0, by: 's', n: 9, f: 9, r: [], m: [], w: [], a: ['h2'], g: 'c1/h1', h: 4 };
  const failure = { code: 'alternates-exhausted', message: "no host is left to try in cell 'c1': h1: build-failed" };
  const shown = async (decision: string | Error | undefined, told: object = failure) => {
    const view = { instance: 'web', request: 'web', state: 'failed', cell: 'c1', failure: told };
    const asked: string[] = [];
    const ask = async (to: string, { type }: { type: string }) => {
      asked.push(`${type} ${to.split('/')[0]}`);
      if (type === 'explain' && decision instanceof Error) throw decision;
      return { type, ask: 1, view, decision };
    };
    const { show } = lookingOf({ asking: { ask } as unknown as Asking, conductorShards: 1 });
    return { failure: (await show({ id: 'web' })).failure, asked };
  };
  const advice = 'with 5 alternates instead of 1 it would have had 4 more hosts of cell c1 to try';
  const told = await shown(JSON.stringify(record));
  assert.equal(told.failure, { ...failure, message: `${failure.message}; ${advice}` });
  assert.equal(told.asked, ['show conductor', 'show cell', 'explain conductor']);
  const elsewhere = await shown(JSON.stringify({ ...record, h: 0, j: 3 }));
  const avoided = 'outside cell c1 it would have had 3 hosts to go to';
  assert.is(elsewhere.failure?.message, `${failure.message}; ${avoided}`);
  for (const none of [undefined, 'no JSON', JSON.stringify({ ...record, h: 0 }), new TimeoutError('explain', 1)]) {
    assert.equal((await shown(none)).failure, failure, 'how it stands is told all the same');
  }
  const aborted = { code: 'build-aborted', message: 'no such image' };
  const other = await shown(JSON.stringify(record), aborted);
  assert.equal([other.failure, other.asked], [aborted, ['show conductor', 'show cell']], 'nobody else is asked');
});

test('listing - who does not answer is named; what others know is told, and how those are whose cell is silent is not known', async () => {
  const cells = ['c1', 'c1', 'c2', 'c2'];
  const views = cells.map((cell, at): InstanceView => {
    const instance = `i-${at}`;
    return { instance, request: instance, cell, state: at % 2 === 0 ? 'active' : 'deleted' };
  });
  const waits: (number | undefined)[] = [];
  const listOf = (silent: readonly string[], fault = new TimeoutError('it', 8_000) as Error) => {
    const ask = async (to: string, { type }: { type: string }, _: string, waitMs?: number) => {
      if (type === 'list-hosts') waits.push(waitMs);
      if (silent.includes(to)) throw fault;
      return { type, ask: 1, instances: to === 'conductor/1' ? [] : views, next: null, hosts: [] };
    };
    return lookingOf({ asking: { ask } as unknown as Asking, conductorShards: 2 }).list({});
  };
  const statesOf = ({ instances }: { instances: readonly InstanceView[] }) => instances.map(({ state }) => state);
  const all = await listOf([]);
  assert.equal([statesOf(all), all.next, 'silent' in all], [views.map(({ state }) => state), null, false]);
  const [inTime] = waits.splice(0);
  const some = await listOf(['conductor/1', 'cell/c2']);
  assert.equal(statesOf(some), ['active', 'deleted', 'unknown', 'deleted']);
  assert.equal(some.silent, ['conductor/1', 'cell/c2']);
  const [late] = waits.splice(0);
  assert.ok((late as number) < (inTime as number), 'it has been waited for long enough');
  const none = await failureOf(() => listOf(['conductor/0', 'conductor/1']));
  assert.is((none as CellwrightError).code, 'timeout');
  const broken = new Error('it broke');
  assert.is(await failureOf(() => listOf(['conductor/1'], broken)), broken);
});

test('listing - of builds that failed on all their hosts it is said what would have given them more to try, of not too many', async () => {
  const record = { v: 1, at: 0, by: 's', n: 9, f: 9, r: [], m: [], w: [], a: ['h2'], g: 'c1/h1', h: 4 };
  const failure = { code: 'alternates-exhausted' as const, message: 'no host is left to try' };
  const views = Array.from({ length: 400 }, (_, at): InstanceView => {
    const instance = `i-${String(at).padStart(3, '0')}`;
    const state = at % 2 === 0 ? 'failed' : 'active';
    return { instance, request: instance, cell: 'c1', state, ...(at % 2 === 0 ? { failure } : {}) };
  });
  let records = 0;
  const ask = async (_: string, { type, limit }: { type: string; limit: number }) => {
    if (type === 'explain') records += 1;
    return { type, ask: 1, decision: JSON.stringify(record), instances: views.slice(0, limit), next: null, hosts: [] };
  };
  const { list } = lookingOf({ asking: { ask } as unknown as Asking, conductorShards: 1 });
  const advised = {
    ...failure,
    message: `${failure.message}; with 5 alternates instead of 1 it would have had 4 more hosts of cell c1 to try`,
  };
  const { instances } = await list({ limit: 20 });
  assert.equal(
    instances.map((view) => view.failure),
    views.slice(0, 20).map((view) => (view.failure === undefined ? undefined : advised)),
  );
  assert.is(records, 10);
  const { instances: all } = await list({ limit: 400 });
  assert.is(all.filter((view) => view.failure?.message === advised.message).length, 100);
  assert.is(all.filter((view) => view.failure?.message === failure.message).length, 100);
  assert.equal((await list({ cell: 'c1', limit: 20 })).instances, views.slice(0, 20), 'a cell tells it alone');
});

test('looking - a cell that does not answer is quoted wherever it is named', () => {
  const { failure } = unknownOf({ instance: 'web', request: 'web', cell: 'c1', state: 'active' } as InstanceView);
  const cure = "start, or wait for, a node that serves cell 'c1'";
  assert.is(failure?.message, `cell 'c1' does not answer; last known: active; ${cure}`);
});

test('looking - an instance asked for by the name of its request of several is not found, and one of these is named', async () => {
  const requests = new Map([
    ['web-0', 'web'],
    ['db-0', 'db-0'],
    ['cache', 'cache'],
  ]);
  const ask = async (_: string, { type, instance }: { type: string; instance: string }) => {
    const request = requests.get(instance);
    const view = request === undefined ? null : { instance, request, state: 'requested' };
    return { type: type === 'show' ? 'shown' : 'explained', ask: 1, view };
  };
  const asking = { ask } as unknown as Asking;
  const { show } = lookingOf({ asking, conductorShards: 4 });
  const { explain } = explainingOf({ asking, conductorShards: 4 });
  for (const looked of [show, explain]) {
    const refusalOf = async (id: string) => {
      try {
        await looked({ id });
      } catch (error) {
        const { code, field, message } = error as CellwrightError;
        assert.equal([code, field], ['not-found', 'id']);
        return message;
      }
      return 'it is found';
    };
    assert.is(await refusalOf('web'), "there is no instance 'web': the request 'web' is of several, 'web-0' and so on");
    assert.is(await refusalOf('db'), "there is no instance 'db'");
    assert.is(
      await refusalOf('web-7'),
      "there is no instance 'web-7': the request 'web' is of several, 'web-0' and so on",
    );
    assert.is(await refusalOf('web-0-0'), "there is no instance 'web-0-0' (web-0 is known)");
    assert.is(await refusalOf('cache-0'), "there is no instance 'cache-0' (cache is known)");
    assert.is(await refusalOf('db-1'), "there is no instance 'db-1'");
  }
});

test('looking - whoever wants to know of an instance that there is not is told one that is much like it, of any shard', async () => {
  const conductorShards = 4;
  const like = new Map([
    ['wbe-0', ['web-0', 'webe-0']],
    ['late', ['lates']],
  ]);
  const silent = new Set<string>();
  let asked = 0;
  const ask = async (to: string, { type, names = [] }: { type: string; names?: string[] }) => {
    if (silent.has(to)) throw new TimeoutError(to, 1);
    if (type !== 'like-instances') return { type: type === 'show' ? 'shown' : 'explained', ask: 1, view: null };
    const shard = asked++ % conductorShards;
    const found = names.flatMap((name) =>
      (like.get(name) ?? []).filter((_, at) => at === shard).map((one) => [name, one]),
    );
    return { type: 'like-told', ask: 1, like: found };
  };
  const asking = { ask } as unknown as Asking;
  const { show } = lookingOf({ asking, conductorShards });
  const { explain } = explainingOf({ asking, conductorShards });
  const refusalOf = (id: string, looked: (request: { id: string }) => Promise<unknown> = explain) =>
    looked({ id }).then(
      () => 'it is found',
      (error) => (error as Error).message,
    );
  assert.is(await refusalOf('wbe-0'), "there is no instance 'wbe-0' (web-0 is known)");
  assert.is(await refusalOf('cache'), "there is no instance 'cache'");
  asked = 0;
  assert.is(await refusalOf('wbe-0', show), "there is no instance 'wbe-0'");
  assert.is(asked, 0, 'those who look again and again do not have all instances looked through');
  const unknown = [
    { kind: 'host' as const, name: 'wbe-0' },
    { kind: 'instance' as const, name: 'wbe-0' },
    { kind: 'instance' as const, name: 'nobody' },
  ];
  assert.equal(await withLikeInstances({ asking, conductorShards }, unknown), [
    unknown[0],
    { ...unknown[1], like: 'web-0' },
    unknown[2],
  ]);
  like.set('wbe-0', ['web-0', 'wbe-0']);
  assert.equal(await withLikeInstances({ asking, conductorShards }, unknown), unknown, 'it is known by now');
  silent.add(conductorOf('late', conductorShards));
  assert.equal(
    [...(await likeInstances({ asking, conductorShards }, ['late']))],
    [],
    'it may be known to the silent one',
  );
});

test.run();
