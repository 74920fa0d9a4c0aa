// What processes take: processor time and memory, of this one and, where there is a /proc, of others.

import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export interface Usage {
  /** Processor time so far, microseconds. */
  readonly cpuUs: number;
  /** Resident memory, bytes. */
  readonly residentBytes: number;
  /** Live objects of JavaScript, bytes, after a collection; 0 where that is not known. */
  readonly heapBytes: number;
}

/** The kernel counts in hundredths of a second. */
const TICK_US = 10_000;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** @param live Whether to collect what is dead first, which takes time. */
export function ownUsage(live = false): Usage {
  if (live) collect();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  return { cpuUs: user + system, residentBytes: rss, heapBytes: live ? heapUsed : 0 };
}

/** Null where there is no /proc. */
export function usageOf(pid: number): Usage | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const resident = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    const cpuUs = (Number(fields[11]) + Number(fields[12])) * TICK_US;
    return { cpuUs, residentBytes: Number(resident ?? 0) * 1_024, heapBytes: 0 };
  } catch {
    return null;
  }
}
