// From a driver's tree to placement's providers: stable ids that are unique over all cells and say nothing of them.

import { createHash } from 'node:crypto';
import type { ProviderSpec } from '../../actors/messages/placement.ts';
import { isResourceClass } from '../../actors/messages/resource-classes.ts';
import { CellwrightError } from '../errors.ts';
import { checkToken } from '../subjects.ts';
import type { ProviderReport } from './driver.ts';
import { checkReport } from './report.ts';

const MAX_UNIT = 2_147_483_647;
/** As many as placement takes in one tree. */
export const MAX_PROVIDERS = 512;

/** The id of a provider: the same for the same place at every start; a UUID, as the Placement API wants. */
export function providerId(cell: string, host: string, name: string): string {
  const hash = createHash('sha1').update(`cellwright provider\0${cell}\0${host}\0${name}`).digest();
  hash[6] = ((hash[6] as number) & 0x0f) | 0x50;
  hash[8] = ((hash[8] as number) & 0x3f) | 0x80;
  const hex = hash.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

/**
 * The providers of a host's tree, the root first.
 * @param traits Traits of the host beyond those in the tree.
 * @throws CellwrightError `bad-inventory` or `bad-id` that names the provider.
 */
export function providersOf(
  cell: string,
  host: string,
  tree: ProviderReport,
  traits: readonly string[],
): ProviderSpec[] {
  const providers: ProviderSpec[] = [];
  const names = new Set<string>();
  const add = (report: ProviderReport, parent: string | null) => {
    checkReport(report, host);
    if (names.size >= MAX_PROVIDERS) {
      throw new CellwrightError('bad-inventory', `host '${host}' has more than ${MAX_PROVIDERS} providers`);
    }
    const name = checkToken(report.name, `a provider name of host '${host}'`);
    if (names.has(name)) throw new CellwrightError('bad-inventory', `host '${host}' has two providers named '${name}'`);
    names.add(name);
    const id = providerId(cell, host, parent === null ? '' : name);
    const inventories = Object.entries(report.inventories).map(([resourceClass, told]) => {
      if (!isResourceClass(resourceClass)) {
        throw new CellwrightError(
          'bad-inventory',
          `provider '${name}' has an inventory of an unknown class, ${resourceClass}`,
        );
      }
      const { total, reserved = 0, min_unit = 1, max_unit = MAX_UNIT, step_size = 1, allocation_ratio = 1 } = told;
      return [resourceClass, { total, reserved, min_unit, max_unit, step_size, allocation_ratio }] as const;
    });
    providers.push({
      id,
      name,
      parent,
      inventories: Object.fromEntries(inventories),
      traits: [...new Set([...(report.traits ?? []), ...(parent === null ? traits : [])])],
      aggregates: [...(report.aggregates ?? [])],
    });
    for (const child of report.children ?? []) add(child, id);
  };
  add(tree, null);
  return providers;
}
