// A sound deployment as an audit sees it, in the midst of everything, to be doctored one difference at a time.

import * as assert from 'uvu/assert';
import type { InstanceView, RemovalView } from '../../actors/messages/gateway.ts';
import type { ConsumerState, ProviderState } from '../../actors/messages/placement.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { compare } from '../../runtime/audit/compare.ts';
import type { OnHost } from '../../runtime/audit/differences.ts';
import type { FindingKind, Repair } from '../../runtime/audit/finding.ts';
import type { Look } from '../../runtime/audit/look.ts';

export const NOW = 10_000_000;
const OVERDUE_MS = 600_000;

export interface Doctored {
  providers: ProviderState[];
  steady: Set<string>;
  consumers: ConsumerState[];
  conducted: Map<string, InstanceView>;
  cells: Map<
    string,
    { instances: InstanceView[]; removals: RemovalView[]; hosts: HostState[]; tellsForeign: boolean } | null
  >;
  driven: Map<string, OnHost[] | null>;
  silent: Set<'placement' | 'conductor'>;
}

export function provider(id: string, used: number, traits: string[] = []): ProviderState {
  const inventory = { total: 8, reserved: 0, min_unit: 1, max_unit: 8, step_size: 1, allocation_ratio: 1 };
  const place = { id, name: id.slice(2), parent: null, root: id };
  return { ...place, inventories: { VCPU: inventory }, traits, aggregates: [], generation: 1, used: { VCPU: used } };
}

export const holds = (consumer: string, ...held: [attempt: number, provider: string][]): ConsumerState => ({
  consumer,
  held: held.map(([attempt, on]) => ({
    attempt,
    allocations: [{ provider: on, group: '', resources: { VCPU: 1 } }],
  })),
});

export const view = (instance: string, state: string, more: Partial<InstanceView> = {}): InstanceView => ({
  instance,
  request: instance,
  state,
  ...more,
});
const inCell = (instance: string, state: string, host?: string, attempt = 1, more: Partial<InstanceView> = {}) =>
  view(instance, state, { cell: 'c1', attempt, ...(host === undefined ? {} : { host }), ...more });
export const told = (instance: string, state: string) => view(instance, state, { cell: 'c1' });
export const removal = (
  instance: string,
  attempt: number,
  host: string | null,
  final: boolean,
  ageMs = 1_000,
): RemovalView => ({
  instance,
  attempt,
  host,
  final,
  state: host === null ? 'releasing' : 'destroying',
  since: NOW - ageMs,
});
export const hostAt = (host: string, state: HostState['state'] = 'up'): HostState => ({
  host,
  provider: `p-${host}`,
  state,
});
export const on = (host: string, instance: string, attempt: number, cell = 'c1'): OnHost => ({
  cell,
  host,
  instance,
  attempt,
});

/** Two cells; in the first an instance in every state there is, each with all that may be under way for it. */
function sound(): Doctored {
  return {
    providers: [provider('p-h1', 5), provider('p-h2', 4), provider('p-h3', 0)],
    steady: new Set(['p-h1', 'p-h2', 'p-h3']),
    consumers: [
      holds('active', [1, 'p-h1']),
      holds('building', [1, 'p-h1'], [2, 'p-h2']),
      holds('moving', [2, 'p-h2']),
      holds('failed', [1, 'p-h1']),
      holds('deleting', [1, 'p-h2']),
      holds('lost', [1, 'p-h1']),
      holds('asked', [1, 'p-h1']),
      holds('handed', [1, 'p-h2']),
      { consumer: 'empty', held: [] },
    ],
    conducted: new Map(
      [
        told('active', 'active'),
        told('building', 'building'),
        told('moving', 'building'),
        told('failed', 'building'),
        told('failed-before', 'failed'),
        view('deleting', 'deleting', { cell: 'c1', owes: 'removal', owedSince: NOW - 1_000 }),
        told('lost', 'lost'),
        view('asked', 'requested', { deadlineAt: NOW + 60_000 }),
        view('handed', 'claimed', { cell: 'c1', host: 'h2', attempt: 1 }),
        view('gone', 'deleted', { cell: 'c1' }),
        view('none-fits', 'failed'),
      ].map((one) => [one.instance, one]),
    ),
    cells: new Map([
      [
        'c1',
        {
          instances: [
            inCell('active', 'active', 'h1'),
            inCell('building', 'building', 'h2', 2, { deadlineAt: NOW + 1 }),
            inCell('moving', 'rescheduling', undefined, 1),
            inCell('failed', 'failed', undefined, 1),
            inCell('failed-before', 'failed', undefined, 3),
            inCell('deleting', 'deleting', 'h2'),
            inCell('lost', 'lost', 'h1'),
          ],
          removals: [
            removal('building', 1, 'h1', false),
            removal('failed', 1, 'h1', true),
            removal('deleting', 1, null, true),
          ],
          hosts: [hostAt('h1'), hostAt('h2')],
          tellsForeign: true,
        },
      ],
      ['c2', { instances: [], removals: [], hosts: [hostAt('h3', 'set-aside')], tellsForeign: true }],
    ]),
    driven: new Map([
      ['c1/h1', [on('h1', 'active', 1), on('h1', 'building', 1), on('h1', 'failed', 1)]],
      ['c1/h2', [on('h2', 'building', 2)]],
      ['c2/h3', []],
    ]),
    silent: new Set(),
  };
}

function lookOf({ providers, steady, consumers, conducted, cells, driven, silent }: Doctored): Look {
  return {
    at: NOW,
    placement: silent.has('placement') ? null : { providers, consumers, steady },
    conducted: silent.has('conductor') ? null : conducted,
    cells,
    driven,
  };
}

export function seen(doctor: (doctored: Doctored) => void = () => {}) {
  const doctored = sound();
  doctor(doctored);
  return compare(lookOf(doctored), OVERDUE_MS);
}

/** The one thing that is found after a change, of this kind and in these words. */
export function finds(kind: FindingKind, what: RegExp, doctor: (doctored: Doctored) => void): readonly Repair[] {
  const { findings } = seen(doctor);
  assert.equal(
    findings.map((finding) => finding.kind),
    [kind],
    findings.map((finding) => finding.what).join('; '),
  );
  assert.match(findings[0]?.what ?? '', what);
  assert.ok((findings[0]?.whose ?? '').length > 10);
  return findings[0]?.repairs ?? [];
}

export const c1 = (doctored: Doctored) =>
  doctored.cells.get('c1') as NonNullable<ReturnType<typeof doctored.cells.get>>;
export const use = (doctored: Doctored, id: string, by: number) => {
  const found = doctored.providers.find((one) => one.id === id) as ProviderState;
  found.used.VCPU = (found.used.VCPU ?? 0) + by;
};
export const drop = <T extends { instance: string }>(list: T[], instance: string) =>
  list.splice(
    list.findIndex((one) => one.instance === instance),
    1,
  );
