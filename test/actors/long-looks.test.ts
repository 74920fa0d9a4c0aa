// Area: placement, long looks. What callers of the Placement API ask of all providers is looked for and answered in slices,
// and claims are decided in between; what goes meanwhile is not answered with.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ApiMessage, ApiOutcome, PlacementApiMessage } from '../../actors/messages/placement-api.ts';
import { partsOf } from '../../actors/placement/api/answer.ts';
import type { Candidates } from '../../actors/placement/api/candidates/find.ts';
import type { ProviderSummary } from '../../actors/placement/api/reads.ts';
import { atOnce } from '../../actors/snapshot.ts';
import { seededRandom } from '../../runtime/random.ts';
import {
  actor,
  candidateGroup,
  candidatesFor,
  claimOf,
  inventoryOf,
  providerOf,
  put,
  refusalIn,
  shardWith,
} from '../support/placement-desk.ts';
import { sentOf, type Turned } from '../support/turn.ts';

const test = suite('placement, long looks');

const HOSTS = 6_000;
const BETWEEN_MS = 1;
type Shard = ReturnType<typeof shardWith>;

const host = (n: number) => providerOf(`h${n}`, { inventories: { VCPU: inventoryOf({ total: 100 }) } });

function fleet(hosts = HOSTS): Shard {
  const shard = shardWith();
  for (let n = 0; n < hosts; n += 1) {
    actor.apply(shard.state, { type: 'tree', providers: [host(n)], keepsOthers: true });
  }
  shard.tell(put([host(0)]));
  return shard;
}

const candidates = (ask: number, told: Partial<ApiMessage<'candidates'>> = {}) => ({
  type: 'candidates',
  ask,
  ...candidatesFor([candidateGroup()]),
  ...told,
});
const listing = (ask: number, told: object = {}) => ({
  type: 'providers-find',
  ask,
  memberOf: [],
  notMemberOf: [],
  required: [],
  forbidden: [],
  resources: {},
  ...told,
});

/** What comes of questions, turn by turn. */
class Answers {
  readonly parts = new Map<number, string[]>();
  readonly whole = new Map<number, unknown>();
  turns = 0;
  mostSent = 0;

  note(turned: Turned<unknown>): void {
    this.turns += 1;
    const answers = sentOf(turned, 'placement-answer');
    this.mostSent = Math.max(this.mostSent, answers.length);
    for (const { message } of answers) {
      const { ask, part, parts, text } = message;
      const known = this.parts.get(ask) ?? [];
      this.parts.set(ask, known);
      assert.is(part, known.length, 'in order, and no part twice');
      known.push(text);
      if (known.length < parts) continue;
      assert.not(this.whole.has(ask));
      this.whole.set(ask, (JSON.parse(known.join('')) as ApiOutcome & { ok: unknown }).ok);
    }
  }

  ask(shard: Shard, question: object, from = 'gateway/one'): void {
    this.note(shard.tell(question as PlacementApiMessage, from));
  }

  /** Has one slice done. */
  slice(shard: Shard): void {
    for (const turned of shard.pass(BETWEEN_MS)) this.note(turned);
  }

  until(shard: Shard, ...asks: number[]): void {
    for (let slices = 0; asks.some((ask) => !this.whole.has(ask)); slices += 1) {
      assert.ok(slices < 1_000, 'it comes to an end');
      this.slice(shard);
    }
  }
}

const hostsIn = (found: unknown) =>
  (found as Candidates).requests.flatMap(({ allocations }) => Object.keys(allocations));
const idsIn = (found: unknown) => (found as ProviderSummary[]).map(({ id }) => id);
const all = Array.from({ length: HOSTS }, (_, n) => `h${n}`);

