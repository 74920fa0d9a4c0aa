// A host of a run: a driver that builds, fails, aborts, hangs and loses its answers as its chance says, and that keeps
// its promises all the same: it never builds an attempt twice, and what was destroyed is gone. It outlives its compute.

import type { Message } from '../../actors/actor.ts';
import type { ComputeBuild, DriverAnswer, DriverMessage } from '../../actors/messages/compute.ts';
import type { Allocation } from '../../machines/instance-build.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { ProviderReport } from '../../runtime/drivers/driver.ts';
import { providerId, providersOf } from '../../runtime/drivers/naming.ts';
import type { Chance } from './chance.ts';
import type { HostPlan } from './operations.ts';
import type { Weather } from './plan.ts';

/** An attempt on a host, whether it is being built or runs. */
interface Presence {
  readonly instance: string;
  readonly attempt: number;
  state: 'building' | 'running';
  /** What the compute said last is given to it. */
  allocations: readonly Allocation[];
  /** Ends the build, unless it has ended: what the driver would say if it did not hang. */
  end: (() => void) | null;
}

export interface SimulatedHost {
  readonly plan: HostPlan;
  /** The id of its root provider. */
  readonly provider: string;
  /** What is on the host, by `instance/attempt`. */
  readonly present: ReadonlyMap<string, Presence>;
  /** How often each attempt was begun. */
  readonly begun: ReadonlyMap<string, number>;
  /** The VCPUs that the host says it has; they can change while it runs. */
  vcpu: number;
  /** Its GPUs; it may be given more. */
  gpus: number;
  tree(): ProviderReport;
  /** What the compute asks of the driver; answers go to the life of the compute that asked. */
  take(message: DriverMessage, answer: (message: Message) => void): void;
  /** The compute begins a new life: whoever waited for an answer is gone. */
  forget(): void;
  /** Whatever was to be destroyed and hangs is destroyed. */
  heal(): void;
  /** What was on the host, and went by itself, without a word to anybody. */
  readonly vanished: ReadonlySet<string>;
  /** Some of what runs there goes by itself. */
  vanish(goes: (instance: string, attempt: number) => boolean): void;
  /** All that is on the host is gone. */
  lose(): void;
}

export interface HostOptions {
  readonly plan: HostPlan;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly weather: Weather;
  /** Told that something began or ended on the host. */
  onChange(instance: string): void;
}

type Outcome = { type: 'driver-built' } | { type: 'driver-failed'; reason: string; aborted: boolean };

const SLOW_BUILD_MS = 6_000;

