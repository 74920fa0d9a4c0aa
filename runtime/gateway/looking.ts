// Looking at what is there, for the API: conductors know every instance and where it is, cells know how it is. Whoever
// does not answer is said to be silent, and what was known of his last is said as no more than that.

import { likeWords } from '../../actors/alike.ts';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import { MAX_TOKEN_LENGTH } from '../../actors/messages/names.ts';
import type { CellView } from '../../actors/messages/questions.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { onOnePage } from '../../actors/page.ts';
import { present } from '../../actors/present.ts';
import { cellAddress, conductorAddress, conductorOf, SCHEDULERS } from '../../actors/routing.ts';
import { CellwrightError, TimeoutError } from '../errors.ts';
import { hasTriedAll, withAdviceOnBuild } from './advice-on-builds.ts';
import type { Asking } from './asking.ts';
import { likeInstances } from './like-instances.ts';
import { pageThatFits } from './page-size.ts';
import { type HostsRequest, type InstanceRequest, type ListRequest, requestOf } from './requests.ts';
import { decisionIn } from './stored-decisions.ts';

const DEFAULT_LIMIT = 100;
/** Of how many in a page it is asked what would have helped: the record of each is read for that. */
const MAX_ADVISED = 100;
/** How long to wait for a cell, ms: whoever looks would rather hear that it is silent than wait for its next owner. */
export const SILENT_CELL_MS = 2_000;
/** The same, when most of the time that clients have was spent on a silent conductor shard. */
const SILENT_CELL_AT_LAST_MS = 1_000;

/** The answer to `list`. */
export interface ListAnswer {
  readonly instances: readonly InstanceView[];
  /** Give it as `after` for the next page; null at the end. */
  readonly next: string | null;
  /**
   * Who was silent, such as `conductor/1` or `cell/c2`; absent when nobody was. The instances of a silent conductor
   * shard are missing; those of a silent cell are listed as `unknown`, with what was known of them last. While a conductor
   * shard is silent, failures are told without what would have helped: there is no time to ask for it.
   */
  readonly silent?: readonly string[];
}

/** The answer to `hosts`. */
export interface HostsAnswer {
  readonly hosts: readonly HostState[];
  /** Give it as `after` for the next page; null at the end. */
  readonly next: string | null;
}

/** The answer to `cells`. */
export interface CellsAnswer {
  /** In the order of their names; one that nobody has served since the scheduler that answers came up is missing. */
  readonly cells: readonly CellView[];
}

export interface Looking {
  /** @throws CellwrightError `not-found`. */
  show(request: InstanceRequest): Promise<InstanceView>;
  list(request: ListRequest): Promise<ListAnswer>;
  cells(): Promise<CellsAnswer>;
  hosts(request: HostsRequest): Promise<HostsAnswer>;
}

export interface LookingOptions {
  readonly asking: Asking;
  readonly conductorShards: number;
}

export function lookingOf({ asking, conductorShards }: LookingOptions): Looking {
  /** The conductor says where the instance is; its cell, if it has one, says how it is. */
  async function show({ id }: InstanceRequest): Promise<InstanceView> {
    const { view } = await asking.ask(conductorOf(id, conductorShards), { type: 'show', instance: id }, 'shown');
    if (view === null) throw await notFound({ asking, conductorShards }, id);
    if (view.cell === undefined || view.state === 'deleted') return advised(view);
    try {
      const question = { type: 'show' as const, instance: id };
      const inCell = await asking.ask(cellAddress(view.cell), question, 'shown', SILENT_CELL_MS);
      return await advised(inCell.view === null ? view : asInCell(view, inCell.view));
    } catch (error) {
      // The cell does not answer: what it said last is said, and that it is no more than that.
      if (!isSilence(error)) throw error;
      return unknownOf(view);
    }
  }

  /** Of a build that failed on all its hosts, the conductor has on record which others there were. */
  async function advised(view: InstanceView): Promise<InstanceView> {
    if (!hasTriedAll(view)) return view;
    const { instance } = view;
    const conductor = conductorOf(instance, conductorShards);
    try {
      const { decision } = await asking.ask(conductor, { type: 'explain', instance }, 'explained', SILENT_CELL_MS);
      return withAdviceOnBuild(view, decisionIn(decision));
    } catch (error) {
      // How the instance stands is known without it.
      if (!(error instanceof CellwrightError)) throw error;
      return view;
    }
  }

  /** The same of all in a page, as far as may be; of a list of one cell alone it is not done: that needs nobody else. */
  function advisedInPage(views: readonly InstanceView[]): Promise<InstanceView[]> {
    const asked = new Set(views.filter(hasTriedAll).slice(0, MAX_ADVISED));
    return Promise.all(views.map((view) => (asked.has(view) ? advised(view) : view)));
  }

  async function list({ cell, after, limit = DEFAULT_LIMIT }: ListRequest): Promise<ListAnswer> {
    const listedBy = (to: string, waitMs?: number) =>
      pageThatFits(limit, (rows) =>
        asking.ask(to, { type: 'list', limit: rows, ...present({ after }) }, 'listed', waitMs),
      );
    if (cell !== undefined) {
      const { instances, next } = await ofCell(listedBy(cellAddress(cell), SILENT_CELL_MS));
      return { instances, next };
    }
    const shards = Array.from({ length: conductorShards }, (_, shard) => conductorAddress(shard));
    const answers = await Promise.allSettled(shards.map((shard) => listedBy(shard)));
    const silent = silentOf(shards, answers);
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
    // Each shard's page fits a message; of all of them together, as much as that is told.
    const instances = onOnePage(told.slice(0, limit), (view) => view);
    const more = told.length > instances.length || ends.length > 0;
    const next = more ? (instances.at(-1)?.instance ?? null) : null;
    const isLate = silent.length > 0;
    const silentCells = await silentCellsOf(instances, isLate ? SILENT_CELL_AT_LAST_MS : SILENT_CELL_MS);
    silent.push(...silentCells.map(cellAddress));
    const known = instances.map((view) =>
      view.state !== 'deleted' && silentCells.includes(view.cell ?? '') ? unknownOf(view) : view,
    );
    return { instances: isLate ? known : await advisedInPage(known), next, ...(silent.length === 0 ? {} : { silent }) };
  }

  /** Which cells of these instances do not answer. */
  async function silentCellsOf(instances: readonly InstanceView[], waitMs: number): Promise<string[]> {
    const cells = [...new Set(instances.map(({ cell }) => cell).filter((cell) => cell !== undefined))];
    const answers = await Promise.allSettled(
      cells.map((cell) => asking.ask(cellAddress(cell), { type: 'list-hosts', limit: 1 }, 'hosts', waitMs)),
    );
    return silentOf(cells, answers);
  }

  async function cells(): Promise<CellsAnswer> {
    const answer = await asking.ask(SCHEDULERS, { type: 'list-cells' }, 'cells');
    return { cells: answer.cells };
  }

  async function hosts({ cell, limit = DEFAULT_LIMIT, after, host }: HostsRequest): Promise<HostsAnswer> {
    const asked = (rows: number) => ({ type: 'list-hosts' as const, limit: rows, ...present({ after, host }) });
    const answer = await ofCell(
      pageThatFits(limit, (rows) => asking.ask(cellAddress(cell), asked(rows), 'hosts', SILENT_CELL_MS)),
    );
    return { hosts: answer.hosts, next: answer.next };
  }

  return { show, list, cells, hosts };
}

