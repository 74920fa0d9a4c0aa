// What a look could not see, in words: who did not answer, and what of the rest hangs on that. Pure.

import { SHARES_VIA_AGGREGATE } from '../../actors/placement/standard-traits.ts';
import { hostProvidersOf, isThere, type Look, placeOf } from './look.ts';

/** Nothing when everything was seen. */
export function unknownIn(look: Look): string[] {
  const unknown: string[] = [];
  if (look.placement === null)
    unknown.push(`${silentWords(look.silentPlacement, 'placement')}: what is held is not known`);
  if (look.conducted === null) {
    const who = silentWords(look.silentConductors, 'the super conductor');
    unknown.push(`${who}: which requests there are is not known`);
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

/** `'placement/1' does not answer`; where no shard is known to be silent alone, by what all are called. */
function silentWords(shards: readonly string[] = [], all: string): string {
  const who = shards.length === 0 ? all : shards.map((shard) => `'${shard}'`).join(', ');
  return `${who} ${shards.length > 1 ? 'do' : 'does'} not answer`;
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
