// Area: hosts of a deployment of real processes. One that dies is fenced by an operator's word and comes back; a bus that
// is gone for a while makes no host silent.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Connection } from '../../runtime/connect.ts';
import { failureOf } from '../support/until.ts';
import { withDeployment } from './deployment.ts';
import { active, cellwright, QUICK, SMALL } from './operator.ts';
import { eventually, hostsUp } from './system.ts';

const test = suite('hosts of processes');

const stateOf = async (client: Connection, host: string) =>
  (await client.hosts({ cell: 'c1' })).hosts.find((one) => one.host === host)?.state;

test('hosts - one that died is fenced by an operator, and what waited for it comes to its end', () =>
  withDeployment(async ({ client, start, server }) => {
    await start('placement', 'conductor', 'scheduler', 'cell:c1');
    const doomed = await start('compute:c1/h1');
    await hostsUp(client, 'c1', 1);
    assert.is(await active(client, 'deleted'), 'h1');
    assert.is(await active(client, 'lost'), 'h1');
    await start('compute:c1/h2');
    await hostsUp(client, 'c1', 2);

    await doomed.end('SIGKILL');
    const refused = await failureOf(() => client.host({ cell: 'c1', host: 'h1', fence: true }));
    assert.is(refused.code, 'host-is-up');
    await eventually('it counts as down', async () => (await stateOf(client, 'h1')) === 'down');
    await client.delete('deleted');
    const at = ['--nats', server.url];
    const set = async (...args: string[]) => (await cellwright('host', ...args, ...at)).out;
    const later = "host 'c1/h1' is down; when it comes back it is";
    assert.is(await set('disable', 'c1/h1', '--reason', 'a new disk'), `${later} disabled: a new disk\n`);
    assert.is(await set('enable', 'c1/h1'), `${later} up\n`);
    const waits = await cellwright('audit', ...at, '--pause', '0.5', '--overdue', '0.001');
    assert.is(waits.code, 1, waits.out + waits.err);
    assert.match(waits.out, /overdue: what is left of attempt 1 of 'deleted' waits for host 'c1\/h1'/);
    assert.match(waits.out, /cellwright host fence c1\/h1/);

    const fenced = await cellwright('host', 'fence', 'c1/h1', ...at);
    assert.equal([fenced.code, fenced.out], [0, "host 'c1/h1' is fenced\n"], fenced.err);
    await eventually('the delete is done', async () => (await client.show('deleted')).state === 'deleted');
    const lost = await client.show('lost');
    assert.equal([lost.state, lost.failure?.code], ['lost', 'host-fenced']);
    const listed = await cellwright('host', 'list', '--cell', 'c1', ...at);
    assert.match(listed.out, /^h1 {2}fenced: an operator has stated that nothing runs there.*\nh2 {2}up\n$/);
    const after = await cellwright('audit', ...at, '--pause', '0.5', '--overdue', '0.001', '--json');
    assert.is(after.code, 0, after.out + after.err);
    assert.equal(JSON.parse(after.out).looked.hosts, 2);

    await start('compute:c1/h1');
    await hostsUp(client, 'c1', 2);
    await client.delete('lost');
    await eventually('that is done too', async () => (await client.show('lost')).state === 'deleted');
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']) await active(client, id);
    assert.is((await cellwright('audit', ...at, '--pause', '0.5')).code, 0);
  }, QUICK));