/** Which of those that were asked do not answer. */
function silentOf<Asked>(asked: readonly Asked[], answers: readonly PromiseSettledResult<unknown>[]): Asked[] {
  return asked.filter((_, position) => {
    const answer = answers[position];
    return answer?.status === 'rejected' && isSilence(answer.reason);
  });
}

/**
 * That there is no instance of that name; where its request is of several, or of one, that it is named otherwise.
 * @param isLikeSought Whether one that is much like it is looked for among all instances, for whoever wants to know more.
 */
export async function notFound(
  { asking, conductorShards }: LookingOptions,
  id: string,
  isLikeSought = false,
): Promise<CellwrightError> {
  const requestIfKnown = async (instance: string): Promise<string | undefined> => {
    if (instance.length > MAX_TOKEN_LENGTH) return undefined;
    const question = { type: 'show' as const, instance };
    try {
      const shard = conductorOf(instance, conductorShards);
      return (await asking.ask(shard, question, 'shown', SILENT_CELL_MS)).view?.request;
    } catch {
      // It is not found, whatever else is known.
      return undefined;
    }
  };
  const request = requestOf(id);
  const isNumbered = request !== id;
  const [ofId, ofFirst, alone] = await Promise.all([
    requestIfKnown(`${id}-0`),
    isNumbered ? requestIfKnown(`${request}-0`) : undefined,
    isNumbered ? requestIfKnown(request) : undefined,
  ]);
  const several = ofId === id ? id : isNumbered && ofFirst === request ? request : undefined;
  const alike = isLikeSought && several === undefined && alone === undefined && id.length <= MAX_TOKEN_LENGTH;
  const like = alike ? (await likeInstances({ asking, conductorShards }, [id])).get(id) : undefined;
  const more =
    several === undefined
      ? likeWords(alone === undefined ? like : request)
      : `: the request '${several}' is of several, '${several}-0' and so on`;
  return new CellwrightError('not-found', `there is no instance '${id}'${more}`, { field: 'id' });
}

/** Whoever named a cell that nobody serves now, or that there never was, is told the field. */
export async function ofCell<Answer>(asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof CellwrightError) || error.code !== 'no-owner') throw error;
    throw new CellwrightError(error.code, error.message, { field: 'cell', retryable: true, cause: error });
  }
}

/** Whether an error says no more than that somebody does not answer. */
export function isSilence(error: unknown): boolean {
  return error instanceof TimeoutError || (error instanceof CellwrightError && error.code === 'no-owner');
}

/**
 * An instance as its cell has it. A deletion that its conductor has recorded has begun, though the cell may not have heard of
 * it yet.
 */
export function asInCell({ state, owes, owedSince }: InstanceView, inCell: InstanceView): InstanceView {
  if (state !== 'deleting' || inCell.state === 'deleting') return inCell;
  return { ...inCell, state, ...present({ owes, owedSince }) };
}

/** What was known of an instance whose cell does not answer: said as what it is. */
export function unknownOf(view: InstanceView): InstanceView {
  const cure = `start, or wait for, a node that serves cell '${view.cell}'`;
  const message = `cell '${view.cell}' does not answer; last known: ${view.state}; ${cure}`;
  return { ...view, state: 'unknown', failure: { code: 'cell-silent', message } };
}
