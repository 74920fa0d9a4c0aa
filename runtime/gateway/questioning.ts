// Questions about requests, for the API: would it fit, and why is an instance not on a host: as of the decision, as far
// as that is on record, and now, by a scheduler's view.

import type { Advice } from '../../actors/messages/advice.ts';
import type { FailureCode, RequestSpec } from '../../actors/messages/common.ts';
import { type Decision, withClasses } from '../../actors/messages/decision.ts';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import type { HostStanding } from '../../actors/messages/questions.ts';
import { withTree } from '../../actors/messages/where.ts';
import { keepsTogether } from '../../actors/placement/groups.ts';
import { present } from '../../actors/present.ts';
import { SCHEDULERS } from '../../actors/routing.ts';
import { HARD_TO_TELL } from '../../actors/scheduler/ranking/judging.ts';
import type { Aggregates } from '../aggregates.ts';
import { CellwrightError } from '../errors.ts';
import type { Asking } from './asking.ts';
import { remainsOn } from './attempt-words.ts';
import type { Explaining, Known } from './explaining.ts';
import { isSilent } from './explanation-words.ts';
import { withLikeInstances } from './like-instances.ts';
import { placingNow, placingOf, refuseContradictions } from './placing.ts';
import type { FitAnswer, HostThen, WhyNot } from './question-answers.ts';
import { fitWords, whyNotWords } from './question-words.ts';
import {
  checkRequest,
  type FitRequest,
  hostAndCellOf,
  namesOf,
  refuseTooMuchToClaim,
  specOf,
  type WhyNotRequest,
} from './requests.ts';

const DEFAULT_LIMIT = 10;
const ASKED = 'the fit request';
/** Asked when it does not matter what is asked for, but where a host is. */
const ANYTHING: RequestSpec = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };

/** What schedulers know of a host; gone: none knows it any more, and the record of the instance has it. */
interface LookedUp {
  readonly standing: HostStanding | null;
  readonly isGone: boolean;
}
const NOT_LOOKED_UP: LookedUp = { standing: null, isGone: false };

/** Of an alternate, where the build was aborted. */
const NONE_TRIED = 'it was not tried, as the driver of another host said that none would succeed';

export interface Questioning {
  /** @throws MalformedError with the field; `overloaded` when too many ask at once. */
  fit(request: FitRequest): Promise<FitAnswer>;
  /** @throws CellwrightError `not-found` with the field, `ambiguous` when several cells have a host of that name. */
  whyNot(request: WhyNotRequest): Promise<WhyNot>;
}

export interface QuestioningOptions {
  readonly asking: Asking;
  readonly conductorShards: number;
  readonly known: Explaining['known'];
  readonly aggregates: Aggregates;
}

/** @throws MalformedError by the first field that is wrong in whatever deployment is asked. */
export function checkFit(request: FitRequest): void {
  checkRequest('fit', request);
  namesOf(request, request.id ?? '');
  refuseContradictions(request.placement ?? {}, ASKED);
  specOf(request, ASKED);
}

