// Which hosts may be meant by names that are no known host's. There may be a hundred thousand, so it is looked for in steps.

import { digitsOf, hasDigits, likeFinder } from '../../alike.ts';
import { spend } from '../../fitting/effort.ts';
import type { Steps } from '../steps.ts';
import type { View } from '../view/view.ts';

/** To compare two names takes as long as so many looks at providers; and as long as to pass over so many. */
export const LOOKS_TO_COMPARE = 4;
const PASSED_A_LOOK = 2;
const HOSTS_A_STEP = 16;

/**
 * By name, `<cell>/<host>` or a host's alone: the host of that cell that it is most like; else the one of another cell, or the
 * only one of that name. None for a name that is known: its host has come since.
 */
export function* likeHosts(names: readonly string[], { hosts }: Pick<View, 'hosts'>): Steps<Map<string, string>> {
  const sought = names.map((name) => {
    const [host = name, cell] = name.split('/').reverse();
    const namesakes: string[] = [];
    // What is right in a name, its cell, does not make up for what is wrong in the other part.
    const [ofCell, elsewhere] = [likeFinder(host), likeFinder(name)];
    return { name, host, digits: digitsOf(host), cell, ofCell, elsewhere, namesakes, isKnown: false };
  });
  if (sought.length === 0) return new Map();
  let left = hosts.size;
  let compared = 0;
  // What comes while others have their turns is not looked at without end.
  for (const { cell, host } of hosts.values()) {
    if (left === 0) break;
    left -= 1;
    let place: string | undefined;
    for (const one of sought) {
      // Their numbers tell hosts apart: those with others are passed over in next to no time.
      if (!hasDigits(host, one.digits)) continue;
      place ??= `${cell}/${host}`;
      const isOfCell = (one.cell ?? cell) === cell;
      if (isOfCell ? one.ofCell.meet(host) : one.elsewhere.meet(place)) compared += 1;
      if (isOfCell && one.host === host) one.isKnown = true;
      if (one.host === host && one.namesakes.length < 2) one.namesakes.push(place);
    }
    if (left % HOSTS_A_STEP !== 0) continue;
    spend(compared * LOOKS_TO_COMPARE + Math.ceil((HOSTS_A_STEP * sought.length) / PASSED_A_LOOK));
    compared = 0;
    yield;
  }
  return new Map(
    sought.flatMap(({ name, cell, ofCell, elsewhere, namesakes: [first, second], isKnown }) => {
      const found = ofCell.found();
      const near = found === undefined || cell === undefined ? found : `${cell}/${found}`;
      const like = near ?? elsewhere.found() ?? (second === undefined ? first : undefined);
      return like === undefined || isKnown ? [] : [[name, like]];
    }),
  );
}
