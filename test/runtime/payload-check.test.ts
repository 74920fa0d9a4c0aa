// Area: the check of the largest message. A node at a server that takes only small ones says so, with what that leads to.

import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CellwrightError } from '../../runtime/errors.ts';
import { startNode } from '../../runtime/node.ts';
import { payloadCheck } from '../../runtime/payload-check.ts';
import { startTestServer } from '../support/nats-server.ts';

const test = suite('payload check');

test('payload check - a limit that is too small is told of once, and another one anew', () => {
  const told: string[] = [];
  const check = payloadCheck((error, what) => told.push(`${what}: ${(error as CellwrightError).code}`));
  for (const maxPayloadBytes of [1_048_576, 1_000_000]) check({ maxPayloadBytes });
  assert.equal(told, []);
  for (const maxPayloadBytes of [999_999, 999_999, 65_536]) check({ maxPayloadBytes });
  assert.equal(told, Array(2).fill('the largest message: small-max-payload'));
});

test('payload check - a node that starts at such a server warns of it, and starts', async () => {
  const server = await startTestServer({ maxPayloadBytes: 65_536 });
  const told: { code?: string; msg: string }[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => told.push(JSON.parse(line)) });
  try {
    const node = await startNode({ roles: ['scheduler'], nats: { servers: server.url }, logger });
    await node.stop();
  } finally {
    await server.stop();
  }
  assert.equal(
    told.map(({ code }) => code),
    ['small-max-payload'],
  );
  assert.match(
    told[0]?.msg ?? '',
    /takes messages of 65536 bytes at most, and 1000000 are needed: .*; raise max_payload, and start this node anew$/,
  );
});

test.run();
