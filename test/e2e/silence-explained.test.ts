// Area: dry runs. What is said of hosts of which the picture is out of date, since their cell is dead: what it goes by, and
// since when nothing was heard.

import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Client } from '../../runtime/client.ts';
import { connect } from '../../runtime/connect.ts';
import { type Node, startNode } from '../../runtime/node.ts';
import { startTestServer } from '../support/nats-server.ts';
import { failureOf } from '../support/until.ts';
import { runCommand } from './commands.ts';
import { eventually, quickDriver } from './system.ts';

const test = suite('dry runs of silent cells');
const SMALL = { resources: { VCPU: 1 } };

/** Some nodes at a server of their own, ended at last; each is begun with its roles. */
async function withNodes(
  use: (some: {
    client: Client;
    url: string;
    begin(...roles: string[]): Promise<Node>;
    end(node: Node): Promise<void>;
  }) => Promise<void>,
): Promise<void> {
  const server = await startTestServer();
  const nats = { servers: server.url };
  const nodes: Node[] = [];
  const begin = async (...roles: string[]) => {
    const quick = {
      driver: ({ cell, host }: { cell: string; host: string }) => quickDriver(cell, host),
      scheduler: { warmUpMs: 200 },
    };
    const node = await startNode({ roles, nats, logger: pino({ level: 'silent' }), ...quick });
    nodes.push(node);
    return node;
  };
  const end = async (node: Node) => {
    await node.stop();
    nodes.splice(nodes.indexOf(node), 1);
  };
  const client = await connect(nats);
  try {
    await use({ client, url: server.url, begin, end });
  } finally {
    await client.close();
    for (const node of nodes) await node.stop();
    await server.stop();
  }
}

test('dry runs - with only hosts of a dead cell it is not known whether a request fits, nor promised by why-not', () =>
  withNodes(async ({ client, url, begin, end }) => {
    await begin('placement', 'scheduler', 'conductor', 'cell:c2', 'compute:c2/k1');
    const ofC1 = await begin('cell:c1', 'compute:c1/h1');
    await eventually('both hosts are known', async () => (await client.fit(SMALL)).fits === 2);
    const { times } = await client.fit(SMALL);
    await client.build({ id: 'web', placement: { preferCells: ['c2'] }, ...SMALL });
    await client.ended('web');
    const before = Date.now();
    await end(ofC1);
    await eventually('the cell is found silent', async () => (await client.fit(SMALL)).silentCells.length === 1);
    const all = await client.fit(SMALL);
    assert.equal([all.fit, all.certain, all.needsSilentCells], [true, true, undefined], 'the other cell has room');
    const since = all.silence?.[0]?.since ?? 0;
    assert.equal(all.silence, [{ cell: 'c1', since }]);
    assert.ok(since > before - 2_000 && since < Date.now() - 2_000, `${since} of ${before}`);
    const asOf = `it goes by what was heard last: of cell c1 at ${new Date(since).toISOString()}`;
    assert.ok(all.words.includes(asOf), all.words.join('\n'));

    const inC1 = await client.fit({ ...SMALL, placement: { cells: ['c1'] } });
    assert.equal([inC1.fit, inC1.certain, inC1.needsSilentCells], [true, false, true]);
    assert.match(inC1.words[0] ?? '', /^it is not known whether it would fit; of 2 hosts, 1 fits/);
    const most = await client.fit({ ...SMALL, count: times - 1 });
    assert.equal([most.fit, most.certain, most.needsSilentCells], [true, false, true]);
    const fits = await runCommand('fit', '--resources', 'VCPU=1', '--count', `${times - 1}`, '--servers', url);
    assert.is(fits.code, 2, fits.out);

    const { advice } = await client.fit({ resources: { VCPU: 1_000 }, placement: { cells: ['c1'] } });
    assert.equal(
      advice.map(({ code, silentCells }) => [code, silentCells]),
      [['less', ['c1']]],
      'what is advised is not known to help',
    );

    const { now, words } = await client.whyNot({ id: 'web', host: 'c1/h1' });
    assert.equal(now?.silence, [{ cell: 'c1', since }]);
    assert.ok(words.includes(`  ${asOf}`), words.join('\n'));
    assert.match(words[2] ?? '', /^now: it would fit as far as is known, number 2 of 2/);
    assert.is((await client.whyNot({ id: 'web', host: 'c2/k1' })).now?.silence, undefined);

    await begin('cell:c1', 'compute:c1/h1');
    await eventually('it is heard again', async () => (await client.fit(SMALL)).silence === undefined);
    const again = await client.fit({ ...SMALL, placement: { cells: ['c1'] } });
    assert.equal([again.fit, again.certain], [true, true]);
  }));

test('dry runs - of a host whose cell a new scheduler has not heard it is not said that nobody knows it any more', () =>
  withNodes(async ({ client, begin, end }) => {
    await begin('placement', 'conductor', 'cell:c2', 'compute:c2/k1');
    const scheduler = await begin('scheduler');
    const ofC1 = await begin('cell:c1', 'compute:c1/h1');
    await eventually('both hosts are known', async () => (await client.fit(SMALL)).fits === 2);
    await client.build({ id: 'web', placement: { preferCells: ['c2'] }, ...SMALL });
    await client.ended('web');
    await end(ofC1);
    await end(scheduler);
    await begin('scheduler');
    await eventually('only the other host is known', async () => (await client.fit(SMALL)).fits === 1);
    const unheard = "no host 'h1' is known: nothing was heard of cell 'c1' since the scheduler came up";
    for (const host of ['h1', 'c1/h1']) {
      const { code, message } = await failureOf(() => client.whyNot({ id: 'web', host }));
      assert.equal([code, message], ['not-found', unheard]);
    }
    await client.delete('web');
    await eventually('it is deleted', async () => (await client.show('web')).state === 'deleted');
    for (const host of ['h1', 'c1/h1']) {
      const { then, hostGone, words } = await client.whyNot({ id: 'web', host });
      assert.equal([then?.verdict, hostGone], ['runner-up', undefined]);
      assert.is(words.at(-1), 'now: what it asked for is not known any more');
    }
  }));

test.run();
