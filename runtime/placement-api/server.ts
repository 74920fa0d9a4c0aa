// The HTTP server of the Placement API: what all requests go through before a handler and all answers after it. Who
// asks, which microversion, what may be sent and accepted; then the headers that every answer has.

import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type AddressInfo, Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { createAdaptorServer, type ServerType } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { CellwrightError, messageOf } from '../errors.ts';
import { qualityOf } from './accept.ts';
import type { Authority } from './authority.ts';
import type { Reply } from './call.ts';
import { MAX_MINOR, minorOf, VERSION_HEADER } from './microversion.ts';
import { notFound, Problem } from './problem.ts';
import { problemBody } from './problem-body.ts';
import { Query } from './query.ts';
import { ROUTES, type Route } from './routes.ts';
import { type Authenticate, authorize } from './tokens.ts';

/** The largest body that is read, bytes. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const JSON_TYPE = 'application/json';
/** Since when an answer tells when its content changed last. */
const WITH_LAST_MODIFIED = 15;

export interface ServerOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly authority: Authority;
  readonly authenticate: Authenticate;
  /** Origins that browsers may ask from. */
  readonly allowedOrigins: readonly string[];
  now(): number;
  onError(error: unknown, what: string): void;
}

export interface PlacementServer {
  readonly url: string;
  close(): Promise<void>;
}

export interface Listening {
  readonly url: string;
  /** Takes no more; resolves when all that was taken is answered. */
  close(): Promise<void>;
  /** Takes no more, and leaves without an answer what was taken and is not answered yet. */
  cutOff(): void;
}

/** What is known of a request so far, for whatever has to be answered. */
interface Exchange {
  readonly context: Context;
  readonly accept: string;
  readonly requestId: string;
  minor: number | null;
}

/** @throws CellwrightError `cannot-listen`. */
export async function listen(options: ServerOptions): Promise<Listening> {
  const server = createAdaptorServer({ fetch: appOf(options).fetch });
  const connections = new Connections(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const message = `cannot listen on ${options.host}:${options.port}: ${messageOf(error)}`;
      reject(new CellwrightError('cannot-listen', message, { field: 'listen', cause: error }));
    });
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    close: () => connections.close(),
    cutOff() {
      if ('closeAllConnections' in server) server.closeAllConnections();
    },
  };
}

/**
 * The connections of a server, and what is not answered yet on each. When it closes, the server itself would close those
 * on which an answer is still being sent at once, and those on which nothing was ever asked only in the end.
 */
class Connections {
  readonly #server: ServerType;
  readonly #unanswered = new Map<Socket, Set<ServerResponse>>();
  #isClosing = false;

