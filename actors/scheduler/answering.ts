// Answering questions about requests that are not to be served: a dry run, and how one host stands to a request. And which
// cells there are.

import type { Address } from '../actor.ts';
import { likeWords } from '../alike.ts';
import { classesApart } from '../messages/decision.ts';
import type { OnNamedHosts } from '../messages/in-the-way.ts';
import type { CellView, HostStanding } from '../messages/questions.ts';
import type { SchedulerMessage } from '../messages/scheduler.ts';
import { present } from '../present.ts';
import { placementShardOf } from '../routing.ts';
import { weighingOf } from './decision.ts';
import { allInTheWay } from './explaining/all-obstacles.ts';
import { likeHosts } from './explaining/like-hosts.ts';
import { isMoreInTheWay } from './explaining/more-obstacles.ts';
import { obstaclesOnNamed } from './explaining/named-obstacles.ts';
import { beforeWeight, type Contender, ranksBefore } from './explaining/precedence.ts';
import { roomUntold } from './explaining/room-untold.ts';
import { surveyOf } from './explaining/survey.ts';
import { mayHaveMissed, mayHaveMissedHosts, silencesOf, untoldShards } from './following.ts';
import { toldRuleOf } from './group-rules.ts';
import type { Ranked } from './picking.ts';
import { isUnderWay, TOO_MANY, withCompany } from './questioning.ts';
import type { Obstacle } from './ranking/census.ts';
import { allFiltersFor, type Judged, judge } from './ranking/judging.ts';
import type { Fleet } from './ranking/ranking.ts';
import type { Company, Request } from './request.ts';
import { shardsAwaited } from './rounds.ts';
import { openOf } from './selecting.ts';
import type { Asker, Sweep, Work } from './state.ts';
import { beginSweep } from './sweeps.ts';
import { cellFeed } from './view/feeds.ts';
import { silentOf } from './view/silence.ts';
import type { ViewHost } from './view/view.ts';
import { weighersFor, weightOf } from './weighers/weigher.ts';

type Fit = Extract<SchedulerMessage, { type: 'fit' }>;
type WhyNot = Extract<SchedulerMessage, { type: 'why-not' }>;
type ListCells = Extract<SchedulerMessage, { type: 'list-cells' }>;

/** When whoever was told that there are too many questions may ask again, ms. */
const AGAIN_MS = 1_000;
const NOT_ALL_HEARD = 'the scheduler has not heard of all hosts yet';

export function fitAsked(work: Work, { ask, count, limit, ...asked }: Fit, from: Address): void {
  const asker = { from, ask };
  if (isUnderWay(work, asker)) return;
  if (mayHaveMissed(work)) return decline(work, from, ask, 'overloaded', notAllHeard(work));
  const look = (now: Work, company: Company | undefined) => {
    const { rankings, view } = now.state;
    const request = requestOf(asked, company);
    let untold = 0;
    let onNamed: OnNamedHosts | undefined;
    const survey = surveyOf(
      rankings,
      view,
      { request, count, limit, isHeardOf: (cell) => now.state.followers.has(cellFeed(cell)) },
      ({ best: found, silentShards, unknown = [], ...told }, then) => {
        const { classes, others, like } = classesApart(unknown);
        then.turn.send(from, {
          type: 'fitted',
          ask,
          ...told,
          ...(others.length === 0 ? {} : { unknown: others }),
          ...(classes.length === 0 ? {} : { unknownClasses: classes }),
          ...(like.length === 0 ? {} : { unknownLike: like }),
          best: [...found],
          silentCells: [...told.silentCells],
          ...(silentShards.length === 0 ? {} : { silentShards: [...silentShards] }),
          ...(untold === 0 ? {} : { untold }),
          ...present({ onNamed, groupRule: toldRuleOf(then.state.view, request.spec) }),
          ...present({ silence: silencesOf(then, { silentCells: told.silentCells, silentShards }) }),
          advice: [...told.advice],
        });
      },
    );
    const sweep: Sweep = {
      ...survey,
      *conclude() {
        if (survey.conclude !== undefined) yield* survey.conclude();
        untold = yield* roomUntold(view, request.spec);
        onNamed = yield* obstaclesOnNamed(now.state, request, count);
      },
    };
    if (!beginSweep(now, answering(asker, sweep))) decline(now, from, ask, 'overloaded', TOO_MANY);
  };
  withCompany(work, asker, asked.spec, look, (now, reason) => decline(now, from, ask, 'overloaded', reason));
}

