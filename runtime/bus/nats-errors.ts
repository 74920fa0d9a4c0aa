// What the client's error codes mean to us: the one place that reads them.
// It goes by the shape of the errors, so that it needs nothing of the client.

import { CellwrightError, messageOf, NoRespondersError, TimeoutError } from '../errors.ts';
import { closedError } from './wire.ts';

interface ClientError extends Error {
  code: string;
  permissionContext?: { operation: string; subject: string };
  /** What JetStream said. */
  api_error?: { description: string; code?: number; err_code?: number };
}

/** What JetStream says of a conditional write whose condition does not hold. */
export const WRONG_LAST_SEQUENCE = 10071;
/**
 * The same of servers from 2.11 on, for a stream with copies: another write of the same key is under way, and may be stored
 * or not.
 */
export const OTHER_WRITE_UNDER_WAY = 10164;
export const STREAM_NOT_FOUND = 10059;
/** Of a server that is in no cluster, which it says as if it could pass. */
const NO_REPLICAS_HERE = 10074;
/** Of a cluster with too few servers for as many copies, which may only be starting. */
const TOO_FEW_SERVERS = 10005;

/** The code by which JetStream refused; undefined where it did not. */
export function jetStreamCodeOf(error: unknown): number | undefined {
  return (error as { api_error?: { err_code?: number } } | null | undefined)?.api_error?.err_code;
}

/** Errors that no waiting mends: the caller has to change something. */
const HOPELESS = new Set(['unauthorized', 'untrusted-server', 'bad-option', 'bad-options', 'interrupted']);

/** That nobody who is trusted has signed a server's certificate; the codes are those of OpenSSL, as Node lists them. */
const OF_NOBODY_KNOWN = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);
/** What else may be wrong with it. */
const UNTRUSTED = new Set([
  'CERT_CHAIN_TOO_LONG',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'HOSTNAME_MISMATCH',
  'INVALID_CA',
  'INVALID_PURPOSE',
  'PATH_LENGTH_EXCEEDED',
]);
/**
 * How a server refuses the client's certificate, or that it shows none: by TLS 1.2 newer servers call the latter a failure
 * of the handshake, and no more.
 */
const CERTIFICATE_REFUSED = /^ERR_SSL_.*ALERT_.*(?:CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|HANDSHAKE_FAILURE)/;

/** The error for a call on `subject`, or for `what` when no subject is concerned. */
export function busError(error: unknown, what: string, timeoutMs = 0): CellwrightError {
  if (error instanceof CellwrightError) return error;
  if (!isClientError(error)) return new CellwrightError('bus-failed', `${what}: ${messageOf(error)}`, { cause: error });
  if (error.api_error !== undefined && !lacksJetStream(error)) {
    const message = `JetStream refuses ${what}: ${error.api_error.description}`;
    if (error.api_error.err_code === NO_REPLICAS_HERE) {
      return new CellwrightError('jetstream-refused', message, { field: 'replicas', cause: error });
    }
    if (error.api_error.err_code === TOO_FEW_SERVERS) {
      const why = `${message}; a cluster needs as many servers with JetStream, and room there, as 'replicas' says`;
      return new CellwrightError('jetstream-refused', why, { retryable: true, field: 'replicas', cause: error });
    }
    if (error.api_error.err_code === OTHER_WRITE_UNDER_WAY) {
      const why = `${message}, as another write to it is under way`;
      return new CellwrightError('jetstream-refused', why, { retryable: true, cause: error });
    }
    // As in HTTP: from 500 on it is the server that cannot, now.
    const retryable = (error.api_error.code ?? 500) >= 500;
    return new CellwrightError('jetstream-refused', message, { retryable, cause: error });
  }
  if (OF_NOBODY_KNOWN.has(error.code) || UNTRUSTED.has(error.code)) return untrusted(error, what);
  if (CERTIFICATE_REFUSED.test(error.code)) return certificateRefused(error, what);
  switch (error.code) {
    case '503':
      return new NoRespondersError(what);
    case 'TIMEOUT':
      return new TimeoutError(`'${what}'`, timeoutMs);
    case 'CONNECTION_CLOSED':
    case 'CONNECTION_DRAINING':
      return closedError();
    case 'MAX_PAYLOAD_EXCEEDED':
      return new CellwrightError('payload-too-large', `a message to '${what}' is over the server's limit`);
    case 'PERMISSIONS_VIOLATION':
      return permissionDenied(error, what);
    case 'AUTHORIZATION_VIOLATION':
    case 'AUTHENTICATION_EXPIRED':
    case 'AUTHENTICATION_TIMEOUT':
    case 'ACCOUNT_EXPIRED':
      return new CellwrightError('unauthorized', `the server refused the credentials: ${error.message}`, {
        cause: error,
      });
    case 'BAD_AUTHENTICATION':
    case 'BAD_CREDS':
    case 'INVALID_OPTION':
    case 'TLS':
      return new CellwrightError('bad-options', `${what}: ${error.message}`, { cause: error });
    case 'SERVER_OPT_NA':
      return new CellwrightError('bad-options', `the server at ${what} does not offer ${error.message}`, {
        ...(error.message === 'tls' ? { field: 'tls' } : {}),
        cause: error,
      });
    default:
      return new CellwrightError('bus-failed', `${what}: ${error.message}`, { retryable: true, cause: error });
  }
}

