// The diagrams of the machines in the README and the guides. Each stands once, between two comments,
// `<!-- machine: <id> -->` and `<!-- /machine -->`; what is between them is made from the machine.

import type { AnyStateMachine } from 'xstate';
import { computeService } from '../../machines/compute-service.ts';
import { instanceBuild } from '../../machines/instance-build.ts';
import { mermaidOf } from '../../machines/mermaid.ts';
import { ownership } from '../../machines/ownership.ts';
import { removal } from '../../machines/removal.ts';
import { selection } from '../../machines/selection.ts';
import type { Document } from './documents.ts';

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

/**
 * The document that shows a machine.
 * @throws Error when none does, or more than one.
 */
export function shownIn(all: readonly Document[], { id }: AnyStateMachine): Document {
  const begin = `${BEGIN}${id} -->`;
  const times = all.flatMap((document) =>
    document.text
      .split(begin)
      .slice(1)
      .map(() => document),
  );
  const [only] = times;
  if (only === undefined) throw new Error(`the marker '${begin}' is missing`);
  if (times.length > 1) throw new Error(`the marker '${begin}' stands in ${times.map(({ path }) => path).join(', ')}`);
  return only;
}
