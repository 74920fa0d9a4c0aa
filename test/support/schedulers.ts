// Several schedulers at one placement shard, each with a picture of its own: what they say to each other arrives in
// whatever order the test wants, and no claim waits for another.

import type { RequestSpec } from '../../actors/messages/common.ts';
import type { Claim, PlacementMessage } from '../../actors/messages/placement.ts';
import type { HostState, SchedulerMessage, Select } from '../../actors/messages/scheduler.ts';
import { placement } from '../../actors/placement/placement.ts';
import { OUTWAITS_MS } from '../../actors/scheduler/rivals.ts';
import { type SchedulerOptions, scheduler } from '../../actors/scheduler/scheduler.ts';
import type { Random } from '../../runtime/random.ts';
import { type HostWords, inventory, toldOf, treeOfHost } from './facts.ts';
import { claimOf, release } from './placement-desk.ts';
import { bench, type Sent } from './turn.ts';
import { FOREVER } from './waiting.ts';

const WARM_UP_MS = 2_500;
const PATIENCE = { firstMs: 1_000, mostMs: 4_000 };

interface Letter extends Sent {
  readonly from: string;
}

export type SchedulerWords = Partial<SchedulerOptions> & { readonly name: string };

/** The names of so many instances of a request. */
export const named = (count: number, request = 'r'): string[] =>
  Array.from({ length: count }, (_, n) => `${request}-${n}`);

export function selectFor(
  request: string,
  told: Partial<Select> & { vcpu?: number; tree?: RequestSpec['tree'] } = {},
): Select {
  const { vcpu = 1, tree, ...more } = told;
  const spec: RequestSpec = { groups: [{ name: '', resources: { VCPU: vcpu } }], groupPolicy: 'none' };
  return {
    type: 'select',
    request,
    round: 1,
    instances: [request],
    spec: tree === undefined ? spec : { ...spec, tree },
    alternates: 2,
    expiresAt: 100_000_000,
    ...more,
  };
}

/** The answers to a request: one or more `selected`, `no-valid-host`, or `parked`. */
export type Answer = Extract<Sent['message'], { type: 'selected' | 'no-valid-host' | 'parked' }>;

