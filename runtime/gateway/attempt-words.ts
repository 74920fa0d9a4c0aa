// The attempts of an instance in words, and the hosts that have to do with them: what was tried, what is under way and
// until when, what is left of it where. Pure.

import { hostStateWords } from '../../actors/host-words.ts';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import type { AttemptOutcome } from '../../machines/instance-build.ts';

type Attempt = NonNullable<InstanceView['attempts']>[number];
type Left = NonNullable<InstanceView['left']>[number];
type HostNotUp = NonNullable<InstanceView['hostsNotUp']>[number];

/** States in which no alternate is tried any more. */
const ENDED: ReadonlySet<string> = new Set(['active', 'failed', 'lost', 'deleting', 'deleted']);
/** States that last for no longer than the deadline. */
const UNDER_WAY: ReadonlySet<string> = new Set(['claimed', 'building']);

/** The outcome of an attempt of which nothing was ever built. */
export const CLAIM_REFUSED = 'claim-refused' satisfies AttemptOutcome;
/** The outcome of an attempt that another one on the same host is to follow. */
export const PASSED_OVER = 'passed-over' satisfies AttemptOutcome;

/** A host by its cell and name, where the cell is known. */
const placeWords = (cell: string | undefined, host: string): string => (cell === undefined ? host : `${cell}/${host}`);

export const placesWords = (cell: string | undefined, hosts: readonly string[]): string =>
  hosts.map((host) => placeWords(cell, host)).join(', ');

export const timeWords = (at: number): string => new Date(at).toISOString();

/** What is said, and why if that is known. */
const because = (words: string, reason: string): string => (reason === '' ? words : `${words}: ${reason}`);

/** `build-failed: no disk`; of some outcomes there is no more to say, and of some their code says too little. */
export function outcomeWords(outcome: string, reason: string): string {
  // Of a host that was out of service no claim was made.
  if (outcome === CLAIM_REFUSED) return because('it could not be claimed as an alternate', reason);
  if (outcome === PASSED_OVER) return because('it was passed over, to be tried after all others', reason);
  return because(outcome, reason === outcome ? '' : reason);
}

export function attemptLines(view: InstanceView): string[] {
  const { attempts = [], attempt, cell, host, state, alternates = [], trouble } = view;
  const lines = attempts.map((one) => attemptWords(view, one));
  const isOver = attempts.some((one) => one.attempt === attempt);
  if (attempt !== undefined && host !== undefined && !isOver) {
    const at = state === 'active' ? view.builtAt : state === 'lost' ? view.lostAt : undefined;
    const since = at === undefined ? '' : ` since ${timeWords(at)}`;
    lines.push(
      `${whichWords(view, view, attempt, host)}: ${stateWords(view, attempt)}${since}${untilWords(view, attempt)}`,
    );
  }
  const isToBeTried = attempts.length > 0 && !ENDED.has(state);
  if (trouble !== undefined) lines.push(troubleWords(cell, trouble));
  if (isToBeTried && alternates.length > 0) lines.push(`alternates left: ${placesWords(cell, alternates)}`);
  return lines;
}

/** Of one that is deleted the last attempt may be cleared away while something of an earlier one is left. */
const stateWords = (view: InstanceView, attempt: number): string =>
  view.state === 'deleting' && view.left !== undefined && leftOf(view, attempt) === undefined
    ? 'cleared away'
    : view.state;

/** `attempt 1 on c1/h1 from 10:00 to 10:01`: which attempt, and when it was as far as that is known. */
function whichWords(
  { cell }: InstanceView,
  { begunAt, endedAt }: { begunAt?: number; endedAt?: number },
  attempt: number,
  host: string,
): string {
  const from = begunAt === undefined ? '' : ` from ${timeWords(begunAt)}`;
  const to = endedAt === undefined ? '' : ` ${begunAt === undefined ? 'at' : 'to'} ${timeWords(endedAt)}`;
  return `attempt ${attempt} on ${placeWords(cell, host)}${from}${to}`;
}

