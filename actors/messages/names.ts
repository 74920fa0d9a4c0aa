// What ids and names look like. They stand apart from the schemas of messages, so that commands which check no message
// need not load the library of schemas: `decode` is called for every message that somebody watches.

/** The longest id, in characters: ids become tokens of subjects, whose length servers limit. */
export const MAX_TOKEN_LENGTH = 64;

/** An id as it may stand in a subject: a dot, a wildcard or a space in it would break routing. */
export const TOKEN_PATTERN = '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$';
/** The id of a provider, an aggregate or a consumer: it too may become a token of a subject. */
export const ID_PATTERN = '^[A-Za-z0-9][A-Za-z0-9_-]*$';
/** A host, as roles name it: `<cell>/<host>`. */
export const CELL_HOST_PATTERN = `${TOKEN_PATTERN.slice(0, -1)}/${TOKEN_PATTERN.slice(1)}`;
/** A resource class or trait name. */
export const SYMBOL_PATTERN = '^[A-Z][A-Z0-9_]{0,254}$';
/** What a driver measures. */
export const METRIC_PATTERN = '^[a-z0-9][a-z0-9-]{0,31}$';
