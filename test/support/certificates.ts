// The certificates of the tests, and servers that show them. How they were made stands beside them.

import type { NatsServerOptions } from '../../runtime/nats-server/options.ts';
import { startTestServer, type TestServer } from './nats-server.ts';
import { ROOT } from './programs.ts';

/** The path of one of them, such as `ca` or `client-key`. */
export const pem = (name: string): string => `${ROOT}test/fixtures/tls/${name}.pem`;

/**
 * @param name Whose certificate it shows.
 * @param more Lines of its TLS configuration, such as `verify: true` where it wants one of the client's.
 */
export function startTlsServer(name: string, more = '', options: NatsServerOptions = {}): Promise<TestServer> {
  const files = `cert_file: "${pem(name)}"\nkey_file: "${pem(`${name}-key`)}"\nca_file: "${pem('ca')}"`;
  return startTestServer({ jetstream: false, ...options, config: `tls {\n${files}\n${more}\n}` });
}
