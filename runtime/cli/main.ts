#!/usr/bin/env node
// The command line: which commands there are, and how what they throw becomes a message and an exit code.
// What a command needs is loaded when it is called: `decode` is called for every message of `nats sub --translate`.
// 0: all is well; 1: it failed, also by what may pass, would not fit, or a replay or an audit found something wrong; 2: wrong
// usage, something that is not there, or one of these has no answer: it is not known whether it would fit or how it stands
// now, or an audit could not look everywhere; 130: interrupted.

import { Command, CommanderError, Help, type Option } from 'commander';
import { CellwrightError } from '../errors.ts';
import { VERSION } from '../version.ts';
import { addAudit } from './audit.ts';
import { addCell } from './cell.ts';
import { addDecode } from './decode.ts';
import { addDemo } from './demo.ts';
import { addExplain } from './explain.ts';
import { addFit } from './fit.ts';
import { addHost } from './host.ts';
import { errorDocument, jsonAsked, messageFor } from './json-errors.ts';
import { addNode } from './node.ts';
import { refuseRepeats } from './once.ts';
import { addPack } from './pack.ts';
import { addPlacementApi } from './placement-api.ts';
import { addReplay } from './replay.ts';
import { addTap } from './tap.ts';
import { tell } from './tell.ts';
import { endWhenUnread } from './unread.ts';

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
const EXIT_UNANSWERED = 2;
const EXIT_INTERRUPTED = 130;

/** What is said of a host that is not as a command needs it. */
const NOT_AS_NEEDED = new Set(['host-is-up', 'host-not-fenced', 'host-in-use']);
/** Commands whose exit code 1 is an answer. */
const ANSWERING = new Set(['fit', 'audit', 'replay', 'demo']);

/** What the help says of an option: also whether it can be done without. */
function optionDescription(option: Option): string {
  const said = new Help().optionDescription(option);
  return option.mandatory ? `${said} (required)` : said;
}

const program = new Command('cellwright')
  .description('Places and builds instances on hosts grouped in cells: actors and state machines over NATS.')
  .version(VERSION)
  .showHelpAfterError('(--help tells the options)')
  .configureHelp({ optionDescription })
  .exitOverride();
for (const add of [
  addDemo,
  addReplay,
  addPack,
  addNode,
  addPlacementApi,
  addCell,
  addHost,
  addExplain,
  addFit,
  addAudit,
  addTap,
  addDecode,
])
  add(program);
refuseRepeats(program);

endWhenUnread('cellwright', failedCode);
const isJsonAsked = jsonAsked(program, process.argv.slice(2));

try {
  await program.parseAsync();
} catch (error) {
  const code = exitCodeOf(error);
  // Whatever is still open: nobody waits for it.
  const end = () => process.stderr.write('', () => process.exit(code));
  // A help text that could not be written is told of, and ends with another code.
  if (code > 0) {
    if (isJsonAsked()) process.stdout.write(`${JSON.stringify(errorDocument(error), null, 2)}\n`, end);
    else end();
  } else {
    process.stdout.write('', (unwritten) => {
      if (!unwritten) end();
    });
  }
}

/** Of some commands 1 is an answer. */
function failedCode(): number {
  return ANSWERING.has(program.args[0] ?? '') ? EXIT_UNANSWERED : EXIT_FAILED;
}

function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  const failed = failedCode();
  if (error instanceof CellwrightError) {
    tell(messageFor(error));
    if (error.code === 'interrupted') return EXIT_INTERRUPTED;
    // What it names is there, and may answer later, or is a host that is not as the command needs it.
    const isThere = error.retryable || NOT_AS_NEEDED.has(error.code);
    return error.field === undefined || isThere ? failed : EXIT_USAGE;
  }
  console.error(error);
  return failed;
}
