// Area: Placement API. While nodes are replaced one by one an older version may serve placement, which does not know all
// that fronts and placement clients ask: that is no fault of whoever asked them.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats } from '../../runtime/bus/nats.ts';
import { encode } from '../../runtime/codec.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { decodeFrame } from '../../runtime/frames.ts';
import { startNode } from '../../runtime/node.ts';
import { connectPlacement } from '../../runtime/placement-client.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { startTestServer } from '../support/nats-server.ts';
import { failureOf } from '../support/until.ts';
import { errorIn, holding, id, placementApi } from './support.ts';

const test = suite('Placement API - beside an older shard');
const SHARD = 'placement/0';
const WORDS = `an older version serves '${SHARD}' and does not know what it is asked; ask again when it is replaced`;

/** A shard that cannot take what it is asked, for the reason that `faults` has for it by its type. */
async function withShard(
  faults: Readonly<Record<string, { readonly field: string; readonly reason: string }>>,
  act: (at: { readonly url: string; readonly heard: readonly string[] }) => Promise<void>,
): Promise<void> {
  const server = await startTestServer();
  const subjects = subjectsOf();
  // What is kept of a deployment stays.
  await (await startNode({ roles: ['placement'], nats: { servers: server.url } })).stop();
  const bus = await connectNats({ servers: server.url, name: 'shard' });
  const heard: string[] = [];
  bus.subscribe(subjects.of(SHARD), ({ data }) => {
    for (const { from, messages } of decodeFrame(data, bus.maxPayloadBytes)) {
      for (const { type, ...more } of messages) {
        heard.push(type);
        const { ask } = more as unknown as { ask: number };
        const fault = faults[type] ?? { field: 'type', reason: `there is no message of type "${type}" here` };
        const declined = { type: 'declined', ask, code: 'malformed', ...fault };
        bus.publish(subjects.of(from), encode([{ from: SHARD, messages: [declined] }]));
      }
    }
  });
  try {
    await act({ url: server.url, heard });
  } finally {
    await bus.close();
    await server.stop();
  }
}

test('a request of which it does not know the question, or a part of that, is answered with 503 and why', () =>
  withShard(
    { 'allocations-put': { field: 'consumers.0.homes', reason: "has an unknown field 'consumers.0.homes'" } },
    async ({ url }) => {
      const api = await placementApi({ placement: { servers: [url] } });
      try {
        const unknown = await api.ask('GET /resource_classes');
        assert.is(unknown.status, 503);
        assert.match(errorIn(unknown).detail, WORDS);
        const partly = await api.ask(`PUT /allocations/${id('c', 1)}`, holding({ [id('a', 1)]: { VCPU: 1 } }));
        assert.is(partly.status, 503);
        assert.match(errorIn(partly).detail, WORDS);
      } finally {
        await api.close();
      }
    },
  ));

test('a request that is wrong by what this version takes is refused as ever', () => {
  const reason = "'name' of 'providers-find' must not have more than 200 characters";
  return withShard({ 'providers-find': { field: 'name', reason } }, async ({ url }) => {
    const api = await placementApi({ placement: { servers: [url] } });
    try {
      const tooLong = await api.ask(`GET /resource_providers?name=${'x'.repeat(201)}`);
      assert.is(tooLong.status, 400);
      assert.match(errorIn(tooLong).detail, reason);
    } finally {
      await api.close();
    }
  });
});

test('a placement client that asks what it does not know is told so at once', () =>
  withShard({}, async ({ url, heard }) => {
    const client = await connectPlacement({ servers: url });
    try {
      const fault = (await failureOf(() => client.read(['consumer']))) as CellwrightError;
      assert.equal([fault.code, fault.retryable, fault.message], ['unknown-version', true, WORDS]);
      assert.equal(heard, ['consumers-read'], 'it is not asked again');
    } finally {
      await client.close();
    }
  }));

test.run();
