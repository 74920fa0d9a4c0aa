// Commands that are suggested: those of `nats` with which the traffic of a deployment can be looked at from outside, and
// ours, with the flags by which they reach it. Pure but for how this program was called.

import { relative } from 'node:path';
import { DEFAULT_PREFIX } from '../subjects.ts';
import { type AccessFlags, accessWords } from './server-flags.ts';

/** Asked of whoever gets no answer at all. */
export const IS_THAT_THE_SYSTEM = 'is that the server, and the prefix, of the system?';

export interface HintsOptions {
  readonly url: string;
  readonly prefix: string;
  /** A host of the deployment, to ask about. */
  readonly host: { readonly cell: string; readonly host: string };
  /** Whether the server is still there to be asked. */
  readonly serving: boolean;
  /** How the server lets one in: the flags are those of the NATS CLI too. */
  readonly access?: AccessFlags;
}

export function hintsFor({ url, prefix, host: { cell, host }, serving, access = {} }: HintsOptions): string[] {
  const wayIn = accessWords(access);
  const nats = `nats --server ${url}${wayIn}`;
  const self = ownCommand();
  const at = `--nats ${url}${wayIn}${prefix === DEFAULT_PREFIX ? '' : ` --prefix ${prefix}`}`;
  return [
    serving
      ? 'Look around, from another terminal, with:'
      : 'With --serve the system stays, and these commands show its traffic:',
    `  ${nats} sub '${prefix}.cell.*.build.>'                       # the story of every build, as JSON`,
    `  ${nats} sub '${prefix}.cell.${cell}.>'                            # everything of one cell`,
    `  ${nats} sub '${prefix}.placement.claim.>'                    # every claim granted, refused, released`,
    `  ${nats} sub '${prefix}.conductor.*' --translate '${self} decode'   # commands, decoded`,
    `  ${nats} req ${prefix}.api.build '{"id":"web","count":3,"resources":{"VCPU":2}}'`,
    `  ${nats} req ${prefix}.api.show '{"id":"web-0"}'`,
    `  ${self} explain web-0 ${at}   # why it is there; also: why-not web-0 ${cell}/${host}, fit --resources VCPU=2`,
    `  ${nats} micro ls                                      # the roster; nats micro stats placement`,
    `  ${self} tap ${at}   # all traffic, a readable line each`,
  ];
}

/** Our commands in the words of audits and of the API, which cannot know how a deployment is reached from here. */
const SUGGESTED = /\bcellwright (?:host fence [a-z0-9-]+\/[a-z0-9-]+|why-not [a-z0-9-]+ HOST)/g;

/** A line with the commands in it as they reach the deployment of these flags. */
export function withFlagsIn(line: string, deployment: string): string {
  return line.replaceAll(SUGGESTED, (command) => command + deployment);
}

/** How this program is called again: by its name once it is installed, else by its source. */
function ownCommand(): string {
  const file = process.argv[1] ?? '';
  return file.endsWith('.ts') ? `node --import tsx ${relative(process.cwd(), file)}` : 'cellwright';
}
