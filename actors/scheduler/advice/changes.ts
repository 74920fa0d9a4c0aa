// What may be left out of a request, or done about what refuses it: each change with the request as it would be, and how
// much it asks.

import type { Advice } from '../../messages/advice.ts';
import { type InstanceGroup, MAX_GROUPS, type RequestSpec, type ResourceGroup } from '../../messages/common.ts';
import { nameOf, ruleOf } from '../../placement/groups.ts';
import { present } from '../../present.ts';
import { replaced } from './amounts.ts';
import { alikeToChange, type GroupToChange, groupsToChange } from './groups.ts';

export interface Change {
  readonly advice: Omit<Advice, 'hosts'>;
  /** How much it asks of whoever makes it, from 0 on. */
  readonly cost: number;
  /** The request with the change; absent where it is not the request that changes. */
  readonly changed?: RequestSpec;
}

export interface ChangeOfRequest extends Change {
  readonly changed: RequestSpec;
}

/** It takes seconds, and nobody to do anything. */
export const WHEN_BUILT: Change = { advice: { code: 'when-built' }, cost: 0.3 };

/** It is the hosts that would have to change: by themselves as instances are deleted, or by an operator. */
export const WHEN_EMPTY: Change = { advice: { code: 'when-empty' }, cost: 0.9 };

/** As with what is kept for others: it is for an operator to do. */
export const withoutFilter = (about: string): Change => ({ advice: { code: 'without-filter', about }, cost: 0.8 });

export function withoutInstanceGroup({ instanceGroup, ...changed }: RequestSpec): ChangeOfRequest {
  const about = instanceGroup === undefined ? undefined : nameOf(instanceGroup);
  return { advice: { code: 'without-instance-group', ...present({ about }) }, cost: 0.6, changed };
}

/** A group has the rule of its first member: whoever says the same is not refused for it. */
export function withOwnRule(spec: RequestSpec, instanceGroup: InstanceGroup): ChangeOfRequest {
  const about = ruleOf(instanceGroup);
  return { advice: { code: 'with-group-policy', about }, cost: 0.3, changed: { ...spec, instanceGroup } };
}

/** More members on each host, of a request that says so. */
export function morePerHost(spec: RequestSpec, to: number): ChangeOfRequest {
  const instanceGroup = { ...(spec.instanceGroup as InstanceGroup), maxPerHost: to };
  const from = spec.instanceGroup?.maxPerHost ?? 1;
  const advice = { code: 'more-per-host' as const, about: nameOf(instanceGroup), from, to };
  return { advice, cost: 0.5, changed: { ...spec, instanceGroup } };
}

interface ChangesOfGroup extends GroupToChange {
  readonly ofConditions: readonly ConditionOfGroup[];
  readonly ofResources: readonly ChangeOfRequest[];
}

/** What may be left out of a request. */
export interface Changes {
  readonly ofGroups: readonly ChangesOfGroup[];
  readonly ofRoot: readonly ChangeOfRequest[];
  readonly betweenGroups: readonly ChangeOfRequest[];
}

export function newChanges(spec: RequestSpec): Changes {
  const ofGroups = groupsToChange(spec).map((one): ChangesOfGroup => {
    const { group } = one;
    const classes = Object.keys(group.resources);
    const isNamed = group.name !== '';
    // Without its one class it would be left with conditions on nothing, or with a provider of its own for nothing.
    const isOneClass = isNamed && classes.length === 1;
    const ofClasses = isOneClass
      ? []
      : classes.flatMap((resourceClass) => withoutResource(spec, one, resourceClass) ?? []);
    const ofConditions = conditionsOf(spec, one);
    // One with a single condition is as good as left out without that, if it needs no provider of its own.
    const isIsolated = spec.groupPolicy === 'isolate' && ofConditions.length === 1;
    const mayGo = isNamed && (classes.length > 0 || ofConditions.length > 1 || isIsolated);
    const ofGroup = mayGo ? withoutGroup(spec, group) : [];
    // Those that make more groups of one come last, as they take longest to try.
    return { ...one, ofConditions, ofResources: [...ofClasses, ...ofGroup, ...splitsOf(spec, one)] };
  });
  const ofAlike = alikeToChange(spec).map((all) => ({
    ...all,
    ofConditions: conditionsOf(spec, all),
    ofResources: splitsOf(spec, all),
  }));
  return {
    ofGroups: [...ofGroups, ...ofAlike],
    ofRoot: conditionsOfRoot(spec),
    betweenGroups: conditionsOfGroups(spec),
  };
}

const others = <T>(all: readonly T[], left: number) => all.filter((_, position) => position !== left);

/** The conditions on the host itself, each with the request as it would be without. */
function conditionsOfRoot(spec: RequestSpec): ChangeOfRequest[] {
  const { rootRequired = [], rootForbidden = [] } = spec;
  const cost = 0.6;
  return [
    ...rootRequired.map(
      (about, left): ChangeOfRequest => ({
        advice: { code: 'without-root-required', about },
        cost,
        changed: { ...spec, rootRequired: others(rootRequired, left) },
      }),
    ),
    ...rootForbidden.map(
      (about, left): ChangeOfRequest => ({
        advice: { code: 'without-root-forbidden', about },
        cost,
        changed: { ...spec, rootForbidden: others(rootForbidden, left) },
      }),
    ),
  ];
}

/** Those on how groups are served beside each other. */
function conditionsOfGroups(spec: RequestSpec): ChangeOfRequest[] {
  const { sameSubtree = [] } = spec;
  const cost = 0.6;
  return [
    ...(spec.groupPolicy === 'isolate'
      ? [{ advice: { code: 'without-isolation' as const }, cost, changed: { ...spec, groupPolicy: 'none' as const } }]
      : []),
    ...sameSubtree.map(
      (names, left): ChangeOfRequest => ({
        advice: { code: 'without-same-subtree', about: names.join(', ') },
        cost,
        changed: { ...spec, sameSubtree: others(sameSubtree, left) },
      }),
    ),
  ];
}

