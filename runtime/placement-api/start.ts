// Starts the Placement API: in one process with a placement of its own, in memory or over a managed NATS server, or as
// a front to a running system.

import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { present } from '../../actors/present.ts';
import { unlessAborted } from '../abortable.ts';
import type { Bus } from '../bus/bus.ts';
import { memoryBus } from '../bus/memory.ts';
import { connectNats } from '../bus/nats.ts';
import type { NatsOptions } from '../bus/nats-options.ts';
import type { Clock } from '../clock.ts';
import { placementShardsStanding } from '../deployment.ts';
import { CellwrightError, messageOf } from '../errors.ts';
import { unfailingLogger } from '../logging.ts';
import { type Node, startNode } from '../node.ts';
import { outboxOf } from '../outbox.ts';
import { patiently } from '../patience.ts';
import { subjectsOf } from '../subjects.ts';
import { systemClock } from '../system-clock.ts';
import { within } from '../within.ts';
import { authorityOf } from './authority.ts';
import { listen, type PlacementServer } from './server.ts';
import { shardedAuthority } from './shards/sharded.ts';
import { type Authenticate, developmentTokens } from './tokens.ts';

export interface PlacementApiOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /**
   * Where placement is: `memory`, a new one in this process that is empty and forgets all when it ends; `managed`, one
   * in this process over a NATS server of its own, which remembers; or the NATS servers of a running system.
   */
  readonly placement: 'memory' | 'managed' | Pick<NatsOptions, 'servers' | 'credentials' | 'tls' | 'inboxPrefix'>;
  /**
   * Over how many shards placement is dealt, 1 to 64; it is decided when a deployment is made. Default: what the running
   * system or the managed one has; 1 when it is new.
   */
  readonly placementShards?: number;
  /** Where a managed server keeps its data; default: a new place that goes with it. */
  readonly storeDir?: string;
  /** What every subject begins with, one token or several such as `prod.cw`; default `cw`. */
  readonly prefix?: string;
  /** Default: tokens of development, any of which is good. */
  readonly authenticate?: Authenticate;
  /** Origins that browsers may ask from; default none. */
  readonly allowedOrigins?: readonly string[];
  /** How long placement may take to answer, ms; default 10,000. */
  readonly timeoutMs?: number;
  /** Gives up connecting, and starting a server. */
  readonly signal?: AbortSignal;
  readonly logger?: Logger;
}

const DEFAULT_TIMEOUT_MS = 10_000;
/** How long what was asked before the API stops may still take, ms; it is refused then. */
const ANSWERED_WITHIN_MS = 2_000;
/** How long it may take to tell who asked, ms. */
const TOLD_WITHIN_MS = 500;

/**
 * Starts the API. If there is no deployment yet on the servers, and no number of placement shards is said, it is waited for.
 * @throws CellwrightError `cannot-listen`; `other-shards` when the deployment has another number of placement shards;
 * `no-deployment` when there is none for half a minute; `no-jetstream` when nobody tells for five seconds how many placement
 * shards there are; what connecting to NATS or starting a server throws.
 */
export async function startPlacementApi(options: PlacementApiOptions): Promise<PlacementServer> {
  const clock = systemClock();
  const logger = unfailingLogger(options.logger);
  const onError = (error: unknown, what: string) => logger.warn({ what, error: messageOf(error) }, messageOf(error));
  const name = `placement-api-${randomBytes(6).toString('hex')}`;
  const { bus, node, shards } = await placementOf(options, { clock, logger, name, onError });
  const subjects = subjectsOf(options.prefix);
  const outbox = outboxOf({ bus, clock, subjects, events: false, onError });
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const closed = () => new CellwrightError('closed', 'the Placement API is stopping', { retryable: true });
  const one = authorityOf({ name, bus, clock, outbox, subjects, timeoutMs, closed, onError });
  const authority = shards === 1 ? one : shardedAuthority({ authority: one, count: shards, clock, timeoutMs });

  async function stop(): Promise<void> {
    authority.stop();
    await node?.stop();
    await bus.close();
  }

  try {
    const server = await listen({
      host: options.host,
      port: options.port,
      authority,
      authenticate: options.authenticate ?? developmentTokens,
      allowedOrigins: options.allowedOrigins ?? [],
      now: () => clock.now(),
      onError,
    });
    return {
      url: server.url,
      async close() {
        const answered = server.close();
        if (!(await within(ANSWERED_WITHIN_MS, answered, clock))) {
          authority.stop();
          await within(TOLD_WITHIN_MS, answered, clock);
          server.cutOff();
        }
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Surroundings {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly name: string;
  onError(error: unknown, what: string): void;
}

/** A bus on which placement answers, and the node that plays it if it is of this process. */
async function placementOf(
  { placement, placementShards, prefix, storeDir, signal }: PlacementApiOptions,
  { clock, logger, name, onError }: Surroundings,
): Promise<{ bus: Bus; node?: Node; shards: number }> {
  const common = {
    roles: ['placement'],
    clock,
    logger,
    ...present({ prefix, placementShards }),
  };
  const giveUp = signal === undefined ? {} : { signal };
  if (placement === 'memory') {
    const bus = memoryBus({ clock });
    const node = await startNode({ ...common, bus, journals: 'memory', events: false });
    return { bus, node, shards: node.placementShards };
  }
  if (placement === 'managed') {
    const managed = storeDir === undefined ? {} : { dataDir: storeDir };
    const node = await startNode({ ...common, nats: { managed, ...giveUp } });
    try {
      const bus = await connectNats({ servers: node.url ?? '', name, onError, ...giveUp });
      return { bus, node, shards: node.placementShards };
    } catch (error) {
      await node.stop();
      throw error;
    }
  }
  const bus = await connectNats({ ...placement, name, onError, ...giveUp });
  try {
    const reading = () => placementShardsStanding({ bus, subjects: subjectsOf(prefix) }, placementShards);
    const reads = patiently(reading, { clock, what: 'reading the number of placement shards', onError });
    return { bus, shards: await unlessAborted(reads, signal, 'the start') };
  } catch (error) {
    await bus.close();
    throw error;
  }
}
