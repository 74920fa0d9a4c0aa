// What a request says of where it may go, one wish at a time: each with the request as it would be without that wish.

import type { Advice } from '../../messages/advice.ts';
import type { TreeConditions } from '../../messages/common.ts';
import { isUnmet, onAggregates, wishesOnAggregates } from '../aggregate-wishes.ts';
import type { Request } from '../request.ts';
import type { HostFacts } from '../view/host-facts.ts';

export interface Wish {
  readonly advice: Omit<Advice, 'hosts'>;
  /** Where it is a list of what to avoid: those of it that are against the host. */
  readonly against?: readonly string[] | undefined;
  /** The request without it. */
  readonly without: Request;
}

/** The wishes of a request, as far as a host may be refused for them. */
export function wishesOf(request: Request, host: Pick<HostFacts, 'cell' | 'host' | 'aggregates' | 'tree'>): Wish[] {
  return [...wishesOfCells(request, host), ...wishesOfTree(request, host), ...wishesOfCompany(request, host)];
}

function wishesOfCells(request: Request, { cell }: Pick<HostFacts, 'cell'>): Wish[] {
  const { cells, avoidCells, ...others } = request.where ?? {};
  const wishes: Wish[] = [];
  if (cells !== undefined) {
    const where = avoidCells === undefined ? others : { ...others, avoidCells };
    wishes.push({ advice: { code: 'without-cells', about: cells.join(', ') }, without: { ...request, where } });
  }
  if (avoidCells !== undefined) {
    const where = cells === undefined ? others : { ...others, cells };
    const about = avoidCells.join(', ');
    const advice = { code: 'without-avoid-cells' as const, about };
    wishes.push({ advice, against: [cell], without: { ...request, where } });
  }
  return wishes;
}

function wishesOfTree(
  request: Request,
  { cell, host, aggregates }: Pick<HostFacts, 'cell' | 'host' | 'aggregates'>,
): Wish[] {
  const { tree } = request.spec;
  if (tree === undefined) return [];
  const { oneOf, noneOf } = tree;
  const lacking = (name: 'oneOf' | 'noneOf'): Request => {
    const { [name]: _, ...others } = tree;
    return { ...request, spec: { ...request.spec, tree: others } };
  };
  const wishes = wishesOfAggregates(request, tree, aggregates);
  if (oneOf !== undefined) wishes.push({ advice: { code: 'without-hosts' }, without: lacking('oneOf') });
  if (noneOf !== undefined) {
    const advice = { code: 'without-avoid-hosts' as const };
    wishes.push({ advice, against: [`${cell}/${host}`], without: lacking('noneOf') });
  }
  return wishes;
}

/** The wish for which alone a host is refused: of an aggregate that several are against, each is kept up by the others. */
function wishesOfAggregates(request: Request, tree: TreeConditions, aggregates: ReadonlySet<string>): Wish[] {
  const asked = onAggregates(request);
  if (asked === undefined) return [];
  const [wish, ...more] = wishesOnAggregates(asked).filter(({ conditions }) =>
    conditions.some((one) => isUnmet(one, aggregates)),
  );
  if (wish === undefined || more.length > 0) return [];
  const unmet = wish.conditions.filter((one) => isUnmet(one, aggregates));
  const against = [...new Set(unmet.flatMap(({ element }) => element ?? []))];
  const list = against.length === 0 ? {} : { against };
  return [{ advice: wish.advice, ...list, without: withoutAggregates(request, tree) }];
}

const openToAll = new WeakMap<Request, Request>();

/** To a host that meets all other wishes on aggregates it is the same whether they are there. They may be hundreds. */
function withoutAggregates(request: Request, tree: TreeConditions): Request {
  let without = openToAll.get(request);
  if (without === undefined) {
    const { memberOf: _, notMemberOf: __, ...others } = tree;
    const { origins: ___, ...where } = request.where ?? {};
    without = { ...request, where, spec: { ...request.spec, tree: others } };
    openToAll.set(request, without);
  }
  return without;
}

function wishesOfCompany(request: Request, { tree: [root] }: Pick<HostFacts, 'tree'>): Wish[] {
  const { company } = request;
  if (company === undefined) return [];
  const { near, nearTo = [], ...apart } = company;
  const { far, farFrom } = apart;
  const wishes: Wish[] = [];
  if (near !== undefined) {
    const advice = { code: 'without-same-host' as const, ...aboutAll(nearTo) };
    wishes.push({ advice, without: { ...request, company: apart } });
  }
  if (far.size > 0) {
    const advice = { code: 'without-different-host' as const, ...aboutAll([...(farFrom?.values() ?? [])].flat()) };
    const against = farFrom?.get(root?.spec.id ?? '');
    wishes.push({ advice, against, without: { ...request, company: { near, far: new Set<string>() } } });
  }
  return wishes;
}

const aboutAll = (instances: readonly string[]): Pick<Advice, 'about'> =>
  instances.length === 0 ? {} : { about: [...new Set(instances)].join(', ') };
