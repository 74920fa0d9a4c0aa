// Area: client. A request whose taker died with it is made again, as the same request, and given up when the time is up.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryServer } from '../../runtime/bus/memory.ts';
import { clientOf } from '../../runtime/client.ts';
import { decode, encode } from '../../runtime/codec.ts';
import { type CellwrightError, MalformedError, OverloadedError, TimeoutError } from '../../runtime/errors.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { failureOf, settled } from '../support/until.ts';

const test = suite('client');

/** A client and an API that leaves the first few requests unanswered. */
function rig(unanswered: number) {
  const clock = virtualClock();
  const server = memoryServer({ clock });
  const subjects = subjectsOf();
  const asked: { id?: string }[] = [];
  const api = server.connect();
  api.subscribe(subjects.api('build'), ({ data, reply }) => {
    const request = decode(data) as { id?: string };
    asked.push(request);
    if (asked.length <= unanswered) return;
    api.publish(reply ?? '', encode({ request: request.id, instances: [request.id] }));
  });
  const client = clientOf({ bus: server.connect(), clock, subjects, timeoutMs: 10_000 });
  return { clock, client, asked, api, subjects, connect: () => server.connect() };
}

test('client - a request that nobody answers is made again under the same name', async () => {
  const { clock, client, asked } = rig(2);
  const { request } = await settled(clock, client.build({ resources: { VCPU: 1 } }));
  assert.equal(
    asked.map(({ id }) => id),
    [request, request, request],
  );
});

test('client - what the first taker answers late is the answer, though the request was made again', async () => {
  const { clock, client, api, subjects } = rig(100);
  const error = { code: 'no-owner', message: "no node serves 'conductor/0' now", retryable: true };
  let asked = 0;
  api.subscribe(subjects.api('show'), ({ reply }) => {
    asked += 1;
    if (asked === 1) clock.after(8_000, () => api.publish(reply ?? '', encode({ error })));
  });
  const failure = await settled(
    clock,
    failureOf(() => client.show('web')),
  );
  assert.equal([failure.code, asked], ['no-owner', 5]);
});

test('client - while one who took a request may still answer, that nobody hears its copy is no answer', async () => {
  const { clock, client, api, subjects } = rig(100);
  const leave = api.subscribe(subjects.api('show'), ({ reply }) => {
    leave.unsubscribe();
    clock.after(8_000, () => api.publish(reply ?? '', encode({ instance: 'web', state: 'active' })));
  });
  assert.is((await settled(clock, client.show('web'))).state, 'active');
  const nobody = await settled(
    clock,
    failureOf(() => client.show('web')),
  );
  assert.is(nobody.code, 'no-responders');
});

test('client - when the time is up it says so', async () => {
  const { clock, client } = rig(100);
  const failure = await settled(
    clock,
    failureOf(() => client.build({ resources: { VCPU: 1 } })),
  );
  assert.is(failure.code, 'timeout');
  assert.match(failure.message, /10000 ms/);
});

test('client - what is no request, no id or no time is refused in words, at once and here', async () => {
  const { client, asked } = rig(0);
  const requests = ['build', 'fit', 'whyNot', 'hosts', 'host', 'list'] as const;
  for (const verb of requests) {
    for (const none of [null, 5, 'x', [], true]) {
      const call = client[verb] as (request: unknown) => Promise<unknown>;
      const failure = await failureOf(() => call(none));
      assert.is(failure.code, 'malformed');
      assert.match(failure.message, /^the [a-z-]+ request must be an object$/);
    }
  }
  for (const timeoutMs of [Number.NaN, -1, '5' as never]) {
    assert.is((await failureOf(() => client.ended('web', { timeoutMs }))).code, 'bad-option');
  }
  const noObject = await failureOf(() => client.ended('web', new Map([['timeoutMs', 5]]) as never));
  assert.match(noObject.message, /must be a plain object, not a Map/);
  const misspelt = (await failureOf(() => client.ended('web', { timeoutms: 5 } as never))) as CellwrightError;
  assert.equal([misspelt.code, misspelt.field], ['bad-option', 'timeoutms']);
  assert.equal(asked, []);
});

/** An API that cannot say, for the first few times, how an instance stands. */
function failing(times: number, { code, retryable }: { code: string; retryable: boolean }) {
  const { clock, client, api, subjects } = rig(0);
  let looked = 0;
  api.subscribe(subjects.api('show'), ({ reply }) => {
    looked += 1;
    const answer =
      looked <= times ? { error: { code, message: 'not now', retryable } } : { instance: 'web', state: 'active' };
    api.publish(reply ?? '', encode(answer));
  });
  return { clock, client, looked: () => looked };
}

