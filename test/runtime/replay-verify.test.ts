// Area: the verification of replays. It must be able to fail: a census that is sound is doctored, one fault at a time,
// and each is found and told as what it is.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import type { ConsumerState, ProviderState } from '../../actors/messages/placement.ts';
import type { FaultKind } from '../../runtime/replay/verify/fault.ts';
import { countOf, faultsOf } from '../../runtime/replay/verify/faults.ts';
import type { Arrival } from '../../runtime/workload/workload.ts';

const test = suite('replay verification');

interface Doctored {
  inCells: InstanceView[];
  providers: ProviderState[];
  consumers: ConsumerState[];
  computing: { cell: string; host: string; instance: string; attempt: number }[];
  driven: { cell: string; host: string; instance: string; attempt: number }[];
  arrivals: Arrival[];
}

function provider(id: string, root: string, resourceClass: string, total: number, used: number): ProviderState {
  const inventory = { total, reserved: 0, min_unit: 1, max_unit: total, step_size: 1, allocation_ratio: 1 };
  return {
    id,
    name: id,
    parent: id === root ? null : root,
    root,
    inventories: { [resourceClass]: inventory },
    traits: id === root ? [] : ['CUSTOM_GPU_T4'],
    aggregates: [],
    generation: 1,
    used: { [resourceClass]: used },
  };
}

/** Two hosts with two GPUs each: `train` has both GPUs of h1 whole, `serve` a part of one of h2. */
function sound(): Doctored {
  const gpu = (name: string, milli: number) => ({
    name,
    resources: { CUSTOM_GPU_MILLI: milli },
    anyOf: [['CUSTOM_GPU_T4', 'CUSTOM_GPU_V100']],
  });
  const arrivalOf = (id: string, spec: Arrival['spec']): Arrival => ({
    atMs: 0,
    id,
    spec,
    count: 1,
    endAtMs: [undefined],
    kind: 'gpu',
  });
  const trainHolds = [
    { provider: 'h1', group: '', resources: { VCPU: 4 } },
    { provider: 'h1-gpu-0', group: 'gpu0', resources: { CUSTOM_GPU_MILLI: 1000 } },
    { provider: 'h1-gpu-1', group: 'gpu1', resources: { CUSTOM_GPU_MILLI: 1000 } },
  ];
  const serveHolds = [
    { provider: 'h2', group: '', resources: { VCPU: 2 } },
    { provider: 'h2-gpu-0', group: 'gpu0', resources: { CUSTOM_GPU_MILLI: 300 } },
  ];
  const view = (instance: string, host: string, attempt: number): InstanceView => ({
    instance,
    request: instance,
    state: 'active',
    cell: 'c1',
    host,
    attempt,
  });
  const running = () => [
    { cell: 'c1', host: 'h1', instance: 'train', attempt: 1 },
    { cell: 'c1', host: 'h2', instance: 'serve', attempt: 2 },
  ];
  return {
    inCells: [view('train', 'h1', 1), view('serve', 'h2', 2), { instance: 'dead', request: 'dead', state: 'failed' }],
    providers: [
      provider('h1', 'h1', 'VCPU', 8, 4),
      provider('h1-gpu-0', 'h1', 'CUSTOM_GPU_MILLI', 1000, 1000),
      provider('h1-gpu-1', 'h1', 'CUSTOM_GPU_MILLI', 1000, 1000),
      provider('h2', 'h2', 'VCPU', 8, 2),
      provider('h2-gpu-0', 'h2', 'CUSTOM_GPU_MILLI', 1000, 300),
      provider('h2-gpu-1', 'h2', 'CUSTOM_GPU_MILLI', 1000, 0),
    ],
    consumers: [
      { consumer: 'train', held: [{ attempt: 1, allocations: trainHolds }] },
      { consumer: 'serve', held: [{ attempt: 2, allocations: serveHolds }] },
      { consumer: 'dead', held: [] },
    ],
    computing: running(),
    driven: running(),
    arrivals: [
      arrivalOf('train', {
        resources: { VCPU: 4 },
        groups: [gpu('gpu0', 1000), gpu('gpu1', 1000)],
        groupPolicy: 'isolate',
      }),
      arrivalOf('serve', { resources: { VCPU: 2 }, groups: [gpu('gpu0', 300)] }),
    ],
  };
}

function faultsAfter(doctor: (census: Doctored) => void) {
  const census = sound();
  doctor(census);
  const { arrivals, ...rest } = census;
  return faultsOf({ conducted: new Map(), ...rest }, arrivals);
}

/** The one in the list that bears the id. */
function find<Item>(list: Item[], id: string): Item {
  const found = list.find((item) => Object.values(item as object).includes(id));
  if (found === undefined) throw new Error(`the census has no '${id}'`);
  return found;
}

function allocation(census: Doctored, consumer: string, position: number) {
  const found = find(census.consumers, consumer).held[0]?.allocations[position];
  if (found === undefined) throw new Error(`'${consumer}' holds nothing there`);
  return found;
}

