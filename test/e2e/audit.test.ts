// Area: audit over NATS. Each thing that should never be is made real in a deployment on a real server, by telling one
// owner what nobody would; it is found, told as what it is, and mended if that takes nothing that is alive.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ProviderState } from '../../actors/messages/placement.ts';
import { cellAddress, computeAddress, conductorAddress, placementAddress } from '../../actors/routing.ts';
import { exitCodeOf } from '../../runtime/audit/audit.ts';
import type { FindingKind } from '../../runtime/audit/finding.ts';
import { decodeFrame } from '../../runtime/frames.ts';
import { type Auditor, auditorOf } from './auditing.ts';
import { eventually, overNats, type System } from './system.ts';

const test = suite('audit over NATS');

const PLACEMENT = placementAddress(0);
const SPEC = { groups: [{ name: '', resources: { VCPU: 1 } }], groupPolicy: 'none' } as const;
/** A heartbeat tells the test which life of a compute it is; and hosts need not be heard often. */
const OPTIONS = { hosts: { c1: ['h1', 'h2'], c2: ['h3'] }, compute: { heartbeatMs: 200 } };

interface Bench extends System {
  readonly auditor: Auditor;
  readonly say: Auditor['say'];
  /** The provider of a host. */
  provider(host: string): Promise<ProviderState>;
  claim(consumer: string, attempt: number, host: string, keep?: number[]): Promise<void>;
  /** What placement holds for a consumer, by attempt. */
  held(consumer: string): Promise<number[]>;
  /** What the driver of a host says is there. */
  driven(cell: string, host: string): Promise<string[]>;
  /** Builds an instance that becomes active, and answers where it is. */
  active(id: string): Promise<{ cell: string; host: string }>;
  /** Gives a compute an order that no cell gave. */
  order(cell: string, host: string, instance: string): Promise<void>;
}

const bench = (run: (on: Bench) => Promise<void>) =>
  overNats(OPTIONS, async (system) => {
    const auditor = auditorOf(system, { cells: ['c1', 'c2'] });
    const { say, asking } = auditor;
    const on: Bench = {
      ...system,
      auditor,
      say,
      async provider(host) {
        const { providers } = await asking.ask(PLACEMENT, { type: 'list-providers', limit: 100 }, 'providers');
        return providers.find(({ name }) => name === host) as ProviderState;
      },
      async claim(consumer, attempt, host, keep = []) {
        const { id } = await on.provider(host);
        const allocations = [{ provider: id, group: '', resources: { VCPU: 1 } }];
        const expiresAt = Date.now() + 60_000;
        say(PLACEMENT, { type: 'claim', consumer, attempt, spec: SPEC, allocations, keep, expiresAt });
        await eventually('it holds', async () => (await on.held(consumer)).includes(attempt));
      },
      async held(consumer) {
        const { consumers } = await asking.ask(PLACEMENT, { type: 'list-consumers', limit: 1_000 }, 'consumers');
        return (consumers.find((one) => one.consumer === consumer)?.held ?? []).map(({ attempt }) => attempt);
      },
      async driven(cell, host) {
        const address = computeAddress(cell, host);
        const { running } = await asking.ask(address, { type: 'list-driven' }, 'instances-running');
        return running.map(({ instance, attempt }) => `${instance}/${attempt}`);
      },
      async active(id) {
        await system.client.build({ id, resources: { VCPU: 1 } });
        const { state, cell = '', host = '' } = await system.client.ended(id);
        assert.is(state, 'active');
        await eventually('the super conductor knows', async () => {
          const { instances } = await system.client.list({ limit: 1_000 });
          return instances.some((one) => one.instance === id && one.state === 'active');
        });
        return { cell, host };
      },
      async order(cell, host, instance) {
        let incarnation = '';
        const subscription = system.bus.subscribe(`cw.cell.${cell}.conductor`, ({ data }) => {
          for (const { from, messages } of decodeFrame(data, system.bus.maxPayloadBytes)) {
            const [alive] = messages.filter(({ type }) => type === 'alive') as { incarnation?: string }[];
            if (from === computeAddress(cell, host)) incarnation = alive?.incarnation ?? incarnation;
          }
        });
        await eventually('the compute has told its life', async () => incarnation !== '');
        subscription.unsubscribe();
        const allocations: never[] = [];
        say(computeAddress(cell, host), { type: 'build', instance, attempt: 1, incarnation, allocations });
        await eventually('it runs', async () => (await on.driven(cell, host)).includes(`${instance}/1`));
      },
    };
    try {
      await on.active('bystander');
      await run(on);
      assert.is((await system.client.show('bystander')).state, 'active', 'what is alive is left alone');
      assert.equal(await on.held('bystander'), [1]);
    } finally {
      auditor.stop();
    }
  });