test('placement, long looks - all candidates and all providers are found in slices, between which a claim is decided', () => {
  const shard = fleet();
  const { providers } = shard.state;
  let reads = 0;
  const { get, values } = providers;
  Object.assign(providers, {
    get(key: string) {
      reads += 1;
      return get.call(providers, key);
    },
    *values() {
      for (const one of values.call(providers)) {
        reads += 1;
        yield one;
      }
    },
  });
  const questions: [object, number][] = [
    [candidates(1), 10],
    [candidates(2, { groups: [candidateGroup({ resources: { VCPU: 101 } })], limit: 5 }), 3],
    [listing(3), 3],
    [listing(4, { resources: { VCPU: 101 } }), 3],
  ];
  const found: unknown[] = [];
  for (const [question, least] of questions) {
    const answers = new Answers();
    const { ask } = question as { ask: number };
    reads = 0;
    answers.ask(shard, question);
    for (let slices = 0; !answers.whole.has(ask); slices += 1) {
      assert.ok(reads < 5_000, `${reads} looks in one turn`);
      assert.ok(slices < 100);
      const claimed = shard.tell(claimOf(`i${ask}-${slices}`, { host: `h${slices}`, vcpu: 1 }));
      assert.is(refusalIn(claimed), null);
      reads = 0;
      answers.slice(shard);
    }
    assert.ok(answers.turns >= least, `${answers.turns} turns`);
    found.push(answers.whole.get(ask));
  }
  assert.equal(hostsIn(found[0]), all);
  assert.equal(Object.keys((found[0] as Candidates).summaries), all);
  assert.equal(found[1], { requests: [], summaries: {} });
  assert.equal(idsIn(found[2]), all);
  assert.equal(found[3], []);
  assert.equal(shard.state.looks, []);
});

test('placement, long looks - what takes one slice is answered at once, also while another look is under way', () => {
  const shard = fleet();
  const answers = new Answers();
  answers.ask(shard, candidates(1));
  answers.ask(shard, candidates(2, { limit: 10 }));
  assert.equal([...answers.whole.keys()], [2]);
  answers.ask(shard, listing(3, { name: 'h7' }));
  assert.equal(idsIn(answers.whole.get(3)), ['h7']);
  answers.ask(shard, listing(4));
  answers.until(shard, 1, 4);
  assert.equal([...answers.whole.keys()], [2, 3, 4, 1], 'each has its turn');
});

test('placement, long looks - of many who ask at one time the first take turns, and are answered before the others', () => {
  const shard = fleet();
  const answers = new Answers();
  const asks = [1, 2, 3, 4, 5, 6, 7];
  for (const ask of asks) answers.ask(shard, listing(ask));
  answers.until(shard, ...asks);
  assert.equal([...answers.whole.keys()].slice(0, 4).sort(), [1, 2, 3, 4]);
  for (const ask of asks) assert.is(idsIn(answers.whole.get(ask)).length, HOSTS);
  for (let ask = 100; ask < 200; ask += 1) answers.ask(shard, listing(ask));
  assert.is(shard.state.looks.length, 64, 'the others are asked for again');
  answers.ask(shard, candidates(200, { limit: 3 }));
  assert.ok(answers.whole.has(200), 'what is short is answered all the same');
});

test('placement, long looks - what has gone meanwhile is not answered with, and what has come again once', () => {
  const shard = fleet();
  const ask = (question: object) => shard.tell({ ask: 99, ...question } as PlacementApiMessage, 'other');
  const answers = new Answers();
  answers.ask(shard, candidates(1));
  answers.ask(shard, listing(2));
  for (const id of ['h3', 'h5']) ask({ type: 'provider-delete', id });
  shard.tell(put([host(5)]));
  answers.until(shard, 1, 2);
  const left = [...all.filter((id) => id !== 'h3' && id !== 'h5'), 'h5'];
  const found = answers.whole.get(1) as Candidates;
  assert.equal(hostsIn(found), left);
  assert.equal(Object.keys(found.summaries), left);
  assert.equal(idsIn(answers.whole.get(2)), left);
});

test('placement, long looks - for what has gone, ways that were found before are not put together anew in one turn', () => {
  const shard = fleet();
  const answers = new Answers();
  answers.ask(shard, candidates(1, { foreign: [] }));
  shard.tell({ type: 'provider-delete', ask: 9, id: 'h5' });
  const { values } = Object;
  let mostRead = 0;
  try {
    while (!answers.whole.has(1)) {
      let read = 0;
      Object.values = (of: object) => {
        read += 1;
        return values(of);
      };
      answers.slice(shard);
      mostRead = Math.max(mostRead, read);
    }
  } finally {
    Object.values = values;
  }
  assert.equal(hostsIn(answers.whole.get(1)).length, HOSTS - 1);
  assert.ok(mostRead < 1_000, `${mostRead} ways were read in one turn`);
});

