// The version of the package, told by services and by `cellwright --version`; a test holds it against package.json.

/** The version of this package. */
export const VERSION = '0.1.0';
