// Who asks, and what they may: the role rules of the reference. An administrator or a service may do everything; a
// reader of the whole system may read; a reader of a project may ask for the usages of that project.

import { readFileSync } from 'node:fs';
import Type, { type Static } from 'typebox';
import { CellwrightError, messageOf } from '../errors.ts';
import { jsonIn } from '../json-text.ts';
import { checkOf } from '../schemas.ts';
import { Problem } from './problem.ts';
import type { Route } from './routes.ts';

/** Who asks. */
export interface Principal {
  readonly project: string | null;
  readonly roles: readonly string[];
  /** Whether the caller speaks for the whole system and not for a project. */
  readonly system: boolean;
}

/** Finds out who asks; null: nobody that is known. */
export type Authenticate = (header: (name: string) => string | undefined) => Principal | null;

/**
 * The rules of the reference's own tests: any token is good, `admin` is an administrator, and the headers `x-roles`,
 * `x-project-id` and `openstack-system-scope` say the rest. For development only.
 */
export const developmentTokens: Authenticate = (header) => {
  const token = header('x-auth-token');
  if (token === undefined) return null;
  const [user = '', project = ''] = token.split(/:(.*)/s, 2);
  const roles = header('x-roles');
  const system = header('openstack-system-scope') === 'all';
  return {
    project: header('x-project-id') ?? (system ? null : project === '' ? user : project),
    roles: roles === undefined ? (user === 'admin' ? ['admin'] : []) : roles.split(',').map((role) => role.trim()),
    system,
  };
};

const TokenFile = Type.Object(
  {
    tokens: Type.Array(
      Type.Object(
        {
          token: Type.String({ minLength: 1 }),
          user: Type.String({ minLength: 1 }),
          project: Type.Optional(Type.String({ minLength: 1 })),
          roles: Type.Array(Type.String({ minLength: 1 })),
          /** True for a token that speaks for the whole system. */
          system: Type.Optional(Type.Boolean()),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);

/**
 * Reads tokens from a file: `{"tokens": [{"token": "...", "user": "nova", "project": "service", "roles": ["service"]}]}`.
 * @throws CellwrightError `bad-option` with the field `tokens`, also where one token stands twice: whose it is would not be
 * certain.
 */
export function tokensFrom(file: string): Authenticate {
  const known = new Map<string, Principal>();
  const { tokens } = readTokens(file);
  for (const [position, { token, project = null, roles, system = false }] of tokens.entries()) {
    if (known.has(token)) {
      const first = tokens.findIndex((one) => one.token === token);
      const twice = `'tokens.${position}.token' is the same as 'tokens.${first}.token'`;
      throw new CellwrightError('bad-option', `the token file '${file}': ${twice}`, { field: 'tokens' });
    }
    known.set(token, { project, roles, system });
  }
  return (header) => known.get(header('x-auth-token') ?? '') ?? null;
}

function readTokens(file: string): Static<typeof TokenFile> {
  const field = { field: 'tokens' };
  let content: unknown;
  try {
    content = jsonIn(readFileSync(file));
  } catch (error) {
    throw new CellwrightError('bad-option', `the token file '${file}' cannot be read: ${messageOf(error)}`, field);
  }
  const fault = checkOf(TokenFile, `the token file '${file}'`)(content);
  if (fault !== null) throw new CellwrightError('bad-option', fault.message, field);
  return content as Static<typeof TokenFile>;
}

/** @throws Problem 403 when the principal may not ask this. */
export function authorize(principal: Principal, route: Route, projectAsked: string | undefined): void {
  const has = (role: string) => principal.roles.includes(role);
  if (has('admin') || has('service')) return;
  if (!route.changes && has('reader')) {
    if (principal.system) return;
    if (route.ofProject && projectAsked !== undefined && principal.project === projectAsked) return;
  }
  throw new Problem(403, `Policy does not allow ${route.action} to be performed.`);
}
