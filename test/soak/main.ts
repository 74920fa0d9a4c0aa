// `npm run soak -- --minutes M`: see soak.ts. Ends with exit code 1 when anything was lost, stuck or left over.

import { Command } from 'commander';
import { checkWritable, peoplesOutput, writeTo } from '../../runtime/cli/files.ts';
import { positiveNumber, readable, wholeNumber } from '../../runtime/cli/options.ts';
import { messageOf } from '../../runtime/errors.ts';
import { findNatsServer } from '../../runtime/nats-server/find.ts';
import { endEarly, ownTemporaryFolder } from '../support/script.ts';
import { type SoakResult, soak } from './soak.ts';

interface Flags {
  minutes: number;
  seed: number;
  rate: number;
  every: number;
  lease: number;
  shards: number;
  nodes?: string;
  pods?: string;
  json?: string;
}

const command = new Command('soak')
  .description('a deployment of real processes under load and under fire')
  .option('--minutes <number>', 'how long', positiveNumber(1e6), 20)
  .option('--seed <number>', 'decides the load and the blows', wholeNumber(0, 1_000_000_000), 1)
  .option('--rate <number>', 'requests a second', positiveNumber(1e6), 20)
  .option('--every <seconds>', 'from one blow to the next, on average', positiveNumber(1e6), 10)
  .option('--lease <seconds>', 'for how long an owner that is silent keeps its place', positiveNumber(1e6), 2)
  .option('--shards <number>', 'placement shards', wholeNumber(1, 64), 3)
  .option('--nodes <file>', 'play the openb trace: its list of hosts', readable)
  .option('--pods <file>', 'play the openb trace: its list of requests', readable)
  .option('--json <file>', 'write the outcome there; -: to the standard output')
  .parse();
const { minutes, seed, rate, every, lease, shards, nodes, pods, json } = command.opts<Flags>();
if ((nodes === undefined) !== (pods === undefined)) command.error("error: '--nodes' and '--pods' go together");
try {
  checkWritable('json', json);
  await findNatsServer();
} catch (error) {
  command.error(`error: ${messageOf(error)}`);
}

endEarly('soak');
ownTemporaryFolder('cellwright-soak-');
const say = (line: string) => peoplesOutput(json).write(`${line}\n`);
const begunAt = Date.now();
const result = await soak({
  minutes,
  seed,
  rate,
  shards,
  everyMs: every * 1_000,
  leaseTtlMs: lease * 1_000,
  ...(nodes === undefined || pods === undefined ? {} : { trace: { nodesFile: nodes, podsFile: pods } }),
  log: (line) => say(`${((Date.now() - begunAt) / 1_000).toFixed(1).padStart(7)} s  ${line}`),
});
if (json !== undefined) writeTo('json', json, `${JSON.stringify(result, null, 2)}\n`);
summary(result);
process.exitCode = isClean(result) ? 0 : 1;

function isClean({ lost, stuck, findings }: SoakResult): boolean {
  return lost.length === 0 && stuck.length === 0 && findings.length === 0;
}

function summary({ accepted, refused, ended, lost, stuck, blows, longestWaitMs, findings }: SoakResult): void {
  const struck = new Map<string, number>();
  for (const { blow } of blows) struck.set(blow, (struck.get(blow) ?? 0) + 1);
  const list = (entries: Iterable<readonly [string, number]>) =>
    [...entries].map(([what, count]) => `${count} ${what}`).join(', ');
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  say(`accepted        ${accepted} instances, ${refused} requests refused`);
  say(`ended           ${list(Object.entries(ended))}`);
  say(`blows           ${blows.length}: ${list(struck)}`);
  const { crash, owners, all } = longestWaitMs;
  say(`longest wait    ${seconds(crash)} while one process of owners was killed and nothing else befell`);
  say(`                ${seconds(owners)} while only owners were struck, ${seconds(all)} in all`);
  say(`lost            ${lost.length} ${lost.slice(0, 10).join(' ')}`);
  say(`stuck           ${stuck.length} ${stuck.slice(0, 10).join(' ')}`);
  say(`audit           ${findings.length === 0 ? 'finds nothing' : findings.join('\n                ')}`);
}
