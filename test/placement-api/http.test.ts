// Area: Placement API. What all requests go through: versions, who may ask, what may be sent and accepted, and the
// headers and bodies of answers and errors.

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type ClientRequest, get, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { listen } from '../../runtime/placement-api/server.ts';
import { developmentTokens, tokensFrom } from '../../runtime/placement-api/tokens.ts';
import { startTestServer } from '../support/nats-server.ts';
import { type Api, errorIn, id, placementApi } from './support.ts';

const test = suite<{ api: Api }>('Placement API - HTTP');
const version = (text: string) => ({ 'openstack-api-version': text });

test.before.each(async (context) => {
  context.api = await placementApi();
});
test.after.each(async ({ api }) => api.close());

test('the root tells the versions to anybody', async ({ api }) => {
  const { status, body } = await api.ask('GET /', undefined, { 'x-auth-token': '' });
  assert.is(status, 200);
  const links = [{ rel: 'self', href: '' }];
  const told = { id: 'v1.0', max_version: '1.39', min_version: '1.0', status: 'CURRENT', links };
  assert.equal(body, { versions: [told] });
});

test('a version is agreed on, told back, and varies the answer', async ({ api }) => {
  for (const [asked, agreed] of [
    ['placement 1.7', '1.7'],
    ['placement latest', '1.39'],
    ['compute 2.1, placement 1.10', '1.10'],
    ['compute 2.1', '1.0'],
    ['', '1.0'],
  ] as const) {
    const { headers } = await api.ask('GET /resource_providers', undefined, version(asked));
    assert.is(headers.get('openstack-api-version'), `placement ${agreed}`, asked);
    assert.is(headers.get('vary'), 'openstack-api-version');
  }
});

test('a version that there is not is refused with the range, one that cannot be read without', async ({ api }) => {
  const none = await api.ask('GET /', undefined, version('placement 1.40'));
  assert.is(none.status, 406);
  const { max_version, min_version, detail } = errorIn(none);
  assert.equal([min_version, max_version], ['1.0', '1.39']);
  assert.match(detail, 'Unacceptable version header: 1.40');
  const odd = await api.ask('GET /', undefined, version('placement cow'));
  assert.is(odd.status, 400);
  assert.match(JSON.stringify(odd.body), "invalid literal for int() with base 10: 'cow'");
});

test('times of change and caching are told since 1.15', async ({ api }) => {
  for (const [asked, told] of [
    ['placement 1.14', false],
    ['placement 1.15', true],
  ] as const) {
    const { headers } = await api.ask('GET /resource_providers', undefined, version(asked));
    assert.is(headers.has('last-modified'), told);
    assert.is(headers.get('cache-control'), told ? 'no-cache' : null);
  }
});

test('codes of errors are told since 1.23, request ids always', async ({ api }) => {
  const path = 'GET /resource_providers/none';
  for (const [asked, code] of [
    ['placement 1.22', undefined],
    ['placement 1.23', 'placement.undefined_code'],
  ] as const) {
    const said = await api.ask(path, undefined, version(asked));
    const { status, headers } = said;
    const error = errorIn(said);
    assert.is(status, 404);
    assert.is(error.code, code);
    assert.is(error.request_id, headers.get('x-openstack-request-id'));
    assert.match(String(error.request_id), /^req-[0-9a-f-]{36}$/);
  }
});

test('what is older than its version is not there', async ({ api }) => {
  assert.is((await api.ask('GET /traits', undefined, version('placement 1.5'))).status, 404);
  assert.is((await api.ask('GET /traits', undefined, version('placement 1.6'))).status, 200);
  const path = 'DELETE /resource_providers/none/inventories';
  assert.is((await api.ask(path, undefined, version('placement 1.4'))).status, 405);
  assert.is((await api.ask(path, undefined, version('placement 1.5'))).status, 404);
});

test('methods, types and lengths are refused as the reference refuses them', async ({ api }) => {
  const wrong = await api.ask('PATCH /allocations/x');
  assert.is(wrong.status, 405);
  assert.is(wrong.headers.get('allow'), 'GET, PUT, DELETE');
  assert.is((await api.ask('HEAD /traits')).status, 405);
  assert.is((await api.ask('GET /nothing')).status, 404);
  const typed = await api.ask('POST /resource_providers', { name: 'x' }, { 'content-type': 'text/plain' });
  assert.is(typed.status, 415);
  assert.match(JSON.stringify(typed.body), 'The media type text/plain is not supported, use application/json');
  const untyped = await api.ask('POST /resource_providers', { name: 'x' }, { 'content-type': '' });
  assert.is(untyped.status, 400);
  assert.match(JSON.stringify(untyped.body), 'content-type header required when content-length > 0');
  const unacceptable = await api.ask('GET /resource_providers', undefined, { accept: 'text/plain' });
  assert.is(unacceptable.status, 406);
  assert.match(String(unacceptable.body), 'Only application/json is provided');
  const large = await api.ask('POST /resource_providers', `"${'x'.repeat(5 * 1024 * 1024)}"`);
  assert.is(large.status, 413);
});

