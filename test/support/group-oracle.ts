// What the rules of instance groups ask of placement, by the plainest reckoning there is: who is where is added up anew
// for every question. It shares no code with actors/placement/. Room is not its matter.

import type { InstanceGroup } from '../../actors/messages/common.ts';

interface Holder {
  latest: number;
  group: InstanceGroup | undefined;
  /** Roots by attempt. */
  held: Map<number, string>;
}

type GroupAnswer = 'granted' | 'group-policy-conflict' | 'group-affinity' | 'group-anti-affinity' | 'other';

export interface GroupOracle {
  claim(claim: {
    consumer: string;
    attempt: number;
    root: string;
    group: InstanceGroup | undefined;
    keep: readonly number[];
  }): GroupAnswer;
  release(consumer: string, attempt: number | undefined, deleted: boolean): void;
  /** How many members each group has on each root; of one that keeps together at home only. */
  members(): Record<string, Record<string, number>>;
  /** What does not hold of the rules, nothing when all is well. */
  faults(): string[];
}

export function groupOracle(): GroupOracle {
  const holders = new Map<string, Holder>();
  const deleted = new Set<string>();

  const membersOf = (group: string, besides = '') =>
    [...holders].filter(([id, one]) => id !== besides && one.group?.id === group && one.held.size > 0);
  const homeOf = ({ latest, held }: Holder) => held.get(latest);

  return {
    claim({ consumer, attempt, root, group, keep }) {
      if (deleted.has(consumer)) return 'other';
      const known = holders.get(consumer);
      if (known !== undefined && attempt <= known.latest) {
        return attempt === known.latest && known.held.has(attempt) ? 'granted' : 'other';
      }
      const keeps = [...(known?.held.keys() ?? [])].some((one) => keep.includes(one));
      const answer = keeps && known?.group?.id !== group?.id ? 'group-policy-conflict' : decide();
      if (known === undefined && answer !== 'granted') return answer;
      const holder = known ?? { latest: attempt, group, held: new Map() };
      holders.set(consumer, holder);
      for (const one of [...holder.held.keys()]) if (!keep.includes(one)) holder.held.delete(one);
      holder.latest = attempt;
      if (answer === 'granted') {
        holder.group = group;
        holder.held.set(attempt, root);
      }
      return answer;

      function decide(): GroupAnswer {
        if (group === undefined) return 'granted';
        const [any] = membersOf(group.id);
        const rule = any?.[1].group;
        const most = group.maxPerHost ?? 1;
        if (rule !== undefined && (rule.policy !== group.policy || (rule.maxPerHost ?? 1) !== most)) {
          return 'group-policy-conflict';
        }
        const others = membersOf(group.id, consumer).map(([, one]) => one);
        if (group.policy === 'anti-affinity') {
          const there = others.filter(({ held }) => [...held.values()].includes(root));
          return there.length >= most ? 'group-anti-affinity' : 'granted';
        }
        const away = others.map(homeOf).filter((home) => home !== undefined && home !== root);
        return group.policy === 'affinity' && away.length > 0 ? 'group-affinity' : 'granted';
      }
    },
    release(consumer, attempt, forGood) {
      const holder = holders.get(consumer);
      if (attempt === undefined) {
        // What a deleted consumer holds still was kept on purpose.
        if (!deleted.has(consumer)) holder?.held.clear();
      } else {
        holder?.held.delete(attempt);
      }
      if (forGood) deleted.add(consumer);
    },
    members() {
      const all: Record<string, Record<string, number>> = {};
      for (const holder of holders.values()) {
        const { group, held } = holder;
        if (group === undefined) continue;
        const isTogether = group.policy === 'affinity' || group.policy === 'soft-affinity';
        for (const root of new Set(isTogether ? [homeOf(holder)] : held.values())) {
          if (root === undefined) continue;
          const byRoot = all[group.id] ?? {};
          all[group.id] = byRoot;
          byRoot[root] = (byRoot[root] ?? 0) + 1;
        }
      }
      return all;
    },
    faults() {
      const found: string[] = [];
      const ids = new Set([...holders.values()].flatMap(({ group }) => (group === undefined ? [] : [group.id])));
      for (const id of ids) {
        const members = membersOf(id).map(([, one]) => one);
        const rule = members[0]?.group;
        const homes = new Set(members.map(homeOf).filter((home) => home !== undefined));
        if (rule?.policy === 'affinity' && homes.size > 1) found.push(`'${id}' is on ${[...homes].join(' and ')}`);
        if (rule?.policy !== 'anti-affinity') continue;
        for (const [root, count] of Object.entries(this.members()[id] ?? {})) {
          if (count > (rule.maxPerHost ?? 1)) found.push(`'${id}' has ${count} on ${root}`);
        }
      }
      return found;
    },
  };
}