export function cellsAsked(work: Work, { ask }: ListCells, from: Address): void {
  const asker = { from, ask };
  if (isUnderWay(work, asker)) return;
  if (mayHaveMissedHosts(work)) return decline(work, from, ask, 'overloaded', NOT_ALL_HEARD);
  const { view, followers } = work.state;
  const cells = new Map<string, CellView>();
  const viewOf = (cell: string): CellView => {
    const silent = view.silentCells.has(cell) ? { silent: true as const } : {};
    const known = cells.get(cell) ?? { cell, hosts: 0, up: 0, ...silent };
    cells.set(cell, known);
    return known;
  };
  // One without a host is there too.
  for (const { of, disabled } of followers.values()) {
    if (of.cell !== undefined) Object.assign(viewOf(of.cell), present({ disabled }));
  }
  const sweep: Sweep = {
    visit({ cell, state }) {
      const told = viewOf(cell);
      told.hosts += 1;
      if (state === 'up') told.up += 1;
      return true;
    },
    done({ turn }) {
      const sorted = [...cells.values()].sort((one, other) => (one.cell < other.cell ? -1 : 1));
      turn.send(from, { type: 'cells', ask, cells: sorted });
    },
  };
  if (!beginSweep(work, answering(asker, sweep))) decline(work, from, ask, 'overloaded', TOO_MANY);
}

/** A sweep by which a question is answered. */
function answering(asker: Asker, sweep: Sweep): Sweep {
  const { from, ask } = asker;
  return { ...sweep, asker, tellUnderWay: ({ turn }) => turn.send(from, { type: 'answering', ask }) };
}

/** Once all cells have told, it says who has not: a placement shard may be away for long. */
function notAllHeard(work: Work): string {
  if (mayHaveMissedHosts(work)) return NOT_ALL_HEARD;
  const shards = untoldShards(work).map((shard) => `placement/${shard}`);
  return `${NOT_ALL_HEARD}: ${shards.join(', ')} ${shards.length === 1 ? 'has' : 'have'} not told of them`;
}

function decline({ turn }: Work, to: Address, ask: number, code: string, reason: string, field?: string): void {
  const more = field === undefined ? { retryAfterMs: AGAIN_MS } : { field };
  turn.send(to, { type: 'declined', ask, code, reason, ...more });
}

export function whyNotAsked(work: Work, asked: WhyNot, from: Address): void {
  const { ask, instance, host: name } = asked;
  const asker = { from, ask };
  if (isUnderWay(work, asker)) return;
  const { view } = work.state;
  const named = hostsNamed(work, asked);
  const [host, other] = named;
  if (host === undefined) {
    if (mayHaveMissed(work)) return decline(work, from, ask, 'overloaded', notAllHeard(work));
    return declineHost(work, asked, from);
  }
  if (other !== undefined) {
    const cells = named.map((one) => one.cell).sort();
    const reason = `there is a host '${name}' in the cells ${cells.join(', ')}: name the cell`;
    return decline(work, from, ask, 'ambiguous', reason, 'cell');
  }
  const compare = (now: Work, company: Company | undefined) => {
    // Its cell may have told of it anew since the question came, or that it is gone.
    const current = view.hosts.get(host.root);
    if (current === undefined) return declineHost(now, asked, from);
    const claiming = instance === undefined ? undefined : claimOf(now, instance);
    const open = instance === undefined ? undefined : openOf(now, instance);
    const awaited = open === undefined ? [] : shardsAwaited(open, instance as string);
    const awaiting = awaited.length === 0 ? undefined : awaited;
    const answer = (standing: HostStanding, { turn }: Work) =>
      turn.send(from, { type: 'why-not-told', ask, standing: { ...standing, ...present({ claiming, awaiting }) } });
    const comparison = comparisonOf(now.state, requestOf(asked, company), current, answer);
    if (!beginSweep(now, answering(asker, comparison))) decline(now, from, ask, 'overloaded', TOO_MANY);
  };
  withCompany(work, asker, asked.spec, compare, (now, reason) => decline(now, from, ask, 'overloaded', reason));
}

/** The hosts that a question names: several where it does not say of which cell. */
function hostsNamed({ state: { view } }: Work, { host, cell }: WhyNot): ViewHost[] {
  return [...view.hosts.values()].filter((one) => one.host === host && (cell ?? one.cell) === one.cell);
}

/** Says that a host is not known, and which one may be meant; unless it comes while that is looked for. */
function declineHost(work: Work, asked: WhyNot, from: Address): void {
  const { ask, host: name, cell } = asked;
  const asker = { from, ask };
  const named = cell === undefined ? name : `${cell}/${name}`;
  let like: string | undefined;
  const notFound = (now: Work) => {
    const reason = `no host '${name}' is known${whyUnknown(now, cell)}${likeWords(like)}`;
    decline(now, from, ask, 'not-found', reason, isUnheard(now, cell) ? 'cell' : 'host');
  };
  const search: Sweep = {
    visit: () => false,
    *conclude() {
      like = (yield* likeHosts([named], work.state.view)).get(named);
    },
    done: (now) => (hostsNamed(now, asked).length > 0 ? whyNotAsked(now, asked, from) : notFound(now)),
  };
  if (!beginSweep(work, answering(asker, search))) notFound(work);
}