/** The group that a change is of, or the groups. */
export const toldOf = ({ group, names }: GroupToChange): Pick<Advice, 'group' | 'groups'> =>
  names === undefined ? { group: group.name } : { groups: [...names] };

/** To change several groups comes after all that asks for one change. */
export const COST_OF_SEVERAL = 2;

interface ConditionOfGroup extends ChangeOfRequest {
  /** The group with nothing but the condition. */
  readonly only: ResourceGroup;
}

/** The conditions of a group beside amounts, each by itself, and with the request as it would be without. */
function conditionsOf(spec: RequestSpec, of: GroupToChange): ConditionOfGroup[] {
  const { name, required = [], anyOf = [], forbidden = [], memberOf = [] } = of.group;
  const conditionOf = (
    code: Advice['code'],
    about: string,
    asked: Partial<ResourceGroup>,
    left: Partial<ResourceGroup>,
  ): ConditionOfGroup => ({
    advice: { code, about, ...toldOf(of) },
    cost: 0.5 + (of.names === undefined ? 0 : COST_OF_SEVERAL),
    only: { name, resources: {}, ...asked },
    changed: replaced(spec, of, () => left),
  });
  return [
    ...required.map((about, left) =>
      conditionOf('without-required', about, { required: [about] }, { required: others(required, left) }),
    ),
    ...anyOf.map((traits, left) =>
      conditionOf('without-any-of', traits.join(', '), { anyOf: [traits] }, { anyOf: others(anyOf, left) }),
    ),
    ...forbidden.map((about, left) =>
      conditionOf('without-forbidden', about, { forbidden: [about] }, { forbidden: others(forbidden, left) }),
    ),
    ...memberOf.map((ids, left) =>
      conditionOf('without-member-of', ids.join(', '), { memberOf: [ids] }, { memberOf: others(memberOf, left) }),
    ),
  ];
}

/** Each class of a named group in a group of its own, as there may be no provider that has it beside the others. */
function splitsOf(spec: RequestSpec, of: GroupToChange): ChangeOfRequest[] {
  const { required = [], anyOf = [], name, resources } = of.group;
  const classes = Object.keys(resources);
  if (name === '' || classes.length < 2) return [];
  const named = spec.groups.filter((one) => one.name !== '');
  // Callers may name one group less: the unnamed one counts, too.
  if (named.length + of.positions.length > MAX_GROUPS - 1) return [];
  // Of two it makes no difference which, unless something is required that stays with the other.
  const isEither = classes.length === 2 && required.length === 0 && anyOf.length === 0;
  return (isEither ? classes.slice(1) : classes).map((about) => ({
    advice: { code: 'group-split', about, ...toldOf(of) },
    cost: 0.6 + (of.names === undefined ? 0 : COST_OF_SEVERAL),
    changed: splitOff(spec, of, about),
  }));
}

/**
 * What is required stays with the other classes, as it may be what the provider of this one cannot have. What is
 * forbidden, in which aggregates it must be, and with whom it shares a subtree, holds for both.
 */
function splitOff(spec: RequestSpec, of: GroupToChange, resourceClass: string): RequestSpec {
  const taken = new Set(spec.groups.map(({ name }) => name));
  const freeNames = Array.from({ length: 2 * MAX_GROUPS }, (_, n) => `g${n}`).filter((name) => !taken.has(name));
  /** The new groups, by the names of those that they were split off. */
  const splitOffs = new Map<string, ResourceGroup>();
  const rest = replaced(spec, of, ({ required: _, anyOf: __, ...group }) => {
    const { [resourceClass]: amount = 0, ...resources } = group.resources;
    const name = freeNames[splitOffs.size] as string;
    splitOffs.set(group.name, { ...group, name, resources: { [resourceClass]: amount } });
    return { resources };
  });
  const withSplitOff = (name: string) => [name, splitOffs.get(name)?.name].filter((one) => one !== undefined);
  const sameSubtree = spec.sameSubtree?.map((names) => names.flatMap(withSplitOff));
  return { ...rest, groups: [...rest.groups, ...splitOffs.values()], ...present({ sameSubtree }) };
}

/** Null: nothing would be asked for. */
function withoutResource(spec: RequestSpec, of: GroupToChange, resourceClass: string): ChangeOfRequest | null {
  const { group } = of;
  const { [resourceClass]: _, ...resources } = group.resources;
  const isAll = spec.groups.every((one) => one === group || Object.keys(one.resources).length === 0);
  if (Object.keys(resources).length === 0 && isAll) return null;
  const advice = { code: 'without-resource' as const, group: group.name, about: resourceClass };
  return { advice, cost: 1, changed: replaced(spec, of, () => ({ resources })) };
}

/** A named group with all that is said of it; none where nothing else would be asked for. */
function withoutGroup(spec: RequestSpec, group: ResourceGroup): ChangeOfRequest[] {
  const { name } = group;
  const groups = spec.groups.filter((one) => one !== group);
  if (groups.every((one) => Object.keys(one.resources).length === 0)) return [];
  const lists = spec.sameSubtree?.map((names) => names.filter((one) => one !== name));
  const sameSubtree = lists?.filter((names) => names.length > 1);
  const changed: RequestSpec = { ...spec, groups, ...present({ sameSubtree }) };
  return [{ advice: { code: 'without-group', group: name }, cost: 1.1, changed }];
}
