// What would have given a build that failed on all of its hosts more of them to try, as far as the record of its decision
// knows. Pure.

import { type Advice, adviceWords } from '../../actors/messages/advice.ts';
import type { FailureCode } from '../../actors/messages/common.ts';
import type { Decision } from '../../actors/messages/decision.ts';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import { MAX_ALTERNATES } from '../../actors/messages/limits.ts';
import { PASSED_OVER } from './attempt-words.ts';

/** More alternates, or else another cell: a build never leaves its cell. */
export function adviceOnBuild(view: InstanceView, decision: Decision): Advice[] {
  const { chosen, alternates, furtherInCell, furtherElsewhere = 0 } = decision;
  if (!hasTriedAll(view) || chosen === undefined || furtherInCell === undefined) return [];
  const about = chosen.cell;
  const from = alternates.length;
  const hosts = Math.min(furtherInCell, MAX_ALTERNATES - from);
  if (hosts > 0) return [{ code: 'more-alternates', about, from, to: from + hosts, hosts }];
  // Those of other cells have room for one: whether for all of several is not known.
  const isAlone = view.instance === view.request;
  return isAlone && furtherElsewhere > 0 ? [{ code: 'another-cell', about, hosts: furtherElsewhere }] : [];
}

/** The instance with that in the message of its failure, too: whoever gets the failed build need not ask why. */
export function withAdviceOnBuild(view: InstanceView, decision: Decision | null): InstanceView {
  const { failure } = view;
  const advice = failure === undefined || decision === null ? [] : adviceOnBuild(view, decision);
  if (failure === undefined || advice.length === 0) return view;
  // None of it has a time in it.
  const words = advice.map((one) => adviceWords(one, String)).join('; ');
  return { ...view, failure: { ...failure, message: `${failure.message}; ${words}` } };
}

/** That more alternates would not have helped. */
export function noFurtherHosts(view: InstanceView, { chosen, furtherInCell }: Decision): string[] {
  if (!hasTriedAll(view) || chosen === undefined || furtherInCell !== 0) return [];
  const others = view.instance === view.request ? '' : " beside those of the request's other instances";
  return [`more alternates would not have helped: no other host of cell ${chosen.cell} was found to fit${others}`];
}

/** Which alternates there were no attempts on, where the driver has ended it all. */
export function alternatesUntried({ failure, attempts }: InstanceView, { chosen, alternates }: Decision): string[] {
  if (failure?.code !== ('build-aborted' satisfies FailureCode) || chosen === undefined || attempts === undefined) {
    return [];
  }
  const tried = attempts.filter(({ outcome }) => outcome !== PASSED_OVER).map(({ host }) => host);
  const untried = [chosen.host, ...alternates].filter((name) => !tried.includes(name));
  if (untried.length === 0) return [];
  const named = untried.map((host) => `${chosen.cell}/${host}`).join(', ');
  return [`not tried, as the driver said that no host would succeed: ${named}`];
}

/** Whether no host was left to try. */
export const hasTriedAll = ({ failure }: InstanceView): boolean => failure?.code === 'alternates-exhausted';
