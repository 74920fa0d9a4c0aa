// Area: listing. What several conductor shards tell of their instances is one list, whose pages fit a message.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import { page } from '../../actors/page.ts';
import type { Asking } from '../../runtime/gateway/asking.ts';
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

test.run();
