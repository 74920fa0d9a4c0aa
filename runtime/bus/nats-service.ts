// NATS services: endpoints that are discovered, and answered by the server or, what this process asks of itself, in here.

import { type NatsConnection, type Service as NatsService, ServiceError, type ServiceMsg } from 'nats';
import type { Timer } from '../clock.ts';
import type { CellwrightError } from '../errors.ts';
import type { Body, BusMessage, Endpoint, PublishOptions, Service, ServiceConfig } from './bus.ts';
import { busError } from './nats-errors.ts';
import { received } from './nats-messages.ts';
import { type SubscribingParts, safely } from './nats-subscription.ts';
import { checkService, closedError, serviceErrorHeaders, serviceErrorText } from './wire.ts';

export interface ServingParts extends Omit<SubscribingParts, 'askers'> {
  send(subject: string, body: Body, options: PublishOptions): void;
}

export async function natsService(config: ServiceConfig, parts: ServingParts): Promise<Service> {
  const { main, echo, loopback, report, pauses } = parts;
  checkService(config);
  if (main.connection.isClosed()) throw closedError();
  const { name, description, version, metadata, endpoints, loopback: isLooped = false } = config;
  const link = isLooped ? main : echo;
  let service: NatsService;
  let leave = (): void => {};
  let isOver = false;
  let again: Timer | undefined;
  const begin = async (): Promise<void> => {
    const begun = await passing(link.connection).services.add({
      name,
      description,
      version,
      metadata: { ...metadata },
      statsHandler: async (endpoint) => statsOf(config, endpoint.subject),
    });
    service = begun;
    if (isOver) return void begun.stop();
    for (const endpoint of endpoints) {
      const { queue } = endpoint;
      const group = queue === undefined ? {} : { queue };
      begun.addEndpoint(endpoint.name, {
        subject: endpoint.subject,
        handler: endpointHandler(endpoint, parts),
        ...group,
      });
    }
    const looped = (isLooped ? endpoints : []).map((endpoint) =>
      loopback?.subscribe(endpoint.subject, safely(answering(endpoint, parts), report)),
    );
    const ended = (error: CellwrightError) => void begun.stop(error);
    const heard = endpoints.map((endpoint) => link.whenEnded(endpoint.subject, ended));
    leave = () => {
      for (const each of looped) each?.leave();
      for (const each of heard) each();
    };
    void begun.stopped.then((error) => {
      leave();
      if (error && !pauses.isOver) failed(error);
    });
  };
  const failed = (failure: unknown): void => {
    const error = busError(failure, name);
    // What the server forbids is reported where its status comes in, and there not each time.
    if (error.code !== 'permission-denied') report(error, name);
    if (!isOver) again = pauses.after(() => void begin().catch(failed));
  };
  await begin();
  // From here on the server knows the endpoints; without one it is told them on connecting.
  if (link.connected) await link.connection.flush().catch(() => undefined);
  return {
    async stop() {
      isOver = true;
      pauses.cancel(again);
      leave();
      // The server is to say that it has taken note, which one that hangs does not.
      const stopping = service.stop();
      if (await link.said(stopping)) await stopping;
    },
  };
}

/**
 * The same connection, for one service. The client would keep a service that was stopped until the connection is closed, to
 * stop it then; its subscriptions end with the connection, and it with them.
 */
function passing(connection: NatsConnection): NatsConnection {
  return Object.create(connection, { closed: { value: () => new Promise(() => {}) } });
}

/** The client counts and answers what is thrown here; with a message that fits a header it does so safely. */
const endpointHandler =
  ({ handler }: Endpoint, { main: { connection }, report }: ServingParts) =>
  (error: Error | null, message: ServiceMsg): void => {
    if (error !== null) return;
    try {
      handler(received(message));
    } catch (failure) {
      report(failure, message.subject);
      if (!connection.isClosed()) throw new ServiceError(500, serviceErrorText(failure));
    }
  };

/** The same for what is handed over. */
const answering =
  ({ handler }: Endpoint, { main: { connection }, report, send }: ServingParts) =>
  (message: BusMessage): void => {
    try {
      handler(message);
    } catch (failure) {
      report(failure, message.subject);
      if (message.reply === undefined || connection.isClosed()) return;
      send(message.reply, new Uint8Array(0), { headers: serviceErrorHeaders(failure) });
    }
  };

/** Never fails: the client answers nobody, and ends the process, when statistics cannot be written as JSON. */
function statsOf({ stats, endpoints }: ServiceConfig, subject: string): unknown {
  const endpoint = endpoints.find((each) => each.subject === subject);
  if (stats === undefined || endpoint === undefined) return null;
  try {
    return JSON.parse(JSON.stringify(stats(endpoint.name)));
  } catch (error) {
    return { error: serviceErrorText(error) };
  }
}
