// Draws the curves of a packing experiment: what is allocated over what has been asked for, both in percent of all
// GPUs. A line is the mean of all seeds, as far as all have come; the band around it goes from the least to the most.

import { basename } from 'node:path';
import { howMany } from '../../actors/count-words.ts';
import { type CurvePoint, inAllSeeds, type PackingReport } from './report.ts';
import { type Attributes, type Drawn, document, element, pathThrough, pixels } from './svg.ts';

const WIDTH = 960;
const HEIGHT = 600;
const PLOT = { left: 70, right: 730, top: 60, bottom: 540 } as const;
/** Below that, in percent, all policies place all that comes, unless the curve says otherwise. */
const FROM = 50;
/** With less asked for, in percent, too little of the curve would be left. */
const FROM_IF_LAST = 80;
const TICK_EVERY = 10;
const MOST_TICKS = 12;
/** The least distance between two names at the right, in pixels. */
const NAME_HEIGHT = 20;
/** Told apart also by those who do not see all colours (Okabe and Ito). */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#000000'] as const;

interface Scale {
  readonly x: (arrived: number) => number;
  readonly y: (allocated: number) => number;
  /** Where the curves begin. */
  readonly first: number;
  readonly xTicks: readonly number[];
  readonly yTicks: readonly number[];
}

/** The text of an SVG document. */
export function plotOf(report: PackingReport): string {
  const lines = Object.entries(report.policies).map(([name, { curve }], position) => {
    return { name, curve: inAllSeeds(curve, report.seeds), colour: COLOURS[position % COLOURS.length] as string };
  });
  const scale = scaleOf(lines.flatMap(({ curve }) => curve));
  const { nodes, pods, gpus, seeds, tune, askedOfSeeds } = report;
  const of = `${basename(pods)} on ${basename(nodes)}: ${gpus.toLocaleString('en-US')} GPUs`;
  const what = tune === 0 ? 'the requests of the trace,' : 'requests';
  const [least, most] = [Math.min(...askedOfSeeds), Math.max(...askedOfSeeds)].map(
    (one) => Math.round(100 * one) / 100,
  );
  const times = least === most ? most : `${least} to ${most}`;
  return document(
    WIDTH,
    HEIGHT,
    element('title', {}, `GPU allocation by packing policy, ${of}`),
    element('rect', { width: WIDTH, height: HEIGHT, fill: '#ffffff' }),
    label(PLOT.left, 26, 'GPU allocation by packing policy', { 'font-size': 17, 'font-weight': 'bold' }),
    label(PLOT.left, 46, `${of}, ${howMany(seeds.length, 'seed')}, ${what} for ${times} times all GPUs`, {
      'font-size': 12,
      fill: '#555555',
    }),
    ...axes(scale),
    ...everythingPlaced(scale, Math.min(...askedOfSeeds)),
    ...lines.map(({ curve, colour }) => band(scale, curve, colour)),
    ...lines.map(({ curve, colour }) => line(scale, curve, colour)),
    ...names(scale, lines),
  );
}

function scaleOf(points: readonly CurvePoint[]): Scale {
  const last = points.reduce((most, { arrived }) => Math.max(most, arrived), TICK_EVERY);
  const first = last >= FROM_IF_LAST ? FROM : 0;
  const leastOfAll = points.reduce((least, one) => (one.arrived < first ? least : Math.min(least, one.least)), 100);
  const down = (value: number) => Math.floor(value / TICK_EVERY) * TICK_EVERY;
  const lowest = Math.max(0, Math.min(first, down(leastOfAll)));
  const across = (PLOT.right - PLOT.left) / (last - first);
  const up = (PLOT.bottom - PLOT.top) / (100 - lowest);
  return {
    x: (arrived) => PLOT.left + (arrived - first) * across,
    y: (allocated) => PLOT.bottom - (allocated - lowest) * up,
    first,
    xTicks: ticks(first, last, everyFor(last - first)),
    yTicks: ticks(lowest, 100, TICK_EVERY),
  };
}

/** The multiples of `every` that are in between. */
function ticks(from: number, to: number, every: number): number[] {
  const least = Math.ceil(from / every);
  return Array.from({ length: Math.floor(to / every) - least + 1 }, (_, step) => (least + step) * every);
}