  constructor(server: ServerType) {
    this.#server = server;
    server.on('connection', (socket: Socket) => {
      this.#unanswered.set(socket, new Set());
      socket.once('close', () => this.#unanswered.delete(socket));
    });
    server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      const unanswered = this.#unanswered.get(socket);
      if (unanswered === undefined) return;
      unanswered.add(response);
      if (this.#isClosing) tellLast(unanswered);
      response.once('close', () => {
        unanswered.delete(response);
        if (this.#isClosing && unanswered.size === 0) socket.destroySoon();
      });
    });
  }

  /** Resolves when all is answered. */
  async close(): Promise<void> {
    this.#isClosing = true;
    for (const unanswered of this.#unanswered.values()) tellLast(unanswered);
    const closed = new Promise<void>((resolve) => {
      Server.prototype.close.call(this.#server, () => resolve());
    });
    // What has come by now is read first: the second waits for that where what has come has just been looked for.
    await setImmediate();
    await setImmediate();
    for (const [socket, unanswered] of this.#unanswered) if (unanswered.size === 0) socket.destroy();
    await closed;
    // Now that there are no connections it only ends what looks after them.
    this.#server.close();
  }
}

/** The last answer on a connection says that no more is taken there: what is asked after that is not answered. */
function tellLast(unanswered: ReadonlySet<ServerResponse>): void {
  const last = [...unanswered].at(-1);
  for (const response of unanswered) {
    if (response.headersSent) continue;
    if (response === last) response.setHeader('connection', 'close');
    else response.removeHeader('connection');
  }
}

function appOf(options: ServerOptions): Hono {
  const app = new Hono();
  app.use(async (context, next) => {
    const allowed = preflight(context, options);
    if (allowed !== null) return allowed;
    await next();
    return undefined;
  });
  const answering = (act: (exchange: Exchange) => Promise<Response>) => async (context: Context) => {
    const exchange = exchangeOf(context);
    try {
      return crossOrigin(await act(exchange), exchange, options);
    } catch (error) {
      return crossOrigin(problemResponse(problemOf(error, options), exchange), exchange, options);
    }
  };
  for (const [path, methods] of Object.entries(ROUTES)) {
    for (const [method, route] of Object.entries(methods)) {
      const act = answering((exchange) => handle(exchange, route, options));
      // Hono lets GET answer HEAD; the reference does not.
      app.on(method, path, (context) => (context.req.method === method ? act(context) : refuse(context)));
    }
    app.all(path, (context) => refuse(context));
  }
  const unrouted = (allowed: string | null) =>
    answering(async (exchange) => {
      identify(exchange, options);
      agree(exchange);
      checkContentType(exchange);
      if (allowed === null) throw notFound();
      throw new Problem(405, 'The method specified is not allowed for this resource.', {
        headers: { allow: allowed },
      });
    });
  const refuse = (context: Context) => {
    const path = context.req.routePath;
    return unrouted(Object.keys(ROUTES[path] ?? {}).join(', '))(context);
  };
  const atHome = answering(async (exchange) => home(exchange, options));
  app.all('/', (context) => (context.req.method === 'GET' ? atHome(context) : unrouted('GET')(context)));
  app.notFound((context) => unrouted(null)(context));
  return app;
}

function exchangeOf(context: Context): Exchange {
  const accept = context.req.header('accept');
  return {
    context,
    accept: accept === undefined || accept === '*/*' ? JSON_TYPE : accept,
    requestId: `req-${randomUUID()}`,
    minor: null,
  };
}

function identify({ context }: Exchange, { authenticate }: ServerOptions) {
  const principal = authenticate((name) => context.req.header(name));
  if (principal === null) throw new Problem(401, '');
  return principal;
}

function agree(exchange: Exchange): number {
  const minor = minorOf(exchange.context.req.header(VERSION_HEADER));
  exchange.minor = minor;
  return minor;
}

function checkContentType({ context }: Exchange): void {
  const length = context.req.header('content-length') ?? '';
  if (length === '' || (context.req.header('content-type') ?? '') !== '') return;
  if (!/^\d+$/.test(length)) throw new Problem(400, 'content-length header must be an integer');
  if (Number(length) > 0) throw new Problem(400, 'content-type header required when content-length > 0');
}

async function home(exchange: Exchange, { now }: ServerOptions): Promise<Response> {
  const minor = agree(exchange);
  const version = {
    id: 'v1.0',
    max_version: `1.${MAX_MINOR}`,
    min_version: '1.0',
    status: 'CURRENT',
    links: [{ rel: 'self', href: '' }],
  };
  return response({ status: 200, body: { versions: [version] }, changedAt: 0 }, exchange, minor, now());
}

async function handle(exchange: Exchange, route: Route, options: ServerOptions): Promise<Response> {
  const { context, accept } = exchange;
  const principal = identify(exchange, options);
  const minor = agree(exchange);
  checkContentType(exchange);
  if (minor < route.since) throw new Problem(route.absentStatus, '');
  if (takesJson(route, minor)) requireJson(context);
  if (route.givesJson && qualityOf(accept, JSON_TYPE) === 0) throw new Problem(406, `Only ${JSON_TYPE} is provided`);
  const { searchParams, search } = new URL(context.req.url);
  authorize(principal, route, searchParams.getAll('project_id').at(-1));
  const body = route.changes ? await readBody(context) : Buffer.alloc(0);
  const { authority, now } = options;
  const call = { minor, params: context.req.param(), query: new Query(search), body, authority };
  return response(await route.handler(call), exchange, minor, now());
}

/** A resource class is given a name in a body before 1.7, and without one since. */
const takesJson = (route: Route, minor: number): boolean =>
  route.takesJson || (route.action === 'placement:resource_classes:update' && minor < 7);

function requireJson(context: Context): void {
  const type = contentTypeOf(context);
  if (type !== JSON_TYPE) throw new Problem(415, `The media type ${type} is not supported, use ${JSON_TYPE}`);
}

/** As the reference names it. */
function contentTypeOf({ req }: Context): string {
  const type = (req.header('content-type') ?? '').split(';')[0]?.trim() ?? '';
  return type === '' ? 'None' : type;
}

async function readBody(context: Context): Promise<Buffer> {
  const length = Number(context.req.header('content-length') ?? 0);
  const tooLarge = () => new Problem(413, `At most ${MAX_BODY_BYTES} bytes are read`);
  if (length > MAX_BODY_BYTES) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of context.req.raw.body ?? []) {
      size += chunk.byteLength;
      // Without a length that was told, what comes is counted.
      if (size > MAX_BODY_BYTES) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    // Whoever sent it has gone, and hears no answer.
    throw error instanceof Problem ? error : new Problem(400, `The body was broken off: ${messageOf(error)}`);
  }
  return Buffer.concat(chunks);
}

function response(reply: Reply, exchange: Exchange, minor: number, now: number): Response {
  const headers = commonHeaders(exchange);
  if (reply.location !== undefined) headers.set('location', new URL(reply.location, exchange.context.req.url).href);
  if (minor >= WITH_LAST_MODIFIED && reply.changedAt !== undefined) {
    headers.set('last-modified', new Date(reply.changedAt === 0 ? now : reply.changedAt).toUTCString());
    headers.set('cache-control', 'no-cache');
  }
  if (reply.body === undefined) return new Response(null, { status: reply.status, headers });
  headers.set('content-type', JSON_TYPE);
  return new Response(JSON.stringify(reply.body), { status: reply.status, headers });
}

function commonHeaders({ requestId, minor }: Exchange): Headers {
  const headers = new Headers({ 'x-openstack-request-id': requestId });
  if (minor === null) return headers;
  headers.set(VERSION_HEADER, `placement 1.${minor}`);
  headers.set('vary', VERSION_HEADER);
  return headers;
}

function problemOf(error: unknown, { onError }: ServerOptions): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof CellwrightError) {
    if (error.code === 'malformed') return new Problem(400, error.message);
    if (error.code === 'payload-too-large') {
      return new Problem(413, `The request does not fit into one message to placement: ${error.message}`);
    }
    return new Problem(503, error.message);
  }
  onError(error, 'a request of the Placement API');
  return new Problem(500, messageOf(error));
}

function problemResponse(problem: Problem, exchange: Exchange): Response {
  const { context, accept, requestId, minor } = exchange;
  const { method } = context.req;
  const told = problemBody(problem, {
    method,
    accept,
    contentType: contentTypeOf(context),
    requestId,
    minor,
  });
  const headers = commonHeaders(exchange);
  for (const [name, value] of Object.entries(problem.headers)) headers.set(name, value);
  if (problem.status === 401) headers.set('www-authenticate', 'Token');
  headers.set('content-type', told.contentType);
  return new Response(method === 'HEAD' ? null : told.body, { status: problem.status, headers });
}

/** Answers a browser that asks, before it asks, whether a page of an allowed origin may; null: it is no such question. */
function preflight({ req }: Context, { allowedOrigins }: ServerOptions): Response | null {
  const origin = req.header('origin');
  const method = req.header('access-control-request-method');
  if (req.method !== 'OPTIONS' || method === undefined || origin === undefined) return null;
  if (!allowedOrigins.includes(origin)) return null;
  const headers = {
    'access-control-allow-origin': origin,
    'access-control-allow-methods': 'GET, POST, PUT, DELETE',
    'access-control-allow-headers': `content-type, x-auth-token, ${VERSION_HEADER}`,
    vary: 'origin',
  };
  return new Response(null, { status: 204, headers });
}

/** Lets pages of the allowed origins read answers. */
function crossOrigin(answer: Response, { context }: Exchange, { allowedOrigins }: ServerOptions): Response {
  const origin = context.req.header('origin');
  if (origin === undefined || !allowedOrigins.includes(origin)) return answer;
  answer.headers.set('access-control-allow-origin', origin);
  answer.headers.append('vary', 'origin');
  return answer;
}
