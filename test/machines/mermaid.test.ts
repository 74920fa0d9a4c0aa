// Area: pictures of machines. That a picture has every state, event, guard and effect of its machine, and how nested
// states and transitions without a target are drawn.

import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { assign, setup } from 'xstate';
import { computeService } from '../../machines/compute-service.ts';
import { instanceBuild } from '../../machines/instance-build.ts';
import { mermaidOf } from '../../machines/mermaid.ts';
import { ownership } from '../../machines/ownership.ts';
import { removal } from '../../machines/removal.ts';
import { selection } from '../../machines/selection.ts';

const test = suite('pictures');

test('pictures - the whole of a small machine', () => {
  const picture = `
stateDiagram-v2
  [*] --> destroying
  destroying --> releasing : DESTROYED
  note right of destroying : destroy
  releasing --> removed : RELEASED
  note right of releasing : release
  removed --> [*]
  note right of removed : forget
`;
  assert.is(mermaidOf(removal), picture.trimStart());
});

test('pictures - every state, event, guard and effect of every machine is in its picture', () => {
  for (const machine of [instanceBuild, selection, computeService, removal, ownership]) {
    const picture = mermaidOf(machine);
    const words = new Set(picture.match(/\w+/g));
    for (const event of machine.events) assert.ok(words.has(event), `${machine.id}: ${event}`);
    for (const node of Object.values(machine.root.states)) {
      assert.ok(words.has(node.key), `${machine.id}: ${node.key}`);
      assert.is(picture.includes(`${node.key} --> [*]`), node.type === 'final');
    }
    for (const name of [
      ...Object.keys(machine.implementations.guards),
      ...Object.keys(machine.implementations.actions),
    ]) {
      assert.ok(words.has(name), `${machine.id}: ${name}`);
    }
  }
});

test('pictures - events under one guard share an edge, and what is left after guards is else', () => {
  const picture = mermaidOf(instanceBuild);
  const edge =
    'building --> failed : REFUSED, BUILD_FAILED, HOST_LOST, BUILD_ABORTED [ofThisAttempt]<br/>TIMED_OUT [else]<br/>DELETED';
  assert.ok(picture.includes(`  ${edge}\n`), picture);
});

test('pictures - a transition without a target stays, and nested states are drawn in their own', () => {
  const toy = setup({
    types: {} as { events: { type: 'GO' } | { type: 'COUNT' } | { type: 'STOP' } },
    actions: { ring() {} },
  }).createMachine({
    id: 'toy',
    initial: 'waits-here',
    entry: assign({}),
    states: {
      'waits-here': { on: { GO: 'runs', COUNT: { actions: assign({}) } } },
      runs: {
        initial: 'slow',
        entry: ['ring', assign({})],
        states: { slow: { on: { GO: 'fast' } }, fast: {} },
        on: { STOP: 'waits-here' },
      },
    },
  });
  const picture = `
stateDiagram-v2
  [*] --> waits_here
  waits_here --> runs : GO
  waits_here --> waits_here : COUNT
  state runs {
    [*] --> runs_slow
    runs_slow --> runs_fast : GO
  }
  runs --> waits_here : STOP
  note right of runs : ring
`;
  assert.is(mermaidOf(toy), picture.trimStart());
});

test.run();
