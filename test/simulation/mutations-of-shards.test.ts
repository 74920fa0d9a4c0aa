// Area: simulation. It can fail, with several placement shards: without any one of the things that make one placement of
// them, it finds a broken invariant, by its name, within a few seeds.

import { canFail } from './mutations.ts';
import { OF_SHARDS } from './safeguards-of-shards.ts';

canFail('simulation of shards can fail', OF_SHARDS);
