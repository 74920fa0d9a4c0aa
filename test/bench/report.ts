// What the benchmark says: a line for each figure as soon as it is known, beside the bare limit of the same run as a
// ratio; and what it is doing meanwhile, on stderr.

/** A bare limit, of the unit of the figure that stands beside it. */
export interface Bare {
  readonly name: string;
  readonly value: number;
}

/** One line of the report. */
export interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly beside?: Bare;
  readonly note?: string;
}

/** A figure as it is kept. */
export interface Reported extends Figure {
  /** To the bare limit that it stands beside. */
  readonly ratio?: number;
}

export type Report = (figure: Figure) => void;

/** Says what is being measured. On a terminal each line takes the place of the one before. */
export function progress(doing: string): void {
  const text = `  ${doing} ...`;
  if (!process.stderr.isTTY) console.error(text);
  else process.stderr.write(`\r\x1b[K${text}`);
}

/** A report that prints, and keeps all figures. */
export function printing(say: (line: string) => void): { report: Report; figures: readonly Reported[] } {
  const figures: Reported[] = [];
  return {
    figures,
    report(figure) {
      const { name, value, unit, beside, note } = figure;
      const ratio = beside === undefined ? undefined : value / beside.value;
      figures.push(ratio === undefined ? figure : { ...figure, ratio });
      const share = ratio === undefined ? undefined : `${ratio.toFixed(2)} of ${beside?.name}`;
      const told = value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
      const more = [share, note].filter((part) => part !== undefined && part !== '').join('; ');
      if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
      say(`${name.padEnd(62)} ${told.padStart(10)} ${unit.padEnd(9)} ${more}`.trimEnd());
    },
  };
}

export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length * share)] ?? 0;
}