test('client - a host is set as it stands: where somebody else has set it meanwhile, it is asked again', async () => {
  const { clock, client, api, subjects } = rig(0);
  const said: unknown[] = [];
  let revision = 3;
  api.subscribe(subjects.api('hosts'), ({ data, reply }) => {
    said.push(decode(data));
    api.publish(reply ?? '', encode({ hosts: [{ host: 'h1', state: 'up', revision }], next: null }));
  });
  api.subscribe(subjects.api('host'), ({ data, reply }) => {
    said.push(decode(data));
    revision += 1;
    const error = { code: 'outdated', message: 'it has been set since', retryable: false };
    const answer = said.length === 2 ? { error } : { cell: 'c1', host: 'h1', state: 'disabled' };
    api.publish(reply ?? '', encode(answer));
  });
  const asked = { cell: 'c1', host: 'h1', enabled: false };
  assert.is((await settled(clock, client.host(asked))).state, 'disabled');
  const look = { cell: 'c1', host: 'h1' };
  assert.equal(said, [look, { ...asked, revision: 3 }, look, { ...asked, revision: 4 }]);
});

test('client - a host is set as it was asked, whatever the caller makes of the request meanwhile', async () => {
  const { clock, client, api, subjects } = rig(0);
  const said: unknown[] = [];
  api.subscribe(subjects.api('hosts'), ({ data, reply }) => {
    const { host } = decode(data) as { host: string };
    const revision = host === 'h1' ? 3 : 4;
    api.publish(reply ?? '', encode({ hosts: [{ host, state: 'up', revision }], next: null }));
  });
  api.subscribe(subjects.api('host'), ({ data, reply }) => {
    const request = decode(data) as { host: string };
    said.push(request);
    api.publish(reply ?? '', encode({ cell: 'c1', host: request.host, state: 'disabled' }));
  });
  const request = { cell: 'c1', host: 'h1', enabled: false };
  const first = client.host(request);
  request.host = 'h2';
  await settled(clock, Promise.all([first, client.host(request)]));
  assert.equal(said, [
    { cell: 'c1', host: 'h1', enabled: false, revision: 3 },
    { cell: 'c1', host: 'h2', enabled: false, revision: 4 },
  ]);
});

test('client - a cell is set as it stands, and only looked at where nothing is to be set', async () => {
  const { clock, client, api, subjects } = rig(0);
  const said: unknown[] = [];
  let revision = 3;
  api.subscribe(subjects.api('cell'), ({ data, reply }) => {
    const asked = decode(data) as { enabled?: boolean };
    said.push(asked);
    const isFirst = said.length === 2;
    if (isFirst) revision += 1;
    const error = { code: 'outdated', message: 'it has been set since', retryable: false };
    api.publish(reply ?? '', encode(isFirst ? { error } : { cell: 'c1', enabled: asked.enabled !== false, revision }));
  });
  const asked = { cell: 'c1', enabled: false, reason: 'new switches' };
  assert.is((await settled(clock, client.cell(asked))).enabled, false);
  const look = { cell: 'c1' };
  assert.equal(said, [look, { ...asked, revision: 3 }, look, { ...asked, revision: 4 }]);
  assert.is((await settled(clock, client.cell(look))).enabled, true);
  await settled(clock, client.cell({ ...asked, revision: 9 }));
  assert.equal(said.slice(4), [look, { ...asked, revision: 9 }]);
});

test('client - the time to wait is that of the whole of setting a host, the look at it included', async () => {
  const { clock, client, api, subjects } = rig(0);
  api.subscribe(subjects.api('hosts'), ({ reply }) => {
    clock.after(9_000, () => api.publish(reply ?? '', encode({ hosts: [], next: null })));
  });
  api.subscribe(subjects.api('host'), () => {});
  const from = clock.monotonic();
  const failing = failureOf(() => client.host({ cell: 'c1', host: 'h1', enabled: false }));
  assert.is((await settled(clock, failing)).code, 'timeout');
  assert.is(clock.monotonic() - from, 10_000);
});

