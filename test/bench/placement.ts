// Placement by itself, as callers of the Placement API use it: claims and candidates in the actor, over NATS and over
// HTTP, beside what a NATS request and an HTTP handler that returns nothing can do.

import type { PlacementApiMessage } from '../../actors/messages/placement-api.ts';
import { LOOK_WAKE } from '../../actors/placement/api/looks.ts';
import { placement } from '../../actors/placement/placement.ts';
import { connectNats } from '../../runtime/bus/nats.ts';
import { CellwrightError } from '../../runtime/errors.ts';
import { type Node, startNode } from '../../runtime/node.ts';
import { outboxOf } from '../../runtime/outbox.ts';
import { authorityOf, type Question } from '../../runtime/placement-api/authority.ts';
import { startPlacementApi } from '../../runtime/placement-api/start.ts';
import { subjectsOf } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';
import { bareHttp, type HttpClient, httpClient, servedByProcess } from './http.ts';
import { aRequest, bareRequests, type Limits, manyRequests, perSecond, rate } from './limits.ts';
import { claimsInActor, inventory, silentTurn } from './parts.ts';
import { progress, quantile, type Report } from './report.ts';

const HOSTS = [1_000, 10_000, 100_000];
const FOR_MS = 3_000;
const WARM_UP_MS = 1_000;
/** How often bare requests and claims take turns, so that a machine whose speed changes is as fast for both. */
const ROUNDS = 7;
const ROUND_MS = 600;
const HTTP_CLIENTS = 32;
/** Children below each host when it is nested: a tree of 7. */
const CHILDREN = 6;
const QUERY = '/allocation_candidates?resources=VCPU:1,MEMORY_MB:512,DISK_GB:10&limit=10';
const NESTED_QUERY = `${QUERY}&resources1=VGPU:1`;

const AMPLE = { VCPU: inventory(1_000_000), MEMORY_MB: inventory(1_000_000_000), DISK_GB: inventory(1_000_000_000) };

function tree(n: number, nested: boolean) {
  const id = `h${n}`;
  const root = { id, name: id, parent: null, inventories: AMPLE, traits: [], aggregates: [] };
  if (!nested) return [root];
  const children = Array.from({ length: CHILDREN }, (_, child) => {
    const name = `${id}-g${child}`;
    return { ...root, id: name, name, parent: id, inventories: { VGPU: inventory(1_000) } };
  });
  return [root, ...children];
}

const claim = (consumer: string, provider: string): Question => ({
  type: 'allocations-put',
  consumers: [
    { consumer, allocations: [{ provider, resources: { VCPU: 1, MEMORY_MB: 512 } }], project: 'p', user: 'u' },
  ],
});

function candidates(nested: boolean): Question {
  const common = { required: [], forbidden: [], memberOf: [], notMemberOf: [], inTree: null };
  const groups = [{ ...common, suffix: '', resources: { VCPU: 1, MEMORY_MB: 512, DISK_GB: 10 } }];
  if (nested) groups.push({ ...common, suffix: '_G', resources: { VGPU: 1 } as never });
  const request = { groups, groupPolicy: null, rootRequired: [], rootForbidden: [], sameSubtree: [] };
  return { type: 'candidates', ...request, limit: 10, nested: true };
}

function inActor(limits: Limits, report: Report): void {
  claimsInActor(limits, report);
  for (const [hosts, name] of [
    [10_000, 'on 10,000 providers'],
    [1, 'on one hot provider'],
  ] as const) {
    const { tell } = actorWith(hosts, false);
    const value = perSecond(100_000, (n) => tell(claim(`c${n}`, `h${n % hosts}`)));
    const beside = manyRequests(limits);
    report({ name: `API claims decided in the actor, ${name}`, value, unit: 'a second', beside });
  }
  for (const nested of [false, true]) {
    for (const hosts of HOSTS) {
      const { tell } = actorWith(hosts, nested);
      const question = candidates(nested);
      const tookMs = Array.from({ length: 300 }, () => timed(() => tell(question)));
      const shape = nested ? 'trees of 7' : 'hosts';
      const name = `candidates in the actor, ${hosts.toLocaleString('en')} ${shape}, p50`;
      report({ name, value: quantile(tookMs, 0.5), unit: 'ms', beside: aRequest(limits) });
    }
  }
}

/** Each group fits each child, so there are 8 to the power of 8 ways, 16.8 million, to deal the one to the other. */
const ALIKE = 8;

