// Area: nats errors. What the codes of JetStream mean to whoever called.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { busError } from '../../runtime/bus/nats-errors.ts';

const test = suite('nats errors');

/** What the client throws where JetStream refuses. */
function refusal(code: number, err_code: number, description: string) {
  return Object.assign(new Error(description), { code: String(code), api_error: { code, err_code, description } });
}

test('nats errors - a cluster with fewer servers than copies may only be starting, and the option is named', () => {
  const { code, field, retryable, message } = busError(
    refusal(400, 10005, 'no suitable peers for placement'),
    'bucket cw_leases',
  );
  assert.equal([code, field, retryable], ['jetstream-refused', 'replicas', true]);
  assert.is(
    message,
    'JetStream refuses bucket cw_leases: no suitable peers for placement; ' +
      "a cluster needs as many servers with JetStream, and room there, as 'replicas' says",
  );
});

test('nats errors - what JetStream refuses of a request is for good, and what the server cannot do now is not', () => {
  assert.is(busError(refusal(400, 10052, 'stream name is wrong'), 'stream').retryable, false);
  assert.is(busError(refusal(503, 10008, 'temporarily unavailable'), 'stream').retryable, true);
});

test.run();
