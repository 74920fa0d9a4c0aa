// What tests of workloads share: files of traces, and what holds of any workload.

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { CellwrightError } from '../../runtime/errors.ts';
import { type Arrival, instanceIds, type Workload } from '../../runtime/workload/workload.ts';
import { ROOT } from './programs.ts';

export const TRACES = join(ROOT, '../shared/traces');
export const hasTraces = existsSync(TRACES);
if (!hasTraces) console.log('workload: the recorded traces are not here; small fixtures stand in for them');

/** Runs with the files in a folder of their own, which goes afterwards. */
export function withFiles(files: Record<string, string>, run: (dir: string) => void): void {
  const dir = mkdtempSync(join(tmpdir(), 'cellwright-test-'));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
    run(dir);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

/** The text of the error: `field: message`. */
export function failureOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof CellwrightError) return `${error.field ?? error.code}: ${error.message}`;
    throw error;
  }
  return 'it did not fail';
}

/** What must hold in every workload, whatever it came from. */
export function checkWorkload(workload: Workload): void {
  const hosts = workload.hosts.map(({ host }) => host);
  assert.is(new Set(hosts).size, hosts.length, 'hosts are unique');
  for (const { cell, host, tree } of workload.hosts) {
    assert.match(`${cell} ${host}`, /^[a-z0-9-]+ [a-z0-9-]+$/);
    assert.is(tree.name, host);
  }
  const ids = new Set<string>();
  let [requested, last] = [0, 0];
  for (const arrival of workload.arrivals) {
    assert.match(arrival.id, /^[a-z0-9-]+$/);
    assert.ok(arrival.atMs >= last && arrival.atMs <= workload.endMs, `${arrival.id} comes in order and in time`);
    assert.is(arrival.endAtMs.length, arrival.count);
    for (const end of arrival.endAtMs) assert.ok(end === undefined || (end >= arrival.atMs && end < workload.endMs));
    const amounts = Object.values(arrival.spec.resources ?? {});
    assert.ok(amounts.every((amount) => amount > 0 && Number.isInteger(amount)));
    for (const id of instanceIds(arrival)) ids.add(id);
    last = arrival.atMs;
    requested += arrival.count;
  }
  assert.is(requested, workload.requested);
  assert.is(ids.size, requested, 'instances are unique');
}

export function countBy<Item>(items: Iterable<Item>, keyOf: (item: Item) => string, sizeOf = (_: Item) => 1) {
  const counts: Record<string, number> = {};
  for (const item of items) counts[keyOf(item)] = (counts[keyOf(item)] ?? 0) + sizeOf(item);
  return counts;
}

export const instancesByKind = (arrivals: Iterable<Arrival>) =>
  countBy(
    arrivals,
    ({ kind }) => kind,
    ({ count }) => count,
  );