test('hosts - one that does not come back is removed when nothing of it is left, and may join again as a new one', () =>
  withDeployment(async ({ client, start, server }) => {
    await start('placement', 'conductor', 'scheduler', 'cell:c1', 'compute:c1/h2');
    const doomed = await start('compute:c1/h1');
    await hostsUp(client, 'c1', 2);
    await client.build({ id: 'web', resources: { VCPU: 1 }, placement: { hosts: ['c1/h1'] } });
    assert.is((await client.ended('web')).host, 'h1');
    const at = ['--nats', server.url];
    const remove = () => cellwright('host', 'remove', 'c1/h1', ...at);
    const refused = await remove();
    assert.equal(
      [refused.code, refused.err],
      [1, "cellwright: host 'h1' of cell 'c1' cannot be removed: it is up, and must be fenced before\n"],
    );
    await doomed.end('SIGKILL');
    await eventually('it counts as down', async () => (await stateOf(client, 'h1')) === 'down');
    await client.host({ cell: 'c1', host: 'h1', fence: true });
    const removed = () => client.host({ cell: 'c1', host: 'h1', remove: true });
    const inUse = await failureOf(removed);
    assert.is(inUse.code, 'host-in-use');
    assert.match(inUse.message, /: 'web', which was there, is not deleted yet$/);
    await client.build({ id: 'other', resources: { VCPU: 1 } });
    await client.build({ id: 'vain', resources: { VCPU: 1 }, placement: { hosts: ['c1/h1'] } });
    assert.is((await client.ended('vain')).state, 'failed');
    await client.delete('web');
    await eventually('it is deleted', async () => (await client.show('web')).state === 'deleted');
    assert.equal((await remove()).out, "host 'c1/h1' is removed\n");
    assert.is((await removed()).state, 'removed', 'said twice');
    const misspelt = await cellwright('host', 'remove', 'c1/h9', ...at);
    assert.equal([misspelt.code, misspelt.err], [2, "cellwright: cell 'c1' has no host 'h9'\n"]);
    await eventually('no scheduler knows of it', async () => {
      const { hosts } = await client.fit({ resources: { VCPU: 1 } });
      return hosts === 1;
    });
    assert.is((await failureOf(() => client.whyNot({ id: 'other', host: 'c1/h1' }))).code, 'not-found');
    for (const host of ['h1', 'c1/h1']) {
      const { cell, then, now, hostGone, words } = await client.whyNot({ id: 'vain', host });
      assert.equal([cell, then?.verdict, then?.code, now, hostGone], ['c1', 'refused', 'host-fenced', null, true]);
      assert.is(words.at(-1), "now: host 'h1' of cell 'c1' is not known any more");
      // Of a deleted instance nobody knows any more what it asked for; that the host is gone is known all the same.
      const ofDeleted = await client.whyNot({ id: 'web', host });
      assert.equal([ofDeleted.hostGone, ofDeleted.words.at(-1)], [true, words.at(-1)]);
    }
    const audit = await cellwright('audit', ...at, '--pause', '0.5', '--json');
    assert.equal([audit.code, JSON.parse(audit.out).looked.hosts], [0, 1], audit.out + audit.err);

    await start('compute:c1/h1');
    await hostsUp(client, 'c1', 2);
    await client.build({ id: 'again', resources: { VCPU: 1 }, placement: { hosts: ['c1/h1'] } });
    assert.is((await client.ended('again')).state, 'active');
  }, QUICK));

