// One run: a deployment of production actors on a network, journals, hosts and a clock that one seed decides, to the
// byte. Every step is looked at; then everything is healed, and all that was accepted must come to its end.

import type { Address } from '../../actors/actor.ts';
import type { CellRecord } from '../../actors/cell/apply.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import type { DriverMessage } from '../../actors/messages/compute.ts';
import { computeAddress, driverAddress, SCHEDULERS } from '../../actors/routing.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Journal } from '../../runtime/journal/journal.ts';
import type { Outbox } from '../../runtime/outbox.ts';
import { virtualClock } from '../../runtime/virtual-clock.ts';
import { stored } from '../support/turn.ts';
import { computeOf, type OwnerActor, ownersOf, type Paces, schedulerOf, USUAL_PACES } from './actors.ts';
import { CALLERS, callersOf } from './callers.ts';
import { chanceOf } from './chance.ts';
import { disagreements, isActiveOn, stillBusy, sumFaults, unfinished } from './ending.ts';
import { type SimulatedHost, simulatedHost } from './host.ts';
import { claimFaults, faultsOfInstance, missingFaultsOf } from './invariants.ts';
import { simulatedJournals } from './journals.ts';
import { type Life, type Seat, seatOf } from './lives.ts';
import { type Letter, networkOf } from './network.ts';
import { type Incident, type Plan, planOf } from './plan.ts';
import { type Truth, truthOf } from './truth.ts';
import { kindOf, messageFault, watched } from './watching.ts';

/** A safeguard taken away: what stands between the actors and the world, altered from outside. */
export interface Alteration {
  readonly actor?: (address: Address, actor: OwnerActor) => OwnerActor;
  readonly journal?: (owner: Address, journal: Journal<never>) => Journal<never>;
  /** Whether entries of an owner that another one has taken over from are refused; default true. */
  readonly fenced?: boolean;
  readonly paces?: Partial<Paces>;
}

export interface RunOptions {
  readonly seed: string;
  /** Operations and incidents that are left out, and faults that do not happen. */
  readonly spared?: ReadonlySet<string>;
  /** Whether the story is told. */
  readonly story?: boolean;
  readonly alteration?: Alteration;
  /** How many placement shards there are; default: as the seed has it. */
  readonly placementShards?: number;
  /** Changes the plan that the seed has drawn. */
  readonly planned?: (plan: Plan) => Plan;
  /** What is done once all that was planned has come to its end, while the actors go on. */
  readonly afterwards?: (running: Running) => Promise<void>;
}

/** A run that goes on. */
export interface Running {
  readonly truth: Truth;
  seat(address: Address): Seat;
  /**
   * Sends a message, as a caller does, with a number of its own to `ask` by; comes back with its answer, or after 5 s.
   */
  ask(
    to: Address,
    message: { readonly type: string; readonly [field: string]: unknown },
  ): Promise<AnyMessage | undefined>;
  /** Goes on until something is so, or for so long, ms; answers whether it is. */
  until(isSo: () => boolean, forMs: number): Promise<boolean>;
  goOn(forMs: number): Promise<void>;
}

export interface RunResult {
  readonly seed: string;
  /** Tasks and timers that ran. */
  readonly steps: number;
  /** How long it took from healing to the end, ms of virtual time. */
  readonly endedAfterMs: number;
  /** What does not hold; nothing when all is well. */
  readonly faults: readonly string[];
  /** How often each thing happened: `fault drop`, `message cell start`, `state build active` ... */
  readonly tally: ReadonlyMap<string, number>;
  /** The faults that there were, for a shorter run without some of them. */
  readonly happened: readonly string[];
  readonly plan: Plan;
  readonly story: readonly string[];
}

/**
 * How long after healing everything may last, ms of virtual time: a selection asked for by a clock that is ahead, at a
 * scheduler whose clock is behind, lasts for as long as both are apart and its own time.
 */
const END_WITHIN_MS = 100_000;
const LOOK_EVERY_MS = 500;
/** How many of those who wait for somebody hear that he has come up. */
const HEARD_OF = 0.8;
/** A run that takes more steps goes round in circles. */
const MAX_STEPS = 60_000;
const STARTED_AT = 1_700_000_000_000;
/** Callers who are planned number their questions from 1. */
const ASKED_AFTERWARDS = 1_000_000;

/** A stored state as text: rows stand in the order in which they were taken, which means nothing, and may come twice. */
function inOrder(state: unknown): string {
  const tables = Object.entries(state as object).map(([name, value]) => [
    name,
    Array.isArray(value) ? [...new Set(value.map((row) => JSON.stringify(row)))].sort() : value,
  ]);
  return JSON.stringify(tables.sort());
}

