// `npm run bench [-- NAME...] [--json FILE]`: measures, and prints each figure beside a bare limit taken in the same
// run, as a ratio. Figures of different machines do not compare; ratios nearly do.

import { Argument, Command } from 'commander';
import { checkWritable, peoplesOutput, writeTo } from '../../runtime/cli/files.ts';
import { messageOf } from '../../runtime/errors.ts';
import { findNatsServer } from '../../runtime/nats-server/find.ts';
import { startNatsServer } from '../../runtime/nats-server/server.ts';
import { endEarly } from '../support/script.ts';
import { buildsInMemory, buildsOverNats } from './builds.ts';
import { bareLimits, type Limits } from './limits.ts';
import { million } from './million.ts';
import { claimsInActor, selects, stepOfMachine, turnsOfScheduler } from './parts.ts';
import { placementBench } from './placement.ts';
import { recovery } from './recovery.ts';
import { printing, type Report } from './report.ts';

const BENCHES: Readonly<Record<string, (context: { url: string; limits: Limits; report: Report }) => Promise<void>>> = {
  parts: async ({ limits, report }) => {
    stepOfMachine(limits, report);
    claimsInActor(limits, report);
    selects(limits, report);
    turnsOfScheduler(limits, report);
  },
  memory: ({ limits, report }) => buildsInMemory(limits, report),
  nats: ({ limits, report }) => buildsOverNats(limits, report),
  recovery: ({ url, limits, report }) => recovery(url, limits, report),
  placement: ({ url, limits, report }) => placementBench(url, limits, report),
  million: ({ limits, report }) => million(limits, report),
};

/** What takes minutes by itself is measured only when it is asked for. */
const UNASKED = Object.keys(BENCHES).filter((name) => name !== 'million');

const EXIT_USAGE = 2;

const bench = new Command('bench')
  .description('measure, and print each figure beside a bare limit taken in the same run')
  .addArgument(new Argument('[names...]', 'what to measure').choices(Object.keys(BENCHES)).default(UNASKED))
  .option('--json <file>', 'write the figures there; -: to the standard output')
  .showHelpAfterError('(--help tells the options)')
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT_USAGE))
  .parse();
const { json } = bench.opts<{ json?: string }>();
const names: readonly string[] = bench.processedArgs[0];
try {
  checkWritable('json', json);
  await findNatsServer();
} catch (error) {
  bench.error(`error: ${messageOf(error)}`);
}

endEarly('bench');
const say = (line: string) => peoplesOutput(json).write(`${line}\n`);
const { report, figures } = printing(say);
const server = await startNatsServer({});
try {
  say(`nats-server ${server.version}, Node ${process.version}, ${process.platform} ${process.arch}`);
  const limits = await bareLimits(server.url, report);
  for (const name of names) await BENCHES[name]?.({ url: server.url, limits, report });
} finally {
  await server.stop();
  // Also those that there are when something fails after minutes.
  if (json !== undefined) writeTo('json', json, `${JSON.stringify(figures, null, 2)}\n`);
}
