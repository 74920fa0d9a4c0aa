// What a look could not see, in words: who did not answer, and what of the rest hangs on that. Pure.

import { SHARES_VIA_AGGREGATE } from '../../actors/placement/standard-traits.ts';
import { hostProvidersOf, isThere, type Look, placeOf } from './look.ts';

/** Nothing when everything was seen. */
export function unknownIn(look: Look): string[] {
  const unknown: string[] = [];
  if (look.placement === null) unknown.push('placement does not answer: what is held is not known');
  if (look.conducted === null) {
    const shards = (look.silentConductors ?? []).map((shard) => `'${shard}'`);
    const who =
      shards.length === 0 ? 'the super conductor does' : `${shards.join(', ')} ${shards.length === 1 ? 'does' : 'do'}`;
    unknown.push(`${who} not answer: which requests there are is not known`);
  }
  for (const [cell, seen] of look.cells) {
    if (seen === null) unknown.push(`cell '${cell}' does not answer: its instances and hosts are not known`);
    for (const one of seen?.hosts ?? []) {
      const place = placeOf(cell, one.host);
      if (one.state === 'down') {
        unknown.push(
          `host '${place}' is down: what runs there is not known; if that is nothing for certain: ${fenceCommand(cell, one.host)}`,
        );
      } else if (isThere(one) && (look.driven.get(place) ?? null) === null) {
        unknown.push(`host '${place}' is ${one.state}, but does not say what runs there`);
      }
    }
  }
  return [...unknown, ...unownedProviders(look)];
}

export const fenceCommand = (cell: string, host: string): string => `cellwright host fence ${cell}/${host}`;

/** Hosts of placement that no cell has shown: there is a cell that nobody has heard of. */
function unownedProviders({ placement, cells }: Look): string[] {
  if (placement === null || [...cells.values()].includes(null)) return [];
  const owned = hostProvidersOf(cells);
  return placement.providers
    .filter(({ id, root, traits }) => id === root && !owned.has(id) && !traits.includes(SHARES_VIA_AGGREGATE))
    .map(({ id, name }) => `provider '${id}' (${name}) is of no cell that was heard of: what runs there is not known`);
}
