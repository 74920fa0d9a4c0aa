// `npm run bench [-- NAME...] [--json FILE]`: measures, and prints each figure beside a bare limit taken in the same
// run, as a ratio. Figures of different machines do not compare; ratios nearly do.

import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { startNatsServer } from '../../runtime/nats-server/server.ts';
import { buildsInMemory, buildsOverNats } from './builds.ts';
import { bareLimits, type Limits } from './limits.ts';
import { claimsInActor, selects, stepOfMachine } from './parts.ts';
import { placementBench } from './placement.ts';
import { recovery } from './recovery.ts';

/** One line of the report. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** The bare limit it stands beside, of the same unit. */
  readonly beside?: { readonly name: string; readonly value: number };
  readonly note?: string;
}

type Report = (figure: Figure) => void;

const BENCHES: Readonly<Record<string, (context: { url: string; limits: Limits; report: Report }) => Promise<void>>> = {
  parts: async ({ report }) => {
    stepOfMachine(report);
    claimsInActor(report);
    selects(report);
  },
  memory: ({ report }) => buildsInMemory(report),
  nats: ({ url, limits, report }) => buildsOverNats(url, limits, report),
  recovery: ({ url, report }) => recovery(url, report),
  placement: ({ url, limits, report }) => placementBench(url, limits, report),
};

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' } } });
const chosen = positionals.length === 0 ? Object.keys(BENCHES) : positionals;
const unknown = chosen.find((name) => !(name in BENCHES));
if (unknown !== undefined) {
  console.error(`there is no benchmark '${unknown}'; there are ${Object.keys(BENCHES).join(', ')}`);
  process.exit(2);
}

const figures: Figure[] = [];
const report: Report = (figure) => {
  figures.push(figure);
  const { name, value, unit, beside, note } = figure;
  const ratio = beside === undefined ? '' : `${(value / beside.value).toFixed(2)} of ${beside.name}`;
  const told = value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
  console.log(`${name.padEnd(58)} ${told.padStart(10)} ${unit.padEnd(9)} ${ratio} ${note ?? ''}`.trimEnd());
};

const server = await startNatsServer({});
try {
  console.log(`nats-server ${server.version}, Node ${process.version}, ${process.platform} ${process.arch}`);
  const limits = await bareLimits(server.url, report);
  for (const name of chosen) await BENCHES[name]?.({ url: server.url, limits, report });
} finally {
  await server.stop();
}
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(figures, null, 2)}\n`);
