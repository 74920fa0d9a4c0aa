// Why a change over several shards is refused, as one shard that had all of it would say it: each says what it thinks of
// its part, and what would have been found first is told.

import type { ApiRefusal, ConsumerChange } from '../../../actors/messages/placement-api.ts';
import type { Part } from '../../../actors/messages/transactions.ts';
import type { Outcome, Shards } from './asking.ts';

export async function explain(
  shards: Shards,
  parts: readonly Part[],
  changes: readonly ConsumerChange[],
  told: ApiRefusal,
): Promise<ApiRefusal> {
  const thoughts = await Promise.all(
    parts.map(({ shard, ...part }): Promise<Outcome<null>> => shards.ask({ type: 'consider', ...part }, shard)),
  );
  const refusals = thoughts.flatMap(({ refused }) => (refused === undefined ? [] : [refused]));
  const inventories = parts.flatMap(({ inventories: given = [] }) => given);
  const order = orderOf(changes, inventories);
  const first = refusals.sort((one, other) => compare(order(one), order(other)))[0] ?? told;
  return isBare(first) ? together(refusals.filter(isBare), changes) : first;
}

/** A provider that has an inventory of none of the classes; of these all are told at once. */
function isBare({ code, requested }: ApiRefusal): boolean {
  return code === 'no-inventory' && requested === undefined;
}

function together(refusals: readonly ApiRefusal[], changes: readonly ConsumerChange[]): ApiRefusal {
  const bare = new Set(refusals.flatMap(({ provider = '' }) => provider.split(', ')));
  const named = new Set(changes.flatMap(({ allocations }) => allocations.map((one) => one.provider)));
  const provider = [...named].filter((id) => bare.has(id)).join(', ');
  const resourceClass = refusals[0]?.resourceClass ?? '';
  const message = `provider '${provider}' has no inventory of ${resourceClass}`;
  return { code: 'no-inventory', message, provider, resourceClass };
}

/** Where a refusal stands among all that there could be: by what is looked at first, then by the order of the request. */
function orderOf(changes: readonly ConsumerChange[], inventories: Required<Part>['inventories']) {
  const amounts = changes.flatMap(({ allocations }) =>
    allocations.flatMap(({ provider, resources }) => Object.keys(resources).map((name) => `${provider} ${name}`)),
  );
  const classes = [
    ...inventories.flatMap(({ inventories: given }) => Object.keys(given)),
    ...changes.flatMap(({ allocations }) => allocations.flatMap(({ resources }) => Object.keys(resources))),
  ];
  const providers = inventories.map(({ provider }) => provider);
  return (refusal: ApiRefusal): [number, number] => {
    const { code, provider = '', resourceClass = '', subject = '' } = refusal;
    if (code === 'no-class') return [1, classes.indexOf(subject)];
    if (isBare(refusal)) return [2, 0];
    if (code === 'inventory-in-use') return [4, providers.indexOf(provider)];
    if (code === 'group-affinity' || code === 'group-anti-affinity') return [5, 0];
    const isAmount = code === 'no-inventory' || code === 'unit-constraint' || code === 'exceeds-capacity';
    return isAmount ? [3, amounts.indexOf(`${provider} ${resourceClass}`)] : [0, 0];
  };
}

function compare([stage, position]: [number, number], [otherStage, otherPosition]: [number, number]): number {
  return stage - otherStage || position - otherPosition;
}
