// What a request says of where it may go, one wish at a time: each with the request as it would be without that wish.

import type { Advice } from '../messages/advice.ts';
import type { TreeConditions } from '../messages/common.ts';
import type { Request } from './request.ts';

export interface Wish {
  readonly advice: Omit<Advice, 'hosts'>;
  /** The request without it. */
  readonly without: Request;
}

/** The wishes of a request, as far as a host with these aggregates may be refused for them. */
export function wishesOf(request: Request, aggregates: ReadonlySet<string>): Wish[] {
  return [...wishesOfCells(request), ...wishesOfTree(request, aggregates), ...wishesOfCompany(request)];
}

function wishesOfCells(request: Request): Wish[] {
  const { cells, avoidCells, ...others } = request.where ?? {};
  const wishes: Wish[] = [];
  if (cells !== undefined) {
    const where = avoidCells === undefined ? others : { ...others, avoidCells };
    wishes.push({ advice: { code: 'without-cells', about: cells.join(', ') }, without: { ...request, where } });
  }
  if (avoidCells !== undefined) {
    const where = cells === undefined ? others : { ...others, cells };
    const about = avoidCells.join(', ');
    wishes.push({ advice: { code: 'without-avoid-cells', about }, without: { ...request, where } });
  }
  return wishes;
}

function wishesOfTree(request: Request, aggregates: ReadonlySet<string>): Wish[] {
  const { tree } = request.spec;
  if (tree === undefined) return [];
  const changed = (changes: Partial<Record<keyof TreeConditions, string[] | string[][] | undefined>>): Request => {
    const kept = Object.entries({ ...tree, ...changes }).filter(([, value]) => value !== undefined);
    return { ...request, spec: { ...request.spec, tree: Object.fromEntries(kept) as TreeConditions } };
  };
  const { memberOf = [], notMemberOf = [], oneOf, noneOf } = tree;
  const wishes: Wish[] = memberOf.map((list, left) => ({
    advice: { code: 'without-member-of', about: list.join(', ') },
    without: changed({ memberOf: memberOf.filter((_, position) => position !== left) }),
  }));
  for (const about of notMemberOf) {
    if (!aggregates.has(about)) continue;
    const without = changed({ notMemberOf: notMemberOf.filter((one) => one !== about) });
    wishes.push({ advice: { code: 'without-not-member-of', about }, without });
  }
  if (oneOf !== undefined) wishes.push({ advice: { code: 'without-hosts' }, without: changed({ oneOf: undefined }) });
  if (noneOf !== undefined) {
    wishes.push({ advice: { code: 'without-avoid-hosts' }, without: changed({ noneOf: undefined }) });
  }
  return wishes;
}

function wishesOfCompany(request: Request): Wish[] {
  const { company } = request;
  if (company === undefined) return [];
  const { far, near } = company;
  const wishes: Wish[] = [];
  if (near !== undefined) {
    wishes.push({ advice: { code: 'without-same-host' }, without: { ...request, company: { far } } });
  }
  if (far.size > 0) {
    const without = { ...request, company: { near, far: new Set<string>() } };
    wishes.push({ advice: { code: 'without-different-host' }, without });
  }
  return wishes;
}
