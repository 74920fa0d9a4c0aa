// A small trace for the tests of packing, drawn from a seed: a few hosts of three kinds, and requests for shares, whole
// devices, several devices and none, some for named models.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PackingTrace, readPackingTrace } from '../../../runtime/packing/trace.ts';
import { type Random, seededRandom } from '../../../runtime/random.ts';

export interface TraceFiles {
  readonly dir: string;
  readonly nodes: string;
  readonly pods: string;
}

const KINDS = [
  [32_000, 131_072, 4, 'T4'],
  [64_000, 262_144, 8, 'V100'],
  [16_000, 65_536, 2, 'P100'],
] as const;

export function nodesText(hosts: number): string {
  const rows = Array.from({ length: hosts }, (_, host) => [`node-${host}`, ...(KINDS[host % 3] ?? [])].join(','));
  return ['sn,cpu_milli,memory_mib,gpu,model', ...rows, ''].join('\n');
}

export function podsText(requests: number, seed = 'trace'): string {
  const random = seededRandom(seed);
  const rows = Array.from({ length: requests }, (_, request) => `pod-${request},${podOf(random).join(',')}`);
  return ['name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec', ...rows, ''].join('\n');
}

function podOf({ pick, chance }: Random): (string | number)[] {
  const gpus = pick([0, 1, 1, 1, 1, 1, 2]);
  const share = gpus === 1 ? pick([100, 250, 500, 700, 1_000, 1_000]) : gpus * 500;
  return [pick([500, 1_000, 2_000, 6_000]), pick([1_024, 4_096]), gpus, share, chance(0.2) ? 'T4|V100' : ''];
}

/** Writes a trace into a folder that is gone afterwards. */
export async function withTrace(
  use: (files: TraceFiles) => Promise<void> | void,
  { nodes = nodesText(12), pods = podsText(150) } = {},
): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'cellwright-packing-'));
  const files = { dir, nodes: join(dir, 'nodes.csv'), pods: join(dir, 'pods.csv') };
  try {
    writeFileSync(files.nodes, nodes);
    writeFileSync(files.pods, pods);
    await use(files);
  } finally {
    rmSync(dir, { recursive: true });
  }
}

export async function smallTrace(): Promise<PackingTrace> {
  let trace: PackingTrace | undefined;
  await withTrace(({ nodes, pods }) => {
    trace = readPackingTrace(nodes, pods);
  });
  return trace as PackingTrace;
}
