// The weighers of a scheduler that is told of no others.

import { freeShare } from './free-share.ts';
import { packDevices } from './pack-devices.ts';
import { spareDevices } from './spare-devices.ts';
import type { Weigher } from './weigher.ts';

export const DEFAULT_WEIGHERS: readonly Weigher[] = [freeShare, packDevices, spareDevices];
