// A machine as a picture: its states, what leads from one to the next, and what is asked of its host in each. It is
// read off the machine itself, so that a picture can be held against it.

import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { entryEffects } from './step.ts';

/**
 * The machine as a Mermaid `stateDiagram-v2`. Edges carry the events, each with the name of its guard in brackets,
 * `else` for what is left when the guards before it do not hold; notes carry the effects of entering a state.
 */
export function mermaidOf(machine: AnyStateMachine): string {
  return `${['stateDiagram-v2', ...regionOf(machine.root, 1)].join('\n')}\n`;
}

function regionOf(parent: AnyStateNode, depth: number): string[] {
  const indent = '  '.repeat(depth);
  const children = Object.values(parent.states) as AnyStateNode[];
  const initial = parent.initial.target.map((node) => `${indent}[*] --> ${idOf(node)}`);
  return [...initial, ...children.flatMap((child) => stateOf(child, depth))];
}

function stateOf(node: AnyStateNode, depth: number): string[] {
  const indent = '  '.repeat(depth);
  const id = idOf(node);
  const lines: string[] = [];
  if (node.type === 'compound') lines.push(`${indent}state ${id} {`, ...regionOf(node, depth + 1), `${indent}}`);
  for (const [target, labels] of edgesOf(node)) lines.push(`${indent}${id} --> ${target} : ${labels.join('<br/>')}`);
  if (node.type === 'final') lines.push(`${indent}${id} --> [*]`);
  const effects = entryEffects(node).map(({ type }) => type);
  if (effects.length > 0) lines.push(`${indent}note right of ${id} : ${effects.join(', ')}`);
  return lines;
}

/** What leads from a state to each other one: the events under each guard, in the order of the machine. */
function edgesOf(node: AnyStateNode): Map<string, string[]> {
  const edges = new Map<string, Map<string, string[]>>();
  for (const [event, transitions] of node.transitions) {
    transitions.forEach((transition, position) => {
      // A transition without a target stays in the state.
      for (const target of transition.target ?? [node]) {
        const guards = edges.get(idOf(target)) ?? new Map<string, string[]>();
        const guard = guardOf(transition, position);
        guards.set(guard, [...(guards.get(guard) ?? []), event]);
        edges.set(idOf(target), guards);
      }
    });
  }
  return new Map([...edges].map(([target, guards]) => [target, [...guards].map(labelOf)]));
}

function guardOf({ guard }: AnyTransitionDefinition, position: number): string {
  if (guard === undefined) return position === 0 ? '' : 'else';
  return typeof guard === 'string' ? guard : ((guard as { type?: string }).type ?? 'guarded');
}

function labelOf([guard, events]: [string, readonly string[]]): string {
  return guard === '' ? events.join(', ') : `${events.join(', ')} [${guard}]`;
}

/** The path of a state; Mermaid takes neither dots nor hyphens. */
function idOf({ path }: Pick<AnyStateNode, 'path'>): string {
  return path.join('_').replaceAll(/\W/g, '_');
}
