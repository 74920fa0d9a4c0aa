// Performs what `cellwright cell` was asked for, by the API.

import { howMany } from '../../actors/count-words.ts';
import { disabledWords } from '../../actors/host-words.ts';
import type { CellView } from '../../actors/messages/questions.ts';
import { present } from '../../actors/present.ts';
import { oneLine } from '../gateway/explanation-words.ts';
import { ofKnownCell } from './perform-host.ts';
import { printable } from './text.ts';
import { type ClientFlags, withClient } from './with-client.ts';

export interface CellFlags extends ClientFlags {
  reason?: string;
  json?: boolean;
}

export async function listCells(flags: CellFlags): Promise<void> {
  const answer = await withClient(flags, 'cells', {}, (client) => client.cells());
  if (flags.json === true) console.log(JSON.stringify(answer, null, 2));
  else for (const cell of answer.cells) console.log(printable([lineOf(cell)]));
}

export async function setCell(cell: string, enabled: boolean, flags: CellFlags): Promise<void> {
  const request = { cell, enabled, ...present({ reason: flags.reason }) };
  const answer = await withClient(flags, 'cell', request, (client) =>
    ofKnownCell(client, cell, () => client.cell(request)),
  );
  if (flags.json === true) return console.log(JSON.stringify(answer, null, 2));
  const { reason } = answer;
  const words = reason === undefined ? 'in service' : disabledWords(oneLine(reason));
  console.log(printable([`cell '${cell}' is ${words}`]));
}

/** `c1  12 hosts, 10 up`, `c2  40 hosts, 0 up; disabled: new switches`. */
function lineOf({ cell, hosts, up, silent, disabled }: CellView): string {
  const parts = [
    `${howMany(hosts, 'host')}, ${up} up`,
    ...(disabled === undefined ? [] : [disabledWords(oneLine(disabled))]),
    ...(silent === true ? ['nothing was heard of it lately'] : []),
  ];
  return `${cell}  ${parts.join('; ')}`;
}
