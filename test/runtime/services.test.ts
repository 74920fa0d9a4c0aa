// Area: services. However many computes a node plays, whoever asks for their statistics gets them, in messages that the
// server carries.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryBus } from '../../runtime/bus/memory.ts';
import { inServices } from '../../runtime/bus/services.ts';
import { startNode } from '../../runtime/node.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { quickDriver } from '../e2e/system.ts';
import { withServer } from '../support/bus.ts';
import { until } from '../support/until.ts';

const test = suite('services');

const endpointsOf = (count: number) =>
  Array.from({ length: count }, (_, n) => ({ name: `h${n}`, subject: `cw.cell.c1.compute.h${n}`, handler() {} }));

test('services - endpoints stay together as long as their statistics fit, in order, and none is left out', () => {
  const endpoints = endpointsOf(2_000);
  assert.is(inServices(endpoints.slice(0, 400), 1024 * 1024).length, 1);
  for (const limit of [1024 * 1024, 64 * 1024, 4_096, 1]) {
    const services = inServices(endpoints, limit);
    assert.equal(services.flat(), endpoints);
    assert.ok(services.every(({ length }) => length === 1 || length * 1_024 < limit / 2));
  }
  assert.equal(inServices([], 1024), []);
});

test('services - the statistics of hundreds of computes come in messages that the server carries', async () => {
  const maxPayloadBytes = 32 * 1024;
  const hosts = Array.from({ length: 300 }, (_, n) => `host-${n}`);
  await withServer({ maxPayloadBytes }, async (server, connect) => {
    const node = await startNode({
      roles: hosts.map((host) => `compute:c1/${host}`),
      driver: ({ cell, host }) => quickDriver(cell, host),
      nats: { servers: server.url },
      journals: 'memory',
    });
    try {
      const bus = await connect();
      for (const verb of ['STATS', 'INFO']) {
        const found: { bytes: number; hosts: string; endpoints: { name: string }[] }[] = [];
        const inbox = bus.inbox();
        bus.subscribe(inbox, ({ data }) => {
          const { metadata, endpoints } = JSON.parse(Buffer.from(data).toString());
          found.push({ bytes: data.length, hosts: metadata.hosts, endpoints });
        });
        bus.publish(`$SRV.${verb}.compute`, new Uint8Array(0), { reply: inbox });
        const names = () => found.flatMap(({ endpoints }) => endpoints.map(({ name }) => name));
        await until('all are there', () => names().length >= hosts.length, 20_000);
        assert.equal(names().sort(), [...hosts].sort());
        for (const { bytes, hosts: told, endpoints } of found) {
          assert.ok(bytes < maxPayloadBytes / 2, `${bytes} bytes`);
          assert.is(told, String(endpoints.length));
        }
      }
    } finally {
      await node.stop();
    }
  });
});

test('services - say of which deployment they are, where it is not that of the default prefix', async () => {
  const bus = memoryBus({ clock: systemClock() });
  const nodes = [];
  try {
    for (const prefix of ['cw', 'prod.cw']) nodes.push(await startNode({ roles: ['cell:c1'], bus, name: 'n', prefix }));
    const found: string[][] = [];
    bus.subscribe('found', ({ data }) => {
      const { description, metadata } = JSON.parse(Buffer.from(data).toString());
      found.push([description, metadata.prefix]);
    });
    bus.publish('$SRV.INFO.cell', new Uint8Array(0), { reply: 'found' });
    await until('both are there', () => found.length === 2);
    assert.equal(Object.fromEntries(found), { 'cell c1 on n': 'cw', 'cell c1 on n, prod.cw': 'prod.cw' });
  } finally {
    for (const node of nodes) await node.stop();
    await bus.close();
  }
});

test.run();
