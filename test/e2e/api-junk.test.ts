// Area: api. Junk beside the API: what comes to the subjects of the actors themselves, from bytes that are no message to
// messages that are right but for one field. Nothing fails, nothing changes, and the system goes on building.

import { randomBytes } from 'node:crypto';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cellMessages } from '../../actors/messages/cell.ts';
import type { Protocol } from '../../actors/messages/common.ts';
import { computeMessages } from '../../actors/messages/compute.ts';
import { conductorMessages } from '../../actors/messages/conductor.ts';
import { gatewayMessages } from '../../actors/messages/gateway.ts';
import { placementMessages } from '../../actors/messages/placement.ts';
import { schedulerMessages } from '../../actors/messages/scheduler.ts';
import {
  cellAddress,
  cellFeedAddress,
  computeAddress,
  conductorAddress,
  gatewayAddress,
  placementAddress,
  placementFeedAddress,
  SCHEDULERS,
} from '../../actors/routing.ts';
import type { BusMessage } from '../../runtime/bus/bus.ts';
import { encode } from '../../runtime/codec.ts';
import type { Driver } from '../../runtime/drivers/driver.ts';
import { checkOfProtocol } from '../../runtime/schemas.ts';
import {
  inMemory,
  overNats,
  quickDriver,
  type System,
  type SystemOptions,
  type WithSystem,
  withAsker,
} from './system.ts';

type Sample = Readonly<Record<string, unknown>> & { readonly type: string };

const SPEC = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' };
const ALLOCATIONS = [{ provider: 'p1', group: '', resources: { VCPU: 1 } }];
const SELECTION = { cell: 'c1', host: 'h1', provider: 'p1', allocations: ALLOCATIONS };
const INVENTORY = { total: 8, reserved: 0, min_unit: 1, max_unit: 8, step_size: 1, allocation_ratio: 1 };
const PROVIDER = {
  id: 'p1',
  name: 'h1',
  parent: null,
  inventories: { VCPU: INVENTORY },
  traits: ['HW_A'],
  aggregates: ['a'],
};
const STATE = { ...PROVIDER, root: 'p1', generation: 9, used: { VCPU: 1 } };
const USAGES = [{ id: 'p1', generation: 9, used: { VCPU: 1 } }];
const REFUSAL = { code: 'no-inventory', message: 'none', provider: 'p1' };
const CONTEXT = {
  v: 1,
  instance: 'kept',
  selection: SELECTION,
  alternates: [SELECTION],
  attempt: 1,
  attempts: [],
  failure: null,
};
const OF_ATTEMPT = { host: 'h1', instance: 'kept', attempt: 1 };
const CLAIM_ANSWERS: readonly Sample[] = [
  { type: 'claim-granted', consumer: 'kept', attempt: 1, allocations: ALLOCATIONS, usages: USAGES },
  { type: 'claim-refused', consumer: 'kept', attempt: 1, refusal: REFUSAL, usages: USAGES },
  { type: 'released', consumer: 'kept', attempt: 1, deleted: true },
];

