// Checks the options with which a node is started, all that are plain data: whoever embeds it from JavaScript, or reads
// them from a file, is told of a wrong one by its name, and of one that is misspelt.

import Type, { type TSchema } from 'typebox';
import { DEFAULT_SILENT_MS } from '../actors/cell/cell.ts';
import { DEFAULT_HEARTBEAT_MS } from '../actors/compute/options.ts';
import { NATS_FIELDS } from './bus/nats-checks.ts';
import { kindOfNoData } from './codec.ts';
import { CellwrightError } from './errors.ts';
import { NATS_SERVER_FIELDS } from './nats-server/checks.ts';
import type { NodeOptions } from './node-options.ts';
import { A_FUNCTION, A_SIGNAL, CLOCK_METHODS, partly } from './option-fields.ts';
import { hostsByCell, type Role } from './roles.ts';
import { checkOf, insist } from './schemas.ts';

type Fields<T> = Record<keyof T, TSchema>;
type OptionsOf<Name extends keyof NodeOptions> = NonNullable<NodeOptions[Name]>;

const strict = { additionalProperties: false };
/** Some three hundred years: whatever is added to a time of day stays a time of day. */
const MAX_MS = 1e13;
/** A wait, or how long something is remembered, ms; 0 is not at all. */
const anyMs = Type.Number({ minimum: 0, maximum: MAX_MS });
/** A pace or a deadline, ms. */
const ms = Type.Number({ exclusiveMinimum: 0, maximum: MAX_MS });
const amount = Type.Integer({ minimum: 0 });
const patience = Type.Object({ firstMs: ms, mostMs: ms }, strict);
/** Checked where it is used, with words of its own. */
const elsewhere = Type.Unknown();

const conductor = {
  requestedMs: ms,
  patience,
  rememberDeletedMs: anyMs,
  watchMs: ms,
  maxParked: amount,
  parkedAskMs: ms,
};
const placement = { rememberDeletedMs: anyMs };
const scheduler = {
  filters: elsewhere,
  weighers: elsewhere,
  pickAmong: elsewhere,
  patience,
  warmUpMs: anyMs,
  silentMs: ms,
  hostsATurn: Type.Integer({ minimum: 1 }),
};
const cell = {
  claimedMs: ms,
  buildingMs: ms,
  silentMs: ms,
  failuresBeforeAside: Type.Integer({ minimum: 1 }),
  asideMs: ms,
  asideMostMs: ms,
  asideShare: Type.Number({ minimum: 0, maximum: 1 }),
  patience,
  rememberDeletedMs: anyMs,
};
const compute = { heartbeatMs: ms, inventoryEveryMs: ms, patience, rememberEndedMs: anyMs };
/** What the node itself says to its connection and its server is no option of theirs here. */
const nats = {
  managed: partly(without(NATS_SERVER_FIELDS, ['signal'])),
  ...without(NATS_FIELDS, ['name', 'clock', 'onError']),
} satisfies Fields<OptionsOf<'nats'>>;

const OPTIONS = {
  roles: elsewhere,
  nats: partly(nats),
  bus: Type.Object({}),
  name: elsewhere,
  prefix: elsewhere,
  conductorShards: elsewhere,
  placementShards: elsewhere,
  driver: elsewhere,
  events: Type.Boolean(),
  journals: elsewhere,
  replicas: Type.Union([Type.Literal(1), Type.Literal(3), Type.Literal(5)]),
  leases: elsewhere,
  leaseTtlMs: elsewhere,
  clock: Type.Object({}),
  logger: Type.Object({}),
  maxMailbox: Type.Integer({ minimum: 1 }),
  aggregates: elsewhere,
  defaultZone: elsewhere,
  requireConfinement: Type.Boolean(),
  conductor: partly(conductor satisfies Fields<OptionsOf<'conductor'>>),
  placement: partly(placement satisfies Fields<OptionsOf<'placement'>>),
  scheduler: partly(scheduler satisfies Fields<OptionsOf<'scheduler'>>),
  cell: partly(cell satisfies Fields<OptionsOf<'cell'>>),
  compute: partly(compute satisfies Fields<OptionsOf<'compute'>>),
} satisfies Fields<NodeOptions>;

const check = checkOf(partly(OPTIONS), 'the options object');

/** Objects whose fields are options: those of a Map or a promise would be passed over. */
const OF_FIELDS = ['nats', 'conductor', 'placement', 'scheduler', 'cell', 'compute'] as const;

