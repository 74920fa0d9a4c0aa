// Which microversion of the Placement API a request speaks: the header `OpenStack-API-Version: placement 1.N`.

import { Problem } from './problem.ts';
import { repr } from './python.ts';

export const MAX_MINOR = 39;
export const VERSION_HEADER = 'openstack-api-version';
const SERVICE = 'placement';

/**
 * The minor version that a header asks for; 0 when it asks for none.
 * @throws Problem 400 when it cannot be read, 406 when there is no such version.
 */
export function minorOf(header: string | undefined): number {
  const asked = versionIn(header ?? '');
  if (asked === null) return 0;
  if (asked === 'latest') return MAX_MINOR;
  const parts = asked.split(/\.(.*)/s, 2);
  const numbers = parts.map((part) => (/^\s*[+-]?\d+(_\d+)*\s*$/.test(part) ? Number(part.replaceAll('_', '')) : null));
  const unreadable = parts[numbers.indexOf(null)];
  if (unreadable !== undefined) {
    throw unreadableVersion(asked, `invalid literal for int() with base 10: ${repr(unreadable)}`);
  }
  const [major, minor] = numbers;
  if (minor === undefined) {
    throw unreadableVersion(asked, "Version.__new__() missing 1 required positional argument: 'minor'");
  }
  if (major === 1 && minor !== null && minor >= 0 && minor <= MAX_MINOR) return minor;
  throw new Problem(406, `Invalid microversion: Unacceptable version header: ${asked}`);
}

/** The last version that the header names for this service. */
function versionIn(header: string): string | null {
  for (const value of header.split(',').reverse()) {
    const [service, version] = value.trim().split(/\s+(.*)/s, 2);
    if (service?.toLowerCase() === SERVICE && version !== undefined && version !== '') return version.trim();
  }
  return null;
}

function unreadableVersion(asked: string, why: string): Problem {
  return new Problem(400, `Invalid microversion: invalid version string: ${asked}; ${why}`);
}
