// Breaks a request in one place: a field that is missing, strange or of another type, no JSON at all, or a header that
// cannot be.

import type { Request } from './exchange.ts';
import type { Chooser } from './small-world.ts';

const STRANGE: readonly unknown[] = [-1, 0, 3_000_000_000, 1.5, 'text', '', null, true, [], ['a', 'a'], {}, "it's"];

export function broken(choose: Chooser, request: Request): Request {
  if (choose.chance(0.2)) return { ...request, headers: headersOf(choose) };
  if (typeof request.body !== 'object' || request.body === null) return request;
  if (choose.chance(0.1)) return { ...request, body: choose.of(['', '{', 'nonsense', '[1,']) };
  return { ...request, body: brokenBody(choose, request.body) };
}

function headersOf(choose: Chooser): Record<string, string> {
  return choose.of<Record<string, string>>([
    { 'openstack-api-version': 'placement 1.40' },
    { 'openstack-api-version': 'placement 2.0' },
    { 'openstack-api-version': 'placement latest' },
    { 'openstack-api-version': 'compute 2.1' },
    { 'openstack-api-version': 'placement cow' },
    { accept: 'text/plain' },
    { accept: 'application/json;q=0.5, text/html' },
    { 'content-type': 'text/html' },
    { 'content-type': 'application/json; charset=utf-8' },
  ]);
}

function brokenBody(choose: Chooser, body: object): unknown {
  // The reference fails on an inventory or an allocation that is of another type, so they stay what they are.
  if (Array.isArray(body)) return choose.chance(0.5) ? [...body, choose.of(['x', 5, body[0]])] : choose.of(STRANGE);
  // Without its uuid a provider would be given another one by each.
  const entries = Object.entries(body).filter(([name]) => name !== 'uuid');
  const [key, value] = entries.length === 0 ? ['name', null] : choose.of(entries);
  const others = entries.filter(([name]) => name !== key);
  const kept = 'uuid' in body ? { uuid: body.uuid } : {};
  if (choose.chance(0.25)) return { ...kept, ...Object.fromEntries(others) };
  if (choose.chance(0.25)) return { ...body, extra: choose.of(STRANGE), more: 1 };
  if (typeof value === 'object' && value !== null && choose.chance(0.7)) {
    return { ...body, [key]: brokenBody(choose, value) };
  }
  const strange = choose.of(STRANGE);
  // Ours refuses to take a name away.
  return { ...body, [key]: key === 'name' && strange === '' ? 'x' : strange };
}
