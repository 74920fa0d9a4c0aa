// Area: failure points. The cell, killed before and after each thing that it says on the road of a build that is deleted
// in the end, and of what its failed attempts left.

import { killedAtEach } from './points.ts';

killedAtEach('cell', ['destroy', 'release', 'removed']);
