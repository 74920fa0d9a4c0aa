// How a managed NATS server is to be run.

/** How a managed server is to be run; all of it may be left out. */
export interface NatsServerOptions {
  /**
   * Where JetStream keeps its streams; made when absent, kept at `stop`. One server at a time uses it: a second one, of
   * this process or another of this machine, is refused. Default: a temporary folder, removed at `stop`.
   */
  dataDir?: string;
  /** TCP port on 127.0.0.1. Default: a free one. */
  port?: number;
  /** Whether JetStream is on. Default: true. */
  jetstream?: boolean;
  /** The largest message body, in bytes. Default: the server's own, 1 MiB. */
  maxPayloadBytes?: number;
  /** Lines added to the server's configuration file. Default: none. */
  config?: string;
  /** The program to run. Default: the one that is found, or else installed. */
  binary?: string;
  /** How long the server may take to be ready, in milliseconds; it reads its streams first. Default: 30,000. */
  readyTimeoutMs?: number;
  /** Told each line the server logs, and how finding and installing goes. Default: nobody. */
  log?: (line: string) => void;
  /** Told why it has ended, such as `ended by SIGKILL`, when nobody has stopped it: nothing starts it again. Default: nobody. */
  onEnded?: (why: string) => void;
  /** Gives up finding, installing and starting it, which then fails with the code `interrupted`. */
  signal?: AbortSignal;
}
