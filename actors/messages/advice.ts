// What would let a request fit: one change at a time, with how many hosts it would fit then. The codes are stable.

import Type, { type Static } from 'typebox';
import { firstListed, howMany, shortened } from '../count-words.ts';

/** `without-not-member-of`: of an aggregate that is avoided or kept for others, where it is not known which. */
export type AdviceCode =
  | 'less'
  | 'more'
  | 'group-split'
  | 'without-resource'
  | 'when-empty'
  | 'when-built'
  | 'without-group'
  | 'without-required'
  | 'without-any-of'
  | 'without-forbidden'
  | 'without-member-of'
  | 'without-not-member-of'
  | 'without-zones'
  | 'without-avoid-zones'
  | 'without-avoid-aggregates'
  | 'without-kept'
  | 'without-confinement'
  | 'without-cells'
  | 'without-avoid-cells'
  | 'without-hosts'
  | 'without-avoid-hosts'
  | 'without-same-host'
  | 'without-different-host'
  | 'without-root-required'
  | 'without-root-forbidden'
  | 'without-same-subtree'
  | 'without-isolation'
  | 'without-instance-group'
  | 'with-group-policy'
  | 'more-per-host'
  | 'fewer-instances'
  | 'ask-again'
  | 'with-wait'
  | 'more-alternates'
  | 'another-cell'
  | 'host-state'
  | 'cell-state'
  | 'without-filter';

export const Advice = Type.Object({
  /** Checked as any text: a node of a later version may know more. */
  code: Type.Unsafe<AdviceCode>(Type.String()),
  /** The request group that it is about; '' is the unnamed one. */
  group: Type.Optional(Type.String()),
  /** The request groups that it is about, where it takes all of several that ask alike. */
  groups: Type.Optional(Type.Array(Type.String())),
  /** The resource class, trait, list of traits, aggregates or instances, instance group or its rule, state of hosts, cell or filter. */
  about: Type.Optional(Type.String()),
  /** The aggregate `about` is kept for requests that require these traits: the first few, and `needed` says how many there are. */
  traits: Type.Optional(Type.Array(Type.String())),
  /** Beside `traits`: it is kept for other projects, too. */
  projects: Type.Optional(Type.Literal(true)),
  /** The first few aggregates whose limits the filter `about` keeps to, by their names. */
  aggregates: Type.Optional(Type.Array(Type.String())),
  /** On some of the hosts it is the filter's own limit. */
  own: Type.Optional(Type.Literal(true)),
  /** The filter has not refused: it failed. */
  failed: Type.Optional(Type.Literal(true)),
  from: Type.Optional(Type.Number()),
  to: Type.Optional(Type.Number()),
  /** How many hosts it would fit then. */
  hosts: Type.Integer(),
  /** So many instances would fit on those hosts between them: several were asked for that need not share one. */
  instances: Type.Optional(Type.Integer()),
  /** So many instances, which keep together, would fit on each of those hosts. */
  instancesTogether: Type.Optional(Type.Integer()),
  /** Not every host was searched to the end: it may fit on more. */
  partly: Type.Optional(Type.Literal(true)),
  /** So many of the hosts that have to come back are disabled, too, and have to be enabled. */
  disabled: Type.Optional(Type.Integer()),
  /** So many of them are set aside when they are back, and until when the last of those is, ms since the epoch. */
  setAside: Type.Optional(Type.Integer()),
  asideUntil: Type.Optional(Type.Number()),
  /** When the first of those hosts comes back by itself, ms since the epoch. */
  until: Type.Optional(Type.Number()),
  /**
   * Of hosts out of service, one as `<cell>/<host>`, where that is enough: the first to come back by itself, or else the one
   * with most room.
   */
  host: Type.Optional(Type.String()),
  /**
   * Of hosts out of service, where one is not enough: how many are, the first to come back or else those with most room. Of
   * hosts that would have to be empty for several instances, how many are enough, if that is few. Of `aggregates` and
   * `traits`, how many there are, where not all are named.
   */
  needed: Type.Optional(Type.Integer()),
  /** The first few of those, as `<cell>/<host>`; of hosts that would have to be empty, the few that would hold most or have fewest instances. */
  named: Type.Optional(Type.Array(Type.String())),
  /**
   * It would not fit without hosts of cells that are silent, or of placement shards: of which nothing was heard lately, so
   * that it goes by how their hosts were before. They are among these, the first of those whose hosts are counted.
   */
  silentCells: Type.Optional(Type.Array(Type.String())),
  silentShards: Type.Optional(Type.Array(Type.Integer())),
  /** How many those are in all, where more are silent than are named. */
  silent: Type.Optional(Type.Integer()),
});
export type Advice = Static<typeof Advice>;

