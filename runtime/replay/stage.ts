// Where a replay takes place: inside this process, on a clock that jumps from timer to timer, or over a NATS server in
// real time. Everything after it is the same code on both. It starts no actor and knows no workload.

import { randomBytes } from 'node:crypto';
import { present } from '../../actors/present.ts';
import type { Bus } from '../bus/bus.ts';
import { memoryServer } from '../bus/memory.ts';
import { connectNats, type NatsBus } from '../bus/nats.ts';
import { shownAddresses } from '../bus/nats-addresses.ts';
import type { NatsOptions } from '../bus/nats-options.ts';
import { type Client, clientOf } from '../client.ts';
import type { Clock } from '../clock.ts';
import { makeDeployment } from '../deployment.ts';
import { CellwrightError, messageOf } from '../errors.ts';
import { type Asking, asking } from '../gateway/asking.ts';
import { memoryJournals } from '../journal/memory.ts';
import { findNatsServer } from '../nats-server/find.ts';
import { installNatsServer } from '../nats-server/install.ts';
import { type NatsServer, startNatsServer } from '../nats-server/server.ts';
import type { NodeOptions } from '../node-options.ts';
import { outboxOf } from '../outbox.ts';
import { seededRandom } from '../random.ts';
import { type Subjects, subjectsOf } from '../subjects.ts';
import { systemClock } from '../system-clock.ts';
import { virtualClock } from '../virtual-clock.ts';

export interface Stage {
  readonly kind: 'memory' | 'nats';
  /** The time in which the replay runs: virtual in memory, the wall's over NATS. */
  readonly clock: Clock;
  readonly subjects: Subjects;
  /** A connection of the replay's own, apart from that of the actors. */
  readonly bus: Bus;
  readonly client: Client;
  readonly asking: Asking;
  /** What a node needs to be told to appear on this stage. */
  readonly nodeOptions: Pick<NodeOptions, 'bus' | 'nats' | 'clock' | 'journals' | 'prefix'>;
  /** The address of the NATS server, or null in memory. */
  readonly url: string | null;
  /** Runs `work` to its end; in memory this is what moves the time. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Leaves the server, and ends it if it was started here. */
  close(): Promise<void>;
}

export interface NatsStageOptions extends Pick<NatsOptions, 'credentials' | 'tls' | 'inboxPrefix'> {
  /** A server that runs already. Default: one is found, or installed, and started for the replay alone. */
  readonly servers?: readonly string[];
  /** What every subject begins with, one token or several such as `prod.cw`; default `cw`. */
  readonly prefix?: string;
  /** Of the deployment that it makes on that server; default 1. */
  readonly placementShards?: number | undefined;
  /** Gives up connecting, and starting a server. */
  readonly signal?: AbortSignal | undefined;
  /** Told what is installed, a line at a time. Default: nobody. */
  readonly log?: (line: string) => void;
}

/** Questions of the verification are pages of thousands: an actor may be seconds behind its mailbox. */
const ASK_TIMEOUT_MS = 10_000;
/** Far more tasks and timers than the longest trace takes; only an endless loop gets there. */
const MAX_STEPS = 5_000_000_000;

/** A stage in this process. The same work on it takes the same course, to the last message. */
export function memoryStage(): Stage {
  const clock = virtualClock();
  const subjects = subjectsOf();
  const server = memoryServer({ clock });
  const bus = server.connect();
  const nodeBus = server.connect();
  // Nobody opens a journal twice here, so the records of millions of events are not kept.
  const journals = memoryJournals({ clock, keep: false });
  const asker = askingOn({ name: 'replay', bus, clock, subjects });

  async function run<Result>(work: () => Promise<Result>): Promise<Result> {
    let isOver = false;
    const result = work().finally(() => {
      isOver = true;
    });
    // When the clock itself gives up, its error counts and the work is left where it stands.
    result.catch(() => undefined);
    await clock.runAsync(() => isOver, { maxSteps: MAX_STEPS });
    return result;
  }

  return {
    kind: 'memory',
    clock,
    subjects,
    bus,
    client: clientOf({ bus, clock, subjects, random: seededRandom('replay client') }),
    asking: asker,
    nodeOptions: { bus: nodeBus, clock, journals },
    url: null,
    run,
    async close() {
      asker.stop();
      await run(async () => {
        await bus.close();
        await nodeBus.close();
      });
    },
  };
}

/**
 * A stage over a NATS server.
 * @throws CellwrightError `unreachable`; `already-deployed` when others use the prefix on that server; what finding, installing and starting a server throws.
 */
export async function natsStage(options: NatsStageOptions): Promise<Stage> {
  const clock = systemClock();
  const subjects = subjectsOf(options.prefix);
  const server = options.servers === undefined ? await ownServer(options) : undefined;
  const servers = options.servers ?? [(server as NatsServer).url];
  const { credentials, tls, inboxPrefix, signal, prefix } = options;
  const nats = { servers, ...present({ credentials, tls, inboxPrefix }) };
  const name = `replay-${randomBytes(4).toString('hex')}`;
  const onError = (error: unknown, what: string) => options.log?.(`${what}: ${messageOf(error)}`);
  let bus: NatsBus;
  try {
    bus = await connectNats({ ...nats, name, onError, ...present({ signal }) });
  } catch (error) {
    await server?.stop();
    throw error;
  }
  try {
    // A replay makes the deployment before its node does: of two that begin at once, one would else take hosts of the other.
    if (server === undefined && !(await makeDeployment({ bus, subjects }, options.placementShards))) {
      const message = `the server has a deployment with the prefix '${subjects.prefix}' already: a replay needs a prefix of its own`;
      throw new CellwrightError('already-deployed', message, { field: 'prefix' });
    }
  } catch (error) {
    await bus.close();
    throw error;
  }
  const asker = askingOn({ name, bus, clock, subjects });
  return {
    kind: 'nats',
    clock,
    subjects,
    bus,
    client: clientOf({ bus, clock, subjects }),
    asking: asker,
    nodeOptions: { nats, clock, ...present({ prefix }) },
    url: shownAddresses(servers, ','),
    run: (work) => work(),
    async close() {
      asker.stop();
      await bus.close();
      await server?.stop();
    },
  };
}

async function ownServer({ log, signal }: NatsStageOptions): Promise<NatsServer> {
  const binary = (await findNatsServer(signal)) ?? (await installNatsServer(present({ log, signal })));
  return startNatsServer({ binary: binary.path, ...present({ signal }) });
}

function askingOn(on: { name: string; bus: Bus; clock: Clock; subjects: Subjects }): Asking {
  // What cannot be sent is not answered, and the question that it belongs to fails with its time-out.
  const onError = () => undefined;
  return asking({ ...on, outbox: outboxOf({ ...on, events: false, onError }), timeoutMs: ASK_TIMEOUT_MS, onError });
}
