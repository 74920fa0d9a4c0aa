// What goes wrong with a request: the status, the reference's words, and its code where it has one.

import type { ApiRefusal } from '../../actors/messages/placement-api.ts';

export type ProblemStatus = 400 | 401 | 403 | 404 | 405 | 406 | 409 | 413 | 415 | 500 | 503;

/** The codes of the reference; `placement.undefined_code` where it has none. */
export const CODES = {
  undefined: 'placement.undefined_code',
  inventoryInUse: 'placement.inventory.inuse',
  concurrentUpdate: 'placement.concurrent_update',
  duplicateName: 'placement.duplicate_name',
  providerInUse: 'placement.resource_provider.inuse',
  cannotDeleteParent: 'placement.resource_provider.cannot_delete_parent',
  providerNotFound: 'placement.resource_provider.not_found',
  duplicateKey: 'placement.query.duplicate_key',
  badValue: 'placement.query.bad_value',
  missingValue: 'placement.query.missing_value',
} as const;

export class Problem extends Error {
  override readonly name = 'Problem';
  readonly status: ProblemStatus;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Which provider, class and condition refused it, by how much: beside the reference's words, for programs. */
  readonly refusal: ApiRefusal | undefined;

  constructor(
    status: ProblemStatus,
    message: string,
    options: { code?: string; headers?: Readonly<Record<string, string>>; refusal?: ApiRefusal } = {},
  ) {
    super(message);
    this.status = status;
    this.code = options.code ?? CODES.undefined;
    this.headers = options.headers ?? {};
    this.refusal = options.refusal;
  }
}

export const badRequest = (message: string, code?: string): Problem =>
  new Problem(400, message, code === undefined ? {} : { code });
export const notFound = (message = ''): Problem => new Problem(404, message);
