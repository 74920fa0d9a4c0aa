// Area: failure points. The cell, killed before and after each thing that it says on the road of a build that fails on
// its first host.

import { killedAtEach } from './points.ts';

killedAtEach('cell', ['started', 'build', 'claim', 'ended']);