/** A cell that is down since before this scheduler came up has told it nothing. */
function isUnheard({ state: { followers } }: Work, cell: string | undefined): boolean {
  return cell !== undefined && !followers.has(cellFeed(cell));
}

function whyUnknown(work: Work, cell: string | undefined): string {
  if (cell === undefined) return '';
  return isUnheard(work, cell)
    ? `: nothing was heard of cell '${cell}' since the scheduler came up`
    : ` in cell '${cell}'`;
}

/** What this scheduler has claimed for an instance, and has no answer for yet. */
function claimOf(work: Work, instance: string): HostStanding['claiming'] {
  const { view } = work.state;
  const { provider: root = '' } = openOf(work, instance)?.promised.get(instance) ?? {};
  const claimed = view.hosts.get(root);
  if (claimed === undefined) return undefined;
  return { cell: claimed.cell, host: claimed.host, shard: placementShardOf(root, view.shards) };
}

type Refused = Exclude<Judged, { readonly obstacle: null }>;

/** Compares one host with all others: each is judged and weighed. */
function comparisonOf(
  { rankings, view }: Fleet,
  request: Request,
  host: ViewHost,
  done: (standing: HostStanding, work: Work) => void,
): Sweep {
  const filters = allFiltersFor(rankings.filters, request);
  const weighers = weighersFor(rankings.weighers, request);
  const weigh = (one: ViewHost, isThorough = true): (Ranked & Contender) | Refused => {
    const judged = judge(view, filters, request.spec, one, rankings.preference, isThorough);
    if (judged.obstacle !== null) return judged;
    const { facts, tree, allocations } = judged;
    const weight = weightOf(weighers, { host: facts, tree, allocations }, rankings.overrides);
    const { root, cell, host: name } = one;
    return { root, cell, host: name, weight, allocations, ...beforeWeight(view, request.spec, root) };
  };
  const told = (one: Ranked & Contender) => ({
    ...weighingOf(weighers, rankings.overrides, view, one),
    ...present({ members: one.members, silentShard: one.silentShard }),
  });
  const refusalOf = (refused: Refused): NonNullable<HostStanding['refusal']> => {
    const { code, message, about, short } = refused.obstacle;
    const isMore = isMoreInTheWay(rankings.filters, view, request, host, refused);
    const until = code === 'host-set-aside' ? host.until : undefined;
    return { code, message, ...present({ about, short, until }), ...(isMore ? { lacksMore: true } : {}) };
  };
  const refusedFor = (refused: Refused): Pick<HostStanding, 'refusal' | 'also' | 'partly'> => {
    const refusal = refusalOf(refused);
    if (refusal.lacksMore !== true) return { refusal };
    const { all, isWhole } = allInTheWay(rankings.filters, view, request, host);
    const isOther = ({ code, about }: Obstacle) => code !== refusal.code || about !== refusal.about;
    const also = all
      .filter(isOther)
      .map(({ code, about, short, message }) => ({ code, message, ...present({ about, short }) }));
    return { refusal, ...(also.length === 0 ? {} : { also }), ...(isWhole ? {} : { partly: true }) };
  };
  // Either may be gone when all have been looked at, so what is told of it is put together at once.
  const own = weigh(host);
  const standing = 'obstacle' in own ? refusedFor(own) : { weighing: told(own) };
  let best: (Ranked & Contender) | null = null;
  let first: Pick<HostStanding, 'best'> = {};
  let [hosts, fits, better] = [0, 0, 0];
  return {
    visit(one, isThorough) {
      hosts += 1;
      const weighed = one.root === host.root ? own : weigh(one, isThorough);
      if ('obstacle' in weighed) return true;
      fits += 1;
      if (best === null || ranksBefore(view, request, weighed, best)) {
        best = weighed;
        first = { best: told(weighed) };
      }
      if (!('obstacle' in own) && ranksBefore(view, request, weighed, own)) better += 1;
      return true;
    },
    done(work) {
      const { cell, host: name } = host;
      const rank = 'obstacle' in own ? {} : { rank: better + 1 };
      const silent = view.silentCells.has(cell) ? { silent: true as const } : {};
      const since = present({ silence: silencesOf(work, silentOf(view, cell, host.root)) });
      done({ cell, host: name, hosts, fits, ...first, ...standing, ...rank, ...silent, ...since }, work);
    },
  };
}

/** A request as filters and weighers see it. */
function requestOf(
  { spec, where, project }: Pick<Fit, 'spec' | 'where' | 'project'>,
  company: Company | undefined,
): Request {
  return { spec, where, project, company };
}