test('placement, long looks - nor is what has gone answered with where it gives nothing, nor left out where it serves two', () => {
  const shard = fleet();
  const fpga = providerOf('fpga', { parent: 'h3', traits: ['CUSTOM_FPGA'] });
  shard.tell(put([host(3), fpga]));
  const answers = new Answers();
  answers.ask(shard, candidates(1, { groups: [candidateGroup(), candidateGroup({ suffix: '_1' })] }));
  shard.tell({ type: 'provider-delete', ask: 9, id: 'h5' });
  shard.tell(put([host(5)]));
  answers.until(shard, 1);
  assert.equal(hostsIn(answers.whole.get(1)), [...all.filter((id) => id !== 'h5'), 'h5']);
  const withTrait = candidateGroup({ suffix: '_f', resources: {}, required: [['CUSTOM_FPGA']] });
  answers.ask(shard, candidates(2, { groups: [candidateGroup(), withTrait] }));
  shard.tell({ type: 'provider-delete', ask: 9, id: 'fpga' });
  answers.until(shard, 2);
  assert.equal((answers.whole.get(2) as Candidates).requests, []);
});

test('placement, long looks - nor is what has gone answered with where one tree takes more than a slice', () => {
  const devices = Array.from({ length: 3_000 }, (_, n) => providerOf(`d${n}`, { parent: 'h0' }));
  const shard = shardWith([host(0), ...devices]);
  const answers = new Answers();
  answers.ask(shard, listing(1, { inTree: 'h0' }));
  for (const id of ['d5', 'd2995']) shard.tell({ type: 'provider-delete', ask: 9, id });
  answers.until(shard, 1);
  const left = devices.map(({ id }) => id).filter((id) => id !== 'd5' && id !== 'd2995');
  assert.equal(idsIn(answers.whole.get(1)), ['h0', ...left]);
});

test('placement, long looks - nor is a way found with what has gone while the ways of one tree were gone through', () => {
  const devices = Array.from({ length: 1_000 }, (_, n) =>
    providerOf(`d${n}`, { parent: 'h0', inventories: { PGPU: inventoryOf() } }),
  );
  const shard = shardWith([host(0), ...devices]);
  const answers = new Answers();
  answers.ask(shard, candidates(1, { groups: [candidateGroup({ resources: { PGPU: 1 } })] }));
  for (const id of ['d5', 'd995']) shard.tell({ type: 'provider-delete', ask: 9, id });
  answers.until(shard, 1);
  const left = devices.map(({ id }) => id).filter((id) => id !== 'd5' && id !== 'd995');
  assert.equal(hostsIn(answers.whole.get(1)), left);
});

test('placement, long looks - nor with what was just come to, nor with it as it was, where it has gone and come again', () => {
  const required = [['CUSTOM_RARE']];
  for (const question of [listing(1, { required }), candidates(1, { groups: [candidateGroup({ required })] })]) {
    const shard = fleet(2_100);
    const some = all.slice(1_900, 2_100);
    for (const id of some) shard.tell(put([providerOf(id, { ...host(0), id, name: id, traits: ['CUSTOM_RARE'] })]));
    const answers = new Answers();
    answers.ask(shard, question);
    for (const id of some) {
      shard.tell({ type: 'provider-delete', ask: 9, id });
      shard.tell({ type: 'provider-create', ask: 9, id, name: id, parent: null });
    }
    answers.until(shard, 1);
    const found = answers.whole.get(1);
    assert.equal(question.type === 'candidates' ? hostsIn(found) : idsIn(found), []);
  }
});

test('placement, long looks - how many ways came in each round is told of those that are left', () => {
  const devices = (parent: string) =>
    ['0', '1'].map((n) => providerOf(`${parent}-${n}`, { parent, inventories: { PGPU: inventoryOf() } }));
  const shard = fleet();
  for (const id of ['h1', 'h2']) shard.tell(put([providerOf(id), ...devices(id)]));
  const answers = new Answers();
  const gpus = { groups: [candidateGroup({ resources: { PGPU: 1 } })], foreign: [] };
  answers.ask(shard, candidates(1, gpus));
  shard.tell({ type: 'provider-delete', ask: 9, id: 'h1-0' });
  answers.until(shard, 1);
  const { requests, rounds } = answers.whole.get(1) as Candidates;
  assert.equal(hostsIn({ requests }), ['h2-0', 'h1-1', 'h2-1']);
  assert.equal(rounds, [1, 2, 0]);
});