/** Whether it is TLS that a connection failed of. */
export function isOfTls(error: unknown): boolean {
  if (!isClientError(error)) return false;
  const { code, message } = error;
  const isOfCertificate = OF_NOBODY_KNOWN.has(code) || UNTRUSTED.has(code);
  return isOfCertificate || /^(?:TLS$|ERR_SSL_|ERR_TLS_)/.test(code) || (code === 'SERVER_OPT_NA' && message === 'tls');
}

const NOT_FOR_ACCOUNT = 10039;
/** That an account, or the server, has no JetStream; a cluster that has no leader yet says something else. */
const NO_JETSTREAM = new Set([NOT_FOR_ACCOUNT, 10076]);

/**
 * Whether an error says that there is no JetStream, and not only that it is not ready. It may be there later: nobody
 * hears of it while a leaf node's link is not up, or while a server whose disk is full has switched it off.
 */
export function lacksJetStream(error: unknown): boolean {
  if (!isClientError(error) || error.code !== '503') return false;
  return error.api_error === undefined || NO_JETSTREAM.has(error.api_error.err_code ?? 0);
}

/**
 * Why there is none, after a comma. Where nobody has answered, it is not the account that lacks it: of a leaf node without
 * JetStream that is the usual answer, its link up or not, as it passes nothing of JetStream on unless told to.
 */
export function whyNoJetStream(error: unknown): string {
  if (jetStreamCodeOf(error) !== undefined) return `which this NATS account does not offer: ${messageOf(error)}`;
  const leaf = 'or is a leaf node that has no link to one that has it, or does not pass on what is asked of it';
  return `for which nobody answers here: the server has none, ${leaf}`;
}

/** Whether a server that has JetStream says that this account is not to have any: no waiting mends that. */
export function isWithoutJetStream(error: unknown): boolean {
  return isClientError(error) && error.api_error?.err_code === NOT_FOR_ACCOUNT;
}

/** Whether a connection that failed so is worth another attempt. */
export function worthRetrying(error: CellwrightError): boolean {
  return !HOPELESS.has(error.code);
}

const CUT_OFF = new Set(['EPIPE', 'ECONNRESET', 'TIMEOUT']);

/** Whether an attempt to connect just ended, or took too long: there is nothing in it of why. */
export function isCutOff(error: unknown): boolean {
  return !isClientError(error) || CUT_OFF.has(error.code);
}

export function isPermissionViolation(error: unknown): boolean {
  return isClientError(error) && error.code === 'PERMISSIONS_VIOLATION';
}

/** What the client makes up anew for each inbox and consumer, with what may follow in the end; else alone. */
const MADE_UP_LAST = /^(?!\$SRV\.)(.*)\.[0-9A-Z]{22}(?:\.[^.]+)?$/;
const MADE_UP = /\.[0-9A-Z]{22}(?=\.)/;
/** The same of inboxes of all clients: those of other languages have small letters, too, and any of them has two parts. */
const ANY_INBOX = /^_INBOX\.[0-9A-Za-z]{22}(?:\..*)?$/;

/**
 * It names what would have to be allowed, which is the same each time.
 * @param operation Is `publish` or `subscription`.
 */
export function permissionError(operation: string, subject: string): CellwrightError {
  const verb = operation === 'publish' ? 'publish to' : 'subscribe to';
  const what = subject.replace(ANY_INBOX, '_INBOX.>').replace(MADE_UP_LAST, '$1.>').replace(MADE_UP, '.*');
  return new CellwrightError('permission-denied', `the server does not allow this user to ${verb} '${what}'`);
}

function permissionDenied(error: ClientError, subject: string): CellwrightError {
  const { permissionContext } = error;
  return permissionError(permissionContext?.operation ?? 'publish', permissionContext?.subject ?? subject);
}

function untrusted(error: ClientError, server: string): CellwrightError {
  const hint = OF_NOBODY_KNOWN.has(error.code) ? '; tls.caFile names the authorities to trust' : '';
  const message = `the certificate of the server at ${server} is not accepted: ${error.message}${hint}`;
  return new CellwrightError('untrusted-server', message, { cause: error });
}

function certificateRefused(error: ClientError & { reason?: string }, server: string): CellwrightError {
  const message =
    `the server at ${server} does not accept the client's certificate, or that it shows none: ` +
    `${error.reason ?? error.message}; tls.certFile and tls.keyFile are what it is shown`;
  return new CellwrightError('unauthorized', message, { cause: error });
}

function isClientError(error: unknown): error is ClientError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}
