// Area: packing experiment. How a trace is read, in whatever way its lists are written, and what is told of a bad one.

import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CellwrightError } from '../../../runtime/errors.ts';
import { readPackingTrace } from '../../../runtime/packing/trace.ts';
import { ROOT } from '../../support/programs.ts';
import { nodesText, podsText, withTrace } from './trace.ts';

const test = suite('packing trace');

async function refusalOf(told: { nodes?: string; pods?: string }): Promise<{ message: string; field: unknown }> {
  let message = 'nothing';
  let field: unknown;
  await withTrace(({ nodes, pods }) => {
    try {
      readPackingTrace(nodes, pods);
    } catch (error) {
      assert.instance(error, CellwrightError);
      ({ message, field } = error as CellwrightError);
    }
  }, told);
  return { message, field };
}

test('trace - hosts become trees of providers, requests groups, sorted by name', async () => {
  const nodes = 'sn,cpu_milli,memory_mib,gpu,model\nn1,8000,1024,2,T4\nn2,4000,512,0,\n';
  const pods =
    'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\nb,10,0,2,1000,T4|P100\na,10,20,1,300,\nc,0,5,0,0,\n';
  await withTrace(
    (files) => {
      const trace = readPackingTrace(files.nodes, files.pods);
      assert.equal([trace.gpuMilli, trace.shapes, trace.hosts.map(({ length }) => length)], [2_000, 3, [3, 1]]);
      assert.equal([...trace.absentModels], [['P100', 1]]);
      const [root, device] = trace.hosts[0] ?? [];
      assert.equal([root?.name, root?.inventories.CUSTOM_CPU_MILLI?.total, root?.parent], ['n1', 8_000, null]);
      assert.equal([device?.parent, device?.traits], [root?.id, ['CUSTOM_GPU_T4']]);
      const told = trace.requests.map(({ name, share, gpuMilli, spec }) => [name, share, gpuMilli, spec.groupPolicy]);
      assert.equal(told, [
        ['a', 300, 300, 'none'],
        ['b', 1_000, 2_000, 'isolate'],
        ['c', 0, 0, 'none'],
      ]);
      const anyOf = [['CUSTOM_GPU_T4', 'CUSTOM_GPU_P100']];
      assert.equal(trace.requests[1]?.spec.groups[2], { resources: { CUSTOM_GPU_MILLI: 1_000 }, name: 'gpu1', anyOf });
    },
    { nodes, pods },
  );
});

test('trace - requests that are alike share what they ask for', async () => {
  const pods =
    'name,cpu_milli,num_gpu,gpu_milli,gpu_spec\na,1,1,500,T4\nb,1.0,1,500.0,T4\nc,1,1,500,\nd,0,0,0,\ne,,,,\n';
  await withTrace(
    (files) => {
      const { requests, shapes } = readPackingTrace(files.nodes, files.pods);
      const [a, b, c, d, e] = requests.map(({ spec }) => spec);
      assert.is(a, b);
      assert.is(d, e);
      assert.is.not(a, c);
      assert.is(shapes, 3);
    },
    { pods },
  );
});

test('trace - a request for no GPU asks for none, whatever is said of its share and model', async () => {
  await withTrace(
    (files) => {
      const { requests, absentModels } = readPackingTrace(files.nodes, files.pods);
      const asked = requests.map(({ gpuMilli, share, spec }) => [gpuMilli, share, spec.groups.length]);
      assert.equal(asked, [
        [500, 500, 2],
        [0, 0, 1],
      ]);
      assert.is(absentModels.size, 0);
    },
    { pods: 'name,cpu_milli,num_gpu,gpu_milli,gpu_spec\na,1,1,500,\nb,1,0,500,H100\n' },
  );
});