export function schedulersOf(hosts: readonly HostWords[], words: readonly SchedulerWords[] = [{ name: 's' }]) {
  const shard = bench(placement({ shard: 0 }));
  const desks = new Map(
    words.map((one) => [
      `scheduler/${one.name}`,
      bench(scheduler({ warmUpMs: WARM_UP_MS, patience: PATIENCE, ...one })),
    ]),
  );
  const answers: Answer[] = [];
  /** Requests of which a scheduler has said that it is at them for some time. */
  const selecting = new Set<string>();
  let letters: Letter[] = [];

  function post(from: string, sent: readonly Sent[]): void {
    for (const { to, message } of sent) {
      if (to === 'placement/0/feed') for (const name of desks.keys()) letters.push({ from, to: name, message });
      else if (message.type === 'taking') {
        const { request, round, taker } = message;
        letters.push({ from: to, to: from, message: { type: 'take', request, round, taker } });
      } else if (to.startsWith('conductor')) {
        if (message.type === 'selecting') selecting.add(message.request);
        else if (message.type !== 'awaiting') answers.push(message as Answer);
      } else letters.push({ from, to, message });
    }
  }

  /** A scheduler hears something: by default what a conductor says to the first one, if that is `s`. */
  function hear(message: SchedulerMessage, name = 'scheduler/s', from = 'conductor/0'): void {
    post(name, (desks.get(name) as NonNullable<ReturnType<typeof desks.get>>).tell(message, from).sent);
  }

  function ask(message: PlacementMessage, from = 'test'): Sent[] {
    const { sent } = shard.tell(message, from);
    post(
      'placement/0',
      sent.filter(({ to }) => to !== from),
    );
    return sent.filter(({ to }) => to === from) as Sent[];
  }

  /** An instance of others takes something of a host, named as in its cell. */
  function take(consumer: string, host: string, vcpu = 1, told: Partial<Claim> = {}): Sent[] {
    return ask(claimOf(consumer, { host: `p-${host}`, vcpu, expiresAt: FOREVER, ...told }));
  }

  const known = new Map<string, HostState>();
  const sequences = new Map<string, number>();

  /** A scheduler asks each cell for all its hosts. */
  function answerCell({ to, from }: Letter, asked: number): void {
    const cell = to.slice('cell/'.length);
    const told = [...known].filter(([name]) => name.startsWith(`${cell}/`)).map(([, state]) => state);
    const sequence = sequences.get(cell) ?? 0;
    hear({ type: 'hosts', ask: asked, cell, epoch: 1, sequence, hosts: told, next: null }, from, to);
  }

  /** Delivers what is under way, what it brings with it too: in order of sending, or in any order. */
  function deliver(random?: Random, deliverable: (letter: Letter) => boolean = () => true): void {
    for (;;) {
      const ready = letters.filter(deliverable);
      const next = random === undefined ? ready[0] : ready.length === 0 ? undefined : random.pick(ready);
      if (next === undefined) return;
      letters = letters.filter((one) => one !== next);
      if (next.to === 'placement/0') post('placement/0', shard.tell(next.message as PlacementMessage, next.from).sent);
      else if (next.message.type === 'list-hosts') answerCell(next, next.message.ask);
      else if (desks.has(next.to)) hear(next.message as SchedulerMessage, next.to, next.from);
    }
  }

  function tellHost(one: HostWords): void {
    const { cell = 'c1', host = 'h1' } = one;
    const told = toldOf(one);
    const sequence = (sequences.get(cell) ?? 0) + 1;
    sequences.set(cell, sequence);
    known.set(`${cell}/${host}`, told);
    for (const name of desks.keys())
      hear({ type: 'hosts-changed', cell, epoch: 1, sequence, hosts: [told] }, name, `cell/${cell}`);
  }

  function put(one: HostWords): void {
    const { instances = 0 } = one;
    const tree = treeOfHost(one);
    const inventories = instances === 0 ? tree.inventories : { ...tree.inventories, CUSTOM_SLOT: inventory(instances) };
    ask({ type: 'put-tree', ask: 1, providers: [{ ...tree, inventories }] });
    for (let each = 1; each <= instances; each += 1) settle(`${tree.name}-has-${each}`, tree.id);
  }

  /** An instance that takes nothing which others ask for. */
  function settle(consumer: string, provider: string): void {
    const resources = { CUSTOM_SLOT: 1 };
    const spec: RequestSpec = { groups: [{ name: '', resources }], groupPolicy: 'none' };
    const allocations = [{ provider, group: '', resources }];
    ask({ type: 'claim', consumer, attempt: 1, spec, allocations, keep: [], expiresAt: 100_000_000 });
  }

  for (const [name, desk] of desks) post(name, desk.first.sent);
  for (const one of hosts) {
    put(one);
    tellHost(one);
  }
  deliver();
  for (const desk of desks.values()) desk.pass(WARM_UP_MS);
  deliver();
  letters = [];

  /** Lets time pass for all schedulers; what they say then is under way. */
  function pass(ms: number): void {
    for (const [name, desk] of desks) for (const { sent } of desk.pass(ms)) post(name, sent);
  }

  /** Lets time pass in steps, and after each of them delivers everything, or what is deliverable. */
  function run(ms: number, stepMs = ms, deliverable?: (letter: Letter) => boolean): void {
    for (let passed = 0; passed < ms; passed += stepMs) {
      pass(stepMs);
      deliver(undefined, deliverable);
    }
  }

  /** Delivers everything, that too which is said of those that look once more when rivals are through. */
  function deliverAll(random?: Random): void {
    deliver(random);
    pass(OUTWAITS_MS.empty);
    deliver(random);
  }

  return {
    shard,
    desks: [...desks.values()],
    answers,
    selecting,
    ask,
    take,
    /** An instance is deleted. */
    release: (consumer: string) => ask(release(consumer, { deleted: true })),
    hear,
    deliver,
    put,
    tellHost,
    underWay: () => letters,
    deliverAll,
    pass,
    run,
    drop: (lost: (letter: Letter) => boolean) => {
      letters = letters.filter((letter) => !lost(letter));
    },
    /** What the first scheduler answers when everything that is said arrives. */
    choose(asked: Select): Answer | undefined {
      const before = answers.length;
      hear(asked, [...desks.keys()][0] as string);
      deliver();
      if (answers.length === before) deliverAll();
      return answers[before];
    },
  };
}

/** The host that was chosen, or why there is none. */
export function chosenIn(answer: Answer | undefined): string {
  if (answer === undefined) return 'no answer';
  return answer.type === 'selected' ? (answer.selections[0]?.selection.host ?? 'nothing') : answer.reason;
}
