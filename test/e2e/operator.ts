// What tests of deployments of processes do as operators do: use the command line, and have something built.

import { execFile } from 'node:child_process';
import * as assert from 'uvu/assert';
import type { Connection } from '../../runtime/connect.ts';
import { argvOf, ROOT } from '../support/programs.ts';

/** Steps are soon done again. */
const SOON = { firstMs: 200, mostMs: 500 };
/** Hosts are soon silent. */
export const QUICK = {
  cell: { silentMs: 2_000, patience: SOON },
  compute: { heartbeatMs: 300, patience: SOON },
  conductor: { patience: SOON },
};
export const SMALL = { resources: { VCPU: 1 } };

interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export function cellwright(...args: string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const argv = [...argvOf('runtime/cli/main.ts'), ...args];
    const child = execFile(process.execPath, argv, { cwd: ROOT }, (_, out, err) => {
      resolve({ code: child.exitCode, out, err });
    });
  });
}

export async function active(client: Connection, id: string): Promise<string> {
  await client.build({ id, ...SMALL });
  const { state, host = '' } = await client.ended(id);
  assert.is(state, 'active', id);
  return host;
}