/** Until when what is under way may take, or how far its end has come. */
function untilWords(view: InstanceView, attempt: number): string {
  const { state, deadlineAt } = view;
  const left = leftOf(view, attempt);
  if (left !== undefined) return left.state === 'destroying' ? `, ${clearingWords(left)}` : `; ${releasingWords(left)}`;
  return deadlineAt !== undefined && UNDER_WAY.has(state) ? `, until ${timeWords(deadlineAt)} at most` : '';
}

/** `what it held is not given back yet: placement/1 has not answered`. */
function releasingWords({ awaits = [] }: Left): string {
  const shards = awaits.map((shard) => `placement/${shard}`).join(', ');
  const silent = awaits.length === 0 ? '' : `: ${shards} ${awaits.length === 1 ? 'has' : 'have'} not answered`;
  return `what it held is not given back yet${silent}`;
}

const leftOf = ({ left }: InstanceView, attempt: number): Left | undefined =>
  left?.find((one) => one.attempt === attempt);

const clearingWords = ({ since }: Left): string =>
  `to be cleared away${since === undefined ? '' : ` since ${timeWords(since)}`}`;

function attemptWords(view: InstanceView, one: Attempt): string {
  const { attempt, host, outcome, reason, mayRun } = one;
  const words = `${whichWords(view, one, attempt, host)}: ${outcomeWords(outcome, reason)}`;
  const left = leftOf(view, attempt);
  if (mayRun && view.state !== 'deleted') {
    const since = left === undefined ? '' : `; ${clearingWords(left)}`;
    return `${words}; something of it may run there: its resources stay held until that host says otherwise${since}`;
  }
  return left?.state === 'releasing' && outcome !== CLAIM_REFUSED ? `${words}; ${releasingWords(left)}` : words;
}

function troubleWords(
  cell: string | undefined,
  { attempt, host, task, reason }: NonNullable<InstanceView['trouble']>,
): string {
  const which = `attempt ${attempt} on ${placeWords(cell, host)}`;
  const what = task === 'build' ? `did not say what came of ${which}` : `has not cleared away ${which}`;
  return `the driver ${what}, and is asked again: ${reason}`;
}

/** The attempt of an instance that is not on a host, if what it was given there is held still. */
export function remainsOn(view: InstanceView, cell: string, host: string): Attempt | undefined {
  const isHeld = ({ attempt, outcome, mayRun }: Attempt) =>
    mayRun || (outcome !== CLAIM_REFUSED && leftOf(view, attempt)?.state === 'releasing');
  return view.cell === cell ? view.attempts?.findLast((one) => one.host === host && isHeld(one)) : undefined;
}

/** How the hosts are that have to do with an instance and are not up, and what that means for it. */
export function hostLines(view: InstanceView): string[] {
  const notUp = (view.hostsNotUp ?? []).map((one) => hostWords(view, one));
  return view.missing === undefined ? notUp : [missingWords(view, view.missing), ...notUp];
}

/** Whatever was the reason, nothing is done about it by itself. */
function missingWords({ cell, host = '' }: InstanceView, { since }: NonNullable<InstanceView['missing']>): string {
  const place = placeWords(cell, host);
  return `it is missing: the driver of ${place} does not have it, as is known since ${timeWords(since)}; it keeps its resources until it is deleted, and may come back`;
}

function hostWords({ cell, host: own, state, left = [] }: InstanceView, one: HostNotUp): string {
  const place = placeWords(cell, one.host);
  const since = one.since === undefined ? '' : `, since ${timeWords(one.since)}`;
  const heard = one.heardAt === undefined ? '' : `, last heartbeat at ${timeWords(one.heardAt)}`;
  const until = one.until === undefined ? '' : `, until ${timeWords(one.until)}`;
  const is = `${one.host === own ? 'its host' : 'host'} ${place} is ${hostStateWords(one, `${since}${heard}${until}`)}`;
  if (one.state === 'disabled' || one.state === 'set-aside') return `${is}; it keeps what it has`;
  if (one.state !== 'down') return is;
  const fence = `fenced as one on which nothing runs any more (\`cellwright host fence ${place}\`)`;
  if (left.some((some) => some.host === one.host && some.state === 'destroying')) {
    return `${is}: what is to be cleared away there waits until it is back, or is ${fence}`;
  }
  return own === one.host && state === 'active'
    ? `${is}: whether the instance runs there is not known until it is back, or is ${fence}`
    : is;
}