test('client - who waits for a build that nobody tells of waits as long as he has said', async () => {
  const { clock, client, api, subjects } = rig(0);
  api.subscribe(subjects.api('show'), () => {});
  for (const timeoutMs of [500, 12_345]) {
    const from = clock.monotonic();
    const late = await settled(
      clock,
      failureOf(() => client.ended('web', { timeoutMs })),
    );
    assert.ok(late instanceof TimeoutError);
    assert.match(
      late.message,
      `whether 'web' had ended after ${timeoutMs} ms is not known: 'cw.api.show' did not answer`,
    );
    const overMs = clock.monotonic() - from - timeoutMs;
    assert.ok(overMs >= 0 && overMs <= 250, `${overMs}`);
  }
});

test('client - of a build that has not ended in time it is said how it stands', async () => {
  const { clock, client, api, subjects } = rig(0);
  const view = { instance: 'web', request: 'web', state: 'building', cell: 'c1', host: 'h2' };
  api.subscribe(subjects.api('show'), ({ reply }) => api.publish(reply ?? '', encode(view)));
  const late = await settled(
    clock,
    failureOf(() => client.ended('web', { timeoutMs: 500 })),
  );
  assert.ok(late instanceof TimeoutError);
  assert.is(late.message, "'web' had not ended after 500 ms: it is building on c1/h2");
});

test('client - with no time to wait, how a build stands now is looked at once', async () => {
  const { clock, client, looked } = failing(0, { code: 'no-owner', retryable: true });
  assert.is((await settled(clock, client.ended('web', { timeoutMs: 0 }))).state, 'active');
  assert.is(looked(), 1);
});

test('client - the time to wait is not begun anew for one who was overloaded at first', async () => {
  const { clock, client, api, subjects } = rig(0);
  const error = { code: 'overloaded', message: 'not now', retryable: true, retryAfterMs: 4_000 };
  let asked = 0;
  api.subscribe(subjects.api('fit'), ({ reply }) => {
    asked += 1;
    if (asked === 1) api.publish(reply ?? '', encode({ error }));
  });
  const from = clock.monotonic();
  const failure = await settled(
    clock,
    failureOf(() => client.fit({ resources: { VCPU: 1 } })),
  );
  assert.ok(failure instanceof TimeoutError);
  assert.match(failure.message, /^'cw\.api\.fit' did not answer .*; before that it said: not now$/);
  assert.is(clock.monotonic() - from, 10_000);
});

test('client - what the API answers with is an error of the class that its code has', async () => {
  const classes = { malformed: MalformedError, timeout: TimeoutError, overloaded: OverloadedError };
  for (const [code, type] of Object.entries(classes)) {
    const { clock, client, api, subjects } = rig(0);
    const error = { code, message: `it is ${code}`, retryable: code !== 'malformed', retryAfterMs: 20_000 };
    api.subscribe(subjects.api('fit'), ({ reply }) => api.publish(reply ?? '', encode({ error })));
    const failure = await settled(
      clock,
      failureOf(() => client.fit({ resources: { VCPU: 1 } })),
    );
    assert.ok(failure instanceof type, code);
    assert.equal([failure.code, failure.message, failure.retryable], [code, error.message, error.retryable]);
  }
});

test('client - who has no time to wait is told so, and does not wait for ever', async () => {
  const clock = virtualClock();
  const server = memoryServer({ clock });
  const subjects = subjectsOf();
  const api = server.connect();
  for (const verb of ['show', 'hosts']) api.subscribe(subjects.api(verb), () => {});
  const client = clientOf({ bus: server.connect(), clock, subjects, timeoutMs: 0 });
  for (const call of [() => client.show('web'), () => client.host({ cell: 'c1', host: 'h1', enabled: false })]) {
    assert.is((await settled(clock, failureOf(call))).code, 'timeout');
  }
});

test('client - a request that is made again is the one that was made, whatever became of its object', async () => {
  const { clock, client, api, subjects } = rig(0);
  const asked: unknown[] = [];
  api.subscribe(subjects.api('fit'), ({ data, reply }) => {
    asked.push(decode(data));
    const error = { code: 'overloaded', message: 'not now', retryable: true, retryAfterMs: 50 };
    api.publish(reply ?? '', encode(asked.length === 1 ? { error } : { fit: true }));
  });
  const request = { resources: { VCPU: 1 } };
  const answer = client.fit(request);
  request.resources.VCPU = 2;
  await settled(clock, answer);
  assert.equal(asked, [{ resources: { VCPU: 1 } }, { resources: { VCPU: 1 } }]);
});

