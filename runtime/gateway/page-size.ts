// Pages on a server that takes smaller messages than pages may be: actors know no server, and make pages that fit the usual
// limit. Where one does not fit, fewer rows are told, and the next page goes on from there.

import { CellwrightError } from '../errors.ts';

/** Of a page that did not fit, how many rows are asked for next: a quarter, as pages are up to a quarter of a usual message. */
const SHARE = 4;

/** A page of an actor, of as many rows as fit into one of its messages, and at most `limit`. */
export async function pageThatFits<Page>(limit: number, ask: (limit: number) => Promise<Page>): Promise<Page> {
  for (let rows = limit; ; rows = Math.ceil(rows / SHARE)) {
    try {
      return await ask(rows);
    } catch (error) {
      if (rows === 1 || !(error instanceof CellwrightError) || error.code !== 'answer-too-large') throw error;
    }
  }
}

/** An answer as it is sent; of a page the first rows, as many as fit into so many bytes, and that one at least. */
export function asManyAsFit(answer: object, encode: (answer: object) => Uint8Array, maxBytes: number): Uint8Array {
  let told = answer;
  let body = encode(told);
  while (body.length > maxBytes) {
    const fewer = withFewer(told, maxBytes / body.length);
    if (fewer === null) break;
    told = fewer;
    body = encode(told);
  }
  return body;
}

/** What is listed by pages, each with the name of its last row as the place to go on from. */
interface Page {
  readonly instances?: readonly { readonly instance: string }[];
  readonly hosts?: readonly { readonly host: string }[];
  readonly next?: string | null;
}

/** Null: it is no page, or has one row. */
function withFewer(answer: object, share: number): Page | null {
  const { instances, hosts, next }: Page = answer;
  if (next === undefined) return null;
  const fewer = <Row>(rows: readonly Row[] = []): readonly Row[] =>
    rows.slice(0, Math.max(1, Math.min(rows.length - 1, Math.floor(rows.length * share))));
  if (instances !== undefined && instances.length > 1) {
    const told = fewer(instances);
    return { ...answer, instances: told, next: told.at(-1)?.instance ?? null };
  }
  if (hosts !== undefined && hosts.length > 1) {
    const told = fewer(hosts);
    return { ...answer, hosts: told, next: told.at(-1)?.host ?? null };
  }
  return null;
}
