// Area: nats cli. What an operator sees with the NATS command line and nothing of ours: the story of a build, claims,
// the roster and its figures, and the API by hand. Skipped, and said so, where there is no `nats`.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { placementAddress } from '../../actors/routing.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import { encode } from '../../runtime/codec.ts';
import type { Driver } from '../../runtime/drivers/driver.ts';
import { NoRespondersError } from '../../runtime/errors.ts';
import { argvOf, ROOT } from '../support/programs.ts';
import { failureOf, until } from '../support/until.ts';
import { eventually, overNats, quickDriver, type System } from './system.ts';

const ROLES = ['api', 'cell', 'compute', 'conductor', 'placement', 'scheduler'];
const HOSTS = { c1: ['h1', 'h2'], c2: ['h1', 'h2'] };
/** How often the builds of an instance fail before one succeeds. */
const FAILURES: Readonly<Record<string, number>> = { unlucky: 1, hopeless: 2 };

function driver({ cell, host }: { cell: string; host: string }): Driver {
  const real = quickDriver(cell, host);
  return {
    ...real,
    build: async (order) =>
      order.attempt > (FAILURES[order.instance] ?? 0) ? real.build(order) : { outcome: 'failed', reason: 'no disk' },
  };
}

/** A CLI that is named must be there; one that is not named may be absent. */
async function findCli(): Promise<string | null> {
  const named = process.env.CELLWRIGHT_NATS_CLI;
  const program = named ?? 'nats';
  try {
    await promisify(execFile)(program, ['--version']);
    return program;
  } catch (error) {
    if (named !== undefined) throw error;
    return null;
  }
}