/** A round distance, so that the ticks can be read. */
function everyFor(range: number): number {
  for (let every = TICK_EVERY; ; every *= 10) {
    const round = [1, 2, 5].find((times) => range / (times * every) <= MOST_TICKS);
    if (round !== undefined) return round * every;
  }
}

function axes({ x, y, xTicks, yTicks }: Scale): Drawn[] {
  const grid = { stroke: '#dddddd', 'stroke-width': 1 };
  const middle = (PLOT.top + PLOT.bottom) / 2;
  return [
    ...yTicks.flatMap((tick) => [
      element('line', { x1: PLOT.left, x2: PLOT.right, y1: pixels(y(tick)), y2: pixels(y(tick)), ...grid }),
      label(PLOT.left - 8, y(tick) + 4, `${tick} %`, { 'text-anchor': 'end' }),
    ]),
    ...xTicks.flatMap((tick) => [
      element('line', { x1: pixels(x(tick)), x2: pixels(x(tick)), y1: PLOT.top, y2: PLOT.bottom, ...grid }),
      label(x(tick), PLOT.bottom + 18, `${tick} %`, { 'text-anchor': 'middle' }),
    ]),
    label((PLOT.left + PLOT.right) / 2, PLOT.bottom + 42, 'asked for, of all GPUs', { 'text-anchor': 'middle' }),
    label(18, middle, 'allocated, of all GPUs', { 'text-anchor': 'middle', transform: `rotate(-90 18 ${middle})` }),
  ];
}

/** The line on which nothing would ever be refused. */
function everythingPlaced({ x, y, first, yTicks }: Scale, asked: number): Drawn[] {
  const from = Math.max(first, yTicks[0] as number);
  const to = Math.min(100, 100 * asked);
  if (to <= from) return [];
  const d = pathThrough([
    [x(from), y(from)],
    [x(to), y(to)],
  ]);
  return [element('path', { d, stroke: '#999999', 'stroke-width': 1, 'stroke-dasharray': '4 4', fill: 'none' })];
}

function shownOf({ x, first }: Scale, curve: readonly CurvePoint[], of: (point: CurvePoint) => number) {
  return curve.filter(({ arrived }) => arrived >= first).map((point) => [x(point.arrived), of(point)] as const);
}

function line(scale: Scale, curve: readonly CurvePoint[], colour: string): Drawn {
  const d = pathThrough(shownOf(scale, curve, ({ mean }) => scale.y(mean)));
  return element('path', { d, stroke: colour, 'stroke-width': 2, fill: 'none', 'stroke-linejoin': 'round' });
}

function band(scale: Scale, curve: readonly CurvePoint[], colour: string): Drawn {
  const most = shownOf(scale, curve, (point) => scale.y(point.most));
  const least = shownOf(scale, curve, (point) => scale.y(point.least));
  const d = `${pathThrough([...most, ...least.reverse()])}Z`;
  return element('path', { d, fill: colour, 'fill-opacity': 0.15, stroke: 'none' });
}

/** The names of the lines at their ends, moved apart where they would cover each other. */
function names(
  scale: Scale,
  lines: readonly { name: string; curve: readonly CurvePoint[]; colour: string }[],
): Drawn[] {
  const ends = lines.map(({ name, curve, colour }) => ({ name, colour, end: curve.at(-1) as CurvePoint }));
  ends.sort((one, other) => other.end.mean - one.end.mean);
  let lowest = Number.NEGATIVE_INFINITY;
  const heights = ends.map(({ end }) => {
    lowest = Math.max(scale.y(end.mean), lowest + NAME_HEIGHT);
    return lowest;
  });
  const below = Math.max(0, lowest - PLOT.bottom);
  return ends.flatMap(({ name, colour, end }, position) => {
    const at = scale.y(end.mean);
    const y = (heights[position] as number) - below;
    const d = pathThrough([
      [PLOT.right + 2, at],
      [PLOT.right + 20, y],
    ]);
    return [
      element('path', { d, stroke: colour, 'stroke-width': 1, fill: 'none' }),
      label(PLOT.right + 24, y + 4, `${name}  ${end.mean.toFixed(1)} %`, { fill: colour, 'font-weight': 'bold' }),
    ];
  });
}

function label(x: number, y: number, text: string, attributes: Attributes): Drawn {
  const style = { 'font-family': 'sans-serif', 'font-size': 13, fill: '#333333' };
  return element('text', { x: pixels(x), y: pixels(y), ...style, ...attributes }, text);
}