function takes(kind: FaultKind, what: RegExp, doctor: (census: Doctored) => void): void {
  const faults = faultsAfter(doctor);
  const told = faults.map((fault) => `${fault.kind}: ${fault.what}`).join('\n');
  assert.ok(countOf(faults, kind) > 0, `no '${kind}' among:\n${told}`);
  assert.match(told, what);
}

test('sound - nothing is found where nothing is wrong', () => {
  assert.equal(
    faultsAfter(() => {}),
    [],
  );
});

test('sound - an unnamed group may be spread over a host, and groups that need not be isolated may share a device', () => {
  const faults = faultsAfter((census) => {
    find(census.providers, 'h2-gpu-1').inventories.VCPU = { ...find(census.providers, 'h2').inventories.VCPU } as never;
    find(census.providers, 'h2-gpu-1').used.VCPU = 1;
    find(census.providers, 'h2').used = { VCPU: 1 };
    find(census.providers, 'h2-gpu-0').used = { CUSTOM_GPU_MILLI: 600 };
    const { allocations } = find(census.consumers, 'serve').held[0] as { allocations: unknown[] };
    allocations[0] = { provider: 'h2', group: '', resources: { VCPU: 1 } };
    allocations.push(
      { provider: 'h2-gpu-1', group: '', resources: { VCPU: 1 } },
      { provider: 'h2-gpu-0', group: 'gpu1', resources: { CUSTOM_GPU_MILLI: 300 } },
    );
    const { spec } = find(census.arrivals, 'serve');
    const [gpu] = spec.groups ?? [];
    const traits = { required: ['CUSTOM_GPU_T4'], forbidden: ['CUSTOM_GPU_P100'] };
    if (gpu !== undefined) spec.groups = [gpu, { ...gpu, ...traits, name: 'gpu1' }];
  });
  assert.equal(faults, []);
});

test('capacity - more used than there is', () => {
  takes('overcommitted', /CUSTOM_GPU_MILLI of provider 'h2-gpu-0': 1300 counted/, (census) => {
    allocation(census, 'serve', 1).resources = { CUSTOM_GPU_MILLI: 1300 };
    find(census.providers, 'h2-gpu-0').used = { CUSTOM_GPU_MILLI: 1300 };
  });
});

test('capacity - what is reserved cannot be used', () => {
  takes('overcommitted', /VCPU of provider 'h1': 4 counted, 4 allocated, 3 is all/, (census) => {
    const inventory = find(census.providers, 'h1').inventories.VCPU;
    if (inventory !== undefined) inventory.reserved = 5;
  });
});

test('capacity - a count that is not the sum of the allocations', () => {
  takes('overcommitted', /VCPU of provider 'h2': 3 counted, but 2 allocated/, (census) => {
    find(census.providers, 'h2').used = { VCPU: 3 };
  });
  takes('overcommitted', /VCPU of provider 'h2': 0 counted, but 2 allocated/, (census) => {
    find(census.providers, 'h2').used = {};
  });
});

test('capacity - a class without an inventory, and a provider that nobody knows', () => {
  takes('overcommitted', /VCPU of provider 'h2': 2 counted, 2 allocated, 0 is all/, (census) => {
    find(census.providers, 'h2').inventories = {};
  });
  takes('overcommitted', /provider 'h2-gpu-0' is not known/, (census) => {
    census.providers = census.providers.filter(({ id }) => id !== 'h2-gpu-0');
  });
});

test('orphans - resources of what does not live', () => {
  const allocations = [{ provider: 'h2', group: '', resources: { VCPU: 1 } }];
  for (const consumer of ['dead', 'unheard-of']) {
    takes('leaked', new RegExp(`'${consumer}' holds resources for attempt 3 and does not live`), (census) => {
      census.consumers = census.consumers.filter((one) => one.consumer !== consumer);
      census.consumers.push({ consumer, held: [{ attempt: 3, allocations }] });
      find(census.providers, 'h2').used = { VCPU: 3 };
    });
  }
});

test('orphans - resources of an instance that is being deleted', () => {
  takes('leaked', /'serve' holds resources for attempt 2 and does not live/, (census) => {
    find(census.inCells, 'serve').state = 'deleting';
  });
});

test('orphans - a live instance without resources, or with those of another attempt', () => {
  takes('leaked', /'serve' is active and holds no resources/, (census) => {
    find(census.consumers, 'serve').held = [];
  });
  takes('leaked', /'serve' holds resources for attempt 2 and lives in attempt 3/, (census) => {
    find(census.inCells, 'serve').attempt = 3;
  });
});

test('orphans - something that runs and that no cell knows', () => {
  for (const teller of ['computing', 'driven'] as const) {
    const name = teller === 'computing' ? 'compute' : 'driver';
    takes('leaked', new RegExp(`the ${name} of 'c1/h2' has attempt 1 of 'ghost', which no cell knows`), (census) => {
      census[teller].push({ cell: 'c1', host: 'h2', instance: 'ghost', attempt: 1 });
    });
  }
  takes('leaked', /has attempt 1 of 'dead'/, (census) => {
    census.driven.push({ cell: 'c1', host: 'h2', instance: 'dead', attempt: 1 });
  });
});