interface Printed {
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Watch {
  readonly printed: () => readonly Printed[];
  stop(): Promise<void>;
}

interface Cli {
  /** Runs `nats` to its end and answers all that it printed. @throws Error when it ends with another status than 0. */
  run(...args: string[]): Promise<string>;
  /** Watches a subject with `nats sub`; ready when this returns. Nobody else may listen to `probe`. */
  watch(subject: string, probe: string, ...options: string[]): Promise<Watch>;
}

const cli = await findCli();
const test = suite('nats cli');
const on = (what: string, run: (nats: Cli, system: System) => Promise<void>) =>
  (cli === null ? test.skip : test)(`nats cli - ${what}`, () =>
    overNats({ hosts: HOSTS, driver }, (system) => run(cliFor(cli ?? '', system), system)),
  );

function cliFor(program: string, { node, bus }: System): Cli {
  const server = ['--server', node.url ?? ''];
  return {
    async run(...args) {
      const { stdout, stderr } = await promisify(execFile)(program, [...server, ...args], { cwd: ROOT });
      return `${stdout}${stderr}`;
    },
    async watch(subject, probe, ...options) {
      const child = spawn(program, [...server, 'sub', subject, ...options], {
        cwd: ROOT,
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const ended = once(child, 'close');
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (chunk) => {
        output += chunk;
      });
      const printed = () => printedIn(output).filter((message) => message.subject !== probe);
      const stop = async () => {
        child.kill('SIGINT');
        await ended;
      };
      try {
        await eventually(`'nats sub ${subject}' listens`, () => isHeard(bus, probe));
      } catch (error) {
        await stop();
        throw error;
      }
      return { printed, stop };
    },
  };
}

/** Whether somebody listens: the server says so when nobody does. */
async function isHeard(bus: Bus, subject: string): Promise<boolean> {
  const failure = await failureOf(() => bus.request(subject, Buffer.from('{}'), { timeoutMs: 50 }));
  return !(failure instanceof NoRespondersError);
}

/** Reads the output of `nats sub`: a line for the subject, the headers, an empty line, the body. */
function printedIn(output: string): Printed[] {
  return output
    .split(/^\[#\d+\] Received on /m)
    .slice(1)
    .map((text) => {
      const subject = /^"([^"]+)"/.exec(text)?.[1] ?? '';
      const [head = '', ...rest] = text.slice(text.indexOf('\n') + 1).split(/\n\n/);
      const headers = [...head.matchAll(/^([\w-]+): (.*)$/gm)].map(([, key, value]) => [key, value] as const);
      return {
        subject,
        headers: Object.fromEntries(headers),
        body: (headers.length === 0 ? head : rest.join('')).trim(),
      };
    });
}

/** The story of each instance: the last token of its subjects, in order. */
function storiesIn(printed: readonly Printed[]): Readonly<Record<string, readonly string[]>> {
  const stories: Record<string, string[]> = {};
  for (const { subject } of printed) {
    const [instance = '', state = ''] = subject.split('.').slice(-2);
    stories[instance] = [...(stories[instance] ?? []), state];
  }
  return stories;
}

test('nats cli - is here, or is said to be absent', () => {
  if (cli === null)
    console.log('nats cli: there is no `nats` on PATH and none in CELLWRIGHT_NATS_CLI; its tests are skipped');
});

on('`nats sub` tells the story of builds, of those that fail on a host too', async (nats, { client }) => {
  const watch = await nats.watch('cw.cell.*.build.>', 'cw.cell.probe.build.probe.active');
  try {
    const instances = ['smooth', 'unlucky', 'hopeless'];
    for (const id of instances) await client.build({ id, alternates: 1, resources: { VCPU: 1 } });
    // The subject is printed first; all of it is there with the end of its body.
    const isEnd = ({ subject, body }: Printed) => /\.(?:active|failed)$/.test(subject) && body.endsWith('}');
    const ended = () => watch.printed().filter(isEnd);
    await until('every end is printed', () => ended().length === instances.length);
    assert.equal(storiesIn(watch.printed()), {
      smooth: ['claimed', 'building', 'active'],
      unlucky: ['claimed', 'building', 'rescheduling', 'claimed', 'building', 'active'],
      hopeless: ['claimed', 'building', 'rescheduling', 'claimed', 'building', 'failed'],
    });

    for (const { subject, headers, body } of watch.printed()) {
      const [, , cell, , instance, state] = subject.split('.');
      assert.is(headers['Cw-Type'], state);
      assert.is(headers['Cw-From'], `cell/${cell}`);
      assert.match(headers['Cw-Cause'] ?? '', /^(?:start|ACCEPTED|BUILT|BUILD_FAILED|CLAIM_GRANTED)$/);
      const told = JSON.parse(body) as Record<string, unknown>;
      assert.equal([told.instance, told.state, told.request], [instance, state, instance]);
      if (state !== 'rescheduling') continue;
      const { outcome, reason } = told.last as Record<string, unknown>;
      assert.equal([outcome, reason], ['build-failed', 'no disk']);
    }
  } finally {
    await watch.stop();
  }
});

on('`nats sub` shows claims granted, refused and released, by provider', async (nats, { client, bus, subjects }) => {
  const watch = await nats.watch('cw.placement.claim.>', 'cw.placement.claim.probe.probe');
  try {
    await client.build({ id: 'web', resources: { VCPU: 2 } });
    const { allocations } = await client.ended('web');
    const provider = allocations?.[0]?.provider ?? '';
    const resources = { VCPU: 7 };
    const claim = {
      type: 'claim',
      consumer: 'greedy',
      attempt: 1,
      spec: { groups: [{ name: '', resources }], groupPolicy: 'none' },
      allocations: [{ provider, group: '', resources }],
      keep: [],
      expiresAt: Date.now() + 60_000,
    };
    bus.publish(subjects.of(placementAddress(0)), encode([{ from: 'test/greedy', messages: [claim] }]));
    await until('the refusal is printed', () => watch.printed().some(({ subject }) => subject.endsWith('.refused')));
    await client.delete('web');
    await client.ended('web');
    await until('the release is printed', () => watch.printed().some(({ subject }) => subject.endsWith('.released')));

    const told = watch.printed().map(({ subject, headers, body }) => {
      const { consumer, code } = JSON.parse(body) as { consumer: string; code?: string };
      assert.is(headers['Cw-From'], 'placement/0');
      return [subject, consumer, code];
    });
    assert.equal(told, [
      [`cw.placement.claim.${provider}.granted`, 'web', undefined],
      [`cw.placement.claim.${provider}.refused`, 'greedy', 'exceeds-capacity'],
      [`cw.placement.claim.${provider}.released`, 'web', undefined],
    ]);
  } finally {
    await watch.stop();
  }
});

interface ServiceInfo {
  readonly info: { name: string; version: string; metadata: { node: string }; endpoints: { subject: string }[] };
  readonly stats: {
    endpoints: {
      num_requests: number;
      num_errors: number;
      average_processing_time: number;
      data: Record<string, number>;
    }[];
  };
}

on('`nats micro` is the roster of all roles, with their figures', async (nats, { node, client }) => {
  await client.build({ id: 'web', resources: { VCPU: 1 } });
  await client.ended('web');
  const listed = JSON.parse(await nats.run('micro', 'ls', '--json')) as { name: string; description: string }[];
  assert.equal([...new Set(listed.map(({ name }) => name))].sort(), ROLES);
  const table = await nats.run('micro', 'ls');
  for (const description of ['cell c1', 'cell c2', 'computes of cell c1', 'placement shard 0', 'scheduler', 'API']) {
    assert.ok(table.includes(`${description} on ${node.name}`), `${description} in\n${table}`);
  }
  const pings = await nats.run('micro', 'ping');
  for (const role of ROLES) {
    assert.match(pings, new RegExp(`^${role} \\w+ +rtt=`, 'm'));
    const { info, stats } = JSON.parse(await nats.run('micro', 'info', role, '--json')) as ServiceInfo;
    assert.equal([info.name, info.metadata.node], [role, node.name]);
    assert.is(info.endpoints.length, stats.endpoints.length);
    for (const { num_requests, num_errors, average_processing_time } of stats.endpoints) {
      for (const figure of [num_requests, num_errors, average_processing_time])
        assert.ok(Number.isInteger(figure), role);
    }
    assert.match(await nats.run('micro', 'info', role), /Service Information[\s\S]*Requests: \d+/);
    assert.match(await nats.run('micro', 'stats', role), new RegExp(`${role} Service Statistics[\\s\\S]*Average Time`));
  }
  const { stats } = JSON.parse(await nats.run('micro', 'info', 'conductor', '--json')) as ServiceInfo;
  const { turns = 0, records = 0 } = stats.endpoints[0]?.data ?? {};
  assert.ok(turns > 0 && records > 0, 'the figures of the actor are with its endpoint');
});

on('`nats req` builds, shows and deletes; an error names the field', async (nats, { client }) => {
  const ask = async (verb: string, body: object) =>
    JSON.parse(await nats.run('req', '--raw', `cw.api.${verb}`, JSON.stringify(body))) as Record<string, unknown>;
  assert.equal(await ask('build', { id: 'web', resources: { VCPU: 1 } }), { request: 'web', instances: ['web'] });
  await client.ended('web');
  assert.is((await ask('show', { id: 'web' })).state, 'active');
  assert.equal((await ask('list', {})).next, null);
  assert.match(((await ask('explain', { id: 'web' })).words as string[]).join(), /claimed: c\d\/h\d/);
  const wanted = { resources: { VCPU: 100 } };
  // A scheduler that has only just begun says so, and a client asks it again.
  await eventually('the scheduler has heard of every host', async () => (await client.fit(wanted)).hosts === 4);
  const fit = await ask('fit', wanted);
  assert.equal([fit.fit, fit.hosts, fit.fits], [false, 4, 0]);
  assert.equal(await ask('cells', {}), {
    cells: [
      { cell: 'c1', hosts: 2, up: 2 },
      { cell: 'c2', hosts: 2, up: 2 },
    ],
  });
  const whyNot = await ask('why-not', { id: 'web', cell: 'c1', host: 'h2' });
  assert.equal([whyNot.id, whyNot.cell, whyNot.host], ['web', 'c1', 'h2']);
  assert.equal(await ask('delete', { id: 'web' }), { id: 'web', state: 'deleting' });
  const { error } = (await ask('build', { id: 'web.1', resources: { VCPU: 1 } })) as { error: Record<string, unknown> };
  assert.equal([error.code, error.field], ['malformed', 'id']);
  const verbose = await nats.run('req', 'cw.api.show', '{"id":"nobody"}');
  assert.match(verbose, /Nats-Service-Error: there is no instance 'nobody'/);
  assert.match(verbose, /Nats-Service-Error-Code: 404/);
});

on('`nats sub --translate` with our decoder makes MessagePack readable', async (nats, { client }) => {
  const decoder = [process.execPath, ...argvOf('runtime/cli/main.ts'), 'decode'].join(' ');
  const watch = await nats.watch('cw.*', 'cw.probe', '--translate', decoder);
  try {
    await client.build({ id: 'web', resources: { VCPU: 1 } });
    const isQuestion = ({ body }: Printed) => /"from":"conductor\/0".*"type":"select".*"request":"web"/.test(body);
    await until('the question to the scheduler is printed', () => watch.printed().some(isQuestion));
    assert.is(watch.printed().find(isQuestion)?.headers['Cw-Type'], 'select');
  } finally {
    await watch.stop();
  }
});

test.run();
