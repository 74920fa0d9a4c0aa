// Explaining, for the API: the conductor keeps the record of the scheduler's decision, the cell knows the attempts that
// followed. Neither needs the scheduler that decided.

import type { RequestSpec } from '../../actors/messages/common.ts';
import type { Decision } from '../../actors/messages/decision.ts';
import type { InstanceView } from '../../actors/messages/gateway.ts';
import { type Where, withoutOrigins } from '../../actors/messages/where.ts';
import { present } from '../../actors/present.ts';
import { cellAddress, conductorOf } from '../../actors/routing.ts';
import { providerId } from '../drivers/naming.ts';
import { adviceOnBuild, withAdviceOnBuild } from './advice-on-builds.ts';
import { type Asked, askedOf, type HostNames } from './asked.ts';
import type { Asking } from './asking.ts';
import { wordsOfExplanation } from './explanation-words.ts';
import { withLikeInstances } from './like-instances.ts';
import { asInCell, isSilence, notFound, SILENT_CELL_MS, unknownOf } from './looking.ts';
import type { InstanceRequest } from './requests.ts';
import { decisionIn } from './stored-decisions.ts';

/** The answer to `explain`. */
export interface Explanation {
  readonly id: string;
  /** How the instance stands, with its attempts. */
  readonly instance: InstanceView;
  /** The scheduler's decision; null while there is none, or when it is not on record. */
  readonly decision: Decision | null;
  /** What was asked for; absent when that is not known: of one that is deleted, or while its cell does not answer. */
  readonly asked?: Asked;
  /** The same for people, a line each. */
  readonly words: readonly string[];
}

/** What is known of an instance by those who keep it. */
export interface Known {
  readonly view: InstanceView;
  readonly decision: Decision | null;
  /** What it asked for; undefined when nobody knows any more, or its cell does not answer. */
  readonly spec: RequestSpec | undefined;
  /** Where it may go, as far as schedulers alone know of it. */
  readonly where: Where | undefined;
}

export interface Explaining {
  /** @throws CellwrightError `not-found`. */
  explain(request: InstanceRequest): Promise<Explanation>;
  /** @throws CellwrightError `not-found`. */
  known(id: string): Promise<Known>;
}

export function explainingOf({ asking, conductorShards }: { asking: Asking; conductorShards: number }): Explaining {
  async function known(id: string): Promise<Known> {
    const question = { type: 'explain' as const, instance: id };
    const conductor = conductorOf(id, conductorShards);
    const { view, decision, spec, where } = await asking.ask(conductor, question, 'explained');
    if (view === null) throw await notFound({ asking, conductorShards }, id, true);
    const decided = decisionIn(decision);
    const kept = { view, decision: decided, spec, where: where ?? decided?.where };
    if (view.cell === undefined || view.state === 'deleted') return kept;
    try {
      const inCell = await asking.ask(cellAddress(view.cell), question, 'explained', SILENT_CELL_MS);
      return inCell.view === null ? kept : { ...kept, view: asInCell(view, inCell.view), spec: inCell.spec ?? spec };
    } catch (error) {
      if (!isSilence(error)) throw error;
      return { ...kept, view: unknownOf(view) };
    }
  }

  async function explain({ id }: InstanceRequest): Promise<Explanation> {
    const { view: told, decision, spec, where } = await known(id);
    const view = withAdviceOnBuild(told, decision);
    const asked = spec && askedOf(spec, where, view.project, namesOfHosts(view, decision));
    const record = decision === null ? null : await withLike(toldDecision(view, decision));
    // They say the advice by itself.
    const words = wordsOfExplanation(told, record, asked);
    return { id, instance: view, decision: record, ...present({ asked }), words };
  }

  /** Whoever chose the host, or found none, knows no instances. */
  async function withLike(decision: Decision): Promise<Decision> {
    const unknown = await withLikeInstances({ asking, conductorShards }, decision.unknown);
    return { ...decision, ...present({ unknown }) };
  }

  return { explain, known };
}

/**
 * The record with what is known since of what would have helped. What conditions of the claim come from is for schedulers,
 * and nothing to whoever asks.
 */
function toldDecision(view: InstanceView, decision: Decision): Decision {
  const { where, advice, ...others } = decision;
  const all = [...advice, ...adviceOnBuild(view, decision)];
  return { ...others, advice: all, ...present({ where: withoutOrigins(where) }) };
}

/** The hosts that are named on record, by their root providers. */
function namesOfHosts(
  { cell, host, attempts = [], alternates = [] }: InstanceView,
  decision: Decision | null,
): HostNames {
  const names = new Map<string, string>();
  const note = (of: string, name: string) => names.set(providerId(of, name, ''), `${of}/${name}`);
  if (cell !== undefined) {
    for (const one of [host, ...attempts.map((each) => each.host), ...alternates])
      if (one !== undefined) note(cell, one);
  }
  const { chosen, weights = [], refused = [], refusedClaims = [] } = decision ?? {};
  const places = [
    ...weights,
    ...refusedClaims,
    ...refused.flatMap(({ nearest }) => nearest ?? []),
    ...(chosen === undefined ? [] : [chosen]),
  ];
  for (const place of places) note(place.cell, place.host);
  if (chosen !== undefined) for (const one of decision?.alternates ?? []) note(chosen.cell, one);
  return (provider) => names.get(provider);
}
