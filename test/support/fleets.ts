// Fleets and requests of all kinds, each decided by a seed: hosts in and out of service, with devices, traits and
// aggregates, partly used; requests that some of them fit, and that none does.

import type { RequestSpec, ResourceGroup } from '../../actors/messages/common.ts';
import type { Inventory } from '../../actors/messages/placement.ts';
import type { HostState } from '../../actors/messages/scheduler.ts';
import { emptyView, learnProvider, learnUsage, type View } from '../../actors/scheduler/view/view.ts';
import { learnHost } from '../../actors/scheduler/view/view-hosts.ts';
import { seededRandom } from '../../runtime/random.ts';

const TRAITS = ['HW_CPU_X86_AVX2', 'CUSTOM_FAST', 'CUSTOM_OLD', 'CUSTOM_GPU_A'];
const AGGREGATES = ['rack-1', 'rack-2'];
const STATES: HostState['state'][] = ['up', 'up', 'up', 'up', 'up', 'disabled', 'set-aside', 'down', 'fenced'];

export interface RandomFleet {
  readonly view: View;
  /** Changes one host: its use, its state or its inventory. */
  change(): void;
  spec(): RequestSpec;
}

const inventory = (total: number, more: Partial<Inventory> = {}): Inventory => ({
  total,
  reserved: 0,
  min_unit: 1,
  max_unit: total,
  step_size: 1,
  allocation_ratio: 1,
  ...more,
});

export function randomFleet(seed: string, hosts: number): RandomFleet {
  const chance = seededRandom(seed);
  const random = () => chance.next();
  const view = emptyView();
  const below = (most: number) => Math.floor(random() * most);
  const some = <T>(items: readonly T[], probability: number) => items.filter(() => random() < probability);
  const one = <T>(items: readonly T[]) => items[below(items.length)] as T;
  let generation = 0;

  function tree(n: number): void {
    generation += 1;
    const id = `p${n}`;
    const cpus = 4 + below(12);
    const inventories = {
      VCPU: inventory(cpus, { step_size: random() < 0.2 ? 2 : 1, max_unit: random() < 0.2 ? 6 : cpus }),
      MEMORY_MB: inventory(8_192, { min_unit: random() < 0.2 ? 1_024 : 1 }),
    };
    const told = { traits: some(TRAITS, 0.5), aggregates: some(AGGREGATES, 0.5), generation, root: id };
    const used = { VCPU: below(cpus + 1), MEMORY_MB: 512 * below(17) };
    learnProvider(view, { ...told, id, name: `h${n}`, parent: null, inventories, used });
    for (let gpu = 0; gpu < n % 3; gpu += 1) {
      const device = { id: `${id}-g${gpu}`, name: `h${n}_g${gpu}`, parent: id, aggregates: [] };
      const inventoriesOfDevice = { VGPU: inventory(4) };
      learnProvider(view, {
        ...told,
        ...device,
        traits: some(TRAITS, 0.5),
        inventories: inventoriesOfDevice,
        used: { VGPU: below(5) },
      });
    }
  }

  function state(n: number): void {
    learnHost(view, `c${n % 3}`, { host: `h${n}`, provider: `p${n}`, state: one(STATES) });
  }

  for (let n = 0; n < hosts; n += 1) {
    // Of some, only the cell or only placement has told.
    if (random() > 0.05) tree(n);
    if (random() > 0.05) state(n);
  }

  function conditions(): Omit<ResourceGroup, 'name' | 'resources'> {
    return {
      ...(random() < 0.3 ? { required: some(TRAITS, 0.4) } : {}),
      ...(random() < 0.2 ? { forbidden: some(TRAITS, 0.3) } : {}),
      ...(random() < 0.35 ? { anyOf: [[one(TRAITS), one(TRAITS)]] } : {}),
      ...(random() < 0.2 ? { memberOf: [[one(AGGREGATES)]] } : {}),
    };
  }

  return {
    view,
    change() {
      const n = below(hosts);
      const what = random();
      if (what < 0.2) return state(n);
      if (what < 0.3) return tree(n);
      generation += 1;
      const used = { VCPU: below(16), MEMORY_MB: 512 * below(17) };
      if (view.providers.has(`p${n}`)) learnUsage(view, { id: `p${n}`, generation, used });
    },
    spec() {
      const groups: ResourceGroup[] = [];
      if (random() < 0.9) {
        const resources = { VCPU: 1 + below(20), ...(random() < 0.6 ? { MEMORY_MB: 512 * (1 + below(20)) } : {}) };
        groups.push({ name: '', resources, ...conditions() });
      }
      for (let gpu = 0; groups.length === 0 || gpu < (random() < 0.5 ? 2 : 0); gpu += 1) {
        groups.push({ name: `g${gpu}`, resources: { VGPU: 1 + below(4) }, ...conditions() });
      }
      return { groups, groupPolicy: random() < 0.5 ? 'isolate' : 'none' };
    },
  };
}