test('trace - a long list takes little memory beyond what its requests do', async () => {
  const rows = Array.from({ length: 40_000 }, (_, row) => `request-${row},1000,1024,1,${1 + (row % 9)},\n`);
  const pods = `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n${rows.join('')}`;
  await withTrace(
    (files) => {
      const program = `import { readPackingTrace } from './runtime/packing/trace.ts';
        console.log(readPackingTrace(...process.argv.slice(1)).requests.length);`;
      const flags = ['--max-old-space-size=96', '--import', 'tsx', '--input-type=module', '-e', program];
      const { stdout, stderr } = spawnSync(process.execPath, [...flags, files.nodes, files.pods], {
        cwd: ROOT,
        encoding: 'utf8',
      });
      assert.is(stdout, '40000\n', stderr);
    },
    { pods },
  );
});

test('trace - where no request says how much memory it takes, none takes any; hosts come in the order of their names', async () => {
  const nodes = 'sn,cpu_milli,memory_mib,gpu,model\nn2,4000,512,0,\nn1,8000,1024,1,T4\n';
  const pods = 'name,cpu_milli,num_gpu,gpu_milli\na,1000,1,500\n';
  await withTrace(
    (files) => {
      const { hosts, requests } = readPackingTrace(files.nodes, files.pods);
      assert.equal(
        hosts.map(([root]) => root?.name),
        ['n1', 'n2'],
      );
      assert.equal(requests[0]?.spec.groups[0]?.resources, { CUSTOM_CPU_MILLI: 1_000 });
    },
    { nodes, pods },
  );
});

test('trace - a list without models has requests that any will do for, and whole numbers may end in .0', async () => {
  const pods = 'name,cpu_milli,memory_mib,num_gpu,gpu_milli\np1,1000,64,1,500.0\np2,1000.00,64,2,1000\n';
  await withTrace(
    (files) => {
      const { requests, absentModels } = readPackingTrace(files.nodes, files.pods);
      assert.equal(
        requests.map(({ name, gpuMilli, spec }) => [name, gpuMilli, spec.groups.some(({ anyOf }) => anyOf)]),
        [
          ['p1', 500, false],
          ['p2', 2_000, false],
        ],
      );
      assert.is(absentModels.size, 0);
    },
    { pods },
  );
});

test('trace - models and hosts are named as fleets name them, and blank lines are no rows', async () => {
  const nodes =
    'sn,cpu_milli,memory_mib,gpu,model\n\nGPU_1.rack2,8000,1024,1,A100-SXM4-80GB\nn2,1,1,1,RTX 2080.Ti\n \n\n';
  const pods =
    'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np.1,1000,64,1,500,A100-SXM4-80GB\n\np_2,1000,64,1,500,H100-PCIe\n\n';
  await withTrace(
    (files) => {
      const { hosts, requests, absentModels } = readPackingTrace(files.nodes, files.pods);
      assert.equal(
        hosts.map((providers) => [providers[0]?.name, providers[1]?.traits]),
        [
          ['gpu-1-rack2', ['CUSTOM_GPU_A100_SXM4_80GB']],
          ['n2', ['CUSTOM_GPU_RTX_2080_TI']],
        ],
      );
      assert.equal(
        requests.map(({ name, spec }) => [name, spec.groups[1]?.anyOf]),
        [
          ['p.1', [['CUSTOM_GPU_A100_SXM4_80GB']]],
          ['p_2', [['CUSTOM_GPU_H100_PCIE']]],
        ],
      );
      assert.equal([...absentModels], [['H100-PCIe', 1]]);
    },
    { nodes, pods },
  );
});

test('trace - requests for an absent model are counted, and one host without memory does not mean that none has any', () =>
  withTrace(
    (files) => {
      const { absentModels, hosts } = readPackingTrace(files.nodes, files.pods);
      assert.equal([...absentModels], [['G9', 2]]);
      assert.is(hosts.length, 2);
    },
    {
      nodes: 'sn,cpu_milli,memory_mib,gpu,model\nh1,1000,1024,1,T4\nh2,1000,0,1,T4\n',
      pods: 'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1,1,1,500,G9\nb,1,1,1,500,G9\n',
    },
  ));

