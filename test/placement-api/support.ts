// A Placement API in this process, and requests to it in few words.

import { type PlacementApiOptions, startPlacementApi } from '../../runtime/placement-api/start.ts';

export interface Said {
  readonly status: number;
  readonly headers: Headers;
  // Tests look into bodies of many shapes.
  readonly body: Body;
}

/** JSON of any shape. */
export interface Body {
  readonly [key: string]: Body;
}

export interface Api {
  readonly url: string;
  ask(request: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Said>;
  close(): Promise<void>;
}

/** Of how many placement shards the placements of this process are, unless a test says; see shards/. */
export const SHARDS = { placementShards: Number(process.env.CELLWRIGHT_TEST_PLACEMENT_SHARDS ?? 1) };

/** `ask('PUT /traits/CUSTOM_A')` at 1.39 as an administrator, unless headers say otherwise. */
export async function placementApi(options: Partial<PlacementApiOptions> = {}): Promise<Api> {
  const given = { ...(options.placement === undefined ? SHARDS : {}), ...options };
  const server = await startPlacementApi({ host: '127.0.0.1', port: 0, placement: 'memory', ...given });
  return {
    url: server.url,
    close: () => server.close(),
    async ask(request, body, headers = {}) {
      const [method = '', path = ''] = request.split(' ');
      const sent: Record<string, string> = {
        'x-auth-token': 'admin',
        'openstack-api-version': 'placement 1.39',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      };
      const told = Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== ''));
      const text = typeof body === 'string' ? body : JSON.stringify(body);
      const response = await fetch(server.url + path, {
        method,
        headers: told,
        ...(body === undefined ? {} : { body: Buffer.from(text) }),
      });
      const said = await response.text();
      const isJson = said !== '' && response.headers.get('content-type') === 'application/json';
      return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(said) : said };
    },
  };
}

export interface ToldError {
  readonly detail: string;
  readonly code?: string;
  readonly request_id: string;
  readonly max_version?: string;
  readonly min_version?: string;
  readonly refusal?: Readonly<Record<string, unknown>>;
}

/** The error that an answer tells. */
export function errorIn({ status, body }: Said): ToldError {
  const [error] = (body.errors ?? []) as unknown as ToldError[];
  if (error === undefined) throw new Error(`a status of ${status} and no error: ${JSON.stringify(body)}`);
  return error;
}

export const id = (kind: string, n: number): string =>
  `${kind.repeat(8)}-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Makes a provider with inventories, given as totals or in full. */
export async function makeProvider(
  api: Api,
  uuid: string,
  inventories: Readonly<Record<string, number | object>> = {},
  parent: string | null = null,
): Promise<void> {
  await api.ask('POST /resource_providers', { uuid, name: `host ${uuid}`, parent_provider_uuid: parent });
  const full = Object.entries(inventories).map(([name, given]) => [
    name,
    typeof given === 'number' ? { total: given } : given,
  ]);
  const body = { resource_provider_generation: 0, inventories: Object.fromEntries(full) };
  if (full.length > 0) await api.ask(`PUT /resource_providers/${uuid}/inventories`, body);
}

/** The body of a change of what a consumer holds. */
export function holding(
  allocations: Readonly<Record<string, Readonly<Record<string, number>>>>,
  generation: number | null = null,
) {
  const pairs = Object.entries(allocations).map(([provider, resources]) => [provider, { resources }]);
  return {
    allocations: Object.fromEntries(pairs),
    project_id: 'project',
    user_id: 'user',
    consumer_generation: generation,
    consumer_type: 'INSTANCE',
  };
}
