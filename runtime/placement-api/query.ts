// A query string with all that it names, in order: a key may come several times, and where one value counts it is the
// last, as in the reference.

import { faultOf, type Schema } from './json-schema.ts';
import { badRequest } from './problem.ts';

export class Query {
  readonly entries: readonly (readonly [string, string])[];

  constructor(text: string) {
    this.entries = [...new URLSearchParams(text)];
  }

  get(key: string): string | undefined {
    return this.all(key).at(-1);
  }

  all(key: string): string[] {
    return this.entries.filter(([name]) => name === key).map(([, value]) => value);
  }

  has(key: string): boolean {
    return this.entries.some(([name]) => name === key);
  }

  /** @throws Problem 400 when the query is not as the schema has it. */
  check(schema: Schema): void {
    const fault = faultOf(Object.fromEntries(this.entries), schema);
    if (fault !== null) throw badRequest(`Invalid query string parameters: ${fault}`);
  }
}
