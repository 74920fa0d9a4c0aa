// Area: listing. What several conductor shards tell of their instances is one list, whose pages fit a message.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import { page } from '../../actors/page.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import type { Asking } from '../../runtime/gateway/asking.ts';
import { explainingOf } from '../../runtime/gateway/explaining.ts';
import { lookingOf } from '../../runtime/gateway/looking.ts';

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

test('looking - an instance asked for by the name of its request of several is not found, and one of these is named', async () => {
  const requests = new Map([
    ['web-0', 'web'],
    ['db-0', 'db-0'],
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
    assert.is(await refusalOf('web-0-0'), "there is no instance 'web-0-0'");
  }
});

test.run();
