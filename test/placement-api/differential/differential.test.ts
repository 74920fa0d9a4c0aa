// Area: Placement API. The original as an oracle: the same random streams of requests, valid and not, at many
// microversions, go to python3-placement on SQLite and to ours, and what comes back must be the same. It runs where the
// distribution's python3-placement is installed (CELLWRIGHT_OPENSTACK=required: it must be). CELLWRIGHT_DIFFERENTIAL_STREAMS tells how many streams; default 3.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { startPlacementApi } from '../../../runtime/placement-api/start.ts';
import { seededRandom } from '../../../runtime/random.ts';
import { ROOT } from '../../support/programs.ts';
import { difference, sorted } from './compare.ts';
import { type Answer, exchange, type Request } from './exchange.ts';
import { nextRequest, type World } from './requests.ts';
import { chooserOf } from './small-world.ts';

const PYTHON = '/usr/bin/python3';
const STREAMS = Number(process.env.CELLWRIGHT_DIFFERENTIAL_STREAMS ?? 3);
const SEED = process.env.CELLWRIGHT_DIFFERENTIAL_SEED ?? 'differential';
const REQUESTS = 250;
const MAX_MINOR = 39;
const LIMIT = 2;
/** Since when a query may have a limit. */
const LIMIT_SINCE = 16;

const installed = spawnSync(PYTHON, ['-c', 'import placement.deploy, oslo_config']).status === 0;
const test = suite('Placement API - the same as the reference');

interface Reference {
  readonly url: string;
  stop(): Promise<void>;
}

async function startReference(): Promise<Reference> {
  const folder = mkdtempSync(join(tmpdir(), 'cellwright-reference-'));
  const program = join(ROOT, 'test/placement-api/reference/serve.py');
  const child: ChildProcess = spawn(PYTHON, [program, folder], { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const [url] = (await Promise.race([
    once(lines, 'line'),
    closed.then(() => Promise.reject(new Error('the reference did not start'))),
  ])) as [string];
  return {
    url,
    async stop() {
      child.kill('SIGKILL');
      await closed;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function worldOf(url: string): World {
  const get = (path: string) => exchange(url, { method: 'GET', path, minor: MAX_MINOR });
  return {
    async generationOf(provider) {
      const { body } = await get(`/resource_providers/${provider}`);
      return (body as { generation?: number }).generation ?? 0;
    },
    async consumerGenerationOf(consumer) {
      const { body } = await get(`/allocations/${consumer}`);
      return (body as { consumer_generation?: number }).consumer_generation ?? null;
    },
  };
}

interface Found {
  readonly allocation_requests: readonly object[];
}

/** With a limit some of all candidates are given, and which is a server's own business. `all` was compared before. */
async function limitedDifference(url: string, request: Request, all: Answer): Promise<string | null> {
  const isQuery = request.path.startsWith('/allocation_candidates') && request.minor >= LIMIT_SINCE;
  // A header may ask for a version that knows no limit.
  if (!isQuery || request.headers !== undefined || all.status !== 200) return null;
  const { body } = await exchange(url, { ...request, path: `${request.path}&limit=${LIMIT}` });
  const limited = (body as Found).allocation_requests;
  const possible = new Set((all.body as Found).allocation_requests.map(keyOf));
  if (limited.length !== Math.min(LIMIT, possible.size)) return `${limited.length} of ${possible.size} were given`;
  const stranger = limited.find((one) => !possible.has(keyOf(one)));
  return stranger === undefined ? null : `${JSON.stringify(stranger)} is none of them`;
}

const keyOf = (candidate: object) => JSON.stringify(sorted(candidate));

async function stream(seed: string, reference: string): Promise<string[]> {
  const ours = await startPlacementApi({ host: '127.0.0.1', port: 0, placement: 'memory' });
  const choose = chooserOf(seededRandom(seed));
  const world = worldOf(ours.url);
  const differences: string[] = [];
  try {
    await exchange(reference, { method: 'POST', path: '/reset', minor: 0 });
    for (const name of ['CUSTOM_RED', 'CUSTOM_BLUE']) {
      for (const url of [reference, ours.url])
        await exchange(url, { method: 'PUT', path: `/traits/${name}`, minor: 39 });
    }
    for (const url of [reference, ours.url]) {
      await exchange(url, { method: 'PUT', path: '/resource_classes/CUSTOM_GOLD', minor: 39 });
    }
    for (let n = 0; n < REQUESTS; n += 1) {
      const request = await nextRequest(choose, world);
      const [expected, got] = await Promise.all([exchange(reference, request), exchange(ours.url, request)]);
      const found = difference(request, expected, got);
      if (found !== null) differences.push(`${seed}, request ${n}: ${found}`);
      const lost = got.status === 200 ? await limitedDifference(ours.url, request, got) : null;
      if (lost !== null) differences.push(`${seed}, request ${n} with a limit: ${lost}`);
    }
  } finally {
    await ours.close();
  }
  return differences;
}

const sameAsReference = installed || process.env.CELLWRIGHT_OPENSTACK === 'required' ? test : test.skip;
sameAsReference('random streams of requests are answered alike', async () => {
  const reference = await startReference();
  try {
    const differences: string[] = [];
    for (let n = 0; n < STREAMS; n += 1) differences.push(...(await stream(`${SEED}-${n}`, reference.url)));
    assert.is(differences.length, 0, `${differences.length} differences:\n${differences.slice(0, 20).join('\n')}`);
  } finally {
    await reference.stop();
  }
});

test.run();