test('trace - spellings that become one model are told with the list that has them first, and an absent model once', async () => {
  const nodes = 'sn,cpu_milli,gpu,model\nn1,8000,1,A-1\nn2,8000,1,A.1\nn3,8000,1,V100\nn4,8000,0,v100\n';
  const pods = 'name,cpu_milli,num_gpu,gpu_milli,gpu_spec\np,1,1,500,a 1|A-1|V100\nq,1,1,500,G9|g9\nr,1,0,,v100\n';
  await withTrace(
    (files) => {
      const { speltApart, absentModels } = readPackingTrace(files.nodes, files.pods);
      assert.equal(speltApart, [
        [
          { model: 'A-1', file: files.nodes },
          { model: 'A.1', file: files.nodes },
          { model: 'a 1', file: files.pods },
        ],
        [
          { model: 'G9', file: files.pods },
          { model: 'g9', file: files.pods },
        ],
      ]);
      assert.equal([...absentModels], [['G9', 1]]);
    },
    { nodes, pods },
  );
});

test('trace - spaces around the names of models are none of theirs', async () => {
  const pods = 'name,cpu_milli,num_gpu,gpu_milli,gpu_spec\np1,1000,1,500, T4 | P100|A10 \n';
  await withTrace(
    (files) => {
      const { requests } = readPackingTrace(files.nodes, files.pods);
      assert.equal(requests[0]?.spec.groups[1]?.anyOf, [['CUSTOM_GPU_T4', 'CUSTOM_GPU_P100', 'CUSTOM_GPU_A10']]);
    },
    { pods },
  );
});

test('trace - a model that is not named between two bars is none', async () => {
  const pods = 'name,cpu_milli,num_gpu,gpu_milli,gpu_spec\np1,1000,1,500,T4||P100|\np2,1000,1,500,|\n';
  await withTrace(
    (files) => {
      const { requests } = readPackingTrace(files.nodes, files.pods);
      const told = requests.map(({ spec }) => spec.groups[1]?.anyOf);
      assert.equal(told, [[['CUSTOM_GPU_T4', 'CUSTOM_GPU_P100']], undefined]);
    },
    { pods },
  );
});

const PLAIN = {
  nodes: 'sn,cpu_milli,memory_mib,gpu,model\nn1,8000,1024,2,T4\nn2,4000,512,0,\n',
  pods: `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
a,1000,64,1,250,T4|V100
b,2000,0,0,0,
c,0,64,2,1000,
d,0,0,0,0,
`,
};

/** The same trace, written in other ways. */
const WRITTEN_OTHERWISE = {
  'from a data frame': {
    nodes: ',sn,cpu_milli,memory_mib,gpu,model\n0,n1,8000.0,1024.0,2.0,T4\n1,n2,4000.0,512.0,,\n',
    pods: `,name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
0,a,1000.0,64.0,1.0,250.0,T4|V100
1,b,2000.0,,,,
2,c,,64.0,2.0,,
3,d,,,,,
`,
  },
  'with nan for nothing': {
    nodes: 'sn,cpu_milli,memory_mib,gpu,model\nn1,8000,1024,2,T4\nn2,4000,512,nan,nan\n',
    pods: `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
a,1000,64,1,250,T4|V100
b,2000,NaN,0,NaN,nan
c,nan,64,2,nan,NaN
d,nan,nan,nan,nan,nan
`,
  },
  'with words for nothing': {
    nodes: 'sn,cpu_milli,memory_mib,gpu,model\nn1,8000,1024,2,T4\nn2,4000,512,NULL,None\n',
    pods: `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
a,1000,64,1,250,T4|V100
b,2000,None,0,none,N/A
c,NA,64,2,<NA>,<na>
d,null,NULL,n/a,na,None
`,
  },
  'without last cells, or with empty ones more': {
    nodes: 'sn,cpu_milli,memory_mib,gpu,model\nn1,8000,1024,2,T4,\nn2,4000,512\n',
    pods: `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
a,1000,64,1,250,T4|V100,, ,""
b,2000
c,0,64,2
d
`,
  },
  'with a last line of blanks, or of empty cells': {
    nodes: 'sn,cpu_milli,memory_mib,gpu,model\nn1,8000,1024,2,T4\nn2,4000,512\n \t',
    pods: `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
a,1000,64,1,250,T4|V100
b,2000
c,0,64,2
d
,`,
  },
  'with fractions and exponents': {
    nodes: 'sn,cpu_milli,memory_mib,gpu,model\nn1,8000.9,1.0249e3,2.0,T4\nn2,4e3,511.9999999999999,0,\n',
    pods: `name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec
a,999.01,63.58,1e0,2.495E+2,T4|V100
b,2000.0000000000002,0.,0,0,
c,0,.64e2,20e-1,999.5,
d,0,0,0,0,
`,
  },
  'with columns in another order and case, and others': {
    nodes: 'zone,MODEL,gpu,SN,memory_mib,cpu_milli\nx,T4,2,n1,1024,8000\n"y, ""z""",,0,n2,512,4000\n',
    pods: `\ufeff,Memory_MiB, "GPU_spec " ,num_gpu,CPU_milli,NAME,gpu_milli,qos
0,64,T4|V100,1,1000,a,250,LS
1,0,,0,2000,b,500,"B
E"
2,64,,2,0,c,1000,
3,0,T4,0,0,d,0,
`,
  },
  'with quotes, spaces, and lines that end in two ways': {
    nodes: PLAIN.nodes.replaceAll('\n', '\r'),
    pods: PLAIN.pods
      .replace(/[^,\n]+/g, '" $& "')
      .replaceAll('\n', '\r\n')
      .replace('\r\n', '\n'),
  },
};