test('placement, long looks - a host that goes with all its devices between two of its ways gives no more', () => {
  const shard = fleet(2_100);
  const devices = (parent: string) =>
    ['0', '1'].map((n) => providerOf(`${parent}-${n}`, { parent, inventories: { PGPU: inventoryOf() } }));
  for (const id of ['h1', 'h2']) shard.tell(put([providerOf(id), ...devices(id)]));
  const answers = new Answers();
  answers.ask(shard, candidates(1, { groups: [candidateGroup({ resources: { PGPU: 1 } })] }));
  for (const id of ['h1-0', 'h1-1', 'h1']) shard.tell({ type: 'provider-delete', ask: 9, id });
  answers.until(shard, 1);
  assert.equal(hostsIn(answers.whole.get(1)), ['h2-0', 'h2-1']);
});

test('placement, long looks - who asks again while it is looked for him is answered once', () => {
  const shard = fleet();
  const answers = new Answers();
  answers.ask(shard, candidates(1));
  answers.ask(shard, candidates(2, { again: 1 }));
  answers.slice(shard);
  answers.ask(shard, candidates(3, { again: 1 }));
  answers.ask(shard, candidates(3, { again: 1 }), 'gateway/other');
  assert.is(shard.state.looks.length, 2);
  answers.until(shard, 1, 3);
  assert.equal([...answers.whole.keys()], [1, 3]);
  answers.ask(shard, candidates(4, { again: 1 }));
  answers.until(shard, 4);
});

test('placement, long looks - a host that is put below another meanwhile is answered with once, whichever of them was come to', () => {
  for (const groups of [[candidateGroup()], [candidateGroup(), candidateGroup({ suffix: '_1' })]]) {
    const shard = fleet();
    const answers = new Answers();
    answers.ask(shard, candidates(1, { groups }));
    const move = (id: string, parent: string | null) =>
      shard.tell({ type: 'provider-update', ask: 9, id, name: id, parent, reparent: true }, 'other');
    move('h0', `h${HOSTS - 1}`);
    move(`h${HOSTS - 2}`, 'h1');
    answers.slice(shard);
    move(`h${HOSTS - 3}`, 'h0');
    move(`h${HOSTS - 3}`, null);
    answers.until(shard, 1);
    const { requests, summaries } = answers.whole.get(1) as Candidates;
    const alone = requests.filter(({ allocations }) => Object.keys(allocations).length === 1);
    assert.equal(hostsIn({ requests: alone }).sort(), [...all].sort());
    assert.is(summaries.h0?.root, `h${HOSTS - 1}`);
    assert.equal(shard.state.looks, []);
  }
});

test('placement, long looks - what is shared is shared as it is when a tree is come to, and nobody serves one way as two', () => {
  const hosts = all.slice(0, 2_500);
  const shard = fleet(hosts.length);
  const shares = { traits: ['MISC_SHARES_VIA_AGGREGATE'], aggregates: ['all'] };
  const pool = providerOf('pool', { inventories: { DISK_GB: inventoryOf() }, ...shares });
  const late = providerOf('late', { inventories: { VCPU: inventoryOf() }, ...shares });
  for (const tree of [pool, late]) shard.tell(put([tree]));
  const answers = new Answers();
  const twice = [candidateGroup({ suffix: '_1' }), candidateGroup({ suffix: '_2' })];
  answers.ask(shard, candidates(1, { groups: twice }));
  const inventories = { VCPU: inventoryOf({ total: 1 }) };
  const change = { how: 'all', inventories, removed: [], allReserved: true };
  shard.tell({ type: 'inventories-put', ask: 9, id: 'late', ...change } as PlacementApiMessage, 'other');
  answers.until(shard, 1);
  assert.equal(hostsIn(answers.whole.get(1)), hosts, 'it has one, and two are asked for');

  for (const id of hosts) shard.tell(put([{ ...host(0), id, name: id, aggregates: ['all'] }]));
  answers.ask(shard, candidates(2, { groups: [candidateGroup({ resources: { VCPU: 1, DISK_GB: 1 } })] }));
  shard.tell({ type: 'traits-put', ask: 9, id: 'pool', traits: [] }, 'other');
  answers.until(shard, 2);
  const served = (answers.whole.get(2) as Candidates).requests.length;
  assert.ok(served > 0 && served < hosts.length / 2, `${served} hosts were come to before it was shared no more`);
});

