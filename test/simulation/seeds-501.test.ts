// Area: simulation. Five hundred seeds of the two thousand that the suite runs.

import { holdsFrom } from './seeds.ts';

holdsFrom(501);