/** Makes something real, finds exactly that, and says what is left of it after a repair. */
function made(
  kind: FindingKind,
  what: string,
  make: (on: Bench) => Promise<RegExp>,
  afterRepair: 'mended' | 'left' = 'mended',
): void {
  test(`audit - ${kind}: ${what}`, () =>
    bench(async (on) => {
      const expected = await make(on);
      const seen = await on.auditor.audit();
      assert.equal(
        seen.findings.map((finding) => finding.kind),
        [kind],
        seen.findings.map((finding) => finding.what).join('; '),
      );
      assert.match(seen.findings[0]?.what ?? '', expected);
      assert.equal([exitCodeOf(seen), seen.unknown, seen.repaired], [1, [], []]);
      const repaired = await on.auditor.audit({ repair: true });
      assert.is(exitCodeOf(repaired), afterRepair === 'mended' ? 0 : 1, JSON.stringify(repaired, null, 1));
      assert.is(repaired.repaired.length > 0, afterRepair === 'mended');
    }));
}

made('leaked-allocation', 'a consumer that nobody knows', async ({ claim }) => {
  await claim('ghost', 1, 'h1');
  return /'ghost' holds resources for attempt 1 and does not live/;
});

made('running-without-record', 'an order that no cell gave', async ({ order }) => {
  await order('c1', 'h2', 'stray');
  return /the driver of 'c1\/h2' has attempt 1 of 'stray', which no cell knows/;
});

made('states-differ', 'the super conductor was told what is not so', async ({ active, say, client }) => {
  const { cell } = await active('i1');
  say(conductorAddress(0), { type: 'ended', instance: 'i1', state: 'failed', reason: 'not so' });
  await eventually('it believes it', async () => {
    const { instances } = await client.list({ limit: 100 });
    return instances.some(({ instance, state }) => instance === 'i1' && state === 'failed');
  });
  return new RegExp(`'i1' is failed by the super conductor and active by cell '${cell}'`);
});

made(
  'unheld-instance',
  'placement was told to give back what is in use',
  async ({ active, say, held }) => {
    await active('i1');
    say(PLACEMENT, { type: 'release', consumer: 'i1', attempt: 1, deleted: false });
    await eventually('nothing is held', async () => (await held('i1')).length === 0);
    return /'i1' is active and holds no resources/;
  },
  'left',
);

made(
  'not-running',
  'a compute was told to destroy what is active',
  async ({ active, say, driven }) => {
    const { cell, host } = await active('i1');
    say(computeAddress(cell, host), { type: 'destroy', instance: 'i1', attempt: 1 });
    await eventually('it is gone', async () => !(await driven(cell, host)).includes('i1/1'));
    return new RegExp(`'i1' is active, but the driver of '${cell}/${host}' does not have it`);
  },
  'left',
);

made(
  'over-capacity',
  'a host told to be smaller than its use',
  async ({ active, say, provider }) => {
    for (const id of ['i1', 'i2', 'i3', 'i4']) await active(id);
    const hosts = await Promise.all(['h1', 'h2', 'h3'].map(provider));
    const { id, name, inventories } = hosts.find(({ used }) => (used.VCPU ?? 0) >= 2) as ProviderState;
    const VCPU = { ...(inventories.VCPU as NonNullable<ProviderState['inventories'][string]>), total: 1, max_unit: 1 };
    const told = { id, name, parent: null, inventories: { ...inventories, VCPU }, traits: [], aggregates: [] };
    say(PLACEMENT, { type: 'put-tree', ask: 0, providers: [told] });
    await eventually('it is smaller', async () => (await provider(name)).inventories.VCPU?.total === 1);
    return /VCPU of provider '.*': \d counted, \d allocated, 1 is all/;
  },
  'left',
);