function manyWays(limits: Limits, report: Report): void {
  const { tell } = actorWith(0, false);
  const [root] = tree(0, false) as [ReturnType<typeof tree>[number]];
  const children = Array.from({ length: ALIKE }, (_, child) => {
    const id = `h0-g${child}`;
    return { ...root, id, name: id, parent: root.id, inventories: { VGPU: inventory(ALIKE) } };
  });
  tell({ type: 'put-tree', providers: [root, ...children] });
  const plain = candidates(false) as Extract<Question, { type: 'candidates' }>;
  const [group] = plain.groups;
  const groups = Array.from({ length: ALIKE }, (_, position) => {
    return { ...(group as object), suffix: `_${position}`, resources: { VGPU: 1 } };
  });
  for (const limit of [10, 1_000]) {
    const tookMs = Array.from({ length: 30 }, () =>
      timed(() => tell({ ...plain, groups, groupPolicy: 'none', limit })),
    );
    const name = `candidates of ${ALIKE} groups on ${ALIKE} children, limit ${limit.toLocaleString('en')}, p99`;
    report({ name, value: quantile(tookMs, 0.99), unit: 'ms', beside: aRequest(limits) });
  }
}

function timed(once: () => void): number {
  const begun = performance.now();
  once();
  return performance.now() - begun;
}

function actorWith(hosts: number, nested: boolean) {
  const actor = placement({ shard: 0 });
  const state = actor.init();
  let asks = 0;
  const tell = (question: object) => {
    asks += 1;
    actor.receive(state, { ask: asks, ...question } as PlacementApiMessage, 'gateway/bench', silentTurn as never);
    // What takes long is looked for over several turns.
    while (state.looks.length > 0) actor.receive(state, { type: 'wake', id: LOOK_WAKE }, 'bench', silentTurn as never);
    if (asks % 256 === 0) actor.endTurn?.(state, silentTurn as never);
  };
  for (let n = 0; n < hosts; n += 1) tell({ type: 'put-tree', providers: tree(n, nested) });
  return { tell };
}

/** @param nested Whether each host has children: the number of providers is the same. */
async function overNats(url: string, nested: boolean, limits: Limits, report: Report): Promise<void> {
  const beside = aRequest(limits);
  const clock = systemClock();
  const prefix = nested ? 'benchnested' : 'benchplacement';
  const onError = (error: unknown) => console.error(error);
  const node: Node = await startNode({ roles: ['placement'], nats: { servers: url }, prefix, events: false });
  const bus = await connectNats({ servers: url, name: 'bench-authority' });
  const subjects = subjectsOf(prefix);
  const outbox = outboxOf({ bus, clock, subjects, events: false, onError });
  const closed = () => new CellwrightError('closed', 'the benchmark is over');
  const authority = authorityOf({ name: 'bench', bus, clock, outbox, subjects, timeoutMs: 120_000, closed, onError });
  try {
    let hosts = 0;
    let consumers = 0;
    for (const providers of HOSTS) {
      const wanted = nested ? Math.round(providers / (1 + CHILDREN)) : providers;
      for (; hosts < wanted; hosts += 1) {
        const message = { type: 'put-tree', ask: hosts, providers: tree(hosts, nested) } as const;
        outbox.send('gateway/nobody', 'placement/0', message);
        if (hosts % 1_000 === 999) await authority.ask({ type: 'provider-show', id: 'h0' });
      }
      await authority.ask({ type: 'provider-show', id: `h${hosts - 1}` });
      if (providers === 10_000 && !nested) {
        const claimOnce = () => {
          consumers += 1;
          return authority.ask(claim(`c${consumers}`, `h${consumers % hosts}`));
        };
        await durableClaims(url, claimOnce, report);
      }
      const name = `${wanted.toLocaleString('en')} ${nested ? `trees of ${1 + CHILDREN}` : 'hosts'}`;
      const tookMs = await latencies(200, () => authority.ask(candidates(nested)));
      report({ name: `candidates over NATS, ${name}, p50`, value: quantile(tookMs, 0.5), unit: 'ms', beside });
      const front = await startPlacementApi({ host: '127.0.0.1', port: 0, prefix, placement: { servers: [url] } });
      const client = httpClient(front.url, 1);
      const query = nested ? NESTED_QUERY : QUERY;
      const overHttpMs = await latencies(200, () => client.ask('GET', query));
      report({
        name: `candidates over HTTP and NATS, ${name}, p50`,
        value: quantile(overHttpMs, 0.5),
        unit: 'ms',
        beside,
      });
      client.close();
      await front.close();
    }
  } finally {
    authority.stop();
    await bus.close();
    await node.stop();
  }
}

