// The roles that a process may play, as text: `placement`, `scheduler`, `conductor`, `cell:<name>`,
// `compute:<cell>/<host>`.

import { CellwrightError } from './errors.ts';
import { checkToken } from './subjects.ts';

export type Role =
  | { kind: 'placement' }
  | { kind: 'scheduler' }
  | { kind: 'conductor' }
  | { kind: 'cell'; cell: string }
  | { kind: 'compute'; cell: string; host: string };

/**
 * Reads roles.
 * @throws CellwrightError `bad-role` or `bad-id` with the field `roles`.
 */
export function parseRoles(texts: readonly string[]): Role[] {
  if (texts.length === 0)
    throw new CellwrightError('bad-role', 'roles must name at least one role', { field: 'roles' });
  const seen = new Set<string>();
  return texts.map((text) => {
    if (seen.has(text)) throw new CellwrightError('bad-role', `role '${text}' is named twice`, { field: 'roles' });
    seen.add(text);
    return parseRole(text);
  });
}

function parseRole(text: string): Role {
  if (text === 'placement' || text === 'scheduler' || text === 'conductor') return { kind: text };
  const [kind, rest = ''] = String(text).split(/:(.*)/s, 2) as [string, string?];
  if (kind === 'cell') return { kind, cell: checkToken(rest, 'roles') };
  if (kind === 'compute') {
    const [cell, host, ...more] = rest.split('/');
    if (host !== undefined && more.length === 0) {
      return { kind, cell: checkToken(cell as string, 'roles'), host: checkToken(host, 'roles') };
    }
  }
  const known = 'placement, scheduler, conductor, cell:<name>, compute:<cell>/<host>';
  throw new CellwrightError('bad-role', `'${text}' is not a role; roles are ${known}`, { field: 'roles' });
}
