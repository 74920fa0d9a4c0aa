// Names that a node makes by itself: its own, and those of the lives of its actors.

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

/** Names a life of an actor that keeps no journal. */
export function incarnationOf(node: string): string {
  return `${node}-${randomBytes(6).toString('hex')}`;
}

/** The name of a node that was given none: of its machine and process, and no other's. */
export function defaultName(): string {
  const host = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 32)
    .replaceAll(/^-+|-+$/g, '');
  return `${host === '' ? 'node' : host}-${process.pid}-${randomBytes(3).toString('hex')}`;
}
