// How messages are put into the client's socket: as commands of the NATS protocol (docs.nats.io, reference, client
// protocol: PUB and HPUB). The client's own `publish` encodes a command, its headers and its end each by themselves, which
// is a third of what a small message costs; here all before the body is one piece. For this, and to break off a
// connection, the inside of the client is used, whose version is pinned; nowhere else is it, but in nats-transport.ts.

import type { MsgHdrs, NatsConnection } from 'nats';
import type { HeaderBlock } from './nats-messages.ts';

export interface NatsCommands {
  /** @throws As the client does: when it is closed or draining, and for what the server does not take. */
  publish(subject: string, reply: string | undefined, block: HeaderBlock | undefined, data: Uint8Array): void;
  /** Ends the connection to this server at once; the client looks for another. */
  breakOff(): void;
}

/** What is used of the client's protocol handler. */
interface Protocol {
  readonly transport: { close(): Promise<void> };
  /** Of what `stats` of the connection tells. */
  outMsgs: number;
  outBytes: number;
  sendCommand(command: Uint8Array, ...more: Uint8Array[]): void;
}

const LINE_END = Buffer.from('\r\n');

export function natsCommands(connection: NatsConnection): NatsCommands {
  const { protocol } = connection as unknown as { protocol: Protocol };

  /** Whether the client is sure to take it; otherwise it is asked. */
  function isTaken(bytes: number): boolean {
    if (connection.isClosed() || connection.isDraining()) return false;
    const { info } = connection;
    return info !== undefined && info.headers === true && bytes <= info.max_payload;
  }

  return {
    publish(subject, reply, block, data) {
      const headers = block?.bytes ?? 0;
      const bytes = headers + data.length;
      if (!isTaken(bytes)) {
        const options = {
          ...(reply === undefined ? {} : { reply }),
          ...(block === undefined ? {} : { headers: { encode: () => Buffer.from(block.text) } as unknown as MsgHdrs }),
        };
        return connection.publish(subject, data, options);
      }
      const to = reply === undefined ? subject : `${subject} ${reply}`;
      const command =
        block === undefined ? `PUB ${to} ${bytes}\r\n` : `HPUB ${to} ${headers} ${bytes}\r\n${block.text}`;
      protocol.outMsgs += 1;
      protocol.outBytes += bytes;
      protocol.sendCommand(Buffer.from(command), data, LINE_END);
    },
    breakOff: () => void protocol.transport.close(),
  };
}