test('placement, long looks - of a tree that is another meanwhile the other ways are found as well', () => {
  const HALF = HOSTS / 4;
  const shard = shardWith();
  for (let n = 0; n < HALF; n += 1) {
    const root = providerOf(`h${n}`, { traits: ['CUSTOM_NODE'] });
    const devices = ['0', '1'].map((d) =>
      providerOf(`h${n}-${d}`, { parent: `h${n}`, inventories: { PGPU: inventoryOf({ total: 1 }) } }),
    );
    actor.apply(shard.state, { type: 'tree', providers: [root, ...devices], keepsOthers: true });
  }
  shard.tell({ type: 'trait-put', ask: 9, name: 'CUSTOM_NODE' });
  const groups = [
    candidateGroup({ suffix: '_n', resources: {}, required: [['CUSTOM_NODE']] }),
    candidateGroup({ suffix: '_d', resources: { PGPU: 1 } }),
  ];
  const answers = new Answers();
  answers.ask(shard, candidates(1, { groups, groupPolicy: 'none', sameSubtree: [['_n', '_d']] }));
  for (let n = 0; n < 10; n += 1) {
    shard.tell({ type: 'aggregates-put', ask: 9, id: `h${n}`, aggregates: ['some'], counted: true }, 'other');
  }
  answers.until(shard, 1);
  const devices = Array.from({ length: HALF }, (_, n) => [`h${n}-0`, `h${n}-1`]).flat();
  assert.equal(hostsIn(answers.whole.get(1)).sort(), devices.sort());
});

test('placement, long looks - of a tree that is another in each slice no ways are gone through again', () => {
  const COUNT = 20;
  const devices = Array.from({ length: COUNT }, (_, n) =>
    providerOf(`d${n}`, { parent: 'h0', inventories: { PGPU: inventoryOf({ total: 10 }) } }),
  );
  const shard = shardWith([host(0), ...devices]);
  const groups = ['_1', '_2', '_3'].map((suffix) => candidateGroup({ suffix, resources: { PGPU: 1 } }));
  const answers = new Answers();
  const { values } = Object;
  let mostRead = 0;
  let slices = 0;
  answers.ask(shard, candidates(1, { groups, groupPolicy: 'none' }));
  try {
    for (; !answers.whole.has(1); slices += 1) {
      const id = `d${slices % COUNT}`;
      shard.tell({ type: 'aggregates-put', ask: 9, id, aggregates: [`a${slices}`], counted: true }, 'other');
      // What comes and goes elsewhere has no part in it.
      shard.tell({ type: 'provider-create', ask: 9, id: 'other', name: 'other', parent: null }, 'other');
      shard.tell({ type: 'provider-delete', ask: 9, id: 'other' }, 'other');
      let read = 0;
      Object.values = (of: object) => {
        read += 1;
        return values(of);
      };
      answers.slice(shard);
      Object.values = values;
      mostRead = Math.max(mostRead, read);
    }
  } finally {
    Object.values = values;
  }
  const { requests } = answers.whole.get(1) as Candidates;
  assert.is(new Set(requests.map(({ mappings }) => JSON.stringify(mappings))).size, COUNT ** 3);
  assert.is(requests.length, COUNT ** 3);
  assert.ok(mostRead < 1_000, `${mostRead} ways were gone through in one turn`);
});

test('placement, long looks - of a tree that loses and gets what serves in each slice all ways of what stays are found', () => {
  const COUNT = 16;
  const gpu = (n: number) => providerOf(`d${n}`, { parent: 'h0', inventories: { PGPU: inventoryOf({ total: 10 }) } });
  const shard = shardWith([host(0), ...Array.from({ length: COUNT }, (_, n) => gpu(n))]);
  const random = seededRandom('loses and gets');
  const groups = ['_1', '_2', '_3'].map((suffix) => candidateGroup({ suffix, resources: { PGPU: 1 } }));
  const answers = new Answers();
  answers.ask(shard, candidates(1, { groups, groupPolicy: 'none' }));
  for (let slices = 0; !answers.whole.has(1); slices += 1) {
    assert.ok(slices < 1_000);
    // Those of even numbers stay as they are.
    const id = `d${2 * random.integer(0, COUNT / 2 - 1) + 1}`;
    const inventories = random.chance(0.5) ? {} : { PGPU: inventoryOf({ total: random.integer(1, 10) }) };
    const change = { type: 'inventories-put', ask: 9, id, how: 'all', inventories, removed: [], allReserved: true };
    shard.tell(change as PlacementApiMessage, 'other');
    answers.slice(shard);
  }
  const { requests } = answers.whole.get(1) as Candidates;
  const found = requests.map(({ mappings }) => Object.values(mappings).join());
  assert.is(new Set(found).size, found.length);
  const even = Array.from({ length: COUNT / 2 }, (_, n) => `d${2 * n}`);
  for (const one of even) {
    for (const other of even) for (const third of even) assert.ok(found.includes([one, other, third].join()));
  }
});