test('one home - resources in two trees', () => {
  takes('two-homes', /'serve' holds resources in 2 trees/, (census) => {
    allocation(census, 'serve', 1).provider = 'h1-gpu-0';
  });
});

test('one home - in two cells, on two hosts, or on one in an attempt that is over', () => {
  takes('two-homes', /'serve' lives in cell 'c1' and in cell 'c2'/, (census) => {
    census.inCells.push({ ...find(census.inCells, 'serve'), cell: 'c2' });
  });
  takes(
    'two-homes',
    /the driver of 'c1\/h1' has attempt 2 of 'serve', which lives in attempt 2 on 'c1\/h2'/,
    (census) => {
      census.driven.push({ cell: 'c1', host: 'h1', instance: 'serve', attempt: 2 });
    },
  );
  takes(
    'two-homes',
    /the driver of 'c2\/h2' has attempt 2 of 'serve', which lives in attempt 2 on 'c1\/h2'/,
    (census) => {
      census.driven.push({ cell: 'c2', host: 'h2', instance: 'serve', attempt: 2 });
    },
  );
  takes('two-homes', /the compute of 'c1\/h2' has attempt 1 of 'serve'/, (census) => {
    census.computing.push({ cell: 'c1', host: 'h2', instance: 'serve', attempt: 1 });
  });
});

test('running - an active instance that is nowhere', () => {
  takes('not-running', /'train' is active, but the driver of 'c1\/h1' does not have it/, (census) => {
    census.driven = census.driven.filter(({ instance }) => instance !== 'train');
  });
});

test('placing - a group on two providers', () => {
  takes('misplaced', /'serve': group 'gpu0' is on 2 providers/, (census) => {
    allocation(census, 'serve', 1).resources = { CUSTOM_GPU_MILLI: 150 };
    find(census.consumers, 'serve').held[0]?.allocations.push({
      provider: 'h2-gpu-1',
      group: 'gpu0',
      resources: { CUSTOM_GPU_MILLI: 150 },
    });
  });
});

test('placing - isolated groups on one provider', () => {
  takes('misplaced', /'train': two of its groups share a provider/, (census) => {
    allocation(census, 'train', 2).provider = 'h1-gpu-0';
  });
});

test('placing - traits that are missing, of each kind', () => {
  takes('misplaced', /'serve': group 'gpu0' has none of the traits CUSTOM_GPU_T4, CUSTOM_GPU_V100/, (census) => {
    find(census.providers, 'h2-gpu-0').traits = ['CUSTOM_GPU_P100'];
  });
  takes('misplaced', /'serve': its unnamed group lacks the trait CUSTOM_SSD/, (census) => {
    find(census.arrivals, 'serve').spec.required = ['CUSTOM_SSD'];
  });
  takes('misplaced', /'serve': group 'gpu0' has the forbidden trait CUSTOM_GPU_T4/, (census) => {
    const [group] = find(census.arrivals, 'serve').spec.groups ?? [];
    if (group !== undefined) group.forbidden = ['CUSTOM_GPU_T4'];
  });
});

test('placing - other amounts, a group too many, and another host than its own', () => {
  takes('misplaced', /'serve': its unnamed group does not hold what it asked for/, (census) => {
    allocation(census, 'serve', 0).resources = { VCPU: 1 };
  });
  takes('misplaced', /'serve': its unnamed group does not hold what it asked for/, (census) => {
    allocation(census, 'serve', 0).resources = { VCPU: 2, DISK_GB: 1 };
  });
  takes('misplaced', /'serve': its unnamed group does not hold what it asked for/, (census) => {
    find(census.arrivals, 'serve').spec.resources = { VCPU: 2, DISK_GB: 1 };
    allocation(census, 'serve', 0).resources = { VCPU: 2, DISK_GB: 3 };
  });
  takes('misplaced', /'serve': it holds resources for a group 'extra'/, (census) => {
    allocation(census, 'serve', 0).group = 'extra';
  });
  takes('misplaced', /'serve': provider 'h2' is not of its host 'h1'/, (census) => {
    find(census.inCells, 'serve').host = 'h1';
  });
  takes('misplaced', /'serve': nobody asked for it/, (census) => {
    census.arrivals = census.arrivals.filter(({ id }) => id !== 'serve');
  });
});

test('count - of the faults those of one kind', () => {
  const faults = faultsAfter((census) => {
    census.driven = [];
    census.consumers.push({ consumer: 'unheard-of', held: [{ attempt: 3, allocations: [] }] });
  });
  assert.is(countOf(faults, 'not-running'), 2);
  assert.is(countOf(faults, 'two-homes'), 0);
});

test.run();
