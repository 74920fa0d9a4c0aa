// What a request says of where it may go that placement does not know of: it is for the schedulers alone. What
// placement can check stands in the request spec, as conditions on the tree that serves it.

import Type, { type Static } from 'typebox';
import { MAX_NAMED, Token } from './common.ts';

const Cells = Type.Array(Token, { minItems: 1, maxItems: MAX_NAMED });

export const Where = Type.Object({
  /** The host must be in one of these cells. */
  cells: Type.Optional(Cells),
  /** The host must be in none of these cells. */
  avoidCells: Type.Optional(Cells),
  /** Hosts of these cells come before all others, as the rule of an instance group allows. */
  preferCells: Type.Optional(Cells),
  /** Words for filters and weighers of the deployment's own. */
  hints: Type.Optional(
    Type.Record(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$' }), Type.String({ maxLength: 255 }), {
      maxProperties: 16,
      additionalProperties: false,
    }),
  ),
});
export type Where = Static<typeof Where>;
