// What drivers say, checked before anybody believes it: a driver is somebody else's code, and what it says of its host
// goes far. What is wrong is named by the provider and the field.

import Type, { type Static } from 'typebox';
import { Attempt, Id, Metrics, Symbolic, Token } from '../../actors/messages/common.ts';
import { driverAnswers } from '../../actors/messages/compute.ts';
import { Inventory } from '../../actors/messages/placement.ts';
import { kindOfNoData, noDataIn } from '../codec.ts';
import { CellwrightError } from '../errors.ts';
import { checkOf, insist } from '../schemas.ts';
import type { BuildOutcome, ProviderReport } from './driver.ts';

const strict = { additionalProperties: false };
const { total, ...others } = Inventory.properties;

/** One provider as a driver reports it; its children are checked one by one. */
const Report = Type.Object(
  {
    name: Type.String(),
    inventories: Type.Record(
      Type.String(),
      Type.Object(
        {
          total,
          reserved: Type.Optional(others.reserved),
          min_unit: Type.Optional(others.min_unit),
          max_unit: Type.Optional(others.max_unit),
          step_size: Type.Optional(others.step_size),
          allocation_ratio: Type.Optional(others.allocation_ratio),
        },
        strict,
      ),
    ),
    traits: Type.Optional(Type.Array(Symbolic, { maxItems: 1000 })),
    aggregates: Type.Optional(Type.Array(Id, { maxItems: 1000 })),
    children: Type.Optional(Type.Array(Type.Unknown())),
  },
  strict,
);

const Running = Type.Array(Type.Object({ instance: Token, attempt: Attempt }), { maxItems: 10_000 });
const Outcome = Type.Union([
  Type.Object({ outcome: Type.Literal('built') }),
  Type.Object({ outcome: Type.Literal('failed'), reason: Type.String() }),
  Type.Object({ outcome: Type.Literal('aborted'), reason: Type.String() }),
]);

const checkProvider = checkOf(Report, 'a provider');
const checkRunning = checkOf(Running, "the driver's list of what runs");
const checkTraits = checkOf(Type.Array(Symbolic, { maxItems: 1000 }), "the driver's list of capabilities");
const checkMetrics = checkOf(Metrics, "the driver's metrics");
const OF_HOST = "the driver's description of its host";
const descriptions = {
  described: checkOf(driverAnswers.described, OF_HOST),
  'inventory-read': checkOf(driverAnswers['inventory-read'], OF_HOST),
};
const checkOutcome = checkOf(Outcome, "the driver's outcome of a build");

/** Checks one provider of a driver's tree. @throws CellwrightError `bad-inventory` that names the field. */
export function checkReport(report: unknown, host: string): asserts report is ProviderReport {
  const name = (report as { name?: unknown } | null)?.name;
  const named = typeof name === 'string' ? `provider ${JSON.stringify(name.slice(0, 80))}` : 'a provider';
  // Only what is wrong is worth a check of its own, which names it.
  if (checkProvider(report) !== null) insist(checkOf(Report, `${named} of host '${host}'`), report, 'bad-inventory');
  const noData = noDataIn({ inventories: (report as ProviderReport).inventories });
  if (noData !== undefined)
    throw noPlainObject(noData.field, `${named} of host '${host}'`, noData.kind, 'bad-inventory');
  for (const [resourceClass, { total, reserved = 0 }] of Object.entries((report as ProviderReport).inventories)) {
    if (reserved <= total) continue;
    const field = `inventories.${resourceClass}.reserved`;
    const message = `'${field}' of ${named} of host '${host}' must be at most the total, ${total}; it is ${reserved}`;
    throw new CellwrightError('bad-inventory', message, { field });
  }
}

/** @throws CellwrightError `bad-driver` that names the field. */
export function checkedRunning(running: unknown): Static<typeof Running> {
  insist(checkRunning, running, 'bad-driver');
  return (running as Static<typeof Running>).map(({ instance, attempt }) => ({ instance, attempt }));
}

/** @throws CellwrightError `bad-driver` that names the field. */
export function checkedTraits(traits: unknown): readonly string[] {
  insist(checkTraits, traits, 'bad-driver');
  return traits as readonly string[];
}

/** @throws CellwrightError `bad-driver` that names the metric. */
export function checkedMetrics(metrics: unknown): Metrics {
  insist(checkMetrics, metrics, 'bad-driver');
  const kind = kindOfNoData(metrics);
  if (kind !== undefined) throw noPlainObject('metrics', 'the driver', kind, 'bad-driver');
  return { ...(metrics as Metrics) };
}

/** The whole of what a host is, as placement will be told. @throws CellwrightError `bad-driver`. */
export function insistDescribed(described: { readonly type: keyof typeof descriptions }): void {
  insist(descriptions[described.type], described, 'bad-driver');
}

/** @throws CellwrightError `bad-driver`. */
export function checkedOutcome(outcome: unknown): BuildOutcome {
  insist(checkOutcome, outcome, 'bad-driver');
  return outcome as BuildOutcome;
}

/** To a schema a Map, or a promise that was not waited for, is an object without a field. */
function noPlainObject(field: string, of: string, kind: string, code: string): CellwrightError {
  return new CellwrightError(code, `'${field}' of ${of} must be a plain object, not a ${kind}`, { field });
}