export function questioningOf({ asking, conductorShards, known, aggregates }: QuestioningOptions): Questioning {
  async function fit(request: FitRequest): Promise<FitAnswer> {
    const { id = '', placement, project } = request;
    namesOf(request, id);
    const asked = specOf(request, ASKED);
    const { tree, where } = placingOf(placement, { project, spec: asked }, aggregates, ASKED);
    const spec = { ...asked, ...present({ tree }) };
    refuseTooMuchToClaim(spec, request, ASKED);
    const more = present({ where, project });
    const { count = 1, limit = DEFAULT_LIMIT } = request;
    const {
      type: _,
      ask: __,
      unknown: others,
      unknownClasses,
      unknownLike,
      ...told
    } = await asking.ask(SCHEDULERS, { type: 'fit', spec, ...more, count, limit }, 'fitted');
    const fit = told.times >= count;
    const isHard = told.refused.some(({ code }) => code === HARD_TO_TELL);
    // Where no host fits, each of them refuses it for certain, or is hard to tell.
    const needsSilent = told.needsSilentShards === true || told.needsSilentCells === true;
    const certain = fit ? !needsSilent : !isHard && (told.fits === 0 || told.partly !== true);
    const named = withClasses(unknownClasses, others, unknownLike);
    const unknown = await withLikeInstances({ asking, conductorShards }, named);
    const answer = { fit, certain, count, ...told, ...present({ unknown }) };
    return { ...answer, words: fitWords(answer, keepsTogether(spec)) };
  }

  /** By what the operator says of aggregates now, as far as it is known what of it is his. */
  function asNow({ spec, where }: Pick<Known, 'spec' | 'where'>, project: string | undefined) {
    const now = spec === undefined ? null : placingNow({ spec, where, project }, aggregates);
    return now === null || spec === undefined ? { spec, where } : { spec: withTree(spec, now.tree), where: now.where };
  }

  async function whyNot(request: WhyNotRequest): Promise<WhyNot> {
    const { id } = request;
    const { host, cell } = hostAndCellOf(request);
    const { view, decision, ...accepted } = await known(id);
    const { project } = view;
    const { spec, where } = asNow(accepted, project);
    const more = { instance: id, ...present({ where, project }) };
    const recorded = cellsOnRecord(decision, view, host);
    const isRecorded = cell === undefined ? recorded.size > 0 : recorded.has(cell);

    /** @param of The cell, if only that one is meant. */
    async function lookUp(asked: RequestSpec, of = cell): Promise<LookedUp> {
      const question = { type: 'why-not' as const, spec: asked, host, ...more, ...present({ cell: of }) };
      try {
        const { standing } = await asking.ask(SCHEDULERS, question, 'why-not-told');
        return { standing, isGone: false };
      } catch (error) {
        if (!(error instanceof CellwrightError)) throw error;
        const isUnknown = error.code === 'not-found';
        const isUnheard = isUnknown && error.field === 'cell';
        // Of a host that was named alone it is not said whether its cell was heard of.
        if (isUnknown && isRecorded && of === undefined) return await lookUp(asked, cellOnRecord());
        if (isUnknown && isRecorded && !isUnheard) return { standing: null, isGone: true };
        // With nothing to compare, and nobody who tells more, what is on record is all that there is to tell.
        if (isRecorded && spec === undefined && (isUnheard || error.retryable)) return NOT_LOOKED_UP;
        throw isUnheard ? new CellwrightError('not-found', error.message, { field: 'host' }) : error;
      }
    }

    function cellOnRecord(): string {
      const [only, ...others] = cell === undefined ? recorded : [cell];
      if (others.length === 0) return only as string;
      const reason = `there was a host '${host}' in the cells ${[only, ...others].sort().join(', ')}: name the cell`;
      throw new CellwrightError('ambiguous', reason, { field: 'cell' });
    }

    const { standing, isGone } = await lookUp(spec ?? ANYTHING);
    const now = spec === undefined ? null : standing;
    const placed = standing?.cell ?? cellOnRecord();
    // On which of its hosts it is, its cell alone knows.
    const there = view.cell !== placed ? false : isSilent(view) ? null : view.host === host;
    const then = decision === null ? null : hostThen(decision, view, placed, host);
    const mayRun = there === false && remainsOn(view, placed, host)?.mayRun === true;
    const silentCell = isSilent(view) ? view.cell : undefined;
    const answer = {
      id,
      cell: placed,
      host,
      there,
      ...(mayRun ? { mayRun } : {}),
      ...present({ silentCell }),
      then,
      now,
      ...(isGone ? { hostGone: true as const } : {}),
    };
    const hasGroup = spec?.instanceGroup !== undefined;
    return { ...answer, words: whyNotWords(answer, view, hasGroup, decision?.chosen) };
  }

  return { fit, whyNot };
}

/** The cells in which the record has a host of that name. */
function cellsOnRecord(decision: Decision | null, view: InstanceView, host: string): Set<string> {
  const cells = new Set<string>();
  const note = (cell: string | undefined, hosts: readonly (string | undefined)[]) => {
    if (cell !== undefined && hosts.includes(host)) cells.add(cell);
  };
  note(view.cell, [view.host, ...(view.attempts ?? []).map((one) => one.host)]);
  if (decision === null) return cells;
  const { chosen, alternates, weights, refusedClaims, refused, room, onNamed } = decision;
  note(chosen?.cell, [chosen?.host, ...alternates]);
  const nearest = refused.flatMap((one) => one.nearest ?? []);
  const others = [...nearest, ...(room?.named ?? []), ...(onNamed?.told ?? []), ...advisedOf(decision)];
  for (const place of [...weights, ...refusedClaims, ...others]) note(place.cell, [place.host]);
  return cells;
}

/** What is on record of a host. */
function hostThen(decision: Decision, view: InstanceView, cell: string, host: string): HostThen {
  const { chosen, alternates, refused, refusedClaims, weights, room } = decision;
  const isIt = (one: { cell: string; host: string }) => one.cell === cell && one.host === host;
  const failed = view.cell === cell ? view.attempts?.findLast((one) => one.host === host) : undefined;
  if (failed !== undefined) return { verdict: 'failed', code: failed.outcome, message: failed.reason };
  if (chosen !== undefined && isIt(chosen)) return { verdict: 'chosen' };
  const claim = refusedClaims.findLast(isIt);
  if (claim !== undefined) return { verdict: 'claim-refused', code: claim.code, message: claim.message };
  const weighed = weights.find(isIt);
  const chosenAt = weights.findIndex((one) => one.cell === chosen?.cell && one.host === chosen.host);
  const weight = weighed === undefined ? {} : weightThen(decision, weights.indexOf(weighed), chosenAt);
  if (chosen?.cell === cell && alternates.includes(host)) {
    const isAborted = view.failure?.code === ('build-aborted' satisfies FailureCode);
    return { verdict: 'alternate', ...(isAborted ? { message: NONE_TRIED } : {}), ...weight };
  }
  if (weighed !== undefined && chosen === undefined) {
    const last = refusedClaims.at(-1);
    const why = last === undefined ? '' : `: the claim of ${last.cell}/${last.host} was refused with ${last.code}`;
    return { verdict: 'runner-up', message: `no host was taken${why}`, ...weight };
  }
  if (weighed !== undefined) {
    const why = silenceThen(decision, weights.indexOf(weighed), chosenAt) ?? preferenceThen(decision, cell, weight);
    return { verdict: 'runner-up', ...why, ...weight };
  }
  const named = decision.onNamed?.told.find(isIt);
  if (named !== undefined) {
    const { code, about, short, message, lacksMore } = named.refusal;
    const { also, partly } = named;
    return { verdict: 'refused', code, message, ...present({ about, short, lacksMore, also, partly }) };
  }
  const near = refused.find(({ nearest }) => nearest !== undefined && isIt(nearest));
  if (near?.nearest !== undefined) {
    const { short, lacksMore } = near.nearest;
    return { verdict: 'refused', code: near.code, short, ...present({ about: near.about, lacksMore }) };
  }
  const roomy = room?.named.find(isIt);
  if (roomy !== undefined) {
    return { verdict: 'runner-up', message: `it had room for ${roomy.instances} of ${room?.of} instances alone` };
  }
  const advised = advisedOf(decision).find(isIt);
  if (advised !== undefined) return advised.said;
  return { verdict: 'not-recorded' };
}

