// Area: simulation. Five hundred seeds of the thousand that the suite runs.

import { holdsFrom } from './seeds.ts';

holdsFrom(1);