test('longer lists than are taken at once are refused by their names', async ({ api }) => {
  const admin = version('placement 1.39');
  const host = await api.ask('POST /resource_providers', { name: 'host of lists' }, admin);
  const path = `/resource_providers/${host.body.uuid}`;
  const uuids = Array.from({ length: 1_001 }, (_, n) => id('e', n));
  const generation = { resource_provider_generation: 0 };
  const inventories = { [String(host.body.uuid)]: { ...generation, inventories: {} } };
  const one = { allocations: {}, project_id: 'p', user_id: 'u', consumer_generation: null, consumer_type: 'TEST' };
  const consumers = Object.fromEntries(uuids.map((uuid) => [uuid, one]));
  for (const [asked, body, named] of [
    [`PUT ${path}/aggregates`, { aggregates: uuids, ...generation }, 'aggregates'],
    [`PUT ${path}/traits`, { traits: uuids.map((_, n) => `CUSTOM_${n}`), ...generation }, 'traits'],
    ['POST /allocations', consumers, 'consumers'],
    ['POST /reshaper', { inventories, allocations: consumers }, 'consumers'],
  ] as const) {
    const refused = await api.ask(asked, body, admin);
    assert.is(refused.status, 400);
    assert.match(errorIn(refused).detail, `At most 1000 ${named} are taken at once, not 1001`);
  }
});

test('a caller that goes away while it sends is no fault, and nobody is told of it', async () => {
  const told: string[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => told.push(line) });
  const api = await placementApi({ logger });
  try {
    const { port } = new URL(api.url);
    const socket = connect(Number(port), '127.0.0.1');
    const headers = 'host: x\r\nx-auth-token: admin\r\ncontent-type: application/json\r\ncontent-length: 1000';
    socket.write(`POST /resource_providers HTTP/1.1\r\n${headers}\r\nexpect: 100-continue\r\n\r\n`);
    await once(socket, 'data');
    socket.write('{"name"');
    socket.destroy();
    await once(socket, 'close');
    // Asked after it, this is answered after it.
    assert.is((await api.ask('GET /traits')).status, 200);
  } finally {
    await api.close();
  }
  assert.equal(told, []);
});

test('what no message carries, or is no text, is refused before anybody is asked', async ({ api }) => {
  const admin = version('placement 1.39');
  const half = await api.ask('POST /resource_providers', { name: 'half \ud800' }, admin);
  assert.equal([half.status, errorIn(half).detail.includes('half a character')], [400, true]);
  for (const path of ['/allocation_candidates', '/resource_providers']) {
    const odd = await api.ask(`GET ${path}?resources=__proto__:1`, undefined, admin);
    assert.is(odd.status, 400);
    assert.match(errorIn(odd).detail, 'No such resource class __proto__.');
  }
  const bytes = Buffer.concat([Buffer.from('{"name":"a'), Buffer.of(0xff), Buffer.from('"}')]);
  const sent = (method: string, path: string) =>
    fetch(api.url + path, {
      method,
      body: bytes,
      headers: { 'x-auth-token': 'admin', 'content-type': 'application/json', ...admin },
    });
  const notText = await sent('POST', '/resource_providers');
  assert.equal([notText.status, (await notText.text()).includes('no UTF-8')], [400, true]);
  assert.is((await sent('PUT', '/traits/CUSTOM_A')).status, 201, 'a body that nobody reads is none of its business');
  const head = await api.ask('HEAD /', undefined, admin);
  assert.is(head.status, 405);
});

