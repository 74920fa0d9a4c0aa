// Area: packing experiment. Which requests no host could serve if it were empty is found in bounded time, however many
// unlike hosts and requests there are.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { neverPlaced } from '../../../runtime/packing/never-placed.ts';
import { readPackingTrace } from '../../../runtime/packing/trace.ts';
import { withTrace } from './trace.ts';

const test = suite('packing - never placed');

const HOSTS = 400;
const nodes = [
  'sn,cpu_milli,memory_mib,gpu,model',
  ...Array.from({ length: HOSTS }, (_, n) => `n${n},${8_000 + n},1024,2,T4`),
  '',
].join('\n');
const podsOf = (rows: readonly string[]) =>
  ['name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec', ...rows, ''].join('\n');

async function toldOf(rows: readonly string[], most?: number) {
  let told = { names: [] as string[], isPartly: false };
  await withTrace(
    (files) => {
      const { unservable, isPartly } = neverPlaced(readPackingTrace(files.nodes, files.pods), 1.3, most);
      told = { names: unservable.map(({ name }) => name), isPartly };
    },
    { nodes, pods: podsOf(rows) },
  );
  return told;
}

test('never placed - requests that ask for the same are tried once, and hosts that have too little in all are not', async () => {
  const alike = Array.from({ length: 50 }, (_, n) => `Gone.${String(n).padStart(2, '0')},1,0,1,500,G9`);
  const rows = [...alike, 'large,9000,0,1,500,', 'ok,8100,0,1,500,', 'many,1,0,3,1000,'];
  const { names, isPartly } = await toldOf(rows, HOSTS * 100);
  assert.equal([names.length, names[0], names.at(-1), isPartly], [52, 'Gone.00', 'many', false]);
});

test('never placed - where that takes too long, it is said that there may be more', async () => {
  const unlike = Array.from({ length: 50 }, (_, n) => `gone-${String(n).padStart(2, '0')},${n + 1},0,1,500,G9`);
  const { names, isPartly } = await toldOf(unlike, HOSTS * 1_000);
  assert.ok(isPartly);
  assert.ok(names.length > 0 && names.length < 50, `${names.length} of them`);
  assert.equal(await toldOf(unlike), { names: unlike.map((row) => row.split(',')[0]), isPartly: false });
});

test('never placed - one that never arrives counts as left out, and as unservable only where all arrive', async () => {
  const nodes = 'sn,cpu_milli,memory_mib,gpu,model\nn0,8000,1024,2,T4\n';
  const pods = podsOf(['two,1,0,2,1000,', 'three,1,0,3,1000,', 'large,9000,0,1,500,', 'nothing,0,0,0,0,']);
  await withTrace(
    (files) => {
      const trace = readPackingTrace(files.nodes, files.pods);
      const namesOf = (tune: number) => {
        const { leftOut, unservable } = neverPlaced(trace, tune);
        return [leftOut, unservable].map((some) => some.map(({ name }) => name));
      };
      assert.equal(namesOf(1.3), [['three'], ['large']]);
      assert.equal(namesOf(0), [[], ['large', 'three']]);
    },
    { nodes, pods },
  );
});

test.run();
