// Has the README and the guides show the machines as they are.
// Use: npx tsx test/docs/update-diagrams.ts

import { writeFileSync } from 'node:fs';
import { ROOT } from '../support/programs.ts';
import { MACHINES, shownIn, withDiagrams } from './diagrams.ts';
import { documents } from './documents.ts';

const all = documents();
const homes = MACHINES.map((machine) => ({ machine, path: shownIn(all, machine).path }));
const updated = all.flatMap(({ path, text }) => {
  const machines = homes.filter((home) => home.path === path).map(({ machine }) => machine);
  const next = withDiagrams(text, machines);
  return next === text ? [] : [{ path, next }];
});
for (const { path, next } of updated) writeFileSync(`${ROOT}${path}`, next);
console.log(
  updated.length === 0
    ? 'the diagrams are up to date'
    : `the diagrams are written: ${updated.map(({ path }) => path).join(', ')}`,
);
