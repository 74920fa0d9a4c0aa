// Area: failure points. The placement, killed before and after each thing that it says on the road of a build that fails on
// its first host and is deleted in the end.

import { killedAtEach } from './points.ts';

killedAtEach('placement', ['claim-granted', 'released']);
