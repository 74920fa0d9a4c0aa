// The second process of the fleet: its cells and hosts. It says how it does when it is asked.

import { startCells } from './fleet.ts';
import { ownUsage } from './usage.ts';

const node = await startCells(JSON.parse(process.argv[2] ?? '{}'));
process.on('message', (word) => {
  if (word === 'usage' || word === 'live-usage') process.send?.(['usage', ownUsage(word === 'live-usage')]);
  if (word === 'stop') void node.stop().then(() => process.disconnect());
});
// Without whoever measures there is nothing to be here for.
process.once('disconnect', () => process.exit());
process.send?.(['up', null]);
