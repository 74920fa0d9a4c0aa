// The weighers of a scheduler that is told of no others.

import { buildFailures } from './build-failures.ts';
import { freeShare } from './free-share.ts';
import { packDevices } from './pack-devices.ts';
import { preferredCell } from './preferred-cell.ts';
import { spareDevices } from './spare-devices.ts';
import type { Weigher } from './weigher.ts';

export const DEFAULT_WEIGHERS: readonly Weigher[] = [
  freeShare,
  packDevices,
  spareDevices,
  buildFailures,
  preferredCell,
];