made(
  'two-homes',
  'another attempt was given another host',
  async ({ active, claim }) => {
    const { host } = await active('i1');
    await claim('i1', 2, host === 'h1' ? 'h2' : 'h1', [1]);
    return /'i1' holds resources in 2 trees/;
  },
  'left',
);

made(
  'unknown-to-conductor',
  'a cell was handed what nobody asked for',
  async ({ claim, provider, say, client }) => {
    await claim('foundling', 1, 'h1');
    const { id } = await provider('h1');
    const allocations = [{ provider: id, group: '', resources: { VCPU: 1 } }];
    const selection = { cell: 'c1', host: 'h1', provider: id, allocations };
    const context = {
      v: 1,
      instance: 'foundling',
      selection,
      alternates: [],
      attempt: 1,
      attempts: [],
      failure: null,
    } as const;
    const snapshot = { value: 'claimed', context } as const;
    say(cellAddress('c1'), { type: 'start', instance: 'foundling', request: 'foundling', spec: SPEC, snapshot });
    await eventually('it is active there', async () => {
      const { instances } = await client.list({ cell: 'c1', limit: 100 });
      return instances.some(({ instance, state }) => instance === 'foundling' && state === 'active');
    });
    return /cell 'c1' has 'foundling', which is active, and the super conductor does not know it/;
  },
  'left',
);

made(
  'unknown-to-cell',
  'a cell was told to delete what nobody deleted',
  async ({ active, say, client }) => {
    const { cell } = await active('i1');
    say(cellAddress(cell), { type: 'delete', instance: 'i1' });
    await eventually('the cell has forgotten it', async () => {
      const { instances } = await client.list({ cell, limit: 100 });
      return instances.every(({ instance }) => instance !== 'i1');
    });
    return new RegExp(`'i1' is active in cell '${cell}' by the super conductor, and the cell does not know it`);
  },
  'left',
);

test("audit - what runs and holds, and is nobody's: first it is destroyed, then its resources go back", () =>
  bench(async ({ auditor, claim, order, held, driven }) => {
    await claim('stray', 1, 'h1');
    await order('c1', 'h1', 'stray');
    const { repaired, findings } = await auditor.audit({ repair: true });
    assert.equal(repaired, [
      "asked host 'c1/h1' to destroy attempt 1 of 'stray'",
      "asked placement to give back all that 'stray' holds",
    ]);
    assert.equal([findings, await held('stray'), (await driven('c1', 'h1')).includes('stray/1')], [[], [], false]);
  }));

test('audit - an id that was asked for anew since the look is not taken', () =>
  bench(async ({ auditor, claim, client, held }) => {
    await claim('reborn', 1, 'h1');
    const { findings } = await auditor.audit();
    assert.equal(
      findings.map(({ kind }) => kind),
      ['leaked-allocation'],
    );
    const build = { id: 'reborn', resources: { VCPU: 1 } };
    await client.build(build);
    assert.is((await client.ended('reborn')).state, 'active');
    const { repaired } = await auditor.audit({ repair: true });
    assert.equal([repaired, await held('reborn')], [[], [1]]);
  }));

test('audit - while builds come and go there is nothing to find', () =>
  bench(async ({ auditor, client }) => {
    let isOver = false;
    let built = 0;
    const lane = async (lane: number) => {
      for (let n = 0; !isOver; n += 1) {
        const id = `load-${lane}x${n}x`;
        await client.build({ id, resources: { VCPU: 1 }, alternates: 1 });
        if ((await client.ended(id)).state === 'active') built += 1;
        await client.delete(id);
      }
    };
    const lanes = [1, 2, 3, 4, 5, 6].map(lane);
    for (let round = 0; round < 3; round += 1) assert.equal(await auditor.found(), []);
    isOver = true;
    await Promise.all(lanes);
    assert.ok(built > 20, `${built} builds`);
  }));

test.run();
