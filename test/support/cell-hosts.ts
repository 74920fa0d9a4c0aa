// A cell whose hosts are built on, fall silent, are fenced and set aside at the word of a test.

import * as assert from 'uvu/assert';
import { type CellOptions, cell } from '../../actors/cell/cell.ts';
import { viewOfHost } from '../../actors/cell/hosts.ts';
import { OPTIONS, ofAttempt, startOf, up } from './cells.ts';
import { bench, replayed, restored, viewOf } from './turn.ts';

export function desk(hosts: readonly string[] = ['h1', 'h2', 'h3', 'h4', 'h5'], options: Partial<CellOptions> = {}) {
  const actor = cell({ ...OPTIONS, ...options });
  const on = bench(actor, { address: 'cell/c1' });
  for (const host of hosts) on.tell(up(host), `compute/c1/${host}`);

  const start = (instance: string, host: string, alternates: readonly string[] = []) =>
    on.tell(startOf(instance, alternates, host), 'conductor/0');
  let failures = 0;
  const stateOf = (host: string) => viewOfHost(on.state.hosts.get(host) as never).state;
  return {
    ...on,
    on,
    actor,
    start,
    activate(instance: string, host: string) {
      start(instance, host);
      on.tell({ type: 'built', ...ofAttempt(instance, 1, host) });
    },
    fail(host: string, type: 'build-failed' | 'build-aborted' = 'build-failed') {
      failures += 1;
      const instance = `failure-${failures}`;
      start(instance, host);
      return on.tell({ type, ...ofAttempt(instance, 1, host), reason: 'no image' });
    },
    silence(host: string) {
      for (let passed = 0; passed < 25_000; passed += 5_000) {
        on.pass(5_000);
        for (const other of hosts) {
          if (other !== host) on.tell({ type: 'alive', host: other, incarnation: 'life-1' }, `compute/c1/${other}`);
        }
      }
      assert.is(stateOf(host), 'down');
    },
    fence: (host: string) => on.tell({ type: 'fence-host', ask: 1, host }, 'gateway/operator'),
    hostOf: (host: string) => viewOfHost(on.state.hosts.get(host) as never),
    stateOf,
    view: (instance: string) => viewOf(on, instance),
    survives() {
      assert.equal(replayed(actor, on.entries), on.stored());
      assert.equal(restored(actor, on.stored()), on.stored());
    },
  };
}