test('placement, long looks - whatever changes meanwhile, all that stays is found, with what is told of it', () => {
  for (let seed = 1; seed <= 8; seed += 1) {
    const random = seededRandom(seed);
    const one = <Item>(...items: Item[]) => items[random.integer(0, items.length - 1)] as Item;
    const shard = fleet(4_000);
    const { providers, looks } = shard.state;
    const changed = new Set<string>();
    const some = () => `h${random.integer(0, 4_200)}`;
    const ways = candidates(1, {
      groups: one([candidateGroup()], [candidateGroup(), candidateGroup({ suffix: '_1' })]),
    });
    const answers = new Answers();
    answers.ask(shard, seed % 2 === 0 ? ways : listing(1));
    for (let slices = 0; slices < 1_000 && !answers.whole.has(1); slices += 1) {
      for (let n = 0; n < 20 && looks.some(({ gone }) => gone !== null); n += 1) {
        const id = some();
        changed.add(id);
        const change = one<object>(
          { type: 'provider-delete', id },
          { type: 'provider-update', id, name: id, parent: one(null, some()), reparent: true },
          put([providerOf(id, { inventories: { VCPU: inventoryOf() } })]),
          claimOf(`i${n}`, { host: id, vcpu: 1 }),
          { type: 'traits-put', id, traits: one([], ['MISC_SHARES_VIA_AGGREGATE']) },
        );
        shard.tell({ ask: 9, ...change } as PlacementApiMessage, 'other');
      }
      answers.slice(shard);
    }
    const found = answers.whole.get(1) as Candidates & ProviderSummary[];
    const ids = seed % 2 === 0 ? hostsIn(found) : idsIn(found);
    if (seed % 2 === 0) for (const id of ids) assert.ok(found.summaries[id] !== undefined, `${id} is told of`);
    else assert.is(new Set(ids).size, ids.length);
    for (const id of ids) assert.ok(providers.has(id), `${id} is there`);
    const known = new Set(ids);
    for (const id of providers.keys()) assert.ok(known.has(id) || changed.has(id), `${id} is found`);
  }
});

test('placement, long looks - an answer in parts reads as one, whatever it holds', () => {
  const long = Array.from({ length: 2_500 }, (_, n) => ({ n, name: '\u{1F600}'.repeat(n % 70) }));
  const entries = long.map((one, n) => [n === 7 ? '__proto__' : `k${n}`, one] as const);
  for (const ok of [
    null,
    [],
    {},
    { requests: [], summaries: {} },
    { requests: long, summaries: Object.fromEntries(entries), rounds: [2, 1], none: undefined },
    long,
  ]) {
    const parts = atOnce(partsOf({ ok }));
    assert.is(parts.join(''), JSON.stringify({ ok }));
    for (const part of parts) assert.is(Buffer.from(part).toString(), part, 'no half of a character');
  }
  for (const count of [0, 1, 1_000, 2_000, 2_500]) {
    const some = entries.slice(0, count);
    const text = atOnce(partsOf({ ok: { summaries: new Map(some) } })).join('');
    assert.is(text, JSON.stringify({ ok: { summaries: Object.fromEntries(some) } }));
  }
  assert.is(
    atOnce(partsOf({ refused: { code: 'no-class', message: '"' } })).join(''),
    '{"refused":{"code":"no-class","message":"\\""}}',
  );
});

test('placement, long looks - an answer is put into words half a megabyte or some more at a time', () => {
  const many = Array.from({ length: 20_000 }, (_, n) => ({ n, text: 'x'.repeat(200) }));
  for (const ok of [many, { summaries: new Map(many.map((one) => [`${one.n}`, one])) }]) {
    const steps = partsOf({ ok });
    let times = 1;
    for (let step = steps.next(); step.done !== true; step = steps.next()) times += 1;
    assert.ok(times >= 6 && times <= 9, `${times} times for four megabytes`);
  }
});

test.run();