/** Where junk goes, what is understood there, and messages to spoil: those that would change the most. */
const TARGETS: readonly (readonly [address: string, protocol: Protocol, samples: readonly Sample[]])[] = [
  [
    placementAddress(0),
    placementMessages,
    [
      { type: 'claim', consumer: 'kept', attempt: 2, spec: SPEC, allocations: ALLOCATIONS, keep: [1], expiresAt: 9e15 },
      { type: 'release', consumer: 'kept', attempt: 1, keep: [], deleted: true },
      { type: 'put-tree', ask: 1, providers: [PROVIDER] },
      { type: 'list-providers', ask: 1, after: 'a', limit: 1 },
      { type: 'list-consumers', ask: 1, after: 'a', limit: 1 },
    ],
  ],
  [
    conductorAddress(0),
    conductorMessages,
    [
      { type: 'build', ask: 1, request: 'junk', count: 1, alternates: 0, spec: SPEC, project: 'p', traceparent: 't' },
      { type: 'delete', ask: 1, instance: 'kept' },
      {
        type: 'selected',
        request: 'kept',
        round: 1,
        selections: [{ instance: 'kept', selection: SELECTION, alternates: [] }],
      },
      { type: 'no-valid-host', request: 'kept', round: 1, reason: 'junk' },
      { type: 'started', instance: 'kept' },
      { type: 'ended', instance: 'kept', state: 'failed', reason: 'junk' },
      { type: 'removed', instance: 'kept' },
      ...CLAIM_ANSWERS,
    ],
  ],
  [
    cellAddress('c1'),
    cellMessages,
    [
      {
        type: 'start',
        instance: 'junk',
        request: 'junk',
        spec: SPEC,
        snapshot: { value: 'claimed', context: CONTEXT },
      },
      { type: 'delete', instance: 'kept' },
      { type: 'build-failed', ...OF_ATTEMPT, reason: 'junk' },
      { type: 'destroyed', ...OF_ATTEMPT },
      {
        type: 'compute-up',
        host: 'h1',
        provider: 'p1',
        incarnation: 'junk',
        running: [{ instance: 'kept', attempt: 1 }],
      },
      { type: 'alive', host: 'h1', incarnation: 'junk' },
      { type: 'set-host', ask: 1, host: 'h1', enabled: false, reason: 'junk' },
      ...CLAIM_ANSWERS,
    ],
  ],
  [
    computeAddress('c1', 'h1'),
    computeMessages,
    [
      { type: 'build', instance: 'junk', attempt: 1, incarnation: 'junk', allocations: ALLOCATIONS },
      { type: 'destroy', instance: 'kept', attempt: 1 },
      { type: 'tree-refused', ask: 0, root: 'p1', reason: 'junk' },
      { type: 'list-instances', ask: 1 },
    ],
  ],
  ...[SCHEDULERS, placementFeedAddress(0), cellFeedAddress('c1')].map(
    (address) =>
      [
        address,
        schedulerMessages,
        [
          { type: 'select', request: 'r', round: 1, instances: ['junk'], spec: SPEC, alternates: 1, expiresAt: 9e15 },
          {
            type: 'providers-changed',
            shard: 0,
            epoch: 1,
            sequence: 1,
            changed: [STATE],
            used: USAGES,
            removed: ['p1'],
          },
          { type: 'providers', ask: 1, shard: 0, epoch: 1, sequence: 1, providers: [STATE], next: null },
          {
            type: 'hosts-changed',
            cell: 'c1',
            epoch: 1,
            sequence: 1,
            hosts: [{ host: 'h1', provider: 'p1', state: 'down' }],
          },
          { type: 'hosts', ask: 1, cell: 'c1', epoch: 1, sequence: 1, hosts: [], next: null },
          ...CLAIM_ANSWERS,
        ],
      ] as const,
  ),
];

const WRONG_VALUES = ['Not Right', -1, 1.5, 1e308, true, null, [], [null], {}, { surplus: null }];

/** The value with one part of it, however deep, taken away or replaced. */
function* spoiled(value: unknown): Generator<unknown> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, part] of Object.entries(value)) {
    const put = (instead: unknown) =>
      Array.isArray(value)
        ? value.map((one, at) => (String(at) === key ? instead : one))
        : { ...value, [key]: instead };
    if (!Array.isArray(value)) yield Object.fromEntries(Object.entries(value).filter(([other]) => other !== key));
    for (const wrong of WRONG_VALUES) yield put(wrong);
    for (const wrong of spoiled(part)) yield put(wrong);
  }
  if (!Array.isArray(value)) yield { ...value, lower: null };
}