export async function simulate(options: RunOptions): Promise<RunResult> {
  const { seed, spared = new Set<string>(), alteration = {} } = options;
  const { placementShards } = options;
  const drawn = planOf(seed, { without: spared, ...(placementShards === undefined ? {} : { placementShards }) });
  const plan = options.planned?.(drawn) ?? drawn;
  const clock = virtualClock({ startMs: STARTED_AT });
  const chance = chanceOf(seed, spared);
  const { weather } = plan;
  const counts = new Map<string, number>();
  const story: string[] = [];
  const faults: string[] = [];
  const starting: Promise<void>[] = [];
  let steps = 0;

  const tally = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1);
  const tell = options.story === true ? (line: () => string) => void story.push(`${stamp()} ${line()}`) : () => {};
  const stamp = () => `${((clock.now() - STARTED_AT) / 1_000).toFixed(3).padStart(7)} #${steps}`;
  const onFault = (fault: string) => {
    if (faults.includes(fault)) return;
    faults.push(fault);
    tell(() => `!! ${fault}`);
  };

  // --- what is really so

  const altered = (address: Address, actor: OwnerActor) => alteration.actor?.(address, actor) ?? actor;
  const paced = ownersOf(plan, { ...USUAL_PACES, ...alteration.paces });
  const owners = new Map([...paced].map(([address, actor]) => [address, altered(address, actor)]));
  const hosts = new Map<string, SimulatedHost>();
  const truth = truthOf(owners, { tally, onFault, onClaim: (claim) => claimFaults(truth, claim).forEach(onFault) });
  for (const one of plan.hosts) {
    const onChange = (instance: string) => void truth.touched.add(instance);
    hosts.set(one.host, simulatedHost({ plan: one, clock, chance, weather, onChange }));
  }
  const looked = { truth, hosts };

  function look(): void {
    for (const instance of truth.touched) faultsOfInstance(looked, instance).forEach(onFault);
    truth.touched.clear();
  }

  const isAsRecorded = (owner: string, state: unknown) =>
    inOrder(stored(owners.get(owner) as OwnerActor, state)) === inOrder(truth.state(owner));
  /** What each snapshot that was begun is to have in it. */
  const expected = new Map<string, string>();

  const journals = simulatedJournals({
    clock,
    chance,
    weather,
    snapshotEvery: plan.snapshotEvery,
    fenced: alteration.fenced ?? true,
    onStored(owner, entry) {
      tell(() => `   ${owner} has recorded ${JSON.stringify(entry.records).slice(0, 400)}`);
      truth.follow(owner, entry);
      const [kind, cell = ''] = owner.split('/');
      if (kind === 'cell') missingFaultsOf(looked, cell, entry.records as readonly CellRecord[]).forEach(onFault);
    },
    onOpened: truth.opened,
    onSnapshotBegun: (owner) => void expected.set(owner, inOrder(truth.state(owner))),
    onSnapshot: (owner, state, parts) => {
      tally(`snapshots in ${parts === 1 ? 'one part' : 'several parts'}`);
      if (inOrder(state) === expected.get(owner)) return;
      onFault(`replay: the snapshot of '${owner}' is not what its records lead to`);
    },
    onSnapshotLost: () => tally('snapshots not ended'),
    onFenced(owner) {
      tally('fault fenced');
      tell(() => `   a stale ${owner} is refused by its journal`);
    },
  });

  // --- who takes part

  const seats = new Map<Address, Seat>();
  const callers = callersOf({
    plan,
    clock,
    hosts,
    power: {
      off(name) {
        const host = hosts.get(name) as SimulatedHost;
        tell(() => `${name} is LOST`);
        seats.get(computeAddress(host.plan.cell, name))?.end();
        host.lose();
      },
      on(name) {
        tell(() => `another machine is ${name}`);
        seats.get(computeAddress((hosts.get(name) as SimulatedHost).plan.cell, name))?.begin();
      },
      vanish(name, restarts) {
        const host = hosts.get(name) as SimulatedHost;
        const { cell } = host.plan;
        host.vanish((instance, attempt) => {
          const goes = isActiveOn(looked, host, instance, attempt) && (restarts || chance.of(`${instance} goes`) < 0.5);
          if (goes) tell(() => `${instance}/${attempt} is GONE from ${name}`);
          if (goes) tally(`fault ${restarts ? 'gone-at-restart' : 'gone'}`);
          return goes;
        });
        if (restarts) seats.get(computeAddress(cell, name))?.crash(300);
      },
    },
    send: (to, message) => network.send(CALLERS, to, message),
    tell,
    onRead: (said) => truth.changes.faultsOf(said).forEach(onFault),
  });
  const schedulers: Seat[] = [];
  /** What is answered to those who ask afterwards. */
  const answers = new Map<number, AnyMessage>();

  function deliver(letter: Letter): void {
    if (letter.to === CALLERS) {
      const { ask } = letter.message as { ask?: number };
      if (ask !== undefined && ask >= ASKED_AFTERWARDS) answers.set(ask, letter.message as AnyMessage);
      return callers.take(letter.message);
    }
    const seat =
      letter.to === SCHEDULERS
        ? schedulers[Math.floor(chance.of(`${letter.key} whom`) * schedulers.length)]
        : seats.get(letter.to);
    seat?.deliver(letter);
  }

  const network = networkOf({
    clock,
    chance,
    weather,
    encoded: plan.encoded,
    deliver,
    tell,
    onSent(from, to, message) {
      const fault = plan.encoded ? messageFault(to, message, plan.cells) : null;
      if (fault !== null) onFault(fault);
      if (message.type === 'select' && kindOf(from) !== 'conductor') onFault(`alternates: ${from} asks the scheduler`);
      const selecting = SELECTING[message.type];
      if (selecting !== undefined && (kindOf(from) === 'scheduler' || message.type === 'select')) {
        tally(`state selection ${selecting}`);
      }
    },
  });

  function outboxOf(host: SimulatedHost | undefined, life: () => Life): Outbox {
    return {
      send(from, to, message) {
        if (host !== undefined && to.startsWith('driver/')) return ask(host, message as DriverMessage, life());
        if (!to.endsWith('/feed')) return network.send(from, to, message);
        // A feed goes to every scheduler, to each over a way of its own.
        for (const { address } of schedulers) network.send(from, address, message);
      },
      publish: (_from, { cause }) => tally(`event ${cause}`),
      setEpoch() {},
      local() {},
    };
  }

  function ask(host: SimulatedHost, message: DriverMessage, life: Life): void {
    const { cell, host: name } = host.plan;
    tell(
      () => `   ${name} is to ${message.type} ${'instance' in message ? `${message.instance}/${message.attempt}` : ''}`,
    );
    host.take(message, (answer) => {
      tell(() => `   ${name} says ${JSON.stringify(answer).slice(0, 120)}`);
      life.clock.soon(() => life.host.deliverAnswer(answer, driverAddress(cell, name)));
    });
  }

  function take(address: Address, actorOf: (number: number) => OwnerActor, host?: SimulatedHost): Seat {
    const isOwner = owners.has(address);
    const journalOf = (lifeClock: Clock) => {
      const journal = journals.journal(address, lifeClock);
      return alteration.journal?.(address, journal) ?? journal;
    };
    const seat = seatOf({
      address,
      clock,
      chance,
      maxMailbox: plan.maxMailbox,
      turnsEnd: plan.turnsEnd,
      skewMs: plan.skewMs,
      tally,
      actor({ number, keep }) {
        host?.forget();
        return watched(address, actorOf(number), { tally, onFault, keep });
      },
      ...(isOwner ? { journal: journalOf } : {}),
      outbox: (life) => outboxOf(host, life),
      onStart: (started) => void starting.push(started),
      onUp: () => tellUp(address),
      onFault,
      tell,
    });
    seats.set(address, seat);
    return seat;
  }

  /** Most hear that an actor has come up, and ask it again at once. */
  function tellUp(address: Address): void {
    const as = address.startsWith('scheduler/') ? SCHEDULERS : address;
    for (const { lives } of seats.values()) {
      for (const { address: who, number, host, clock: own } of lives) {
        if (!own.held && chance.of(`${clock.now()} ${who} ${number} hears of ${address}`) < HEARD_OF) host.cameUp(as);
      }
    }
  }

  for (const [address, actor] of owners) take(address, () => actor);
  for (let position = 0; position < plan.schedulers; position += 1) {
    schedulers.push(
      take(`scheduler/s${position}`, (number) =>
        altered('scheduler', schedulerOf(`s${position}`, `s${position}-${number}`, plan.placementShards)),
      ),
    );
  }
  for (const host of hosts.values()) {
    const { cell, host: name } = host.plan;
    take(
      `compute/${cell}/${name}`,
      (number) => altered('compute', computeOf(cell, name, `${name}-${number}`, plan.placementShards)),
      host,
    );
  }

  // --- what befalls them

  function befall({ id, what, address, forMs, takenOverMs, byMs = 0, steps: after }: Incident): void {
    const seat = seats.get(address);
    if (seat === undefined || chance.healed) return;
    seat.afterSteps(after, () => {
      if (!chance.happens(what, id, 1)) return;
      tally(`befell ${kindOf(address)} ${what}`);
      if (what === 'crash') return seat.crash(forMs);
      if (what === 'pause') return seat.pause(forMs, takenOverMs);
      if (what === 'set-clock') return seat.setClock(byMs, forMs);
      tell(() => `${address} is CUT OFF for ${forMs} ms`);
      network.cut(address);
      clock.at(clock.now() + forMs, () => network.mend(address));
    });
  }

  function heal(): void {
    tell(() => '-- everything is healed');
    chance.heal();
    for (const seat of seats.values()) {
      network.mend(seat.address);
      seat.heal();
    }
    for (const host of hosts.values()) host.heal();
  }

  // --- running

  async function advance(until: () => boolean): Promise<boolean> {
    while (faults.length === 0) {
      if (until()) return true;
      steps += 1;
      if (steps > MAX_STEPS) onFault(`an end: still busy after ${MAX_STEPS} steps`);
      try {
        clock.step();
        if (truth.touched.size > 0) look();
      } catch (error) {
        onFault(faultOf(error));
      }
      if (starting.length > 0) await Promise.all(starting.splice(0));
    }
    return false;
  }

  /** Goes on until nothing is missing, and names what is if that takes too long. */
  async function settle(missing: () => string[]): Promise<void> {
    const last = clock.now() + END_WITHIN_MS;
    for (;;) {
      const next = clock.now() + LOOK_EVERY_MS;
      // Time always goes on: somebody beats.
      if (!(await advance(() => clock.now() >= next))) return;
      const what = missing();
      if (what.length === 0) return;
      if (clock.now() >= last) return what.forEach(onFault);
    }
  }

  for (const seat of seats.values()) seat.begin();
  callers.begin();
  for (const incident of plan.incidents) clock.at(STARTED_AT + incident.at, () => befall(incident));
  await advance(() => clock.now() >= STARTED_AT + plan.healAt);
  const healedAt = clock.now();
  if (faults.length === 0) {
    heal();
    if (plan.awayAtFirst.length > 0) await doWithout(plan.awayAtFirst);
    await settle(() => {
      const missing = [...unfinished(looked), ...callers.open.map((id) => `an end: nobody answered '${id}'`)];
      return missing.length > 0 ? missing : disagreements(looked, seats.values(), isAsRecorded);
    });
    truth.placements.flatMap(sumFaults).forEach(onFault);
  }
  if (faults.length === 0) await options.afterwards?.(running());

  function running(): Running {
    let asks = ASKED_AFTERWARDS;
    async function until(isSo: () => boolean, forMs: number): Promise<boolean> {
      const last = clock.now() + forMs;
      await advance(() => isSo() || clock.now() >= last);
      return isSo();
    }
    return {
      truth,
      until,
      async goOn(forMs) {
        await until(() => false, forMs);
      },
      seat(address) {
        const seat = seats.get(address);
        if (seat === undefined) throw new Error(`nobody has the address '${address}'`);
        return seat;
      },
      async ask(to, message) {
        asks += 1;
        const mine = asks;
        network.send(CALLERS, to, { ...message, ask: mine } as AnyMessage);
        await until(() => answers.has(mine), 5_000);
        return answers.get(mine);
      },
    };
  }

  /**
   * islands: with the API tier gone, the cells bring what they have to its end; and with no scheduler, the conductors
   * end what waits for one.
   */
  async function doWithout(kinds: readonly string[]): Promise<void> {
    const away = [...seats.values()].filter(({ address }) => kinds.includes(kindOf(address)));
    tell(() => `-- every ${kinds.join(' and ')} is away`);
    tally(`fault away ${kinds.join(' and ')}`);
    for (const seat of away) seat.end();
    await settle(() => stillBusy(looked, kinds.includes('conductor')));
    tell(() => '-- they are back');
    for (const seat of away) seat.begin();
  }

  for (const [kind, count] of chance.counts) counts.set(`fault ${kind}`, (counts.get(`fault ${kind}`) ?? 0) + count);
  for (const seat of seats.values()) seat.end();
  const endedAfterMs = clock.now() - healedAt;
  return { seed, steps, endedAfterMs, faults, tally: counts, happened: chance.faults, plan, story };
}

/** The state that a selection is in when it says this. */
const SELECTING: Readonly<Record<string, string>> = {
  select: 'ranking',
  claim: 'claiming',
  recall: 'recalling',
  selected: 'selected',
  'no-valid-host': 'exhausted',
};

function faultOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return /^[a-z ]+: /.test(message) ? message : `no failure: ${message}`;
}