test('client - who waits for a build waits on while nobody can say how it stands', async () => {
  for (const code of ['no-owner', 'timeout', 'no-responders']) {
    const { clock, client, looked } = failing(3, { code, retryable: true });
    assert.is((await settled(clock, client.ended('web'))).state, 'active', code);
    assert.is(looked(), 4, code);
  }
  const { clock, client } = failing(Number.POSITIVE_INFINITY, { code: 'no-owner', retryable: true });
  const late = await settled(
    clock,
    failureOf(() => client.ended('web', { timeoutMs: 5_000 })),
  );
  assert.equal([late.code, late.message], ['timeout', "whether 'web' had ended after 5000 ms is not known: not now"]);
  assert.is(clock.pending, 0);
});

test('client - what no waiting mends ends the wait for a build at once', async () => {
  const { clock, client, looked } = failing(1, { code: 'not-found', retryable: false });
  const failure = await settled(
    clock,
    failureOf(() => client.ended('web')),
  );
  assert.equal([failure.code, looked(), clock.pending], ['not-found', 1, 0]);
});

test('client - an id that is none, waited for, is refused as by the API', async () => {
  const { clock, client, api, subjects } = rig(0);
  const error = { code: 'malformed', message: 'no id', retryable: false, field: 'id' };
  api.subscribe(subjects.api('show'), ({ reply }) => api.publish(reply ?? '', encode({ error })));
  for (const id of ['', '>', '*', 'a.b', 'a b', undefined as never, null as never, {} as never]) {
    const failure = await settled(
      clock,
      failureOf(() => client.ended(id)),
    );
    assert.equal([failure.code, (failure as { field?: string }).field], ['malformed', 'id'], String(id));
  }
});

/** An older version that serves the API: it has no cells taken out of service, and does not know that hosts can be removed. */
function olderApi() {
  const { clock, client, api, subjects } = rig(0);
  const refused = { code: 'malformed', retryable: false };
  api.subscribe(subjects.api('show'), ({ reply }) => {
    const error = { ...refused, message: "the show request lacks the field 'id'", field: 'id' };
    api.publish(reply ?? '', encode({ error }));
  });
  api.subscribe(subjects.api('hosts'), ({ reply }) => api.publish(reply ?? '', encode({ hosts: [], next: null })));
  api.subscribe(subjects.api('host'), ({ data, reply }) => {
    const field = ['remove', 'misspelt'].find((name) => name in (decode(data) as object)) ?? '';
    const error = { ...refused, message: `the host request has an unknown field '${field}'`, field };
    api.publish(reply ?? '', encode({ error }));
  });
  const faultOf = async (work: () => Promise<unknown>) => (await settled(clock, failureOf(work))) as CellwrightError;
  return { client, faultOf };
}

test('client - what an older version that serves the API does not know is no fault of whoever asks', async () => {
  const { client, faultOf } = olderApi();
  const words = 'an older version serves the API and does not know what it is asked; ask again when it is replaced';
  for (const unknown of [
    await faultOf(() => client.cell({ cell: 'c1', enabled: false })),
    await faultOf(() => client.host({ cell: 'c1', host: 'h1', remove: true })),
  ]) {
    assert.equal([unknown.code, unknown.retryable, unknown.message], ['unknown-version', true, words]);
    assert.is(unknown.field, undefined);
  }
  const wrong = await faultOf(() => client.host({ cell: 'c1', host: 'h1', misspelt: true } as never));
  assert.equal([wrong.code, wrong.field], ['malformed', 'misspelt']);
});

test('client - whoever comes up just as nobody is found to serve a verb is asked', async () => {
  const { clock, client, api, subjects } = rig(0);
  api.subscribe(subjects.api('show'), ({ reply }) => {
    api.subscribe(subjects.api('cells'), (asked) => api.publish(asked.reply ?? '', encode({ cells: [] })));
    api.publish(reply ?? '', encode({ error: { code: 'malformed', message: 'no id', retryable: false } }));
  });
  assert.equal(await settled(clock, client.cells()), { cells: [] });
});

test('client - whoever serves the API and says nothing is not waited for longer than there is time', async () => {
  const { clock, api, subjects, connect } = rig(0);
  api.subscribe(subjects.api('show'), () => {});
  const hasty = clientOf({ bus: connect(), clock, subjects, timeoutMs: 100 });
  const fault = await settled(
    clock,
    failureOf(() => hasty.cells()),
  );
  assert.equal([fault.code, clock.monotonic()], ['no-responders', 100]);
});

test.run();
