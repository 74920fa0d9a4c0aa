// The weighers that can be named when a node is started, beside `free-<resource class>` and `metric-<name>`. One more has
// a file of its own beside this one and a line here.

import { fewBuilds, fewInstances } from './busyness.ts';
import { DEFAULT_WEIGHERS } from './defaults.ts';
import type { Weigher } from './weigher.ts';

export const BUILT_IN_WEIGHERS: readonly Weigher[] = [...DEFAULT_WEIGHERS, fewInstances, fewBuilds];
