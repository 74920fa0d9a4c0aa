// Area: Placement API, several shards. The same random streams of requests, valid and not, at many microversions, go to
// a placement of one shard and to one of four, and what comes back must be the same: statuses, words, generations, what
// there is. Of what has no order the order does not count. CELLWRIGHT_DIFFERENTIAL_STREAMS tells how many streams; default 4.

import { isDeepStrictEqual } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startPlacementApi } from '../../../runtime/placement-api/start.ts';
import { seededRandom } from '../../../runtime/random.ts';
import { apart, sorted } from '../differential/compare.ts';
import { type Answer, exchange, type Request } from '../differential/exchange.ts';
import { nextRequest, type World } from '../differential/requests.ts';
import { chooserOf } from '../differential/small-world.ts';

const STREAMS = Number(process.env.CELLWRIGHT_DIFFERENTIAL_STREAMS ?? 4);
const SEED = process.env.CELLWRIGHT_DIFFERENTIAL_SEED ?? 'shards';
const SHARDS = 4;
const REQUESTS = 400;
const MAX_MINOR = 39;
const LIMIT = 3;
const LIMIT_SINCE = 16;

const test = suite('Placement API, several shards - the same as one');

const get = (url: string, path: string) => exchange(url, { method: 'GET', path, minor: MAX_MINOR });

function worldOf(url: string): World {
  return {
    async generationOf(provider) {
      const { body } = await get(url, `/resource_providers/${provider}`);
      return (body as { generation?: number }).generation ?? 0;
    },
    async consumerGenerationOf(consumer) {
      const { body } = await get(url, `/allocations/${consumer}`);
      return (body as { consumer_generation?: number }).consumer_generation ?? null;
    },
  };
}

interface Told {
  request_id?: string;
  detail?: string;
  refusal?: { message?: string };
}

/** Without what is made up, or names what was found first where nothing comes first. */
function normal({ status, headers, body }: Answer): unknown {
  if (typeof body !== 'object' || body === null || !('errors' in body)) return sorted({ status, headers, body });
  const errors = (body.errors as Told[]).map(({ request_id: _, refusal, detail = '', ...told }) => ({
    ...told,
    detail: detail.replaceAll(/Update conflict: provider .*/gs, 'Update conflict'),
    refusal: refusal === undefined ? undefined : { ...refusal, message: '' },
  }));
  return sorted({ status, headers, body: { errors } });
}

interface Found {
  readonly allocation_requests: readonly { allocations: object }[];
}

/** With a limit each gives what it likes of all candidates, but as many, and no tree twice before another once. */
async function limitedDifference(one: string, several: string, request: Request): Promise<string | null> {
  const path = `${request.path}&limit=${LIMIT}`;
  const [expected, got] = await Promise.all([one, several].map((url) => exchange(url, { ...request, path })));
  const [less, more] = [expected?.body, got?.body] as [Found, Found];
  if (less.allocation_requests.length === more.allocation_requests.length) return null;
  return `${path}: ${less.allocation_requests.length} were given by one, ${more.allocation_requests.length} by several`;
}

async function stream(seed: string): Promise<{ differences: string[]; compared: number }> {
  const start = (placementShards: number) =>
    startPlacementApi({ host: '127.0.0.1', port: 0, placement: 'memory', placementShards });
  const [one, several] = await Promise.all([start(1), start(SHARDS)]);
  const choose = chooserOf(seededRandom(seed));
  const world = worldOf(one.url);
  const differences: string[] = [];
  let compared = 0;
  try {
    for (const { url } of [one, several]) {
      for (const name of ['CUSTOM_RED', 'CUSTOM_BLUE'])
        await exchange(url, { method: 'PUT', path: `/traits/${name}`, minor: MAX_MINOR });
      await exchange(url, { method: 'PUT', path: '/resource_classes/CUSTOM_GOLD', minor: MAX_MINOR });
    }
    for (let n = 0; n < REQUESTS && differences.length === 0; n += 1) {
      const request = await nextRequest(choose, world);
      const got = await exchange(several.url, request);
      // A tree stays with its shard: that is known, and told.
      if (JSON.stringify(got.body).includes('other-shard')) continue;
      const expected = await exchange(one.url, request);
      compared += 1;
      if (!isDeepStrictEqual(normal(expected), normal(got))) {
        const { minor, ...asked } = request;
        const where = `${seed}, request ${n}: ${JSON.stringify(asked)} at 1.${minor}`;
        differences.push([where, ...apart(normal(expected), normal(got), '')].join('\n'));
      }
      const isQuery = request.path.startsWith('/allocation_candidates') && request.minor >= LIMIT_SINCE;
      if (!isQuery || request.headers !== undefined || got.status !== 200) continue;
      const lost = await limitedDifference(one.url, several.url, request);
      if (lost !== null) differences.push(`${seed}, request ${n} with a limit: ${lost}`);
    }
  } finally {
    await Promise.all([one.close(), several.close()]);
  }
  return { differences, compared };
}

test('random streams of requests are answered alike by one shard and by four', async () => {
  const differences: string[] = [];
  let compared = 0;
  for (let n = 0; n < STREAMS; n += 1) {
    const came = await stream(`${SEED}-${n}`);
    differences.push(...came.differences);
    compared += came.compared;
  }
  assert.is(differences.length, 0, `${differences.length} differences:\n${differences.slice(0, 20).join('\n')}`);
  assert.ok(compared > STREAMS * REQUESTS * 0.9, `only ${compared} requests were compared`);
});

test.run();
