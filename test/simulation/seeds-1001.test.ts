// Area: simulation. Five hundred seeds of the fifteen hundred that the suite runs.

import { holdsFrom } from './seeds.ts';

holdsFrom(1001);
