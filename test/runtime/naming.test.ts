// Area: naming. A driver's tree becomes placement's providers: ids that stay, are unique over all cells, and say
// nothing of where the provider is.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ProviderReport } from '../../runtime/drivers/driver.ts';
import { providerId, providersOf } from '../../runtime/drivers/naming.ts';
import type { CellwrightError } from '../../runtime/errors.ts';

const test = suite('naming');

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const tree = (): ProviderReport => ({
  name: 'h1',
  inventories: { VCPU: { total: 16, reserved: 2 } },
  traits: ['HW_CPU_X86_AVX2'],
  aggregates: ['rack-1'],
  children: [
    {
      name: 'numa-0',
      inventories: { MEMORY_MB: { total: 1024, step_size: 64 } },
      children: [{ name: 'gpu-0', inventories: { CUSTOM_GPU_MILLI: { total: 1000 } }, traits: ['CUSTOM_GPU_A'] }],
    },
    { name: 'numa-1', inventories: {} },
  ],
});

const refused = (code: string, said: RegExp) => (error: CellwrightError) =>
  error.code === code && said.test(error.message);

test('naming - an id is a UUID that is the same at every start, and in every version', () => {
  assert.match(providerId('c1', 'h1', 'gpu-0'), UUID);
  assert.is(providerId('c1', 'h1', ''), 'ac7a62a1-3e89-57b6-8550-b50395b60c72');
});

test('naming - every place has its own, also where the names run together', () => {
  const places = [
    ['c1', 'h1', ''],
    ['c2', 'h1', ''],
    ['c1', 'h2', ''],
    ['c1', 'h1', 'gpu-0'],
    ['c1h1', '', ''],
    ['c1', '', 'h1'],
    ['c', '1h1', ''],
  ] as const;
  const ids = places.map(([cell, host, name]) => providerId(cell, host, name));
  assert.is(new Set(ids).size, places.length);
});

test('naming - no name of a cell is in what placement is told', () => {
  const providers = providersOf('north-cell', 'h1', tree(), ['CUSTOM_IMAGE_A']);
  assert.not.match(JSON.stringify(providers), /north|cell/);
});

test('naming - the tree is told root first, parents before children, with their parents', () => {
  const providers = providersOf('c1', 'h1', tree(), []);
  assert.equal(
    providers.map(({ name }) => name),
    ['h1', 'numa-0', 'gpu-0', 'numa-1'],
  );
  const [root, numa, gpu, other] = providers.map(({ id }) => id);
  assert.equal(
    providers.map(({ parent }) => parent),
    [null, root, numa, root],
  );
  assert.is(new Set([root, numa, gpu, other]).size, 4);
});

test('naming - the id of the root goes by the host, whatever its tree calls it', () => {
  const [named] = providersOf('c1', 'h1', { name: 'h1', inventories: {} }, []);
  const [other] = providersOf('c1', 'h1', { name: 'renamed', inventories: {} }, []);
  assert.is(named?.id, other?.id);
});

test('naming - inventories are filled up with the defaults of the Placement API', () => {
  const [root, numa] = providersOf('c1', 'h1', tree(), []);
  const defaults = { reserved: 0, min_unit: 1, max_unit: 2_147_483_647, step_size: 1, allocation_ratio: 1 };
  assert.equal(root?.inventories, { VCPU: { ...defaults, total: 16, reserved: 2 } });
  assert.equal(numa?.inventories, { MEMORY_MB: { ...defaults, total: 1024, step_size: 64 } });
});

test("naming - traits of the host are the root's, once each", () => {
  const [root, numa] = providersOf('c1', 'h1', tree(), ['HW_CPU_X86_AVX2', 'CUSTOM_IMAGE_A']);
  assert.equal(root?.traits, ['HW_CPU_X86_AVX2', 'CUSTOM_IMAGE_A']);
  assert.equal(numa?.traits, []);
});

test('naming - two providers of one name, bad names and unknown classes are refused by name', () => {
  const twice = { ...tree(), children: [{ name: 'h1', inventories: {} }] };
  assert.throws(() => providersOf('c1', 'h1', twice, []), refused('bad-inventory', /two providers named 'h1'/));
  const unreadable = { ...tree(), name: 'H 1' };
  assert.throws(() => providersOf('c1', 'h1', unreadable, []), refused('bad-id', /host 'h1'.*"H 1"/));
  const unknown = { name: 'h1', inventories: { CORES: { total: 1 } } };
  assert.throws(() => providersOf('c1', 'h1', unknown, []), refused('bad-inventory', /'h1'.*CORES/));
});

test('naming - inventories that no field can be read of are refused, rather than taken for none', () => {
  const wrong: readonly (readonly [unknown, RegExp])[] = [
    [
      new Map([['VCPU', { total: 8 }]]),
      /^'inventories' of provider "h1" of host 'h1' must be a plain object, not a Map$/,
    ],
    [Promise.resolve({ VCPU: { total: 8 } }), /'inventories' of provider "h1" .* not a Promise$/],
  ];
  for (const [inventories, says] of wrong) {
    const report = { name: 'h1', inventories } as never;
    assert.throws(() => providersOf('c1', 'h1', report, []), refused('bad-inventory', says));
  }
});

test.run();
