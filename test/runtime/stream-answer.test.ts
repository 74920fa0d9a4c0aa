// Area: streams that answer. What an operator's stream acknowledges of what is asked is taken for nobody's answer.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { connectNats } from '../../runtime/bus/nats.ts';
import { clientOf } from '../../runtime/client.ts';
import type { CellwrightError } from '../../runtime/errors.ts';
import { startNode } from '../../runtime/node.ts';
import { refuseOfStream } from '../../runtime/stream-answer.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { quickDriver } from '../e2e/system.ts';
import { startTestServer } from '../support/nats-server.ts';
import { failureOf } from '../support/until.ts';

const test = suite('streams that answer');

test('streams that answer - neither a build nor the host of a compute is known by what a stream acknowledges', async () => {
  const server = await startTestServer();
  const bus = await connectNats({ servers: server.url, name: 'test', onError() {} });
  try {
    const { streams } = await bus.connection.jetstreamManager();
    await streams.add({ name: 'kept', subjects: ['cw.api.>', 'cw.cell.*.compute.*'] });
    const client = clientOf({ bus, clock: systemClock(), subjects: subjectsOf() });
    const roles = ['compute:c1/h1'];
    const started = () => startNode({ roles, nats: { servers: server.url }, driver: () => quickDriver('c1', 'h1') });
    for (const [subject, work] of [
      ['cw.api.build', () => client.build({ id: 'web', resources: { VCPU: 1 } })],
      ['cw.cell.c1.compute.h1', started],
    ] as const) {
      const { code, message, retryable } = (await failureOf(work)) as CellwrightError;
      assert.equal([code, retryable], ['answered-by-stream', false]);
      assert.match(
        message,
        new RegExp(`^stream 'kept' keeps what is sent to '${subject}'.*: nats stream edit kept --no-ack$`),
      );
    }
  } finally {
    await bus.close();
    await server.stop();
  }
});

test("streams that answer - an answer that names a stream, or says nothing, is nobody else's for that", () => {
  for (const body of [
    null,
    undefined,
    'kept',
    {},
    { stream: 'kept' },
    { seq: 1 },
    { stream: { name: 'kept' }, seq: 1 },
  ]) {
    assert.not.throws(() => refuseOfStream('cw.api.show', body), JSON.stringify(body));
  }
});

test.run();
