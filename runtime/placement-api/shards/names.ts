// Resource classes and traits over all shards. Every shard has the whole catalog; what a host was told with, one shard may
// know alone, until it is needed elsewhere. What any of them knows there is.

import type { ApiMessage } from '../../../actors/messages/placement-api.ts';
import { STANDARD_RESOURCE_CLASSES } from '../../../actors/messages/resource-classes.ts';
import type { Part } from '../../../actors/messages/transactions.ts';
import type { Traits } from '../../../actors/placement/api/reads.ts';
import { noClass, noTrait, refused } from '../../../actors/placement/api/refusals.ts';
import { STANDARD_TRAITS } from '../../../actors/placement/standard-traits.ts';
import { contents, type Outcome, type Shards } from './asking.ts';

type Kind = 'class' | 'trait';

export interface Names {
  classes(): Promise<Outcome<string[]>>;
  traits(): Promise<Outcome<Traits>>;
  /** Makes sure that all shards know a name that one of them knows; false when none does. */
  teach(kind: Kind, name: string): Promise<boolean>;
  put(kind: Kind, name: string): Promise<Outcome<{ made: boolean }>>;
  remove(kind: Kind, name: string): Promise<Outcome<null>>;
  rename(asked: Omit<ApiMessage<'class-rename'>, 'ask'>): Promise<Outcome<null>>;
}

export function namesOf(shards: Shards): Names {
  async function lists(kind: Kind): Promise<readonly (readonly string[])[]> {
    if (kind === 'class') return contents(await shards.whole<string[]>({ type: 'classes-list' }));
    return contents(await shards.whole<Traits>({ type: 'traits-list' })).map(({ traits }) => traits);
  }

  /** How many of the shards know a name. */
  async function knowing(kind: Kind, name: string): Promise<number> {
    return (await lists(kind)).filter((names) => names.includes(name)).length;
  }

  const everywhere = (change: Required<Part>['change'], fresh = false) =>
    shards.together(
      shards.every.map((shard) => ({ shard, consumers: [], change, wide: true, ...(fresh ? { fresh } : {}) })),
    );

  const putting = (kind: Kind, name: string) => ({ type: `${kind}-put` as const, ask: 0, name });
  const isStandard = (kind: Kind, name: string) =>
    (kind === 'class' ? STANDARD_RESOURCE_CLASSES : STANDARD_TRAITS).has(name);
  const unknown = (kind: Kind, name: string) => (kind === 'class' ? noClass(name) : noTrait(name));

  async function teach(kind: Kind, name: string): Promise<boolean> {
    const count = await knowing(kind, name);
    if (count > 0 && count < shards.count) await everywhere(putting(kind, name));
    return count > 0;
  }

  return {
    teach,
    async classes() {
      return { ok: [...new Set((await lists('class')).flat())] };
    },
    async traits() {
      const told = contents(await shards.whole<Traits>({ type: 'traits-list' }));
      const union = (of: (one: Traits) => readonly string[]) => [...new Set(told.flatMap(of))];
      return { ok: { traits: union(({ traits }) => traits), associated: union(({ associated }) => associated) } };
    },
    async put(kind, name) {
      if (isStandard(kind, name)) return { ok: { made: false } };
      for (const deadline = shards.deadline(); ; shards.checkTime(deadline, `what comes of ${name}`)) {
        if (await teach(kind, name)) return { ok: { made: false } };
        const { refused: refusal } = await everywhere(putting(kind, name), true);
        if (refusal === undefined) return { ok: { made: true } };
        // Somebody else was faster.
        if (refusal.code !== 'name-exists') return { refused: refusal };
      }
    },
    async remove(kind, name) {
      if (isStandard(kind, name)) return refused(`${kind}-standard`, `${name} is a standard ${kind}`);
      if (!(await teach(kind, name))) return unknown(kind, name);
      return everywhere({ type: `${kind}-delete`, ask: 0, name });
    },
    async rename({ name, to }) {
      if (isStandard('class', name)) return refused('class-standard', `${name} is a standard class`);
      if (!(await teach('class', name))) return noClass(name);
      if (name === to) return { ok: null };
      if ((await knowing('class', to)) > 0) return refused('class-exists', `there is a class ${to}`);
      return everywhere({ type: 'class-rename', ask: 0, name, to });
    },
  };
}

/** The name that a shard does not know, if that is why it refused. */
function unknownName(outcome: Outcome<unknown>): { kind: Kind; names: string[] } | null {
  const { code, subject = '' } = outcome.refused ?? {};
  if (code === 'no-class') return { kind: 'class', names: [subject] };
  return code === 'no-trait' ? { kind: 'trait', names: subject.split(', ') } : null;
}

/** Asks; and when a shard does not know a name that another knows, tells it and asks again. */
export async function knowingly<Content>(
  names: Names,
  ask: () => Promise<Outcome<Content>>,
): Promise<Outcome<Content>> {
  const taught = new Set<string>();
  for (;;) {
    const outcome = await ask();
    const unknown = unknownName(outcome);
    if (unknown === null) return outcome;
    const news = unknown.names.filter((name) => !taught.has(name));
    let known = false;
    for (const name of news) {
      taught.add(name);
      if (await names.teach(unknown.kind, name)) known = true;
    }
    if (!known) return outcome;
  }
}