/** Said where none was found: as far as hosts were searched, more than one thing stands in the way of each. */
export const NO_CHANGE_KNOWN = 'no single change is known with which it would fit';

/** `north, south` as `'north', 'south'`. */
export const quoted = (list: string): string => list.replaceAll(/[^, ]+/g, "'$&'");

/** The filters that limit how much a host has. */
const LIMITS: ReadonlySet<string> = new Set(['instance-limit', 'build-limit']);

export const SOME = 3;

/** `'web', 'db', 'cache' and 2 more`. */
export function someOf(names: readonly string[]): string {
  return firstListed(names.slice(0, SOME).map(quoted), names.length);
}

/** `it would fit on 9 hosts if they were empty, such as c1/h1, c1/h2`; `with c1/h4 empty, all 12 instances would fit`. */
function emptyWords(fits: string, who: string, { hosts, needed, named: told = [], ...advice }: Advice): string {
  if (needed !== undefined) return `with ${told.join(' and ')} empty, ${who} would fit`;
  const isSeveral = (advice.instances ?? advice.instancesTogether ?? 1) > 1;
  // Others of those hosts may have room for some as they are.
  const which = isSeveral ? 'those that are full were empty' : `${hosts === 1 ? 'it' : 'they'} were empty`;
  if (told.length === 0) return `${fits} if ${which}`;
  return `${fits} if ${which}${told.length === hosts ? ':' : ', such as'} ${told.join(', ')}`;
}

/** `aggregates rack-1, rack-2 and 5 more`, with the filter itself where that limits some of the hosts. */
function limitersWords({ about, aggregates = [], needed, own }: Advice): string {
  const all = needed ?? aggregates.length;
  const told = `${all === 1 ? 'aggregate' : 'aggregates'} ${firstListed(aggregates, all)}`;
  return own === true ? `filter '${about}', and ${told},` : told;
}

/** `zone 'north'`, `zones 'north', 'south'`. */
export const named = (kind: string, list: string): string => `${kind}${list.includes(', ') ? 's' : ''} ${list}`;

const moreHosts = (hosts: number): string => (hosts === 1 ? '1 more host' : `${hosts} more hosts`);

const oneOf = (aggregates: string): string =>
  aggregates.includes(', ') ? `one of the aggregates ${aggregates}` : `aggregate ${aggregates}`;

/**
 * In words, such as `with 16 VCPU less (8 instead of 24) it would fit on 12 hosts`.
 * @param till How a time (ms since the epoch) until which hosts are away is said, such as `until 10:31:07Z`.
 */
export function adviceWords(advice: Advice, till: (at: number) => string): string {
  return `${changeWords(advice, till)}${silentWords(advice)}`;
}

/** `, but not without hosts of cell c3, which is silent`. */
function silentWords({ silentCells = [], silentShards = [], silent }: Advice): string {
  const told = [...silentCells.map((cell) => `cell ${cell}`), ...silentShards.map((shard) => `placement/${shard}`)];
  if (told.length === 0) return '';
  const which =
    told.length === 1
      ? `${told.join()}, which is silent`
      : `those that are silent: ${firstListed(told.slice(0, SOME), silent ?? told.length)}`;
  return `, but not without hosts of ${which}`;
}

