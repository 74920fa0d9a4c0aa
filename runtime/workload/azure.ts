// The Azure V1 trace as a workload: 259,159 virtual machines that tenants asked for in 53,109 batches over 3.5 days.
// The trace counts in periods of 300 s; where in its period a batch arrives, and how long within its bin a machine
// lives, is drawn from the seed. Periods are decoded as they are walked: only the text of the files stays in memory.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { MAX_COUNT } from '../../actors/messages/limits.ts';
import { append } from '../../actors/multimap.ts';
import { CellwrightError, MalformedError, messageOf } from '../errors.ts';
import { type Random, seededRandom } from '../random.ts';
import {
  type Arrival,
  type BuildSpec,
  cellNames,
  checkAnyArrives,
  checkUntil,
  type FleetHost,
  readTrace,
  type Workload,
} from './workload.ts';

export interface AzureOptions {
  /** Where flav_map.txt, v1.interval_map.txt and a pair such as v1.dev.txt and v1.dev.c2100000.txt are. */
  dir: string;
  /** How many cells the hosts are dealt to, 1 to 1000. */
  cells: number;
  /** Leaves out what arrives at this time or later, in milliseconds. Default: the whole trace, 300,000,000. */
  untilMs?: number;
  /** Decides the times inside periods and lifetime bins. */
  seed: number | string;
}

const PERIOD_S = 300;
const PERIOD_MS = PERIOD_S * 1000;
const HOST_VCPU = 64;
const HOST_MEMORY_MB = 512 * 1024;
/** Nearly all fits then, but hosts have to be chosen well. */
const HEADROOM = 1.125;

/**
 * Reads the trace. It has no machines from before its first period: the fleet starts empty.
 * @throws MalformedError for a line or an option that is wrong
 * @throws CellwrightError `trace-unreadable` when a file cannot be read
 */
export function azureWorkload(options: AzureOptions): Workload {
  const cells = cellNames(options.cells);
  checkUntil(options.untilMs);

  const { part, files } = azureFiles(options.dir);
  const flavors = readFlavors(files.flavors);
  const bins = readBins(files.bins);
  const periods = readPeriods(files.arrivals, files.fates);
  const traceEndMs = periods.length * PERIOD_MS;
  const endMs = Math.min(options.untilMs ?? traceEndMs, traceEndMs);
  const random = seededRandom(options.seed);

  function* walk(): Generator<Arrival> {
    let batchNumber = 0;
    for (const [index, period] of periods.entries()) {
      const startMs = index * PERIOD_MS;
      if (startMs >= endMs) return;
      // A stream for each period: leaving some out does not shift the others.
      const draws = random.fork(`period ${index}`);
      const batches = batchesOf(period);
      const slotMs = PERIOD_MS / batches.length;
      for (const [place, batch] of batches.entries()) {
        batchNumber++;
        const atMs = Math.floor(startMs + (place + draws.next()) * slotMs);
        if (atMs >= endMs) return;
        for (const [code, machines] of batch) {
          const { spec, kind, id } = lookUp(flavors, code, period, 'flavor');
          const endAtMs = machines.map((fate) => {
            const ends = endOf(fate, atMs, traceEndMs, bins, draws, period);
            return ends !== undefined && ends < endMs ? ends : undefined;
          });
          for (let first = 0; first < machines.length; first += MAX_COUNT) {
            const part = first === 0 ? '' : `-part${first / MAX_COUNT + 1}`;
            const ends = endAtMs.slice(first, first + MAX_COUNT);
            const batchId = `batch-${batchNumber}-${id}${part}`;
            yield { atMs, id: batchId, count: ends.length, endAtMs: ends, spec, kind };
          }
        }
      }
    }
  }

  const { requested, hosts } = measure(walk(), endMs);
  checkAnyArrives(requested, options.untilMs, files.arrivals);
  return {
    name: `azure-${part}`,
    hosts: fleet(hosts, cells),
    arrivals: { [Symbol.iterator]: walk },
    requested,
    endMs,
  };
}

interface Place {
  file: string;
  line: number;
}

/** The place is that in the file of the flavors. */
interface Period extends Place {
  fatePlace: Place;
  flavors: string;
  fates: string;
}

/** A tenant's batch: for each flavor the lifetimes of its machines, as the trace writes them. */
type Batch = Map<string, string[]>;

function batchesOf(period: Period): Batch[] {
  // A period in which nobody arrives.
  if (period.flavors === '' && period.fates === '') return [];
  const codes = itemsOf(period.flavors);
  const fates = itemsOf(period.fates);
  if (codes.length !== fates.length) throw wrong(period, 'has another number of items than the file of lifetimes');
  const batches: Batch[] = [];
  let batch: Batch = new Map();
  for (const [index, code] of codes.entries()) {
    const fate = fates[index] as string;
    if ((code === '|') !== (fate === '|')) throw wrong(period, `item ${index + 1} ends a batch in one file only`);
    if (code !== '|') append(batch, code, fate);
    const isLast = index === codes.length - 1;
    if ((code === '|' || isLast) && batch.size > 0) {
      batches.push(batch);
      batch = new Map();
    }
  }
  return batches;
}

