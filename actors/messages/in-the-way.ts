// What stands in the way of a request on one host, thing by thing, as answers and records tell it.

import Type, { type Static } from 'typebox';

/** What stands in the way of a request on a host. */
export const InTheWay = {
  /** The first thing that stands in the way. */
  refusal: Type.Object({
    code: Type.String(),
    about: Type.Optional(Type.String()),
    short: Type.Optional(Type.Number()),
    /** More stands in its way, as far as that is known. */
    lacksMore: Type.Optional(Type.Literal(true)),
    /** Of a host that is set aside: when it comes back by itself, ms since the epoch. */
    until: Type.Optional(Type.Number()),
    message: Type.String(),
  }),
  /** What else stands in its way, one thing after the other; with `refusal.lacksMore`, and none of them, it is not known. */
  also: Type.Optional(
    Type.Array(
      Type.Object({
        code: Type.String(),
        about: Type.Optional(Type.String()),
        short: Type.Optional(Type.Number()),
        message: Type.String(),
      }),
    ),
  ),
  /** Beside all that is told more stands in its way, which is not known one by one. */
  partly: Type.Optional(Type.Literal(true)),
};

/** What stands in the way on the hosts that a request names. */
export const OnNamedHosts = Type.Object({
  /** The first few that do not do, in the order in which they are named. */
  told: Type.Array(Type.Object({ cell: Type.String(), host: Type.String(), ...InTheWay })),
  /** How many more of them do not do, of those that are known; absent where that was not counted, too. */
  more: Type.Optional(Type.Integer()),
});
export type OnNamedHosts = Static<typeof OnNamedHosts>;