/** What a protocol refuses, of all that can be made of its samples. */
function junkFor(protocol: Protocol, samples: readonly Sample[]): unknown[] {
  const check = checkOfProtocol(protocol);
  const isRefused = (message: unknown) => {
    try {
      check(message);
      return false;
    } catch {
      return true;
    }
  };
  const unknown = ['', 'nothing', 'wake', 'toString', '__proto__', `${'x'.repeat(79)}😀`].map((type) => ({
    type,
    ask: 1,
  }));
  const bare = Object.keys(protocol).map((type) => ({ type }));
  const ofSamples = samples.flatMap((sample) => [...spoiled(sample)]);
  return [...unknown, ...bare, ...ofSamples, null, 5, 'build', [], {}].filter(isRefused);
}

const UNREADABLE: readonly Uint8Array[] = [
  new Uint8Array(0),
  Uint8Array.of(0xc1),
  Uint8Array.of(0x92, 0x81),
  Buffer.from('{"type":'),
  Buffer.from('hello'),
  Buffer.alloc(500_000, 0x91),
  randomBytes(1_000),
  ...[5, 'x', [5], [null], [{}], [{ from: 'x' }], [{ from: 5, messages: [] }], [{ from: 'x', messages: 5 }]].map(
    (value) => Buffer.from(JSON.stringify(value)),
  ),
];

const frame = (from: string, messages: readonly unknown[]): Uint8Array => encode([{ from, messages }]);

/** Resolves when all that was published to the actors has come to them: what goes by the API may overtake it. */
async function taken(system: Pick<System, 'bus' | 'subjects'>): Promise<void> {
  await withAsker(system, async ({ ask }) => {
    await ask(conductorAddress(0), { type: 'list', limit: 1 }, 'listed');
    await ask(placementAddress(0), { type: 'list-consumers', limit: 1 }, 'consumers');
    await ask(cellAddress('c1'), { type: 'list', limit: 1 }, 'listed');
    await ask(computeAddress('c1', 'h1'), { type: 'list-driven' }, 'instances-running');
  });
}

/** Runs with one active instance, and looks afterwards whether all is as before, and well. */
async function unharmed({ bus, subjects, client, dump, failures }: System, run: () => Promise<void>): Promise<void> {
  await client.build({ id: 'kept', resources: { VCPU: 1 } });
  await client.ended('kept');
  const before = await dump();
  await run();
  await taken({ bus, subjects });
  assert.equal(await dump(), before);
  await client.build({ id: 'next', count: 2, resources: { VCPU: 1 } });
  for (const instance of ['next-0', 'next-1']) assert.is((await client.ended(instance)).state, 'active');
  assert.equal(failures, []);
}

