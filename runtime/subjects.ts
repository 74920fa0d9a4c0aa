// The only place that builds or parses a subject. Actors are named by addresses; below a prefix they become subjects
// on which everything of one cell stands under one wildcard: `<prefix>.cell.<cell>.>`.

import type { Address } from '../actors/actor.ts';
import { MAX_TOKEN_LENGTH, TOKEN_PATTERN } from '../actors/messages/names.ts';
import { CellwrightError } from './errors.ts';
import { shown } from './fault-words.ts';

export const DEFAULT_PREFIX = 'cw';

const TOKEN = new RegExp(TOKEN_PATTERN);
/** Subjects kept ready: more than a deployment has actors. An address may come from anybody, so there is a limit. */
const MAX_KNOWN = 65_536;

/** Whether an id can be a token of a subject. */
export function isToken(id: unknown): boolean {
  return typeof id === 'string' && id.length <= MAX_TOKEN_LENGTH && TOKEN.test(id);
}

/**
 * Checks an id that is to be a token of a subject.
 * @throws CellwrightError `bad-id` that names the field.
 */
export function checkToken(id: string, field: string): string {
  if (isToken(id)) return id;
  const rule = `lower-case letters, digits and inner hyphens, at most ${MAX_TOKEN_LENGTH} characters`;
  throw new CellwrightError('bad-id', `${field} must be ${rule}; got ${shown(id)}`, { field });
}

export interface Subjects {
  readonly prefix: string;
  /** The subject on which an actor takes its messages. */
  of(address: Address): string;
  /** The subject on which the journal of an owner is written: of a cell's, below the cell's own. */
  journal(owner: Address): string;
  /** The stream that keeps it. */
  journalStream(owner: Address): string;
  /** The KV bucket of the leases of all owners. */
  readonly leases: string;
  /** The KV bucket of what is decided once for the whole deployment. */
  readonly deployment: string;
  /** The key of an owner's lease in that bucket. */
  leaseKey(owner: Address): string;
  /**
   * Where whoever asks from an address is told that nobody listens at another, for the answer to find its way.
   * @param body The number of what nobody heard, where it is told of that alone.
   */
  unheard(from: Address, to: Address, body?: number): string;
  /** The subject of a verb of the API. */
  api(verb: string): string;
  /** The subject of a public event. */
  event(topic: readonly string[]): string;
  /** Wildcards over the feeds that schedulers follow. */
  readonly feeds: readonly string[];
  /** Where it is told that an actor has come up, for those who wait for its answers. */
  up(address: Address): string;
  /** Wildcards over that. */
  readonly ups: readonly string[];
  /** Wildcards over the story of builds: in the cells, and before they reach one. */
  readonly stories: readonly string[];
}

/**
 * @param prefix The first tokens of every subject, for example `cw` or `prod.cw`.
 * @throws CellwrightError `bad-id` when the prefix is not made of tokens.
 */
export function subjectsOf(prefix: string = DEFAULT_PREFIX): Subjects {
  for (const token of typeof prefix === 'string' ? prefix.split('.') : [prefix]) checkToken(token, 'prefix');
  const known = new Map<Address, string>();
  const journal = (owner: Address): string => `${prefix}.${owner.split('/').join('.')}.journal`;
  return {
    prefix,
    of(address) {
      let subject = known.get(address);
      if (subject === undefined) {
        subject = `${prefix}.${tokensOf(address).join('.')}`;
        if (known.size >= MAX_KNOWN) known.clear();
        known.set(address, subject);
      }
      return subject;
    },
    journal,
    journalStream: (owner) => withoutDots(journal(owner)),
    leases: `${withoutDots(prefix)}_leases`,
    deployment: `${withoutDots(prefix)}_deployment`,
    leaseKey: (owner) => owner.split('/').join('.'),
    unheard(from, to, body) {
      const of = body === undefined ? '' : `.${body}`;
      return `${prefix}.${tokensOf(from).join('.')}.unheard.${to.split('/').join('.')}${of}`;
    },
    api: (verb) => `${prefix}.api.${verb}`,
    event: (topic) => `${prefix}.${topic.join('.')}`,
    feeds: [`${prefix}.placement.*.feed`, `${prefix}.cell.*.feed`],
    up: (address) => `${prefix}.${tokensOf(address).join('.')}.up`,
    ups: [`${prefix}.*.*.up`, `${prefix}.cell.*.conductor.up`],
    stories: [`${prefix}.cell.*.build.>`, `${prefix}.conductor.*.build.>`],
  };
}

/** As names of streams and buckets must be. */
const withoutDots = (subject: string): string => subject.replaceAll('.', '-');

function tokensOf(address: Address): string[] {
  const [kind, ...rest] = address.split('/') as [string, ...string[]];
  if (kind === 'cell') return [kind, ...rest, ...(rest.length === 1 ? ['conductor'] : [])];
  if (kind === 'compute') return ['cell', rest[0] ?? '', 'compute', rest[1] ?? ''];
  return [kind, ...rest];
}
