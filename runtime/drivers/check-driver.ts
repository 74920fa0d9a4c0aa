// Checks what the option `driver` made, before anything is asked of it.

import { CellwrightError, messageOf } from '../errors.ts';
import { faultInMade } from '../objects.ts';
import type { Driver } from './driver.ts';

const METHODS = ['build', 'destroy', 'list', 'inventory', 'capabilities', 'close'] as const satisfies (keyof Driver)[];

/**
 * Has the driver of a host made, and checks what comes of it.
 * @throws CellwrightError `bad-option` that names the host, and what was thrown or the method that is not there.
 */
export function checkedDriver(
  make: (place: { cell: string; host: string }) => unknown,
  cell: string,
  host: string,
): Driver {
  const bad = (what: string, cause?: unknown) =>
    new CellwrightError('bad-option', `the driver of host '${cell}/${host}' ${what}`, { field: 'driver', cause });
  let made: unknown;
  let fault: string | null;
  try {
    made = make({ cell, host });
    fault = faultOf(made);
  } catch (error) {
    throw bad(`could not be made: ${messageOf(error)}`, error);
  }
  if (fault !== null) throw bad(fault);
  return made as Driver;
}

/** What is wrong with a driver that was made, or null. */
function faultOf(made: unknown): string | null {
  const fault = faultInMade(made, METHODS);
  if (fault !== null) return fault;
  const { metrics } = made as { metrics?: unknown };
  return metrics !== undefined && typeof metrics !== 'function' ? "has 'metrics', which must be a method" : null;
}
