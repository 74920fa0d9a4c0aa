// Serves the Placement API as `cellwright placement-api` was told.

import { present } from '../../actors/present.ts';
import { CellwrightError } from '../errors.ts';
import { type PlacementApiOptions, startPlacementApi } from '../placement-api/start.ts';
import { tokensFrom } from '../placement-api/tokens.ts';
import { onInterrupt } from './interrupt.ts';
import { type AccessFlags, accessOf, natsIfNamed } from './server-flags.ts';

export interface PlacementApiFlags extends AccessFlags {
  listen: { host: string; port: number };
  inMemory?: boolean;
  servers?: string[];
  store?: string;
  placementShards?: number;
  prefix?: string;
  tokens?: string;
  allowOrigins?: string[];
}

export async function servePlacementApi(flags: PlacementApiFlags): Promise<void> {
  const { listen, store, placementShards, prefix, tokens, allowOrigins } = flags;
  const interrupt = onInterrupt();
  const server = await startPlacementApi({
    ...listen,
    placement: placementOf(flags),
    signal: interrupt.signal,
    ...present({
      storeDir: store,
      placementShards,
      prefix,
      authenticate: tokens === undefined ? undefined : tokensFrom(tokens),
      allowedOrigins: allowOrigins,
    }),
  });
  console.log(`the Placement API listens at ${server.url}`);
  if (tokens === undefined)
    console.log(
      "development mode, open to everybody: any token is taken, and whoever sends the token 'admin', or the header 'x-roles: admin', may do everything",
    );
  await interrupt.happened;
  await server.close();
}

function placementOf({ inMemory, servers, store, ...access }: PlacementApiFlags): PlacementApiOptions['placement'] {
  if (inMemory === true && (servers !== undefined || store !== undefined)) {
    const message = '--in-memory keeps nothing and connects to nothing: it goes with neither --nats nor --store';
    throw new CellwrightError('bad-option', message, { field: 'in-memory' });
  }
  if (servers === undefined) natsIfNamed(access);
  if (inMemory === true) return 'memory';
  if (servers === undefined) return 'managed';
  if (store === undefined) return { servers, ...accessOf(access) };
  throw new CellwrightError('bad-option', '--store is for a managed server, not for --nats', { field: 'store' });
}