const itemsOf = (text: string): string[] => text.split(',').map((item) => item.trim());

/** When a machine ends: `C<bin>` outlives the trace, `U<bin>` ends within it. */
function endOf(fate: string, atMs: number, traceEndMs: number, bins: Bins, draws: Random, period: Period) {
  const place = period.fatePlace;
  if (!/^[CU]/.test(fate)) throw wrong(place, `'${fate}' is no lifetime`);
  const range = lookUp(bins, fate.slice(1), place, 'lifetime bin');
  if (fate.startsWith('C')) return undefined;
  // A machine near the end of the trace cannot use all of its bin: the trace says that it ended before.
  const roomMs = traceEndMs - atMs - 1;
  const leastMs = Math.min(range.leastMs, roomMs);
  return atMs + draws.integer(leastMs, Math.min(range.mostMs, roomMs));
}

/** By code. */
type Flavors = Map<string, { spec: BuildSpec; kind: string /** In the names of requests. */; id: string }>;

interface AzureFiles {
  readonly flavors: string;
  readonly bins: string;
  readonly arrivals: string;
  readonly fates: string;
}

/** Which of several pairs is meant where none is named. */
const USUAL_PAIR = 'v1.dev.c2100000.txt';

/**
 * The files of a trace, by what they tell, and which part of the dataset it is, such as `v1.dev`.
 * @throws MalformedError when there are several pairs of arrivals and lifetimes
 * @throws CellwrightError `trace-unreadable` when there is none
 */
export function azureFiles(dir: string): { part: string; files: AzureFiles } {
  const names = namesIn(dir);
  const pairs = names.flatMap((fates) => {
    const part = /^(.+)\.c\d+\.txt$/.exec(fates)?.[1];
    return part !== undefined && names.includes(`${part}.txt`) ? [{ part, fates }] : [];
  });
  const pair = pairs.length === 1 ? pairs[0] : pairs.find(({ fates }) => fates === USUAL_PAIR);
  if (pair === undefined) {
    const found = pairs.map(({ part, fates }) => `'${part}.txt' with '${fates}'`).join(', ');
    if (found !== '') throw new MalformedError(`'${dir}' holds several traces: ${found}`, { field: dir });
    const message = `'${dir}' holds no file of arrivals with one of lifetimes, such as 'v1.dev.txt' with '${USUAL_PAIR}'`;
    throw new CellwrightError('trace-unreadable', message, { field: dir });
  }
  const files = {
    flavors: join(dir, 'flav_map.txt'),
    bins: join(dir, 'v1.interval_map.txt'),
    arrivals: join(dir, `${pair.part}.txt`),
    fates: join(dir, pair.fates),
  };
  return { part: pair.part, files };
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir).sort();
  } catch (error) {
    const message = `cannot read the trace '${dir}': ${messageOf(error)}`;
    throw new CellwrightError('trace-unreadable', message, { field: dir, cause: error });
  }
}

/** Lines such as `2,3.5 g`: virtual processors, gigabytes, the code that stands for them. */
function readFlavors(file: string): Flavors {
  const flavors: Flavors = new Map();
  for (const { text, ...place } of linesOf(file)) {
    const [, vcpu, gigabytes, code] = /^(\d+)\s*,\s*(\d+(?:\.\d+)?)\s+([^\s,|]+)$/.exec(text) ?? [];
    if (code === undefined || flavors.has(code)) throw wrong(place, `'${text}' is no new flavor`);
    const resources = { VCPU: Number(vcpu), MEMORY_MB: Math.round(Number(gigabytes) * 1024) };
    const isServable = resources.VCPU <= HOST_VCPU && resources.MEMORY_MB <= HOST_MEMORY_MB;
    if (!isServable || resources.VCPU === 0 || resources.MEMORY_MB === 0) {
      const host = `${HOST_VCPU} processors and ${HOST_MEMORY_MB / 1024} GB`;
      throw wrong(place, `'${text}' is nothing that a host of ${host} could have`);
    }
    // Names of requests have no other signs. None of a code of these becomes the other: instances end in a number alone.
    const id = /^[a-z0-9]{1,16}$/.test(code) ? code : `flavor-no-${flavors.size + 1}`;
    flavors.set(code, { spec: { resources }, kind: `vcpu-${Number(vcpu)}`, id });
  }
  return flavors;
}

type Bins = Map<string, { leastMs: number; mostMs: number }>;

