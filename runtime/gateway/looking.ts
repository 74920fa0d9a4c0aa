// Looking at what is there, for the API: conductors know every instance and where it is, cells know how it is. Whoever
// does not answer is said to be silent, and what was known of his last is said as no more than that.

import type { InstanceView } from '../../actors/messages/gateway.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { cellAddress, conductorAddress, conductorShardOf } from '../../actors/routing.ts';
import type { Bus } from '../bus/bus.ts';
import { WHO } from '../endpoints.ts';
import { CellwrightError, NoRespondersError, TimeoutError } from '../errors.ts';
import { HEADERS } from '../frames.ts';
import type { Subjects } from '../subjects.ts';
import type { Asking } from './asking.ts';
import type { HostsRequest, InstanceRequest, ListRequest } from './requests.ts';

const DEFAULT_LIMIT = 100;
/** How long to wait for word whether anybody serves a cell, ms. */
const WHO_TIMEOUT_MS = 1_000;

/** The answer to `list`. */
export interface ListAnswer {
  readonly instances: readonly InstanceView[];
  /** Give it as `after` for the next page; null at the end. */
  readonly next: string | null;
  /**
   * Who was silent, such as `conductor/1` or `cell/c2`; absent when nobody was. The instances of a silent conductor
   * shard are missing; those of a silent cell are listed as `unknown`, with what was known of them last.
   */
  readonly silent?: readonly string[];
}

export interface HostsAnswer {
  readonly hosts: readonly HostState[];
  /** Give it as `after` for the next page; null at the end. */
  readonly next: string | null;
}

export interface Looking {
  /** @throws CellwrightError `not-found`. */
  show(request: InstanceRequest): Promise<InstanceView>;
  list(request: ListRequest): Promise<ListAnswer>;
  hosts(request: HostsRequest): Promise<HostsAnswer>;
  /** A cell that nobody serves, or that there never was, is told at once, not when the time for an answer is over. */
  unlessUnserved<Answer>(cell: string, answer: Promise<Answer>): Promise<Answer>;
}

export interface LookingOptions {
  readonly asking: Asking;
  readonly conductorShards: number;
  readonly bus: Bus;
  readonly subjects: Subjects;
}

export function lookingOf({ asking, conductorShards, bus, subjects }: LookingOptions): Looking {
  /** The conductor says where the instance is; its cell, if it has one, says how it is. */
  async function show({ id }: InstanceRequest): Promise<InstanceView> {
    const { view } = await asking.ask(
      conductorAddress(conductorShardOf(id, conductorShards)),
      { type: 'show', instance: id },
      'shown',
    );
    if (view === null) throw new CellwrightError('not-found', `there is no instance '${id}'`, { field: 'id' });
    if (view.cell === undefined || view.state === 'deleted') return view;
    try {
      const asked = asking.ask(cellAddress(view.cell), { type: 'show', instance: id }, 'shown');
      const inCell = await unlessUnserved(view.cell, asked);
      return inCell.view ?? view;
    } catch (error) {
      // The cell does not answer: what it said last is said, and that it is no more than that.
      if (!isSilence(error)) throw error;
      return unknownOf(view);
    }
  }

  async function list({ cell, after, limit = DEFAULT_LIMIT }: ListRequest): Promise<ListAnswer> {
    const question = { type: 'list' as const, limit, ...(after === undefined ? {} : { after }) };
    if (cell !== undefined) {
      const { instances, next } = await unlessUnserved(cell, asking.ask(cellAddress(cell), question, 'listed'));
      return { instances, next };
    }
    const shards = Array.from({ length: conductorShards }, (_, shard) => conductorAddress(shard));
    const answers = await Promise.allSettled(shards.map((shard) => asking.ask(shard, question, 'listed')));
    const silent = shards.filter((_, shard) => {
      const answer = answers[shard];
      return answer?.status === 'rejected' && isSilence(answer.reason);
    });
    const failed = answers.find(
      (one) => one.status === 'rejected' && (silent.length === shards.length || !isSilence(one.reason)),
    );
    if (failed?.status === 'rejected') throw failed.reason;
    const pages = answers.filter((one) => one.status === 'fulfilled').map(({ value }) => value);
    const all = pages
      .flatMap(({ instances }) => instances)
      .sort((one, other) => (one.instance < other.instance ? -1 : 1));
    // Beyond the end of a page that has a next one, there may be instances that nobody told.
    const ends = pages.map(({ next }) => next).filter((next) => next !== null);
    const told = all.filter(({ instance }) => ends.every((end) => instance <= end));
    const instances = told.slice(0, limit);
    const more = told.length > limit || ends.length > 0;
    const next = more ? (instances.at(-1)?.instance ?? null) : null;
    const silentCells = await unservedOf(instances);
    silent.push(...silentCells.map(cellAddress));
    const known = instances.map((view) =>
      view.state !== 'deleted' && silentCells.includes(view.cell ?? '') ? unknownOf(view) : view,
    );
    return { instances: known, next, ...(silent.length === 0 ? {} : { silent }) };
  }

  /** Which cells of these instances nobody serves now. */
  async function unservedOf(instances: readonly InstanceView[]): Promise<string[]> {
    const cells = new Set(instances.map(({ cell }) => cell).filter((cell) => cell !== undefined));
    const asked = [...cells].map(async (one) => ((await isUnserved(one)) ? one : undefined));
    return (await Promise.all(asked)).filter((one) => one !== undefined);
  }

  async function hosts({
    cell,
    after,
    limit = DEFAULT_LIMIT,
  }: HostsRequest): Promise<{ hosts: readonly HostState[]; next: string | null }> {
    const question = { type: 'list-hosts' as const, limit, ...(after === undefined ? {} : { after }) };
    const answer = await unlessUnserved(cell, asking.ask(cellAddress(cell), question, 'hosts'));
    return { hosts: answer.hosts, next: answer.next };
  }

  function unlessUnserved<Answer>(cell: string, answer: Promise<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      answer.then(resolve, reject);
      void isUnserved(cell).then((unserved) => {
        if (!unserved) return;
        const message = `no node serves the cell '${cell}' now`;
        reject(new CellwrightError('no-owner', message, { field: 'cell', retryable: true }));
      });
    });
  }

  /** Whether the bus knows of nobody who listens where the cell would. */
  function isUnserved(cell: string): Promise<boolean> {
    const options = { timeoutMs: WHO_TIMEOUT_MS, headers: { [HEADERS.type]: WHO } };
    return bus.request(subjects.of(cellAddress(cell)), new Uint8Array(0), options).then(
      () => false,
      (error) => error instanceof NoRespondersError,
    );
  }

  return { show, list, hosts, unlessUnserved };
}

/** Whether an error says no more than that somebody does not answer. */
function isSilence(error: unknown): boolean {
  return error instanceof TimeoutError || (error instanceof CellwrightError && error.code === 'no-owner');
}

/** What was known of an instance whose cell does not answer: said as what it is. */
function unknownOf(view: InstanceView): InstanceView {
  const message = `cell '${view.cell}' does not answer; last known: ${view.state}`;
  return { ...view, state: 'unknown', failure: { code: 'cell-silent', message } };
}