export function simulatedHost({ plan, clock, chance, weather, onChange }: HostOptions): SimulatedHost {
  const present = new Map<string, Presence>();
  const past = new Map<string, Outcome>();
  const begun = new Map<string, number>();
  const hanging = new Set<() => void>();
  /** Those who wait for the outcome of a build, by attempt. */
  const waiting = new Map<string, ((outcome: Outcome) => void)[]>();
  let asked = 0;
  let reads = 0;
  let lists = 0;
  const vanished = new Set<string>();
  let life = 0;

  const soon = (key: string, task: () => void) =>
    void clock.at(clock.now() + 1 + Math.floor(chance.of(key) * 30), task);

  function finish(key: string, outcome: Outcome): void {
    const presence = present.get(key);
    if (presence?.state !== 'building') return;
    presence.end = null;
    if (outcome.type === 'driver-built') {
      presence.state = 'running';
    } else {
      present.delete(key);
      past.set(key, outcome);
    }
    onChange(presence.instance);
    for (const tell of waiting.get(key) ?? []) tell(outcome);
    waiting.delete(key);
  }

  function outcomeOf(key: string): Outcome {
    if (chance.happens('build-fails', key, weather.buildFails)) {
      return { type: 'driver-failed', reason: 'no image', aborted: false };
    }
    if (chance.happens('build-aborts', key, weather.buildAborts)) {
      return { type: 'driver-failed', reason: 'a bad request', aborted: true };
    }
    return { type: 'driver-built' };
  }

  function begin(key: string, { instance, attempt, allocations }: ComputeBuild): void {
    begun.set(key, (begun.get(key) ?? 0) + 1);
    const outcome = outcomeOf(key);
    const end = () => finish(key, outcome);
    const presence: Presence = { instance, attempt, state: 'building', allocations, end };
    present.set(key, presence);
    onChange(instance);
    // One that hangs does so to the end: its deadline has to deal with it.
    if (chance.happens('build-hangs', key, weather.buildHangs)) return;
    const isSlow = chance.happens('build-slow', key, weather.buildSlow);
    const ms = 5 + Math.floor(chance.of(`${key} lasts`) * (isSlow ? SLOW_BUILD_MS : 300));
    clock.at(clock.now() + ms, () => presence.end?.());
  }

  function build(order: ComputeBuild, answer: (message: DriverAnswer) => void): void {
    const { instance, attempt } = order;
    const ofAttempt = { instance, attempt };
    const key = `${instance}/${attempt}`;
    const known = present.get(key);
    if (known !== undefined) {
      known.allocations = order.allocations;
      onChange(instance);
    }
    const outcome = past.get(key);
    if (outcome !== undefined) return soon(key, () => answer({ ...outcome, ...ofAttempt } as DriverAnswer));
    if (known?.state === 'running') {
      return soon(key, () => answer({ type: 'driver-built', ...ofAttempt }));
    }
    if (known === undefined) begin(key, order);
    const question = `${plan.host} ${key} ${asked}`;
    if (chance.happens('driver-silent', question, weather.driverSilent)) return;
    if (chance.happens('driver-unknown', question, weather.driverUnknown)) {
      return soon(question, () => answer({ type: 'driver-unknown', ...ofAttempt, reason: 'the daemon went away' }));
    }
    const listeners = waiting.get(key) ?? [];
    listeners.push((outcome) => answer({ ...outcome, ...ofAttempt } as DriverAnswer));
    waiting.set(key, listeners);
  }

  function destroy(instance: string, attempt: number, answer: (message: DriverAnswer) => void): void {
    const ofAttempt = { instance, attempt };
    const key = `${instance}/${attempt}`;
    const question = `${plan.host} destroys ${key} ${asked}`;
    const reason = 'the daemon went away';
    if (chance.happens('destroy-fails', question, weather.destroyFails)) {
      return soon(question, () => answer({ type: 'destroy-failed', ...ofAttempt, reason }));
    }
    const isSilent = chance.happens('driver-silent', question, weather.driverSilent);
    const isLost = chance.happens('destroy-unknown', question, weather.destroyFails / 2);
    const end = () => {
      const presence = present.get(key);
      if (presence !== undefined) {
        presence.end = null;
        present.delete(key);
        onChange(instance);
      }
      for (const tell of waiting.get(key) ?? []) tell({ type: 'driver-failed', reason: 'destroyed', aborted: false });
      waiting.delete(key);
      answer(isLost ? { type: 'destroy-failed', ...ofAttempt, reason } : { type: 'driver-destroyed', ...ofAttempt });
    };
    if (isSilent) hanging.add(end);
    else soon(question, end);
  }

  const running = () => [...present.values()].map(({ instance, attempt }) => ({ instance, attempt }));

  function list({ ask, to }: Extract<DriverMessage, { type: 'list' }>, answer: (message: DriverAnswer) => void): void {
    lists += 1;
    const question = `${plan.host} list ${lists}`;
    if (chance.happens('list-fails', question, weather.destroyFails)) {
      return soon(question, () => answer({ type: 'list-failed', ask, to, reason: 'the daemon went away' }));
    }
    soon(question, () => answer({ type: 'driver-listed', ask, to, running: running() }));
  }

  const providers = () => providersOf(plan.cell, plan.host, host.tree(), []);

  function readInventory(answer: (message: DriverAnswer) => void): void {
    reads += 1;
    const question = `${plan.host} inventory ${reads}`;
    if (chance.happens('driver-silent', question, weather.driverSilent)) return;
    if (chance.happens('describe-fails', question, weather.destroyFails)) {
      return soon(question, () => answer({ type: 'inventory-unread', reason: 'the daemon went away' }));
    }
    soon(question, () => answer({ type: 'inventory-read', providers: providers() }));
  }

  const host: SimulatedHost = {
    plan,
    provider: providerId(plan.cell, plan.host, ''),
    present,
    begun,
    vcpu: plan.vcpu,
    gpus: plan.gpus,
    tree() {
      const gpus = Array.from({ length: host.gpus }, (_, position) => {
        return { name: `${plan.host}-gpu-${position}`, inventories: { PGPU: { total: 1 } } };
      });
      return {
        name: plan.host,
        inventories: { VCPU: { total: host.vcpu } },
        traits: plan.fast ? ['CUSTOM_FAST'] : [],
        children: gpus,
      };
    },
    take(message, answer) {
      if (message.type === 'refused') return;
      const mine = life;
      const say = (said: DriverAnswer) => {
        if (mine === life) answer(said);
      };
      if (message.type === 'read-inventory') return readInventory(say);
      if (message.type === 'list') return list(message, say);
      asked += 1;
      if (message.type === 'build') return build(message, say);
      if (message.type === 'destroy') return destroy(message.instance, message.attempt, say);
      const question = `${plan.host} describe ${asked}`;
      if (chance.happens('describe-fails', question, weather.destroyFails)) {
        return soon(question, () => say({ type: 'describe-failed', reason: 'the daemon is not up yet' }));
      }
      soon(question, () => say({ type: 'described', providers: providers(), running: running() }));
    },
    forget() {
      life += 1;
      waiting.clear();
    },
    vanished,
    vanish(goes) {
      for (const [key, { instance, attempt, state }] of [...present]) {
        if (state !== 'running' || !goes(instance, attempt)) continue;
        present.delete(key);
        vanished.add(key);
        onChange(instance);
      }
    },
    heal() {
      for (const end of hanging) end();
      hanging.clear();
    },
    lose() {
      host.forget();
      hanging.clear();
      past.clear();
      for (const [key, presence] of [...present]) {
        presence.end = null;
        present.delete(key);
        onChange(presence.instance);
      }
    },
  };
  return host;
}
