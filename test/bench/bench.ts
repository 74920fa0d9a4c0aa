// `npm run bench [-- NAME...] [--json FILE]`: measures, and prints each figure beside a bare limit taken in the same
// run, as a ratio. Figures of different machines do not compare; ratios nearly do.

import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { startNatsServer } from '../../runtime/nats-server/server.ts';
import { buildsInMemory, buildsOverNats } from './builds.ts';
import { bareLimits, type Limits } from './limits.ts';
import { million } from './million.ts';
import { claimsInActor, selects, stepOfMachine } from './parts.ts';
import { placementBench } from './placement.ts';
import { recovery } from './recovery.ts';
import { printing, type Report } from './report.ts';

const BENCHES: Readonly<Record<string, (context: { url: string; limits: Limits; report: Report }) => Promise<void>>> = {
  parts: async ({ report }) => {
    stepOfMachine(report);
    claimsInActor(report);
    selects(report);
  },
  memory: ({ report }) => buildsInMemory(report),
  nats: ({ limits, report }) => buildsOverNats(limits, report),
  recovery: ({ url, report }) => recovery(url, report),
  placement: ({ url, report }) => placementBench(url, report),
  million: ({ report }) => million(report),
};

/** What takes minutes by itself is measured only when it is asked for. */
const UNASKED = Object.keys(BENCHES).filter((name) => name !== 'million');

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' } } });
const chosen = positionals.length === 0 ? UNASKED : positionals;
const unknown = chosen.find((name) => !Object.hasOwn(BENCHES, name));
if (unknown !== undefined) {
  console.error(`there is no benchmark '${unknown}'; there are ${Object.keys(BENCHES).join(', ')}`);
  process.exit(2);
}

const { report, figures } = printing();
const server = await startNatsServer({});
try {
  console.log(`nats-server ${server.version}, Node ${process.version}, ${process.platform} ${process.arch}`);
  const limits = await bareLimits(server.url, report);
  for (const name of chosen) await BENCHES[name]?.({ url: server.url, limits, report });
} finally {
  await server.stop();
}
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(figures, null, 2)}\n`);
