// A process of the fleet: its owners, or its cells and hosts. It says how it does when it is asked.

import { isPart, startPart } from './fleet.ts';
import { ownUsage } from './usage.ts';

const [, , part = '', options = '{}'] = process.argv;
// Without whoever measures there is nothing to be here for.
process.once('disconnect', () => process.exit());
if (!isPart(part)) throw new Error(`a fleet has no part '${part}'`);
const node = await startPart(part, JSON.parse(options));
process.on('message', (word) => {
  if (word === 'usage' || word === 'live-usage') process.send?.(['usage', ownUsage(word === 'live-usage')]);
  if (word === 'stop') void node.stop().then(() => process.disconnect());
});
process.send?.(['up', null]);
