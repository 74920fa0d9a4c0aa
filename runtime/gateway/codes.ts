// The codes that explanations carry, beside words that may change: they are stable, and each is said here once. Programs
// that read `explain`, `why-not` and `fit` branch on them.

import type { AdviceCode } from '../../actors/messages/advice.ts';
import type { FailureCode } from '../../actors/messages/common.ts';
import type { AttemptOutcome } from '../../machines/instance-build.ts';

/**
 * Why a host is refused: `refused[].code` of a decision or a dry run, `refusedClaims[].code`, `now.refusal.code` of
 * `why-not`, `onNamed.told[].refusal.code` of hosts that a request names. Filters of a deployment's own add codes of theirs.
 */
export const REFUSAL_CODES = {
  'host-down': 'nothing is heard of it',
  'host-disabled': 'an operator has taken it out of service',
  'host-set-aside': 'builds kept failing there; it comes back by itself',
  'host-fenced': 'an operator has said that nothing runs there any more',
  'unknown-provider': 'placement has not told of it, or no longer has the provider',
  'no-inventory': 'it has none of the resource class `about`',
  'not-on-one-provider':
    'it has the resource class `about`, but on no provider that has all other classes that a group asks of one provider',
  'unit-constraint':
    'the amount of `about` is not one that min_unit, max_unit and step_size of its inventory allow; the nearest one that would do differs by `short`',
  'exceeds-capacity':
    'too little of `about` is free, `short` by so much; without `about`: the groups cannot all be served at once',
  'trait-missing': 'it lacks the required trait, or all the traits, `about`',
  'trait-forbidden': 'it has the forbidden trait `about`',
  'not-in-aggregate':
    'it is not in any of the aggregates, or of the zones, `about`: of zones, `about` says `zone` before their names; that the project of the request is confined to them, `about` says then',
  'in-avoided-aggregate':
    'it is in the aggregate `about`, or `zone`, which is avoided, or, as `about` says then, kept for other projects, or for requests that require other traits; of more than 8 aggregates it is not said which',
  'not-isolated': 'each group would fit, but not all of them at once as the group policy wants it',
  'not-one-subtree': 'the groups that must share a subtree find none',
  'hard-to-tell':
    'whether it could serve all groups at once takes long to find out, as on too many others: it is not searched to the end',
  'not-in-cell': 'it is in none of the cells that are named',
  'in-avoided-cell': 'it is in a cell that is to be avoided',
  'not-a-named-provider': 'it is none of the hosts that are named',
  'avoided-provider': 'it is one of the hosts to be avoided',
  'consumer-missing': 'none of the instances to be with is there',
  'consumer-present': 'one of the instances to be kept apart from is there',
  'group-affinity': 'the instance group keeps together, and is elsewhere',
  'group-anti-affinity': 'it has as many members of the instance group as it may',
  'group-changed':
    'of a claim: the instance group, of a soft rule, has come to where it was not known of, and the host is chosen anew',
  'no-room-together': 'it has room for all but `short` of the instances that keep together',
  'group-policy-conflict': 'another member of the instance group said another rule',
  'too-many-instances':
    'it has as many instances as the filter instance-limit, or an aggregate, lets it, `short` by so many',
  'too-many-builds': 'it is building as many as the filter build-limit, or an aggregate, lets it, `short` by so many',
  'filter-failed': 'the filter `about` threw, or answered what is no answer',
  'consumer-deleted': 'of a claim: the instance was deleted meanwhile',
  superseded: 'of a claim: a later one of the same instance was decided before',
  expired: 'of a claim: it came after its time',
  'not-one-tree': 'of a claim: its providers belong to different hosts by now',
  'does-not-serve-request': 'of a claim: it does not serve the request exactly',
  other: 'of a record: the hosts of all reasons that it has no room to name',
} as const;

/**
 * One change with which a request would fit: `advice[].code`. `about` and `group`, or `groups` that ask alike, say of
 * what; `hosts` on how many, `partly` at least; `instances` how many of them those hosts would hold between them, where
 * several were asked for, and `instancesTogether` how many each of them would, where they keep together. With
 * `silentCells` or `silentShards` it would not fit without hosts of some cells or placement shards of which nothing was
 * heard lately: of these, or of others that are counted with them in `silent`, how many there are in all, where not all
 * are named.
 */
