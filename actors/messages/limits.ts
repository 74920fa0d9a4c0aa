// How much one request may ask for. No schemas here: the command line, which loads none, says the same.

/** The largest amount of anything, as in the Placement API: 2^31 - 1. */
export const MAX_AMOUNT = 2_147_483_647;
/** Instances in one request. */
export const MAX_COUNT = 1000;
export const MAX_ALTERNATES = 20;
/** How many alternates a request has that does not say. */
export const DEFAULT_ALTERNATES = 2;
