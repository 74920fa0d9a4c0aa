// The permissions that the guide lists for each kind of process, as a server's configuration.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/programs.ts';

export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** By the first words of each row, such as `every node`. */
export function permissionsInGuide(): ReadonlyMap<string, Permissions> {
  const guide = readFileSync(join(ROOT, 'runtime/docs/operating.md'), 'utf8');
  const [, section = ''] = /^## Permissions$(.*?)^## /ms.exec(guide) ?? [];
  const rows = [...section.matchAll(/^\| (.+?) +\|(.*?)\|(.*?)\|$/gm)].slice(2);
  const subjects = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, subject]) => subject as string);
  return new Map(
    rows.map(([, who = '', publish, subscribe]) => [
      who.replaceAll('`', '').replace(/[:,].*/, ''),
      { publish: subjects(publish), subscribe: subjects(subscribe) },
    ]),
  );
}

/** All lists together, each of them changed by `change`. */
export function together(
  lists: readonly Permissions[],
  change: (subject: string) => readonly string[] = (subject) => [subject],
): Permissions {
  const all = (of: keyof Permissions) => [...new Set(lists.flatMap((list) => list[of]).flatMap(change))];
  return { publish: all('publish'), subscribe: all('subscribe') };
}

/** An empty list would allow everything. */
const listed = (subjects: readonly string[]) =>
  subjects.length === 0 ? '{ deny: [">"] }' : `[${subjects.map((one) => JSON.stringify(one)).join(', ')}]`;

/** Users with the password `p`. */
export function usersConfig(users: ReadonlyMap<string, Permissions>): string {
  const lines = [...users].map(([user, { publish, subscribe }]) => {
    const permissions = `{ publish: ${listed(publish)}, subscribe: ${listed(subscribe)} }`;
    return `{ user: ${JSON.stringify(user)}, password: p, permissions: ${permissions} }`;
  });
  return `authorization { users: [\n${lines.join('\n')}\n{ user: operator, password: p }\n] }`;
}

/** What each user has published to and subscribed to, as a server tells that is started with `trace`. */
export function usedIn(log: readonly string[]): ReadonlyMap<string, Permissions> {
  const users = new Map<string, string>();
  const used = new Map<string, { publish: string[]; subscribe: string[] }>();
  for (const line of log) {
    const [, connection = '', verb = '', words = ''] = / (cid:\d+) .*?<<- \[(\w+) (.*)\]$/.exec(line) ?? [];
    if (verb === 'CONNECT') users.set(connection, /"user":"([^"]+)"/.exec(words)?.[1] ?? '');
    const of = /^H?PUB$/.test(verb) ? 'publish' : verb === 'SUB' ? 'subscribe' : undefined;
    const user = users.get(connection);
    if (of === undefined || user === undefined) continue;
    const lists = used.get(user) ?? { publish: [], subscribe: [] };
    used.set(user, lists);
    lists[of].push(words.split(' ')[0] as string);
  }
  return used;
}

/** Whether a list that has `pattern` has it for this subject, which may have wildcards itself. */
export function covers(pattern: string, subject: string): boolean {
  const [wanted, tokens] = [pattern.split('.'), subject.split('.')];
  const isOpen = wanted.at(-1) === '>';
  if (isOpen ? tokens.length < wanted.length : tokens.length !== wanted.length) return false;
  return wanted.every((token, at) => token === '>' || token === '*' || token === tokens[at]);
}
