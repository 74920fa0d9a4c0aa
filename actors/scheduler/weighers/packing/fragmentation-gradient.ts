// Fragmentation gradient descent: prefers the host, and in it the device, that the claim would make least fragmented,
// or that it would mend most, after Weng et al., "Beware of Fragmentation" (USENIX ATC 2023).

import type { Offer, PartialOffer } from '../../../fitting/offer.ts';
import type { RequestSpec } from '../../../messages/common.ts';
import { freeOf } from '../../../placement/inventory.ts';
import type { Provider } from '../../../placement/providers.ts';
import type { Weigher } from '../weigher.ts';
import type { TypicalRequest } from './fragmentation.ts';
import { hundredths, type PackingScale } from './load.ts';
import {
  bringUpToDate,
  type DeviceStanding,
  fragmentationAfter,
  isOf,
  newStanding,
  type PackingStanding,
  type Served,
  type Taken,
  typicalTable,
} from './standing.ts';

/** What was found for the devices of a host by the last question: devices that are alike have one answer. */
interface Answers {
  readonly processor: number;
  readonly amount: number;
  readonly found: { readonly free: number; readonly serves: Served; readonly score: number }[];
}

interface Known {
  readonly standing: PackingStanding;
  last: Answers | null;
}

/** @param typical The requests by which fragmentation is measured: those that the fleet is to serve. */
export function fragmentationGradient(typical: readonly TypicalRequest[], scale: PackingScale): Weigher {
  const table = typicalTable(typical);
  const perRequest = Math.max(1, table.times);
  /** By the root of its tree: a host that is gone is forgotten. */
  const hosts = new WeakMap<Provider, Known>();

  /** How the host stands before the claim. */
  function knownOf(tree: readonly Provider[]): Known {
    const root = tree[0] as Provider;
    let known = hosts.get(root);
    if (known === undefined || !isOf(known.standing, tree)) {
      known = { standing: newStanding(tree, table, scale), last: null };
      hosts.set(root, known);
    }
    if (bringUpToDate(known.standing, table)) known.last = null;
    return known;
  }

  function scoreOf(standing: PackingStanding, processor: number, taken: readonly Taken[]): number {
    const change = standing.fragmentation - fragmentationAfter(standing, table, processor, taken);
    return hundredths(100 / (1 + Math.exp(-change / (perRequest * scale.wholeDevice))));
  }

  function scoreOfOne(known: Known, processor: number, one: Taken): number {
    const { free, serves } = one.device;
    if (known.last?.processor !== processor || known.last.amount !== one.amount) {
      known.last = { processor, amount: one.amount, found: [] };
    }
    const { found } = known.last;
    for (const answer of found) if (answer.free === free && answer.serves === serves) return answer.score;
    const score = scoreOf(known.standing, processor, [one]);
    found.push({ free, serves, score });
    return score;
  }

  /** The offer by which servers were compared last, and its host as it stands: the same for all servers of one choice. */
  let compared: { readonly offer: PartialOffer; readonly known: Known } | null = null;

  function scoreAmong(offer: PartialOffer): number {
    if (compared?.offer !== offer) compared = { offer, known: knownOf(offer.tree) };
    return scoreOn(compared.known, offer);
  }

  function scoreOn(known: Known, { tree, allocations }: Offer): number {
    const rootId = (tree[0] as Provider).spec.id;
    let processor = 0;
    const taken: Taken[] = [];
    for (const { provider, resources } of allocations) {
      if (provider === rootId) processor += resources[scale.processor] ?? 0;
      const amount = resources[scale.device];
      if (amount !== undefined) taken.push({ device: deviceOf(known.standing, provider), amount });
    }
    const [one] = taken;
    if (taken.length === 1) return scoreOfOne(known, processor, one as Taken);
    return scoreOf(known.standing, processor, taken);
  }

  return {
    name: 'fgd',
    multiplier: 1,
    ignoresStats: true,
    weigh: (candidate) => scoreOn(knownOf(candidate.tree), candidate),
    /**
     * Which device is to serve a share: for one alone each is weighed, and of several each goes where least is left. Whole
     * devices are alike, and taken in the order of the tree.
     */
    prefers(offer, server) {
      const amount = offer.allocations.at(-1)?.resources[scale.device];
      if (amount === undefined || amount === server.stocks.get(scale.device)?.capacity) return 0;
      return isForSeveral(offer.spec, scale) ? -leftOf(offer, server, scale) : scoreAmong(offer);
    },
  };
}

/** Whether a request asks for several devices, or shares of them. */
function isForSeveral({ groups }: RequestSpec, { device }: PackingScale): boolean {
  let devices = 0;
  for (const { resources } of groups) {
    if (resources[device] !== undefined) devices += 1;
    if (devices > 1) return true;
  }
  return false;
}

/** What the offer leaves of a device. */
function leftOf({ allocations }: PartialOffer, { spec, stocks }: Provider, { device }: PackingScale): number {
  const stock = stocks.get(device);
  let left = stock === undefined ? 0 : freeOf(stock);
  for (const { provider, resources } of allocations) if (provider === spec.id) left -= resources[device] ?? 0;
  return left;
}

function deviceOf({ devices }: PackingStanding, id: string): DeviceStanding {
  for (const device of devices) if (device.id === id) return device;
  throw new Error(`'${id}' is no device of the host that is weighed`);
}