test('what a schema forbids is told in the words of its validator', async ({ api }) => {
  const detailOf = async (request: string, body: unknown) => {
    const said = await api.ask(request, body);
    assert.is(said.status, 400);
    return errorIn(said).detail;
  };
  const missing = await detailOf('POST /resource_providers', {});
  assert.match(missing, "JSON does not validate: 'name' is a required property");
  assert.match(missing, "Failed validating 'required' in schema:");
  assert.match(missing, 'On instance:     {}');
  const extra = await detailOf('POST /resource_providers', { name: 'a', b: 1, c: 2 });
  assert.match(extra, "Additional properties are not allowed ('b', 'c' were unexpected)");
  const long = await detailOf('POST /resource_providers', { name: 'x'.repeat(201) });
  assert.match(long, 'is too long');
  assert.match(long, "Failed validating 'maxLength' in schema['properties']['name']:");
  const parent = await detailOf('POST /resource_providers', { name: 'a', parent_provider_uuid: 'x' });
  assert.match(parent, "'x' is not a 'uuid'");
  const query = await detailOf('GET /allocation_candidates?resources=VCPU:1&group_policy=some', undefined);
  assert.match(query, "Invalid query string parameters: 'some' is not one of ['none', 'isolate']");
  assert.match(await detailOf('POST /resource_providers', '{'), 'Malformed JSON: ');
  const deep = `${'['.repeat(60_000)}${']'.repeat(60_000)}`;
  assert.match(await detailOf('POST /resource_providers', deep), 'Malformed JSON: it is nested deeper than 64');
});

test('in development any token is good, and the headers of the reference say who it is', async ({ api }) => {
  assert.is((await api.ask('GET /traits', undefined, { 'x-auth-token': '' })).status, 401);
  const somebody = await api.ask('GET /traits', undefined, { 'x-auth-token': 'somebody' });
  assert.is(somebody.status, 403);
  assert.match(JSON.stringify(somebody.body), 'Policy does not allow placement:traits:list to be performed.');
  const reader = { 'x-auth-token': 'somebody', 'x-roles': 'reader,member' };
  const system = { ...reader, 'openstack-system-scope': 'all' };
  const own = { ...reader, 'x-project-id': 'p1' };
  assert.is((await api.ask('GET /traits', undefined, reader)).status, 403);
  assert.is((await api.ask('GET /traits', undefined, system)).status, 200);
  assert.is((await api.ask('PUT /traits/CUSTOM_A', undefined, system)).status, 403);
  assert.is((await api.ask('GET /usages?project_id=p1', undefined, own)).status, 200);
  assert.is((await api.ask('GET /usages?project_id=p2', undefined, own)).status, 403);
  const service = { 'x-auth-token': 'somebody', 'x-roles': 'service' };
  assert.is((await api.ask('PUT /traits/CUSTOM_A', undefined, service)).status, 201);
});

test('tokens from a file are the only ones', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cellwright-tokens-'));
  const file = join(folder, 'tokens.json');
  const tokens = [
    { token: 'secret', user: 'nova', project: 'service', roles: ['service'] },
    { token: 'look', user: 'eve', roles: ['reader'], system: true },
  ];
  writeFileSync(file, JSON.stringify({ tokens }));
  const api = await placementApi({ authenticate: tokensFrom(file) });
  try {
    const as = (token: string) => ({ 'x-auth-token': token, 'x-roles': 'admin' });
    assert.is((await api.ask('GET /traits', undefined, as('admin'))).status, 401);
    assert.is((await api.ask('GET /traits', undefined, as('secret'))).status, 200);
    assert.is((await api.ask('PUT /traits/CUSTOM_A', undefined, as('look'))).status, 403);
    writeFileSync(file, '{"tokens":[{"token":"x"}]}');
    assert.throws(() => tokensFrom(file), /lacks the field/);
    writeFileSync(file, JSON.stringify({ tokens: [...tokens, { token: 'x', user: 'b', roles: [] }, tokens[0]] }));
    assert.throws(() => tokensFrom(file), /'tokens\.\d\.token' is the same as 'tokens\.0\.token'$/);
  } finally {
    await api.close();
    rmSync(folder, { recursive: true });
  }
});

test('pages of other origins read answers only where that is allowed', async ({ api }) => {
  const origin = 'http://dashboard.example';
  const closed = await api.ask('GET /', undefined, { origin });
  assert.is(closed.headers.get('access-control-allow-origin'), null);
  const open = await placementApi({ allowedOrigins: [origin] });
  try {
    const { headers } = await open.ask('GET /', undefined, { origin });
    assert.is(headers.get('access-control-allow-origin'), origin);
    const asking = { origin, 'access-control-request-method': 'PUT', 'x-auth-token': '' };
    const before = await open.ask('OPTIONS /traits/CUSTOM_A', undefined, asking);
    assert.is(before.status, 204);
    assert.match(String(before.headers.get('access-control-allow-headers')), 'x-auth-token');
    const stranger = await open.ask('OPTIONS /traits', undefined, { ...asking, origin: 'http://other.example' });
    assert.is(stranger.status, 401);
  } finally {
    await open.close();
  }
});