/** What is done about hosts that are away when they are back: ` and disabled`, `, 1 of them set aside until 13:22:39Z, too`. */
function thenWords({ disabled, setAside, asideUntil = 0, needed = 1 }: Advice, till: (at: number) => string): string {
  if (disabled === needed) return ' and disabled';
  if (setAside === needed) return ` and set aside ${till(asideUntil)}`;
  const some = [
    ...(disabled === undefined ? [] : [`${disabled} of them disabled`]),
    ...(setAside === undefined ? [] : [`${setAside} of them set aside ${till(asideUntil)}`]),
  ];
  return some.length === 0 ? '' : `, ${some.join(' and ')}, too`;
}

/**
 * With which hosts that are away: `with c1/h2, which is disabled, it would fit`, `with 2 of 5 hosts that are down (c1/h1,
 * c1/h2), the first until 10:31:07Z, all 4 instances would fit`.
 */
function backWords(who: string, advice: Advice, till: (at: number) => string): string {
  const { about = '', hosts, instances, partly, until, host, needed, named: told = [] } = advice;
  const many = howMany(hosts, 'host');
  const least = partly === true ? 'at least ' : '';
  const state = `${about.replace('-', ' ')}${thenWords(advice, till)}`;
  const when = until === undefined ? '' : ` ${till(until)}`;
  const are = `that ${hosts === 1 ? 'is' : 'are'} ${state}`;
  const first = hosts === 1 ? when : until === undefined ? '' : `, the first${when},`;
  if (needed !== undefined && told.length > 0) {
    const some = needed === hosts ? many : `${needed} of ${least}${many}`;
    return `with ${some} ${are} (${firstListed(told, needed)})${first} ${who} would fit`;
  }
  if (host === undefined) return `with ${instances === undefined ? least : ''}${many} ${are}${first} ${who} would fit`;
  const inAll = hosts === 1 ? '' : ` (one of ${least}${hosts} such hosts)`;
  return `with ${host}, which is ${state}${when}, ${who} would fit${inAll}`;
}

/**
 * Whom an aggregate is kept for: `requests that require CUSTOM_T`, `requests of other projects that require CUSTOM_T`, or
 * other projects where no traits are told.
 */
export function othersWords({ traits, projects, needed }: Pick<Advice, 'traits' | 'projects' | 'needed'>): string {
  if (traits === undefined) return 'other projects';
  const whose = projects === true ? 'requests of other projects' : 'requests';
  return `${whose} that require ${firstListed(traits, needed ?? traits.length)}`;
}

