// Addresses of NATS servers as people write them: `nats://host:port`, `tls://host:port`, several with commas between,
// with a user and password, or a token, before an `@`. It reads them; it connects nothing.

import { CellwrightError } from '../errors.ts';

/** What addresses say, apart from the secrets in them. */
export interface Addresses {
  /** `host:port`, or a host alone, as the client takes them. */
  readonly servers: readonly string[];
  readonly user?: string;
  readonly pass?: string;
  readonly token?: string;
  /** Whether one of them asks for TLS. */
  readonly tls: boolean;
}

const MAX_SERVERS = 64;

/**
 * Reads one address, or several.
 * @throws CellwrightError `bad-option` with the field `servers`.
 */
export function addressesOf(servers: string | readonly string[]): Addresses {
  const texts = textsOf(servers);
  const secrets = new Set<string>();
  let tls = false;
  const plain = texts.map((text) => {
    const { host, secret, isTls } = read(text);
    if (secret !== '') secrets.add(secret);
    tls ||= isTls;
    return host;
  });
  const [secret, other] = secrets;
  if (other !== undefined) throw bad('the addresses name different users: one connection has one');
  if (secret === undefined) return { servers: plain, tls };
  const at = secret.indexOf(':');
  if (at < 0) return { servers: plain, tls, token: unescaped(secret) };
  return { servers: plain, tls, user: unescaped(secret.slice(0, at)), pass: unescaped(secret.slice(at + 1)) };
}

/** The addresses as they may be shown: without users, passwords and tokens. */
export function shownAddresses(servers: string | readonly string[], between = ', '): string {
  return textsOf(servers)
    .map((text) => text.replace(/^([a-z]+:\/\/)?.*@/i, '$1'))
    .join(between);
}

function textsOf(servers: unknown): string[] {
  const texts = [servers].flat().flatMap((one) => (typeof one === 'string' ? one.split(',') : [null]));
  if (texts.length === 0 || texts.length > MAX_SERVERS) throw bad(`there must be 1 to ${MAX_SERVERS} addresses`);
  return texts.map((text) => {
    const trimmed = text?.trim() ?? '';
    if (trimmed === '') throw bad('an address must be a text such as nats://127.0.0.1:4222');
    return trimmed;
  });
}

function read(text: string): { host: string; secret: string; isTls: boolean } {
  const [, scheme = 'nats', secret = '', host = ''] =
    /^(?:([A-Za-z][A-Za-z0-9+.-]*):\/\/)?(?:(.*)@)?([^@]*)$/s.exec(text) ?? [];
  const kind = scheme.toLowerCase();
  const shown = shownAddresses(text);
  if (kind !== 'nats' && kind !== 'tls')
    throw bad(`'${shown}' begins with ${kind}://, and must with nats:// or tls://`);
  const url = URL.canParse(`http://${host}`) ? new URL(`http://${host}`) : null;
  const isPlain = /^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::\d{1,5})?\/?$/.test(host);
  if (url === null || !isPlain) throw bad(`'${shown}' is no address of a server, such as nats://127.0.0.1:4222`);
  return { host: host.replace(/\/$/, ''), secret, isTls: kind === 'tls' };
}

function unescaped(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw bad('the user, password or token has a % that stands for nothing: write it as %25');
  }
}

function bad(what: string): CellwrightError {
  return new CellwrightError('bad-option', `servers: ${what}`, { field: 'servers' });
}