for (const [how, files] of Object.entries(WRITTEN_OTHERWISE)) {
  test(`trace - it says the same ${how}`, async () => {
    const toldOf = async (told: { nodes: string; pods: string }) => {
      let trace: unknown;
      await withTrace(({ nodes, pods }) => {
        trace = readPackingTrace(nodes, pods);
      }, told);
      return trace;
    };
    assert.equal(await toldOf(files), await toldOf(PLAIN));
  });
}

test('trace - where no column says how much of a GPU is asked for, it is all of it', async () => {
  await withTrace(
    ({ nodes, pods }) => {
      const { requests } = readPackingTrace(nodes, pods);
      assert.equal(
        requests.map(({ gpuMilli }) => gpuMilli),
        [1_000, 4_000, 0],
      );
    },
    { pods: 'name,cpu_milli,num_gpu\na,1000,1\nb,1000,4\nc,1000,0\n' },
  );
});

test('trace - a request may have any name that no other has', async () => {
  const names = ['x'.repeat(300), 'ns/p-1', 'pod-é', '训练-1', 'job:1', 'p 1', '_p1', 'p.1', 'p-1', 'P-1', 'None', '"'];
  const rows = names.map((name) => `"${name.replace('"', '""')}",1,1,500\n`);
  await withTrace(
    (files) => {
      const { requests } = readPackingTrace(files.nodes, files.pods);
      assert.equal(
        requests.map(({ name }) => name),
        names.toSorted(),
      );
    },
    { pods: `name,cpu_milli,num_gpu,gpu_milli\n${rows.join('')}` },
  );
});

