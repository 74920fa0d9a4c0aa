// What the tests of several processes share: a deployment of real operating system processes on a real NATS server,
// and a client beside them. Whatever a test leaves running is killed when it is over.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Connection, connect } from '../../runtime/connect.ts';
import { startTestServer, type TestServer } from '../support/nats-server.ts';
import { argvOf } from '../support/programs.ts';
import { until } from '../support/until.ts';

const NODE = 'test/fixtures/processes/node.ts';

export interface Process {
  readonly child: ChildProcess;
  /** What it printed; what it logged goes to the output of the test. */
  readonly said: () => string;
  /** Ends it with the signal and answers its exit code, which is null when the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

export interface Deployment {
  readonly server: TestServer;
  readonly client: Connection;
  /**
   * Starts a process that plays the roles, and waits until it is up, or has ended. Words such as `name=n1` and
   * `lease=800` are settings.
   */
  start(...roles: string[]): Promise<Process>;
  /** The same, for a process that finds the server at another address. */
  startAt(url: string, ...roles: string[]): Promise<Process>;
  /** Names of the connections to the server, with the number of their subscriptions. */
  connections(): Promise<Readonly<Record<string, number>>>;
}

/**
 * @param node Options of every node, and `buildMs`, as plain data.
 * @param timeoutMs How long the client waits for an answer.
 * @param serverConfig Lines added to the configuration of the server.
 */
export async function withDeployment(
  run: (deployment: Deployment) => Promise<void>,
  node: object = {},
  timeoutMs = 10_000,
  serverConfig = '',
): Promise<void> {
  const monitoring = `http: "127.0.0.1:-1"\n${serverConfig}\n`;
  const lines: string[] = [];
  const server = await startTestServer({ config: monitoring, log: (line) => lines.push(line) });
  const processes: Process[] = [];
  const client = await connect({ servers: server.url, timeoutMs });

  async function startAt(url: string, ...roles: string[]): Promise<Process> {
    const one = spawnNode(url, roles, node);
    processes.push(one);
    await until(`a node with the roles ${roles.join(', ')} is up`, () => one.said() !== '');
    return one;
  }

  try {
    await run({
      server,
      client,
      start: (...roles) => startAt(server.url, ...roles),
      startAt,
      async connections() {
        const address = /monitor on (\S+)/.exec(lines.join('\n'))?.[1];
        const answer = await fetch(`http://${address}/connz`);
        const { connections } = (await answer.json()) as { connections: { name?: string; subscriptions: number }[] };
        return Object.fromEntries(connections.map(({ name = '', subscriptions }) => [name, subscriptions]));
      },
    });
  } finally {
    await Promise.all(processes.map((one) => one.end('SIGKILL')));
    await client.close();
    await server.stop();
  }
}

function spawnNode(url: string, roles: readonly string[], node: object): Process {
  const child = spawn(process.execPath, [...argvOf(NODE), url, ...roles], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, CELLWRIGHT_TEST_NODE: JSON.stringify(node) },
  });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    said += chunk;
  });
  return {
    child,
    said: () => said,
    async end(signal) {
      child.kill(signal);
      const [code] = await exited;
      return code;
    },
  };
}
