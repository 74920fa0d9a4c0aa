// `cellwright decode`: one body from stdin, as `nats sub --translate` hands it over, printed as JSON, a line for each
// message in it.

import type { Command } from 'commander';
import { CellwrightError } from '../errors.ts';

/** Far above what a NATS server carries. */
const MAX_BYTES = 64 * 1024 * 1024;

export function addDecode(program: Command): void {
  program
    .command('decode')
    .description("read a body from stdin and print its messages as JSON; for nats sub --translate 'cellwright decode'")
    .action(decodeStdin);
}

async function decodeStdin(): Promise<void> {
  const { saidIn } = await import('./bodies.ts');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new CellwrightError('too-large', `the body has more than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  for (const { from, message } of saidIn(Buffer.concat(chunks), MAX_BYTES)) {
    // Some say of themselves where something is from: what the frame says must not hide that, nor be hidden by it.
    const said = from === '' ? message : 'from' in message ? { from, message } : { from, ...message };
    console.log(JSON.stringify(said));
  }
}
