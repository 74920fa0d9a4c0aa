// Area: hosts that leave and come back, by chance: a host dies, is fenced, removed and started anew, or goes on after it
// was taken for dead, its cell changes hands, and what each says to others comes in any order. When it is over the host is up, and
// placement has what its compute tells of it.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cell } from '../../actors/cell/cell.ts';
import { viewOfHost } from '../../actors/cell/hosts.ts';
import { compute } from '../../actors/compute/compute.ts';
import type { AnyMessage } from '../../actors/messages/any.ts';
import type { CellMessage } from '../../actors/messages/cell.ts';
import type { ComputeMessage } from '../../actors/messages/compute.ts';
import type { ProviderSpec } from '../../actors/messages/placement.ts';
import { placement } from '../../actors/placement/placement.ts';
import { seededRandom } from '../../runtime/random.ts';
import { OPTIONS } from '../support/cells.ts';
import { bench, type Turned } from '../support/turn.ts';

const test = suite('hosts that leave, by chance');

const RUNS = 400;
const STEPS = 120;
const STEP_MS = 500;
/** Far less than until computes tell their trees again of themselves. */
const HEALED_WITHIN_MS = 60_000;
const [CELL, PLACEMENT, COMPUTE, DRIVER] = ['cell/c1', 'placement/0', 'compute/c1/h1', 'driver/c1/h1'] as const;
const OPERATOR = 'gateway/operator';
const ROOT = 'provider-of-h1';
const TREE: ProviderSpec = { id: ROOT, name: 'h1', parent: null, inventories: {}, traits: [], aggregates: [] };

interface Letter {
  readonly from: string;
  readonly to: string;
  readonly message: AnyMessage;
}

function play(seed: string) {
  const random = seededRandom(seed);
  let ofCell = bench(cell(OPTIONS), { address: CELL });
  const ofPlacement = bench(placement({ shard: 0 }), { address: PLACEMENT });
  let ofCompute: ReturnType<typeof lifeAt> | null = null;
  let isHeldUp = false;
  let lives = 0;
  let letters: Letter[] = [];

  const lifeAt = (at: number) => {
    lives += 1;
    const actor = compute({ cell: 'c1', host: 'h1', incarnation: () => `life-${lives}` });
    return bench(actor, { address: COMPUTE, at });
  };

  function post(from: string, { sent }: Turned<unknown>): void {
    for (const { to, message } of sent) letters.push({ from, to, message: message as AnyMessage });
  }

  function deliver({ from, to, message }: Letter): void {
    if (to === CELL) post(CELL, ofCell.tell(message as CellMessage, from));
    else if (to === PLACEMENT) post(PLACEMENT, ofPlacement.tell(message as never, from));
    else if (to === COMPUTE && ofCompute !== null) post(COMPUTE, ofCompute.tell(message as ComputeMessage, from));
    else if (to === DRIVER && ofCompute !== null && message.type === 'describe') {
      post(COMPUTE, ofCompute.tell({ type: 'described', providers: [TREE], running: [] }, DRIVER));
    }
  }

  /** The next letter of any one to any other: of those two they come in order. */
  function deliverOne(): void {
    const open = letters.filter(({ to }) => !(isHeldUp && (to === COMPUTE || to === DRIVER)));
    if (open.length === 0) return;
    const { from, to } = random.pick(open);
    const next = letters.findIndex((letter) => letter.from === from && letter.to === to);
    const [letter] = letters.splice(next, 1);
    deliver(letter as Letter);
  }

  function pass(ms: number): void {
    for (const turned of ofCell.pass(ms)) post(CELL, turned);
    for (const turned of ofPlacement.pass(ms)) post(PLACEMENT, turned);
    if (ofCompute === null) return;
    // Who was held up does all at once that was due meanwhile.
    if (isHeldUp) return;
    for (const turned of ofCompute.pass(ofCell.now - ofCompute.now)) post(COMPUTE, turned);
  }

  function begin(): void {
    ofCompute = lifeAt(ofCell.now);
    isHeldUp = false;
    post(COMPUTE, ofCompute.first);
  }

  function end(): void {
    ofCompute = null;
    isHeldUp = false;
    letters = letters.filter(({ to }) => to !== COMPUTE && to !== DRIVER);
  }

  function changeHands(): void {
    const { now: at, entries } = ofCell;
    ofCell = bench(cell(OPTIONS), { address: CELL, at, entries });
    post(CELL, ofCell.first);
  }

  const stateOf = () => {
    const host = ofCell.state.hosts.get('h1');
    return host === undefined ? 'unknown' : viewOfHost(host).state;
  };
  const ask = (message: CellMessage) => letters.push({ from: OPERATOR, to: CELL, message });

  begin();
  for (let step = 0; step < STEPS; step += 1) {
    const what = random.next();
    if (what < 0.05) end();
    else if (what < 0.1) isHeldUp = ofCompute !== null && random.chance(0.5);
    else if (what < 0.15 && ofCompute === null) begin();
    else if (what < 0.17) changeHands();
    else if (what < 0.3) pass(random.chance(0.3) ? 20_000 : STEP_MS);
    else if (what < 0.4) ask({ type: 'fence-host', ask: step, host: 'h1' });
    else if (what < 0.5) ask({ type: 'remove-host', ask: step, host: 'h1' });
    else for (let count = random.integer(1, 6); count > 0; count -= 1) deliverOne();
  }
  const settle = () => {
    while (letters.length > 0) deliverOne();
  };
  isHeldUp = false;
  settle();
  // One of which it was said that it is over begins anew.
  if (ofCompute === null || stateOf() === 'fenced') begin();
  for (let passed = 0; passed < HEALED_WITHIN_MS; passed += STEP_MS) {
    settle();
    pass(STEP_MS);
  }
  settle();
  return { state: stateOf(), isThere: ofPlacement.state.providers.has(ROOT), removed: ofCell.state.removedHosts.size };
}

test(`leaving - in ${RUNS} runs every host that is back is up, with what placement is to know of it`, () => {
  let removed = 0;
  for (let run = 0; run < RUNS; run += 1) {
    const ended = play(`leaving ${run}`);
    assert.equal([ended.state, ended.isThere], ['up', true], `run ${run}`);
    removed += ended.removed;
  }
  assert.ok(removed > RUNS / 10, `${removed} were removed`);
});

test.run();