/** A change of which the server has heard, and whose body has still to come. */
async function begun(url: string): Promise<ClientRequest> {
  const headers = {
    'x-auth-token': 'admin',
    'openstack-api-version': 'placement 1.39',
    'content-type': 'application/json',
    expect: '100-continue',
  };
  const change = request(`${url}/resource_classes`, { method: 'POST', headers });
  change.flushHeaders();
  await once(change, 'continue');
  return change;
}

async function statusOf(change: ClientRequest): Promise<[status: number | undefined, said: string]> {
  const [response] = (await once(change, 'response')) as [IncomingMessage];
  const chunks = await response.toArray();
  return [response.statusCode, Buffer.concat(chunks).toString()];
}

test('what was asked before it stops is answered, and nobody is asked to wait for more', async () => {
  const api = await placementApi();
  const change = await begun(api.url);
  const told = statusOf(change);
  const closed = api.close();
  change.end('{"name":"CUSTOM_LATE"}');
  assert.equal(await told, [201, '']);
  await closed;
});

test('of what was asked on one connection before it stops all is answered', async () => {
  const api = await placementApi();
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  const body = '{"name":"CUSTOM_LATE"}';
  const headers = ['x-auth-token: admin', 'openstack-api-version: placement 1.39', 'content-type: application/json'];
  const length = [`content-length: ${body.length}`, 'expect: 100-continue'];
  socket.write(['POST /resource_classes HTTP/1.1', 'host: api', ...headers, ...length, '', ''].join('\r\n'));
  await once(socket, 'data');
  const closed = api.close();
  const next = 'GET / HTTP/1.1\r\nhost: api\r\n\r\n';
  socket.write(`${body}${next}${next}`);
  const answers = Buffer.concat(await socket.toArray()).toString();
  assert.equal(answers.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 201', 'HTTP/1.1 200', 'HTTP/1.1 200']);
  assert.is(answers.match(/^connection: close/gim)?.length, 1);
  await closed;
});

test('what has come on a connection that was kept, and is not read yet when it stops, is answered', async () => {
  const api = await placementApi();
  const { hostname, port } = new URL(api.url);
  const socket = connect(Number(port), hostname);
  const answers: Buffer[] = [];
  socket.on('data', (data) => answers.push(data));
  const ended = once(socket, 'close');
  socket.write('GET / HTTP/1.1\r\nhost: api\r\n\r\n');
  await once(socket, 'data');
  socket.write('GET / HTTP/1.1\r\nhost: api\r\n\r\n');
  await Promise.all([api.close(), ended]);
  const told = Buffer.concat(answers).toString();
  assert.equal(told.match(/HTTP\/1.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200']);
});

test('an answer that is still being sent when it stops is sent to its end', async () => {
  const traits = Array.from({ length: 200_000 }, (_, n) => `CUSTOM_${'T'.repeat(100)}_${n}`);
  const authority = { ask: async () => ({ ok: { traits, associated: [] } }), stop() {} };
  const authenticate = developmentTokens;
  const options = { host: '127.0.0.1', port: 0, authority, authenticate, allowedOrigins: [], now: () => 0 };
  const server = await listen({ ...options, onError: assert.unreachable });
  const headers = { 'x-auth-token': 'admin', 'openstack-api-version': 'placement 1.39' };
  const [response] = (await once(get(`${server.url}/traits`, { headers }), 'response')) as [IncomingMessage];
  const closed = server.close();
  let bytes = 0;
  for await (const chunk of response) bytes += chunk.length;
  assert.is(bytes, JSON.stringify({ traits }).length);
  await closed;
});

test('connections on which nothing is asked do not put off its end', async () => {
  const api = await placementApi();
  const { hostname, port } = new URL(api.url);
  const spare = connect(Number(port), hostname);
  await once(spare, 'connect');
  await api.ask('GET /traits');
  const at = performance.now();
  await Promise.all([api.close(), once(spare, 'close')]);
  assert.ok(performance.now() - at < 1_500);
});

test('what placement does not answer before it stops is refused, and who asked is told', async () => {
  const server = await startTestServer();
  try {
    const placement = { servers: server.url };
    const api = await placementApi({ placement, placementShards: 1 });
    const asked = api.ask('GET /resource_classes');
    const change = await begun(api.url);
    const told = statusOf(change);
    change.end('{"name":"CUSTOM_LATE"}');
    await api.close();
    const { status, body } = await asked;
    for (const [code, said] of [await told, [status, JSON.stringify(body)] as const]) {
      assert.is(code, 503);
      assert.match(said, /the Placement API is stopping/);
    }
  } finally {
    await server.stop();
  }
});

test.run();