/** What ports and functions must have, for calls that come much later. */
const METHODS = {
  bus: ['publish', 'subscribe', 'request', 'serve', 'flush', 'close'],
  clock: CLOCK_METHODS,
  logger: ['warn', 'error', 'info', 'fatal'],
  leases: ['read', 'watch', 'write'],
} as const satisfies { [Port in keyof NodeOptions]?: readonly (keyof Extract<OptionsOf<Port>, object>)[] };

/**
 * @throws CellwrightError `bad-option` with the field, such as `cell.asideMs`.
 */
export function checkOptions(options: NodeOptions): void {
  insist(check, withoutUndefined(options, 2), 'bad-option');
  const { managed, tls } = options.nats ?? {};
  const ofFields = OF_FIELDS.map((name) => [name, options[name]] as const);
  for (const [name, value] of [...ofFields, ['nats.managed', managed] as const, ['nats.tls', tls] as const]) {
    const kind = kindOfNoData(value);
    if (kind !== undefined) throw bad(name, `must be a plain object, not a ${kind}`);
  }
  const { driver, journals, leases, nats: connection } = options;
  if (driver !== undefined && typeof driver !== 'function')
    throw bad('driver', 'must be a function that makes drivers');
  if (journals !== undefined && typeof journals !== 'function' && journals !== 'jetstream' && journals !== 'memory') {
    throw bad('journals', "must be 'jetstream', 'memory' or a function that opens journals");
  }
  if (leases !== undefined && !isObject(leases) && leases !== 'jetstream' && leases !== 'none') {
    throw bad('leases', "must be 'jetstream', 'none' or leases of your own");
  }
  for (const [field, value, rule] of [
    ['nats.signal', connection?.signal, A_SIGNAL],
    ['nats.onStatus', connection?.onStatus, A_FUNCTION],
    ['nats.managed.log', managed?.log, A_FUNCTION],
    ['nats.managed.onEnded', managed?.onEnded, A_FUNCTION],
  ] as const) {
    if (value !== undefined && !rule.holds(value)) throw bad(field, `must be ${rule.is}`);
  }
  for (const [name, methods] of Object.entries(METHODS)) {
    const port: unknown = options[name as keyof typeof METHODS];
    const lacking = isObject(port)
      ? methods.find((method) => typeof port[method as keyof typeof port] !== 'function')
      : undefined;
    if (lacking !== undefined) throw bad(name, `lacks the method '${lacking}'`);
  }
  for (const actor of ['conductor', 'scheduler', 'cell', 'compute'] as const) {
    const { firstMs = 0, mostMs = 0 } = options[actor]?.patience ?? {};
    if (mostMs < firstMs) throw bad(`${actor}.patience.mostMs`, `must not be less than firstMs, ${firstMs}`);
  }
  const { asideMs = 0, asideMostMs = Number.POSITIVE_INFINITY } = options.cell ?? {};
  if (asideMostMs < asideMs) throw bad('cell.asideMostMs', `must not be less than asideMs, ${asideMs}`);
  if (options.bus !== undefined && connection !== undefined) throw bad('nats', "does not go with 'bus'");
  if (connection?.servers !== undefined && connection.managed !== undefined) {
    throw bad('nats.managed', "does not go with 'nats.servers'");
  }
}

/**
 * Where a node has both a cell and a compute of it, a host must be heard of more often than it counts as down for silence.
 * @throws CellwrightError `bad-option` with the field `cell.silentMs`.
 */
export function checkHeartbeat({ cell: ofCell, compute: ofCompute }: NodeOptions, roles: readonly Role[]): void {
  const { silentMs = DEFAULT_SILENT_MS } = ofCell ?? {};
  const { heartbeatMs = DEFAULT_HEARTBEAT_MS } = ofCompute ?? {};
  if (silentMs > heartbeatMs) return;
  const hosts = hostsByCell(roles);
  if (!roles.some((role) => role.kind === 'cell' && hosts.has(role.cell))) return;
  const why = 'else its hosts, though they are well, count as down';
  throw bad('cell.silentMs', `is ${silentMs}; it must be more than the heartbeat of computes, ${heartbeatMs}: ${why}`);
}

function without<Of extends object, Name extends keyof Of & string>(of: Of, names: readonly Name[]): Omit<Of, Name> {
  const left = Object.entries(of).filter(([name]) => !names.includes(name as Name));
  return Object.fromEntries(left) as Omit<Of, Name>;
}

/** Absent and undefined are one. */
function withoutUndefined(value: unknown, depth: number): unknown {
  if (!isObject(value) || depth < 0 || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .map(([name, item]) => [name, withoutUndefined(item, depth - 1)]),
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function bad(field: string, what: string): CellwrightError {
  return new CellwrightError('bad-option', `'${field}' ${what}`, { field });
}