function contract(name: string, withSystem: WithSystem): void {
  const test = suite(`api junk ${name}`);
  const on = (what: string, run: (system: System) => Promise<void>, options: SystemOptions = {}) =>
    test(`junk - ${what}`, () => withSystem(options, (system) => unharmed(system, () => run(system))));

  on('bytes that are no message do nothing, wherever they come', async ({ node, bus, subjects }) => {
    const addresses = [...TARGETS.map(([address]) => address), `gateway/${node.name}`, `scheduler/${node.name}`];
    for (const address of addresses) {
      for (const data of UNREADABLE) {
        bus.publish(subjects.of(address), data);
        bus.publish(subjects.of(address), data, { reply: 'test.answers', headers: { 'Cw-Type': 'build' } });
      }
      await bus.flush();
    }
  });

  on('messages that are wrong in one part do nothing, alone or between others', async ({ node, bus, subjects }) => {
    for (const [address, protocol, samples] of TARGETS) {
      const junk = junkFor(protocol, samples);
      assert.ok(junk.length > 20 * samples.length, `${address}: ${junk.length}`);
      for (const message of junk) bus.publish(subjects.of(address), frame('cell/nobody', [message]));
      for (let at = 0; at < junk.length; at += 50) {
        bus.publish(subjects.of(address), frame('', junk.slice(at, at + 50)));
      }
      await bus.flush();
    }
    const answers = junkFor(gatewayMessages, [{ type: 'build-accepted', ask: 1, request: 'r', instances: ['r'] }]);
    bus.publish(subjects.of(`gateway/${node.name}`), frame('conductor/0', answers));
  });

  on('a good message is taken, whatever came with it', async ({ bus, subjects }) => {
    const good = { type: 'show', ask: 1, instance: 'kept' };
    const answers: BusMessage[] = [];
    bus.subscribe(subjects.of('test/asker'), (message) => answers.push(message));
    bus.publish(
      subjects.of(conductorAddress(0)),
      frame('test/asker', [null, 5, { type: 'nothing' }, good, { type: 'build' }]),
    );
    await taken({ bus, subjects });
    assert.equal(
      answers.map(({ headers }) => headers['Cw-Type']),
      ['shown'],
    );
  });

  on('an answer goes to no address that is none', async ({ bus, subjects }) => {
    for (const from of ['', ' ', 'a b', '*', '>', 'cell', 'cell/', '/', 'x.y', 'compute/c1', 'ä', 'x'.repeat(5_000)]) {
      bus.publish(
        subjects.of(conductorAddress(0)),
        frame(from, [
          { type: 'list', ask: 1, limit: 5 },
          { type: 'show', ask: 2 },
        ]),
      );
      bus.publish(subjects.of(placementAddress(0)), frame(from, [{ type: 'list-providers', ask: 1, limit: 5 }]));
    }
  });

  on('actors do not decline what others ask; a gateway is told', async ({ bus, subjects }) => {
    const declined: string[] = [];
    bus.subscribe(`${subjects.prefix}.>`, ({ subject, headers }) => {
      if (headers['Cw-Type']?.includes('declined')) declined.push(subject);
    });
    await bus.flush();
    for (const from of [conductorAddress(0), gatewayAddress('nobody')]) {
      bus.publish(subjects.of(placementAddress(0)), frame(from, [{ type: 'nothing', ask: 1 }]));
    }
    await taken({ bus, subjects });
    assert.equal(declined, [subjects.of(gatewayAddress('nobody'))]);
  });

  on('an answer that an actor did not ask for does nothing', async ({ node, bus, subjects }) => {
    const actors = [...TARGETS.map(([address]) => address), `scheduler/${node.name}`];
    const questions = [
      [conductorAddress(0), { type: 'show', ask: 1, instance: 'kept' }],
      [conductorAddress(0), { type: 'explain', ask: 1, instance: 'kept' }],
      [cellAddress('c1'), { type: 'list', ask: 1, limit: 5 }],
      [placementAddress(0), { type: 'list-consumers', ask: 1, limit: 5 }],
      [computeAddress('c1', 'h1'), { type: 'list-instances', ask: 1 }],
    ] as const;
    for (const asker of actors) {
      for (const [address, question] of questions) bus.publish(subjects.of(address), frame(asker, [question]));
      await bus.flush();
    }
  });

  const asked: string[] = [];
  const driver = ({ cell, host }: { cell: string; host: string }): Driver => {
    const real = quickDriver(cell, host);
    return {
      ...real,
      destroy(instance, attempt) {
        asked.push(`${instance} ${attempt}`);
        return real.destroy(instance, attempt);
      },
    };
  };
  on(
    'nobody speaks to a driver over the wire',
    async ({ bus, subjects }) => {
      asked.length = 0;
      for (const [address, message] of [
        [computeAddress('c1', 'h1'), { type: 'list-instances', ask: 1 }],
        [placementAddress(0), { type: 'list-consumers', ask: 1, limit: 5 }],
        [conductorAddress(0), { type: 'nothing', ask: 1 }],
      ] as const) {
        bus.publish(subjects.of(address), frame('driver/c1/h1', [message]));
      }
      await taken({ bus, subjects });
      assert.equal(asked, []);
    },
    { driver },
  );

  test.run();
}

contract('in memory', inMemory);
contract('over NATS', overNats);