/** Lines such as `3900 13`: a lifetime in seconds, rounded down to periods, and the bin it is in. */
function readBins(file: string): Bins {
  const bins: Bins = new Map();
  for (const { text, ...place } of linesOf(file)) {
    const [, seconds, bin] = /^(\d+)\s+(\d+)$/.exec(text) ?? [];
    if (bin === undefined) throw wrong(place, `'${text}' is no lifetime and bin`);
    const leastMs = Number(seconds) * 1000;
    const mostMs = leastMs + PERIOD_MS - 1;
    const known = bins.get(bin) ?? { leastMs, mostMs };
    bins.set(bin, { leastMs: Math.min(known.leastMs, leastMs), mostMs: Math.max(known.mostMs, mostMs) });
  }
  return bins;
}

/** Lines such as `1800000 m,|,a,|` in one file and `1800000 U1,|,U4,|` in the other. */
function readPeriods(flavorFile: string, fateFile: string): Period[] {
  const flavorLines = linesOf(flavorFile);
  const fateLines = linesOf(fateFile);
  if (flavorLines.length !== fateLines.length) {
    const lines = `${flavorLines.length} and ${fateLines.length}`;
    throw new MalformedError(`'${flavorFile}' and '${fateFile}' do not have the same number of lines: ${lines}`, {
      field: fateFile,
    });
  }
  const [first] = flavorLines as [Line];
  const firstS = Number.parseInt(first.text, 10);
  if (Number.isNaN(firstS)) throw wrong(first, 'does not start with a time in seconds');
  return flavorLines.map((flavorLine, index) => {
    const { file, line } = flavorLine;
    const fateLine = fateLines[index] as Line;
    const time = String(firstS + index * PERIOD_S);
    return { file, line, fatePlace: fateLine, flavors: after(time, flavorLine), fates: after(time, fateLine) };
  });
}

/** What stands after the time in a line: of a period in which nobody arrives there is the time alone. */
function after(time: string, line: Line): string {
  const [, told, items = ''] = /^(\S+)(?:\s+(.*))?$/.exec(line.text) ?? [];
  if (told !== time) throw wrong(line, `does not start with the time '${time}'`);
  return items;
}

interface Line extends Place {
  /** Without blanks around it. */
  text: string;
}

/** The lines of a file, however they end, but for blank ones. */
function linesOf(file: string): Line[] {
  const lines = readTrace(file)
    .replace(/^\uFEFF/, '')
    .split(/\r\n?|\n/)
    .map((text, index) => ({ file, line: index + 1, text: text.trim() }))
    .filter(({ text }) => text !== '');
  if (lines.length === 0) throw new MalformedError(`'${file}' is empty`);
  return lines;
}

/** Counts the instances and the hosts that their peak needs; amounts are added up second by second. */
function measure(arrivals: Iterable<Arrival>, endMs: number): { requested: number; hosts: number } {
  const seconds = Math.ceil(endMs / 1000) + 1;
  const vcpu = new Float64Array(seconds);
  const memory = new Float64Array(seconds);
  const change = (second: number, resources: Record<string, number>, count: number) => {
    vcpu[second] = (vcpu[second] ?? 0) + count * (resources.VCPU ?? 0);
    memory[second] = (memory[second] ?? 0) + count * (resources.MEMORY_MB ?? 0);
  };
  let requested = 0;
  for (const { atMs, spec, count, endAtMs } of arrivals) {
    requested += count;
    const resources = spec.resources ?? {};
    change(Math.floor(atMs / 1000), resources, count);
    for (const end of endAtMs) if (end !== undefined) change(Math.ceil(end / 1000), resources, -1);
  }
  const share = Math.max(peakOf(vcpu) / HOST_VCPU, peakOf(memory) / HOST_MEMORY_MB);
  return { requested, hosts: Math.max(1, Math.ceil(share * HEADROOM)) };
}

function peakOf(changes: Float64Array): number {
  let now = 0;
  let peak = 0;
  for (const change of changes) {
    now += change;
    peak = Math.max(peak, now);
  }
  return peak;
}

function fleet(hosts: number, cells: readonly string[]): FleetHost[] {
  const inventories = { VCPU: { total: HOST_VCPU }, MEMORY_MB: { total: HOST_MEMORY_MB } };
  return Array.from({ length: hosts }, (_, index) => {
    const host = `azure-${String(index + 1).padStart(5, '0')}`;
    return { cell: cells[index % cells.length] as string, host, tree: { name: host, inventories } };
  });
}

function lookUp<Value>(map: ReadonlyMap<string, Value>, key: string, place: Place, what: string): Value {
  const value = map.get(key);
  if (value === undefined) throw wrong(place, `'${key}' is no known ${what}`);
  return value;
}

function wrong({ file, line }: Place, what: string): MalformedError {
  return new MalformedError(`'${file}' line ${line}: ${what}`, { field: file });
}