test('hosts - those of all cells are listed, and which cell does not answer', () =>
  withDeployment(async ({ client, start, server }) => {
    await start('placement', 'conductor', 'scheduler');
    const ofC1 = await start('cell:c1');
    await start('compute:c1/h1', 'compute:c1/h2');
    const doomed = await start('cell:c2');
    await start('cell:empty');
    await hostsUp(client, 'c1', 2);
    await client.host({ cell: 'c1', host: 'h2', enabled: false });
    const known = (silent: object) => [
      { cell: 'c1', hosts: 2, up: 1 },
      { cell: 'c2', hosts: 0, up: 0, ...silent },
      { cell: 'empty', hosts: 0, up: 0 },
    ];
    const isKnown = async (silent: object) =>
      JSON.stringify((await client.cells()).cells) === JSON.stringify(known(silent));
    await eventually('the scheduler knows all cells', () => isKnown({}));
    const at = ['--nats', server.url];
    const listed = await cellwright('host', 'list', ...at);
    assert.equal([listed.code, listed.out], [0, 'c1/h1  up\nc1/h2  disabled: by an operator\n'], listed.err);
    const disable = await cellwright('host', 'disable', 'c1/h2', '--json', ...at);
    assert.equal(JSON.parse(disable.out), { cell: 'c1', host: 'h2', state: 'disabled' }, disable.err);
    await doomed.end('SIGKILL');
    await eventually('the cell is silent', () => isKnown({ silent: true }));
    const partly = await cellwright('host', 'list', ...at);
    assert.equal(
      [partly.code, partly.out],
      [1, 'c1/h1  up\nc1/h2  disabled: by an operator\nc2  does not answer\n'],
      partly.err,
    );
    for (const [which, code, silentCells] of [
      [[], 1, ['c2']],
      [['--cell', 'c1'], 0, []],
    ] as const) {
      const told = await cellwright('host', 'list', '--json', ...which, ...at);
      const { hosts, ...rest } = JSON.parse(told.out);
      assert.equal([told.code, rest], [code, { silentCells }], told.err);
      const stands = hosts.map(({ cell, host, state }: Record<string, string>) => `${cell}/${host} ${state}`);
      assert.equal(stands, ['c1/h1 up', 'c1/h2 disabled']);
    }
    const none = await cellwright('host', 'list', '--json', '--cell', 'c2', ...at);
    const { error } = JSON.parse(none.out);
    assert.equal([none.code, error.code, error.field, error.retryable], [1, 'no-owner', 'cell', true], 'may come back');
    assert.is(none.err, `cellwright: ${error.message}\n`);
    assert.match(none.err, /^cellwright: .*c2.*try again later/);
    for (const what of ['disable', 'fence']) {
      const { code, err } = await cellwright('host', what, 'c2/h3', ...at);
      assert.is(code, 1, err);
    }
    const misspelt = [
      ['list', '--cell', 'zz'],
      ['disable', 'zz/h1'],
    ];
    for (const args of misspelt) {
      const { code, err } = await cellwright('host', ...args, ...at);
      assert.equal([code, err], [2, "cellwright: nobody has heard of a cell 'zz'; cells are c1, c2, empty\n"]);
      const asJson = await cellwright('host', ...args, '--json', ...at);
      const message = "nobody has heard of a cell 'zz'; cells are c1, c2, empty";
      const told = { error: { code: 'not-found', message, retryable: false, field: 'cell' } };
      assert.equal([asJson.code, JSON.parse(asJson.out)], [2, told]);
    }
    const like = await cellwright('host', 'fence', 'empt/h1', ...at);
    assert.is(like.err, "cellwright: nobody has heard of a cell 'empt' (empty is known); cells are c1, c2, empty\n");
    const ofCell = async (...args: string[]) => (await cellwright('cell', ...args, ...at)).out;
    assert.is(await ofCell('disable', 'c1', '--reason', 'new\nswitches'), "cell 'c1' is disabled: new switches\n");
    await eventually('the scheduler knows of it', async () => (await client.cells()).cells[0]?.up === 0);
    const cells = [
      'c1  2 hosts, 0 up; disabled: new switches',
      'c2  0 hosts, 0 up; nothing was heard of it lately',
      'empty  0 hosts, 0 up',
    ];
    assert.equal((await ofCell('list')).split('\n'), [...cells, '']);
    assert.is(JSON.parse(await ofCell('list', '--json')).cells[0].disabled, 'new\nswitches');
    const allTheSame = "host 'c1/h1' is disabled all the same: its cell is out of service: new switches\n";
    assert.is((await cellwright('host', 'enable', 'c1/h1', ...at)).out, allTheSame);
    assert.is(await ofCell('enable', 'c1'), "cell 'c1' is in service\n");
    await eventually('the scheduler knows of that', async () => (await client.cells()).cells[0]?.up === 1);
    assert.is(await ofCell('disable', 'empty'), "cell 'empty' is disabled by an operator\n");
    const back = { cell: 'empty', enabled: true, revision: 2 };
    assert.equal(JSON.parse(await ofCell('enable', 'empty', '--json')), back);
    const unheard = await cellwright('cell', 'disable', 'empt', ...at);
    const words = "cellwright: nobody has heard of a cell 'empt' (empty is known); cells are c1, c2, empty\n";
    assert.equal([unheard.code, unheard.err], [2, words]);

    const elsewhere = await cellwright('host', 'list', '--prefix', 'other', ...at);
    assert.is(elsewhere.code, 1);
    assert.match(
      elsewhere.err,
      /nobody answers on 'other.api.cells': is that the server, and the prefix, of the system/,
    );

    assert.is(await active(client, 'web'), 'h1');
    const answered = await cellwright('why-not', 'web', 'c1/h2', ...at);
    assert.is(answered.code, 0, answered.err);
    await ofC1.end('SIGKILL');
    await eventually('its cell is silent', async () => (await client.show('web')).state === 'unknown');
    const asked = await cellwright('why-not', 'web', 'c1/h1', '--json', ...at);
    const { now, silentCell } = JSON.parse(asked.out);
    assert.equal([asked.code, now, silentCell], [2, null, 'c1'], asked.err);
  }, QUICK));

test('hosts - a bus that is gone for longer than a host may be silent makes no host silent', () =>
  withDeployment(
    async ({ client, start, server }) => {
      await start('placement', 'conductor', 'scheduler', 'cell:c1');
      await start('compute:c1/h1', 'compute:c1/h2');
      await hostsUp(client, 'c1', 2);
      await client.build({ id: 'slow', ...SMALL, alternates: 1 });
      await eventually('it is being built', async () => (await client.show('slow')).state === 'building');
      await server.kill();
      // The time for which the bus is gone is what is tested: several times as long as a host may be silent.
      await new Promise((resolve) => setTimeout(resolve, 3 * QUICK.cell.silentMs));
      await server.restart();
      await eventually('it is there again', async () => {
        try {
          return (await client.show('slow')).state === 'building';
        } catch {
          return false;
        }
      });
      const { state, attempt, attempts } = await client.ended('slow');
      assert.equal([state, attempt, attempts], ['active', 1, []]);
      await hostsUp(client, 'c1', 2);
    },
    { ...QUICK, buildMs: { min: 12_000, max: 12_000 } },
  ));

test.run();