function changeWords(advice: Advice, till: (at: number) => string): string {
  const { code, group = '', about = '', from = 0, to = 0, hosts, instances, partly, failed } = advice;
  const { instancesTogether, groups } = advice;
  const list = shortened(about);
  const many = howMany(hosts, 'host');
  const least = partly === true ? 'at least ' : '';
  const all = instances ?? instancesTogether ?? 1;
  const who = all === 1 ? 'it' : all === 2 ? 'both instances' : `all ${all} instances`;
  const fits = `${who} would fit on ${instancesTogether !== undefined && hosts > 1 ? 'each of ' : ''}${least}${many}`;
  const others = about === '' ? 'other instances' : someOf(about.split(', '));
  const which = about === '' ? 'its instance group' : `instance group '${about}'`;
  const whose = groups === undefined ? `group '${group}'` : `each of the groups ${someOf(groups)}`;
  const of = groups === undefined && group === '' ? '' : ` in ${whose}`;
  switch (code) {
    case 'less':
      return `with ${from - to} ${about} less${of} (${to} instead of ${from}) ${fits}`;
    case 'more':
      return `with ${to} ${about}${of} instead of ${from} ${fits}`;
    case 'group-split':
      return groups === undefined
        ? `if ${about} of ${whose} were asked for in a group of its own, ${fits}`
        : `if ${about} of ${whose} were asked for in groups of their own, one each, ${fits}`;
    case 'without-resource':
      return `if no ${about} were asked for${of}, ${fits}`;
    case 'when-empty':
      return emptyWords(fits, who, advice);
    case 'when-built':
      return `${fits} when what is being built on ${hosts === 1 ? 'it' : 'them'} is built`;
    case 'without-group':
      return `if group '${group}' were left out, ${fits}`;
    case 'without-required':
      return `if trait ${about} were not required${of}, ${fits}`;
    case 'without-any-of':
      return `if none of the traits ${list} were required${of}, ${fits}`;
    case 'without-forbidden':
      return `if trait ${about} were not forbidden${of}, ${fits}`;
    case 'without-member-of':
      return `if it need not be in ${oneOf(list)}${of}, ${fits}`;
    case 'without-not-member-of':
      return `if aggregate ${about} were open to it, ${fits}`;
    case 'without-zones':
      return `if it need not be in ${named('zone', shortened(quoted(about)))}, ${fits}`;
    case 'without-avoid-zones':
      return `if ${named('zone', shortened(quoted(about)))} need not be avoided, ${fits}`;
    case 'without-avoid-aggregates':
      return `if ${named('aggregate', list)} need not be avoided, ${fits}`;
    case 'without-kept':
      return `if aggregate ${about}, which is kept for ${othersWords(advice)}, were open to it, ${fits}`;
    case 'without-confinement':
      return `if its project were not confined to ${named('aggregate', list)}, ${fits}`;
    case 'without-cells':
      return `if it need not be in ${named('cell', list)}, ${fits}`;
    case 'without-avoid-cells':
      return `if it need not avoid ${named('cell', list)}, ${fits}`;
    case 'without-hosts':
      return `if it need not be on a host that it names, ${fits}`;
    case 'without-avoid-hosts':
      return `if it need not avoid ${about === '' ? 'the hosts that it names' : list}, ${fits}`;
    case 'without-same-host':
      return `if it need not share a host with ${about.includes(', ') ? 'one of ' : ''}${others}, ${fits}`;
    case 'without-different-host':
      return `if it might share a host with ${others}, ${fits}`;
    case 'without-root-required':
      return `if the host itself need not have trait ${about}, ${fits}`;
    case 'without-root-forbidden':
      return `if the host itself might have trait ${about}, ${fits}`;
    case 'without-same-subtree':
      return `if the groups ${list} need not be in one subtree, ${fits}`;
    case 'without-isolation':
      return `if groups might share a provider, ${fits}`;
    case 'fewer-instances':
      return `${howMany(to, 'instance')} instead of ${from} would fit`;
    case 'ask-again':
      return `asked for again, ${who} would have ${many} to try that ${hosts === 1 ? 'fits' : 'fit'} as far as is known`;
    case 'with-wait':
      return `with \`wait\` ${who} would be tried again when room comes free: ${least}${many} had none left when claimed`;
    case 'more-alternates':
      return `with ${howMany(to, 'alternate')} instead of ${from === 0 ? 'none' : from} it would have had ${moreHosts(hosts)} of cell ${about} to try`;
    case 'another-cell':
      return `outside cell ${about} it would have had ${many} to go to`;
    case 'host-state':
      return backWords(who, advice, till);
    case 'cell-state':
      return `if cell ${about} were back in service, ${fits}`;
    case 'without-instance-group':
      return `if ${all === 1 ? 'it were not a member' : 'they were not members'} of ${which}, ${fits}`;
    case 'with-group-policy':
      return `if ${all === 1 ? 'it' : 'they'} said the rule that the instance group has, '${about}', ${fits}`;
    case 'more-per-host':
      return `with ${to} of ${which} on each host instead of ${from}, ${fits}`;
    case 'without-filter':
      if (advice.aggregates !== undefined) return `if ${limitersWords(advice)} allowed more, ${fits}`;
      return `if filter '${about}' ${failed === true ? 'did not fail' : LIMITS.has(about) ? 'allowed more' : 'let it'}, ${fits}`;
    default:
      // Of a later version. Whether it is about something to do without, or about something to have, is not known.
      return `with a change that this version does not know (${[code satisfies never, ...(about === '' ? [] : [about])].join(' ')}) ${fits}`;
  }
}
