// The beat of feeds, by which cells and placement shards say their last number though nothing changed: so that a listener
// notices that it missed the last change, and one that is new learns who there is.

export const BEAT_WAKE = 'beat';
/** How often, ms. */
export const FEED_BEAT_MS = 1_000;