export const ADVICE_CODES = {
  less: 'ask for less of a resource class: `to` instead of `from`',
  more: 'ask for more of a resource class, as its inventory insists: `to` instead of `from`',
  'group-split':
    'ask for the resource class of the named group in one of its own, so that another provider may give it: with the same `forbidden` and `memberOf`, and in the same lists of `sameSubtree`; what the group requires (`required`, `anyOf`) stays with its other classes',
  'without-resource':
    'do not ask for the resource class; of a named group that asks for nothing else, `without-group` is said',
  'when-built': 'wait until builds that are under way on the hosts have ended: ask again then, or let it wait (`wait`)',
  'when-empty':
    'nothing of the request: let it wait (`wait`), free what is in use on `hosts`, or add some; a host that is too small for it even when it is empty is not among them, nor one with instances that the request must be with',
  'without-group':
    'leave the named group out, with its conditions: also where it asks for one resource class alone, of which `without-resource` was said in earlier versions',
  'without-required': 'do not require the trait',
  'without-any-of': 'do not require one of the traits',
  'without-forbidden': 'do not forbid the trait',
  'without-member-of': 'do not insist on one of the aggregates (without `group`: of the host)',
  'without-not-member-of':
    'do not avoid the aggregate; if it is kept for others: open it (of requests of a node that does not tell which)',
  'without-zones': 'do not insist on the zones',
  'without-avoid-zones': 'do not avoid the zones `about`: as few of the list as are enough',
  'without-avoid-aggregates': 'do not avoid the aggregates `about`: as few of the list as are enough',
  'without-kept':
    'open the aggregate, which is kept for other projects, to the project of the request; with `traits`: to requests that do not require these, for it is kept for those that do; with `projects` as well: to both',
  'without-confinement': 'let the project of the request use other hosts than those of the aggregates `about`',
  'without-cells': 'do not insist on the cells',
  'without-avoid-cells': 'do not avoid the cells `about`: as few of the list as are enough',
  'without-hosts': 'do not insist on the hosts that are named',
  'without-avoid-hosts':
    'do not avoid the hosts `about`, as `<cell>/<host>`: as few of those that are named as are enough',
  'without-same-host': 'do not insist on the company of other instances',
  'without-different-host': 'do not avoid the company of the instances `about`: as few of the list as are enough',
  'without-root-required': 'do not require the trait of the host itself',
  'without-root-forbidden': 'do not forbid the host itself to have the trait',
  'without-same-subtree': 'do not insist on one subtree for the groups',
  'without-isolation': 'let groups share a provider: groupPolicy none',
  'without-instance-group': 'leave the instance group `about`: while it has members, another rule of it is refused',
  'with-group-policy':
    'say the rule `about` of the instance group, as its members have it: policy, and `n per host` of `maxPerHost`',
  'more-per-host':
    'let each host have more members of the instance group `about`, which has none yet: `maxPerHost` of `to` instead of `from`',
  'without-filter':
    "change the deployment's filter `about`; with `failed`: mend it; with `aggregates`: change the limits that these set (and with `own` that of the filter)",
  'fewer-instances': 'ask for fewer instances: `to` instead of `from`',
  'ask-again':
    'ask again, unchanged: `hosts` fit as far as is known, which were not tried for long enough, or have come to have room since',
  'with-wait':
    'let it wait (`wait`), so that it is tried again when room comes free: on `hosts` none was left when they were claimed, as others were quicker; that it would fit then is not known',
  'more-alternates':
    'of a build that failed on all hosts that were named: ask for more alternates, `to` instead of `from`, which fitted in cell `about` when it was decided',
  'another-cell':
    'of such a build, where no more hosts of its cell fitted: avoid cell `about` (and neither prefer nor name it), as hosts of other cells that it may go to fitted when it was decided',
  'host-state':
    'bring back hosts that are `about`, and enable the `disabled` of them that are disabled, too: `host`, or `needed` of them, of which `named` are the first; those that are set aside come back by themselves, from `until` on; `setAside` of them are set aside, too, when they are back, until `asideUntil` at the latest',
  'cell-state': 'put cell `about` back into service, with which its hosts are disabled',
} as const satisfies Record<AdviceCode, string>;

/** Why an instance is not, or not known to be, active: `failure.code` of an instance. */
export const FAILURE_CODES = {
  'no-valid-host': 'no host fitted, or none was left whose claim was granted',
  'scheduling-timed-out':
    'no scheduler came to an end in time: none is running, or placement does not answer them; the message says how often they were asked',
  'alternates-exhausted': 'no host is left to try: each failed, or could not be claimed as an alternate',
  'build-aborted': 'the driver said that no host would succeed',
  deleted: 'it was deleted before it was built',
  'host-fenced': 'it is lost: its host was said to be dead',
  'cell-silent':
    'its cell does not answer now, so that its state is not known: start, or wait for, a node that serves that cell',
} as const satisfies Record<FailureCode, string>;

/** What came of an attempt: `attempts[].outcome` of an instance. */
export const ATTEMPT_OUTCOMES = {
  refused: 'the compute would not take it, or the host was out of service',
  'build-failed': 'it failed there; another host may succeed',
  'build-aborted': 'it failed there, and would anywhere',
  'timed-out': 'no word came within the deadline',
  'host-lost': 'the host went silent',
  'claim-refused': "the alternate's resources were gone, or it was out of service",
  'passed-over': 'the host was set aside, and another was up: it was put behind all others, to be tried in the end',
  deleted: 'the caller ended it',
} as const satisfies Record<AttemptOutcome, string>;
