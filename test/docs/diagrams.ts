// Keeps the diagrams of the machines in README.md as the machines are. Each stands between two comments,
// `<!-- machine: <id> -->` and `<!-- /machine -->`; what is between them is this script's.
// Use: npx tsx test/docs/diagrams.ts [--check | --write]

import { readFileSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import type { AnyStateMachine } from 'xstate';
import { computeService } from '../../machines/compute-service.ts';
import { instanceBuild } from '../../machines/instance-build.ts';
import { mermaidOf } from '../../machines/mermaid.ts';
import { ownership } from '../../machines/ownership.ts';
import { removal } from '../../machines/removal.ts';
import { selection } from '../../machines/selection.ts';
import { ROOT } from '../support/programs.ts';

export const README = `${ROOT}README.md`;
export const MACHINES: readonly AnyStateMachine[] = [instanceBuild, selection, computeService, removal, ownership];

const BEGIN = '<!-- machine: ';
const END = '<!-- /machine -->';

/**
 * The text with every machine's diagram as it should be.
 * @throws Error that names the marker that is missing or does not end.
 */
export function withDiagrams(text: string, machines: readonly AnyStateMachine[] = MACHINES): string {
  return machines.reduce((updated, machine) => {
    const begin = `${BEGIN}${machine.id} -->`;
    const from = updated.indexOf(begin);
    if (from < 0) throw new Error(`the marker '${begin}' is missing`);
    const to = updated.indexOf(END, from);
    const next = updated.indexOf(BEGIN, from + begin.length);
    if (to < 0 || (next >= 0 && next < to)) throw new Error(`the marker '${begin}' has no '${END}' after it`);
    const diagram = `\n\n\`\`\`mermaid\n${mermaidOf(machine)}\`\`\`\n\n`;
    return updated.slice(0, from + begin.length) + diagram + updated.slice(to);
  }, text);
}

function main(): void {
  const { values } = parseArgs({ options: { check: { type: 'boolean' }, write: { type: 'boolean' } } });
  const text = readFileSync(README, 'utf8');
  const updated = withDiagrams(text);
  if (updated === text) return console.log('the diagrams are up to date');
  if (values.write === true) {
    writeFileSync(README, updated);
    return console.log('the diagrams are written');
  }
  console.log("the diagrams are not those of the machines: 'npx tsx test/docs/diagrams.ts --write' writes them");
  process.exitCode = 1;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) main();
