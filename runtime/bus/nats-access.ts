// Looks at what lets one in, certificates, keys and credentials, before anything is dialled: the client would say next to
// nothing of what is wrong with them, or try with them again until its time is over. It keeps nothing of what it reads: the
// client reads the files each time it connects, and so finds those that were renewed.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import { credsAuthenticator } from 'nats';
import { CellwrightError, messageOf } from '../errors.ts';
import type { NatsOptions } from './nats-options.ts';

/**
 * Refuses files that are missing, that are not what they should be, or that do not belong together.
 * @throws CellwrightError `bad-option` with the field, such as `tls.caFile`.
 */
export async function checkAccess({ credentials, tls = {} }: NatsOptions): Promise<void> {
  if (credentials !== undefined) checkCredentials(credentials);
  const { caFile, certFile, keyFile } = tls;
  if ((certFile === undefined) !== (keyFile === undefined)) {
    const field = certFile === undefined ? 'tls.certFile' : 'tls.keyFile';
    throw new CellwrightError('bad-option', 'tls.certFile and tls.keyFile go together', { field });
  }
  if (caFile !== undefined) checkAuthorities('tls.caFile', caFile, await contentOf('tls.caFile', caFile));
  if (certFile === undefined || keyFile === undefined) return;
  const cert = await contentOf('tls.certFile', certFile);
  const key = await contentOf('tls.keyFile', keyFile);
  const isIn = (what: string) => `does not hold ${what} in PEM form that can be used`;
  unlessRefused('tls.certFile', certFile, isIn('a certificate'), () => createSecureContext({ cert }));
  unlessRefused('tls.keyFile', keyFile, isIn('a private key, one without a password,'), () => createPrivateKey(key));
  const why = `does not go with tls.certFile '${certFile}'`;
  unlessRefused('tls.keyFile', keyFile, why, () => createSecureContext({ cert, key }));
}

/** What the client makes of credentials, which it would do only when the server asks. */
export function authenticatorOf(credentials: string): ReturnType<typeof credsAuthenticator> {
  return credsAuthenticator(new TextEncoder().encode(credentials));
}

function checkCredentials(credentials: string): void {
  try {
    authenticatorOf(credentials)('nonce');
  } catch (cause) {
    const message = 'credentials must be the content of a .creds file, a JWT and the NKEY seed that goes with it';
    throw new CellwrightError('bad-option', message, { field: 'credentials', cause });
  }
}

/** Node passes over everything from the first that it cannot read, and then trusts nobody. */
function checkAuthorities(field: string, file: string, content: string): void {
  const certificates = content.match(/-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----.*?(?:-----END [^-]*-----|$)/gs);
  if (certificates === null) throw bad(field, file, 'does not hold a certificate in PEM form');
  for (const [position, certificate] of certificates.entries()) {
    const what = `holds a certificate, number ${position + 1}, that cannot be read`;
    unlessRefused(field, file, what, () => new X509Certificate(certificate));
  }
}

async function contentOf(field: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw bad(field, file, `cannot be read: ${messageOf(cause)}`, cause);
  }
}

function unlessRefused(field: string, file: string, what: string, use: () => unknown): void {
  try {
    use();
  } catch (cause) {
    // OpenSSL's own words, without where in its source they are said.
    const { reason = messageOf(cause) } = cause as { reason?: string };
    throw bad(field, file, `${what}: ${reason}`, cause);
  }
}

function bad(field: string, file: string, what: string, cause?: unknown): CellwrightError {
  return new CellwrightError('bad-option', `${field} '${file}' ${what}`, { field, cause });
}
