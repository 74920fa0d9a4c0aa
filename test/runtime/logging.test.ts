// Area: logging. What becomes of what a node says of itself ends nothing.

import { execFileSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import type { Logger } from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { memoryBus } from '../../runtime/bus/memory.ts';
import { startNode, systemClock } from '../../runtime/index.ts';
import { unfailingLogger } from '../../runtime/logging.ts';
import { quickDriver } from '../e2e/system.ts';
import { ROOT } from '../support/programs.ts';

const test = suite('logging');

test('logging - a node outlives a logger that throws, at once or by and by, and goes on', async () => {
  const unheard: unknown[] = [];
  const note = (reason: unknown) => unheard.push(reason);
  process.on('unhandledRejection', note);
  const told: unknown[] = [];
  const throws = (_: unknown, message: string) => {
    told.push(message);
    throw new Error('no room for this line');
  };
  const logger = { info: throws, warn: throws, error: throws, fatal: throws } as unknown as Logger;
  const bus = memoryBus({ clock: systemClock() });
  let builds = 0;
  const node = await startNode({
    roles: ['placement', 'scheduler', 'conductor', 'cell:c1', 'compute:c1/h1'],
    driver: ({ cell, host }) => ({
      ...quickDriver(cell, host),
      async build() {
        builds += 1;
        if (builds === 1) throw new Error('not yet');
        return { outcome: 'built' };
      },
    }),
    bus,
    logger,
  });
  try {
    await node.client.build({ id: 'web', resources: { VCPU: 1 } });
    assert.is((await node.client.ended('web')).state, 'active');
    unfailingLogger({ ...logger, warn: async () => throws({}, 'later') } as unknown as Logger).warn({}, 'x');
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(told, ['not yet', 'later']);
    assert.equal(unheard, []);
  } finally {
    process.off('unhandledRejection', note);
    await node.stop();
    await bus.close();
  }
});

test('logging - a process outlives that stderr takes nothing, as on a disk that is full', () => {
  if (!existsSync('/dev/full')) return;
  const full = openSync('/dev/full', 'w');
  try {
    const script = `
      const { unfailingLogger } = await import('./runtime/logging.ts');
      const logger = unfailingLogger(undefined);
      for (let line = 0; line < 100; line += 1) logger.warn({ line }, 'x'.repeat(100_000));
      await new Promise((resolve) => setTimeout(resolve, 50));
      console.log('alive');`;
    const argv = ['--import', 'tsx', '--input-type=module', '--eval', script];
    const said = execFileSync(process.execPath, argv, { cwd: ROOT, stdio: ['ignore', 'pipe', full] });
    assert.is(said.toString(), 'alive\n');
  } finally {
    closeSync(full);
  }
});

test('logging - a logger may be frozen, a module, or one whose methods are read anew each time, and stays as it is', () => {
  const said: string[] = [];
  const say = (_: unknown, message: string) => said.push(message);
  const plain = { info: say, warn: say, error: say, fatal: say };
  let set = 0;
  const changing = {
    ...plain,
    get warn() {
      return say;
    },
    set warn(_) {
      set += 1;
    },
  };
  for (const given of [Object.freeze({ ...plain }), new Proxy(plain, { set: () => false }), changing]) {
    unfailingLogger(given as unknown as Logger).warn({}, 'it is heard');
  }
  assert.equal([said.length, set], [3, 0]);
});

test.run();
