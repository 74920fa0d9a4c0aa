// Area: simulation. It can fail: without any one of the things that keep a deployment safe, it finds a broken
// invariant, by its name, within a few seeds.

import { canFail } from './mutations.ts';
import { SAFEGUARDS } from './safeguards.ts';

canFail('simulation can fail', SAFEGUARDS);