test('trace - hosts may lack models where no request names one, and their GPUs have no trait', async () => {
  const nodes = 'sn,cpu_milli,memory_mib,gpu\nn1,8000,1024,2\n';
  const pods = 'name,cpu_milli,num_gpu,gpu_milli,gpu_spec\na,1000,1,500,\nb,1000,0,0,T4\n';
  await withTrace(
    (files) => {
      const { hosts, speltApart, absentModels } = readPackingTrace(files.nodes, files.pods);
      assert.equal(
        hosts[0]?.map(({ traits }) => traits),
        [[], [], []],
      );
      assert.equal([speltApart, absentModels.size], [[], 0]);
    },
    { nodes, pods },
  );
  const { message, field } = await refusalOf({ nodes, pods: `${pods}c,1000,1,500,T4\n` });
  assert.match(message, /nodes\.csv': no column 'model', and '.*pods\.csv' line 4, column 'gpu_spec' names models$/);
  assert.is(field, 'model');
});

test('trace - hosts may lack memory where no request asks for any', async () => {
  const nodes = 'sn,cpu_milli,gpu,model\nn1,8000,2,T4\n';
  const pods = 'name,cpu_milli,num_gpu,gpu_milli\na,1000,1,500\n';
  await withTrace(
    (files) => {
      const [[root] = []] = readPackingTrace(files.nodes, files.pods).hosts;
      assert.is(root?.inventories.MEMORY_MB, undefined);
    },
    { nodes, pods },
  );
  const { message, field } = await refusalOf({ nodes });
  assert.match(
    message,
    /nodes\.csv' column 'memory_mib': no host has memory, and requests of '.*pods\.csv' ask for it/,
  );
  assert.is(field, 'memory_mib');
});

test('trace - a row over several lines is told by its first', async () => {
  const header = 'name,cpu_milli,num_gpu,gpu_milli,note\n';
  const rows = [`a,1,1,500,"x\ny\nz"\n\n \n`, `b,1,1,500,"x\n\ny"\n`, `c,1,1,500,"\n"\n`] as const;
  for (const end of ['\n', '\r\n']) {
    const refusal = async (...written: readonly string[]) => {
      return (await refusalOf({ pods: [header, ...written].join('').replaceAll('\n', end) })).message;
    };
    assert.match(await refusal(rows[0], rows[1].replace('1', 'x')), /line 7, column 'cpu_milli'/);
    assert.match(await refusal(rows[0], rows[1], rows[2].replace('1', 'x')), /line 10, column 'cpu_milli'/);
    assert.match(await refusal(rows[0], rows[1], rows[2].replace('"', '')), /not closed.* in line 11$/);
    assert.match(await refusal('\n', '"p,1,1,500,\n'), /not closed.* in line 3$/);
  }
});

test('trace - what is wrong is refused with file, line and column', async () => {
  const nodes = nodesText(2);
  const pods = podsText(2);
  const cases: [{ nodes?: string; pods?: string }, string, RegExp][] = [
    [
      { nodes: `${nodes}x,0,1,0,\n` },
      'cpu_milli',
      /nodes\.csv' line 4, column 'cpu_milli': '0' is not a number from 1 to/,
    ],
    [{ nodes: `${nodes}x,9999999999,1,0,\n` }, 'cpu_milli', /line 4, column 'cpu_milli'.*2147483647/],
    [{ nodes: `${nodes}x,1,1,101,T4\n` }, 'gpu', /line 4, column 'gpu'.*from 0 to 100/],
    [{ nodes: `${nodes}x,1,1,,T4\n` }, 'gpu', /line 4, column 'gpu': '' is not a whole/],
    [{ nodes: `${nodes}x,1,,0,\n` }, 'memory_mib', /line 4, column 'memory_mib': '' is not a number/],
    [{ nodes: `${nodes}x,1,1,1,\n` }, 'model', /line 4, column 'model'/],
    [{ nodes: `${nodes}node-0,1,1,0,\n` }, 'sn', /line 4, column 'sn'.* line 2 bears it, as 'node-0'$/],
    [{ nodes: `${nodes}-x-,1,1,0,\n` }, 'sn', /line 4, column 'sn': '-x-' is not a name of letters/],
    [{ nodes: `${nodes}${'n'.repeat(58)},1,1,1,T4\n` }, 'sn', /line 4, column 'sn'.* at most 57 of them/],
    [
      { nodes: `${nodes}a.b,1,1,0,\na_b,1,1,0,\n` },
      'sn',
      /line 5, column 'sn': 'a_b' is not .* line 4 bears it, as 'a\.b'$/,
    ],
    [{ nodes: `${nodes}\n\nx,1,1,1,A\u00e9\n` }, 'model', /line 6, column 'model'.*letters, digits, ' ', '-'/],
    [{ nodes: 'sn,sn,cpu_milli,memory_mib,gpu,model\na,b,1,1,0,\n' }, 'sn', /line 1: two columns 'sn'/],
    [{ nodes: `${nodes}x,0.9,1,0,\n` }, 'cpu_milli', /line 4, column 'cpu_milli': '0\.9' is not a number from 1 to/],
    [{ nodes: `${nodes}x,1,1,1.5,T4\n` }, 'gpu', /line 4, column 'gpu': '1\.5' is not a whole/],
    [{ nodes: `${nodes}x,1,1,1\n` }, 'model', /line 4, column 'model': '' is not the one model/],
    [{ nodes: `${nodes}x,1\n` }, 'memory_mib', /line 4, column 'memory_mib': '' is not a number/],
    [{ nodes: 'sn,cpu_milli,memory_mib,model\na,1,1,T4\n' }, 'gpu', /line 1: no column 'gpu'/],
    [{ nodes: 'sn,cpu_milli,memory_mib,gpu,model\na,1,1,0,\n' }, 'gpu', /no host has a GPU/],
    [{ pods: `${pods}p,-1,1,0,0,\n` }, 'cpu_milli', /pods\.csv' line 4, column 'cpu_milli'/],
    [{ pods: `${pods}p,1,1,1,1001,\n` }, 'gpu_milli', /line 4, column 'gpu_milli'/],
    [{ pods: `${pods}p,1,1,1,0,\n` }, 'gpu_milli', /line 4, column 'gpu_milli'/],
    [{ pods: `${pods}p,1,1,1,500,T4|X/Y\n` }, 'gpu_spec', /line 4, column 'gpu_spec'/],
    [{ pods: `${pods}p,1,1,,500,\n` }, 'num_gpu', /line 4, column 'num_gpu': '' is not a whole/],
    [{ pods: `${pods}p,1,1,0.5,500,\n` }, 'num_gpu', /line 4, column 'num_gpu': '0\.5' is not a whole/],
    [{ pods: `${pods}p,1,1,1,1000.2,\n` }, 'gpu_milli', /'1000\.2' is not a number from 1 to 1000$/],
    [{ pods: `${pods}p,1,1e99,1,500,\n` }, 'memory_mib', /'1e99' is not a number from 0 to 2147483647$/],
    [{ pods: `${pods}p,1.2.3,1,1,500,\n` }, 'cpu_milli', /line 4, column 'cpu_milli': '1\.2\.3' is not a number/],
    [{ pods: `${pods},1,1,1,500,\n` }, 'name', /line 4, column 'name': '' is not a name$/],
    [{ pods: `${pods}p,1,1,8,8000,\n` }, 'gpu_milli', /line 4, column 'gpu_milli': '8000' .* from 1 to 1000/],
    [{ pods: 'Name,name,cpu_milli,num_gpu\np,q,1,1\n' }, 'name', /line 1: two columns 'name'/],
    [{ pods: `${pods}pod-1,1,1,0,0,\n` }, 'name', /line 4, column 'name'/],
    [
      { pods: `${pods}\nP 1,1,1,0,0,\n P 1,1,1,0,0,\n` },
      'name',
      /line 6, .*'P 1' is not .* line 5 bears it, as 'P 1'$/,
    ],
    [{ pods: 'name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\np,1,1,0,0,\n' }, 'num_gpu', /asks for a GPU/],
    [{ pods: 'name,cpu_milli\n"p,1\n' }, 'num_gpu', /line 1: no column 'num_gpu'$/],
    [
      { pods: pods.replaceAll(',', ';') },
      'name',
      /no column 'name': columns are separated by commas, not by semicolons$/,
    ],
    [{ nodes: nodes.replaceAll(',', '\t') }, 'sn', /no column 'sn': columns are separated by commas, not by tabs$/],
    [{ nodes: `${nodes},,,,\n , ,,"",\nx,0,1,0,\n` }, 'cpu_milli', /line 6, column 'cpu_milli': '0'/],
    [{ nodes: `${nodes},,,,\n,1,,,\n` }, 'sn', /line 5, column 'sn': '' is not a name/],
  ];
  for (const [told, field, message] of cases) {
    const refusal = await refusalOf(told);
    assert.match(refusal.message, message);
    assert.is(refusal.field, field);
  }
});

test('trace - a quote that is left open, or out of place, is told by the row in which it is, not by how far the file was read', async () => {
  for (const rows of [2, 2_000]) {
    const { message, field } = await refusalOf({
      pods: `${podsText(2)}\n"p,1,1,1,500,\n${'q,1,1,1,500,\n'.repeat(rows)}`,
    });
    assert.match(message, /pods\.csv' is .*: a quote is opened and not closed,.* in line 5$/);
    assert.match(String(field), /pods\.csv$/);
  }
  for (const [pods, line] of [
    [podsText(0), 2],
    [`\n${podsText(0)}\n\n`, 5],
    [`${podsText(2).replaceAll('\n', '\r\n')}"a\r\nb",1,1,1,500,\r\n`, 6],
  ] as const) {
    const { message } = await refusalOf({ pods: `${pods}"p,1,1,1,500,\n` });
    assert.match(message, new RegExp(`a quote is opened and not closed, in line ${line}$`));
  }
  for (const [cell, fault] of [
    ['p"q', /: a quote stands inside a cell: .*, in line 3$/],
    ['"p"q', /: something follows the quote that ends a cell, in line 3$/],
    ['"p" q', /: something follows the quote that ends a cell, in line 3$/],
  ] as const) {
    const { message } = await refusalOf({ pods: `${podsText(1)}${cell},1,1,1,500,\n` });
    assert.match(message, fault);
  }
  const header = await refusalOf({ pods: '"name,cpu_milli\np,1\n' });
  assert.match(header.message, /pods\.csv' is .*: a quote is opened and not closed, in line 1$/);
});

test('trace - a row with too many cells, or with which the file ends early, is told by the line where it begins, and so is a header', async () => {
  const header = 'sn,cpu_milli,memory_mib,gpu,model,note\n';
  for (const [nodes, says] of [
    [`${header}a,1,1,1,T4,"x\n\ny",z\n`, /a row has 7 cells and the header 6, in line 2$/],
    [`${header}a,1,1,1,T4,"x\n\ny"\n\nb,1,1,1,T4,,,0\n`, /a row has 8 cells and the header 6, in line 6$/],
    [`${header.replaceAll('\n', '\r\n')}\r\n,,,,,,z\r\n`, /a row has 7 cells and the header 6, in line 3$/],
    [`${header}a,1,1,1,T4,\nb,6000,122`, /it ends within a row: of 6 cells there are 3, in line 3$/],
    ['\n\nsn,cpu_milli\na,1\n', /nodes\.csv' line 3: no column 'gpu'$/],
    ['\n"sn\n",sn,cpu_milli,memory_mib,gpu,model\n', /nodes\.csv' line 2: two columns 'sn'$/],
  ] as const) {
    assert.match((await refusalOf({ nodes })).message, says);
  }
});

test('trace - of two faults the first in the file is told, whatever they are', async () => {
  const header = 'sn,cpu_milli,memory_mib,gpu,model\n';
  for (const [nodes, says] of [
    [`${header}a,x,1,1,T4\n"b,1,1,1,T4\n`, /nodes\.csv' line 2, column 'cpu_milli'/],
    [`${header}a,1,1,1,T4,5\nb,x,1,1,T4\n`, /a row has 6 cells and the header 5, in line 2$/],
  ] as const) {
    assert.match((await refusalOf({ nodes })).message, says);
  }
});

test('trace - what is no text is refused for that, not for the columns that it lacks', () =>
  withTrace(({ nodes, pods }) => {
    for (const [bytes, says] of [
      [gzipSync(podsText(2)), /pods\.csv' is compressed: unpack it first/],
      [Buffer.from(podsText(2), 'utf16le'), /pods\.csv' is .*text in UTF-16 instead of UTF-8: line 1 has a NUL byte$/],
      [podsText(2).replace('pod-1', 'pod\0-1'), /pods\.csv' is no text, .*: line 3 has a NUL byte$/],
      [Buffer.from([0xff, 0xd8, 0xff]), /pods\.csv' is not text in UTF-8/],
    ] as const) {
      writeFileSync(pods, bytes);
      assert.throws(
        () => readPackingTrace(nodes, pods),
        (error: CellwrightError) => error.code === 'malformed' && error.field === pods && says.test(error.message),
      );
    }
  }));

test.run();
