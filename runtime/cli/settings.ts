// Reads a file of settings for `cellwright node`: what there is to say of aggregates, and by what schedulers choose. Filters
// and weighers of one's own are functions, and so for those who embed.

import type { AggregateOptions } from '../aggregates.ts';
import { CellwrightError } from '../errors.ts';
import { isObject } from '../objects.ts';
import type { SchedulerSettings } from '../scheduler-settings.ts';
import { jsonObjectIn } from './files.ts';

export interface FileSettings {
  readonly aggregates?: Readonly<Record<string, AggregateOptions>>;
  readonly defaultZone?: string;
  readonly requireConfinement?: boolean;
  readonly scheduler?: Pick<SchedulerSettings, 'filters' | 'weighers' | 'pickAmong'>;
}

/** What is no object of further settings. */
const PLAIN = ['defaultZone', 'requireConfinement'];
const KNOWN = { aggregates: null, scheduler: ['filters', 'weighers', 'pickAmong'] } as const;

/**
 * What is in the parts is checked when the node starts.
 * @throws CellwrightError `bad-settings` when the file is no JSON object, or has parts that there are not.
 */
export function settingsIn(path: string): FileSettings {
  const bad = (what: string, field: string) =>
    new CellwrightError('bad-settings', `--settings '${path}': ${what}`, { field });
  const settings = jsonObjectIn('settings', path, 'bad-settings');
  for (const [name, part] of Object.entries(settings)) {
    if (PLAIN.includes(name)) continue;
    if (!Object.hasOwn(KNOWN, name)) {
      throw bad(`there is no '${name}'; there are aggregates, ${PLAIN.join(', ')} and scheduler`, name);
    }
    if (!isObject(part)) throw bad(`'${name}' must be an object`, name);
    const known = KNOWN[name as keyof typeof KNOWN];
    const unknown = known === null ? undefined : Object.keys(part).find((one) => !known.includes(one as never));
    if (unknown === undefined) continue;
    throw bad(`there is no '${name}.${unknown}'; there are ${known?.join(', ')}`, `${name}.${unknown}`);
  }
  return settings;
}
