// Area: failure points. The compute, killed before and after each thing that it says on the road of a build that fails on
// its first host and is deleted in the end.

import { killedAtEach } from './points.ts';

killedAtEach('h1', ['accepted', 'built', 'build-failed', 'destroyed']);