/** Claims, in turn with requests that are answered with nothing done. */
async function durableClaims(url: string, claimOnce: () => Promise<unknown>, report: Report): Promise<void> {
  const bare = await bareRequests(url);
  try {
    for (const once of [bare.once, claimOnce]) await rate(64, WARM_UP_MS, once);
    for (const inFlight of [1, 64, 256]) {
      const [requests, claims]: [number[], number[]] = [[], []];
      for (let round = 0; round < ROUNDS; round += 1) {
        requests.push(await rate(inFlight, ROUND_MS, bare.once));
        claims.push(await rate(inFlight, ROUND_MS, claimOnce));
      }
      const beside = { name: `bare requests, ${inFlight} in flight`, value: quantile(requests, 0.5) };
      const name = `durable claims over NATS, ${inFlight} in flight`;
      report({ name, value: quantile(claims, 0.5), unit: 'a second', beside });
    }
  } finally {
    await bare.close();
  }
}

async function latencies(times: number, once: () => Promise<unknown>): Promise<number[]> {
  const tookMs: number[] = [];
  for (let n = 0; n < times; n += 1) {
    const begun = performance.now();
    await once();
    tookMs.push(performance.now() - begun);
  }
  return tookMs;
}

const uuid = (kind: string, n: number) => `${kind.repeat(8)}-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** In a process of its own, as it is deployed, so that the client's work does not count. */
async function overHttp(report: Report): Promise<void> {
  const bare = await bareHttp((url) => httpRate(httpClient(url, HTTP_CLIENTS), (client) => client.ask('GET', '/')));
  report({ name: `an HTTP handler that returns nothing, ${HTTP_CLIENTS} clients`, ...figureOf(bare) });

  await servedByProcess(async (url) => {
    const client = httpClient(url, HTTP_CLIENTS);
    const hosts = 1_000;
    for (let n = 0; n < hosts; n += 1) {
      await client.ask('POST', '/resource_providers', { uuid: uuid('a', n), name: `h${n}` });
      const body = { resource_provider_generation: 0, inventories: AMPLE };
      await client.ask('PUT', `/resource_providers/${uuid('a', n)}/inventories`, body);
    }
    let consumers = 0;
    const measured = await httpRate(client, () => {
      consumers += 1;
      return client.ask('PUT', `/allocations/${uuid('c', consumers)}`, {
        allocations: { [uuid('a', consumers % hosts)]: { resources: { VCPU: 1, MEMORY_MB: 512 } } },
        project_id: 'p',
        user_id: 'u',
        consumer_generation: null,
        consumer_type: 'INSTANCE',
      });
    });
    const beside = { name: 'the bare handler', value: bare.perSecond };
    report({ name: `claims over HTTP, ${HTTP_CLIENTS} clients`, ...figureOf(measured), beside });
    report({
      name: 'claims over HTTP, p99',
      value: quantile(measured.tookMs, 0.99),
      unit: 'ms',
      beside: { name: "the bare handler's", value: quantile(bare.tookMs, 0.99) },
    });
    const tookMs = await latencies(500, () => client.ask('GET', QUERY));
    report({
      name: 'candidates over HTTP, 1,000 hosts, p50',
      value: quantile(tookMs, 0.5),
      unit: 'ms',
      beside: { name: "the bare handler's", value: quantile(bare.tookMs, 0.5) },
    });
    client.close();
  });
}

const figureOf = ({ perSecond }: { perSecond: number }) => ({ value: perSecond, unit: 'a second' });

async function httpRate(client: HttpClient, once: (client: HttpClient) => Promise<unknown>) {
  const tookMs: number[] = [];
  const perSecond = await rate(HTTP_CLIENTS, FOR_MS, async () => {
    const begun = performance.now();
    await once(client);
    tookMs.push(performance.now() - begun);
  });
  return { perSecond, tookMs };
}

export async function placementBench(url: string, limits: Limits, report: Report): Promise<void> {
  progress('claims and candidates in the actor');
  inActor(limits, report);
  manyWays(limits, report);
  progress('claims and candidates over NATS');
  for (const nested of [false, true]) await overNats(url, nested, limits, report);
  progress('claims and candidates over HTTP');
  await overHttp(report);
}
