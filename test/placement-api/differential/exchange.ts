// Sends one request to a server and reads what came back, as far as it is compared.

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly minor: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const COMPARED_HEADERS = ['openstack-api-version', 'cache-control', 'content-type', 'allow', 'location'];

export async function exchange(url: string, { method, path, minor, body, headers = {} }: Request): Promise<Answer> {
  const text = typeof body === 'string' ? body : body === undefined ? undefined : JSON.stringify(body);
  const response = await fetch(url + path, {
    method,
    headers: {
      'x-auth-token': 'admin',
      'openstack-api-version': `placement 1.${minor}`,
      ...(text === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(text === undefined ? {} : { body: Buffer.from(text) }),
  });
  const said = await response.text();
  const told: Record<string, string> = {};
  for (const name of COMPARED_HEADERS) {
    const value = response.headers.get(name);
    if (value !== null) told[name] = value.replace(url, '');
  }
  if (response.headers.has('last-modified')) told['last-modified'] = 'told';
  return { status: response.status, headers: told, body: said === '' ? null : bodyIn(said) };
}

function bodyIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