/** What a record says of hosts that its advice names, or of the one that holds an instance group. */
function advisedOf({ advice, groupHeld }: Decision): { cell: string; host: string; said: HostThen }[] {
  const told = advice.flatMap((one) => {
    const said = advisedThen(one);
    return said === null ? [] : placesIn(one).map((place) => ({ ...place, said }));
  });
  if (groupHeld === undefined) return told;
  const { cell, host, state } = groupHeld;
  return [{ cell, host, said: { verdict: 'refused', code: `host-${state}` } }, ...told];
}

/** The hosts that a change names. */
function placesIn({ code, about, host, named = [] }: Advice): { cell: string; host: string }[] {
  const avoided = code === 'without-avoid-hosts' ? about?.split(', ') : undefined;
  return [...(avoided ?? []), ...(host === undefined ? [] : [host]), ...named].map((place) => {
    const [cell = '', name = ''] = place.split('/');
    return { cell, host: name };
  });
}

/** What is said of the hosts that a change names; null: it names none. */
function advisedThen({ code, about, instances, instancesTogether }: Advice): HostThen | null {
  if (code === 'host-state') return { verdict: 'refused', code: `host-${about}` };
  if (code === 'without-avoid-hosts') return { verdict: 'refused', code: 'avoided-provider' };
  if (code !== 'when-empty') return null;
  // What of it was in use is not on record.
  const would = instancesTogether !== undefined ? 'held them all' : instances !== undefined ? 'held some' : 'fitted';
  return { verdict: 'refused', message: `it would have ${would} if it had been empty` };
}

/** That less was heard of who keeps a host, or of its cell, than of the chosen one, if that is why it was not taken. */
function silenceThen(decision: Decision, at: number, chosenAt: number): Pick<HostThen, 'message'> | null {
  const { weights, shards = [], silentShards = [], silentCells } = decision;
  const isShardSilent = (position: number) => silentShards.includes(shards[position] as number);
  const isCellSilent = (position: number) => silentCells.includes(weights[position]?.cell as string);
  if (isShardSilent(chosenAt)) return null;
  if (isShardSilent(at)) return { message: `nothing was heard lately of placement/${shards[at]}, which keeps it` };
  if (isCellSilent(chosenAt) || !isCellSilent(at)) return null;
  return { message: `nothing was heard lately of cell ${weights[at]?.cell}` };
}

/** That others were preferred to the cell of a host, if that is why it was not taken: the rule of a group comes first. */
function preferenceThen(
  { chosen, where }: Decision,
  cell: string,
  { members }: Partial<HostThen>,
): Pick<HostThen, 'message'> {
  const preferred = where?.preferCells ?? [];
  const isPassedOver = chosen !== undefined && preferred.includes(chosen.cell) && !preferred.includes(cell);
  return isPassedOver && members === undefined ? { message: `the request prefers cell ${chosen.cell}` } : {};
}

/** What a host weighed beside the others, by its place among those of the record; -1: the chosen one is none of them. */
function weightThen({ weights, group }: Decision, at: number, chosenAt: number): Partial<HostThen> {
  const weightAt = (position: number) => weights[position]?.weight as number;
  const then = { weight: weightAt(at), bestWeight: Math.max(...weights.map(({ weight }) => weight)) };
  if (chosenAt === -1) return then;
  const [members, chosenMembers] = [group?.members[at], group?.members[chosenAt]];
  const told = { ...then, chosenWeight: weightAt(chosenAt) };
  if (members === undefined || chosenMembers === undefined) return told;
  // The one that came first may have been refused, or the chosen one granted to an earlier question.
  const isByRule =
    (group?.policy === 'soft-affinity' && chosenMembers > members) ||
    (group?.policy === 'soft-anti-affinity' && chosenMembers < members);
  return isByRule ? { ...told, members, chosenMembers } : told;
}
