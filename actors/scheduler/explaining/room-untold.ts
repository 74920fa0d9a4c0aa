// Room on hosts that only placement has told of: one whose cell is down since before this scheduler came up is not among
// those that it knows, and nothing is built there until its cell is back.

import { fitAtOnce } from '../../fitting/fit.ts';
import type { RequestSpec } from '../../messages/common.ts';
import type { Steps } from '../steps.ts';
import type { View } from '../view/view.ts';
import { isTold } from './more-obstacles.ts';

/** How many trees are looked at in one step: most belong to a host that is known, and take next to no time. */
const A_STEP = 16;

/** How many root providers have room for a request, or may have, of which no cell has told. */
export function* roomUntold(view: View, spec: RequestSpec): Steps<number> {
  let found = 0;
  let looked = 0;
  // What comes while others have their turns is not looked at without end.
  const most = view.trees.size;
  for (const [root, tree] of view.trees) {
    if (looked === most) break;
    looked += 1;
    if (!view.hosts.has(root) && isTold(view, root) && fitAtOnce(spec, tree) !== null) found += 1;
    if (looked % A_STEP === 0) yield;
  }
  return found;
}
