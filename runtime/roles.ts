// The roles that a process may play, as text: `placement`, `placement:<shard>`, `scheduler`, `conductor`, `cell:<name>`,
// `compute:<cell>/<host>`.

import { append } from '../actors/multimap.ts';
import { CellwrightError, messageOf } from './errors.ts';
import { checkToken } from './subjects.ts';

export type Role =
  /** All placement shards, or one of them. */
  | { kind: 'placement'; shard?: number }
  | { kind: 'scheduler' }
  | { kind: 'conductor' }
  | { kind: 'cell'; cell: string }
  | { kind: 'compute'; cell: string; host: string };

/**
 * Reads roles.
 * @throws CellwrightError `bad-role` or `bad-id` with the field `roles`.
 */
export function parseRoles(texts: readonly string[]): Role[] {
  // A list with a hole has nothing there to look at, unless it is copied.
  if (!Array.isArray(texts) || ![...texts].every((text) => typeof text === 'string'))
    throw new CellwrightError('bad-role', 'roles must be a list of texts', { field: 'roles' });
  if (texts.length === 0)
    throw new CellwrightError('bad-role', 'roles must name at least one role', { field: 'roles' });
  const seen = new Set<string>();
  return texts.map((text) => {
    if (seen.has(text)) throw new CellwrightError('bad-role', `role '${text}' is named twice`, { field: 'roles' });
    seen.add(text);
    return parseRole(text);
  });
}

/**
 * The placement shards that a process plays.
 * @throws CellwrightError `bad-role` with the field `roles` when the deployment has no such shard.
 */
export function placementShardsPlayed(roles: readonly Role[], shards: number): number[] {
  const played = new Set<number>();
  for (const role of roles) {
    if (role.kind !== 'placement') continue;
    const { shard } = role;
    if (shard !== undefined && shard >= shards) {
      const message = `role 'placement:${shard}' is of a shard that is not there: the deployment has ${shards}, from 0`;
      throw new CellwrightError('bad-role', message, { field: 'roles' });
    }
    for (const one of shard === undefined ? Array.from({ length: shards }, (_, number) => number) : [shard]) {
      played.add(one);
    }
  }
  return [...played].sort((one, other) => one - other);
}

/** The hosts whose computes a process plays, by cell. */
export function hostsByCell(roles: readonly Role[]): Map<string, string[]> {
  const hosts = new Map<string, string[]>();
  for (const role of roles) if (role.kind === 'compute') append(hosts, role.cell, role.host);
  return hosts;
}

function parseRole(text: string): Role {
  if (text === 'placement' || text === 'scheduler' || text === 'conductor') return { kind: text };
  const [kind, rest = ''] = text.split(/:(.*)/s, 2) as [string, string?];
  if (kind === 'placement' && /^(?:0|[1-9]\d{0,3})$/.test(rest)) return { kind, shard: Number(rest) };
  if (kind === 'cell') return { kind, cell: nameIn(rest, text) };
  if (kind === 'compute') {
    const [cell, host, ...more] = rest.split('/');
    if (host !== undefined && more.length === 0) {
      return { kind, cell: nameIn(cell as string, text), host: nameIn(host, text) };
    }
  }
  const known = 'placement, scheduler, conductor, cell:<name>, compute:<cell>/<host>, placement:<shard>';
  throw new CellwrightError('bad-role', `'${text}' is not a role; roles are ${known}`, { field: 'roles' });
}

function nameIn(name: string, role: string): string {
  try {
    return checkToken(name, 'roles');
  } catch (error) {
    const rule = messageOf(error).replace(/^roles must be/, 'its names must be');
    throw new CellwrightError('bad-id', `role '${role.slice(0, 160)}': ${rule}`, { field: 'roles' });
  }
}
