// Performs `cellwright fit`, by the API.

import { checkFit } from '../gateway/questioning.ts';
import type { FitRequest } from '../gateway/requests.ts';
import { isObject } from '../objects.ts';
import { jsonObjectIn } from './files.ts';
import { type AskFlags, answered } from './perform-explain.ts';

export interface FitFlags extends AskFlags, Omit<FitRequest, 'groups' | 'groupPolicy'> {
  group?: { name: string; resources: Record<string, number> }[];
  groupPolicy?: string;
  hosts?: string[];
  jsonRequest?: string;
}

export async function fit(flags: FitFlags): Promise<void> {
  const request = requestOf(flags);
  checkFit(request);
  const answer = await answered(flags, 'fit', request, (client) => client.fit(request));
  process.exitCode = !answer.certain ? 2 : answer.fit ? 0 : 1;
}

/** Flags that are about the answer, and how to get it. */
const BESIDE = new Set(['servers', 'creds', 'tlsca', 'tlscert', 'tlskey', 'inboxPrefix', 'prefix', 'json']);

/** What the flags ask for, over what the file asks for. It is checked as the API checks all that it is asked. */
function requestOf({ jsonRequest, group, hosts, ...flags }: FitFlags): FitRequest {
  const file: FitRequest = jsonRequest === undefined ? {} : jsonObjectIn('json-request', jsonRequest, 'malformed');
  const asked = Object.fromEntries(Object.entries(flags).filter(([name]) => !BESIDE.has(name)));
  const groups = group === undefined ? {} : { groups: group };
  const { placement = {} } = file;
  // What is no placement is left, for the check to say so.
  const named = hosts === undefined || !isObject(placement) ? {} : { placement: { ...placement, hosts } };
  return { ...file, ...asked, ...groups, ...named };
}
