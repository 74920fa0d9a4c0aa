// Writes down the messages of this version, as those that later versions have to understand.
// Use: npx tsx test/support/update-message-shapes.ts && npx biome check --write test/fixtures

import { writeFileSync } from 'node:fs';
import { messageShapes } from './message-shapes.ts';
import { ROOT } from './programs.ts';

writeFileSync(`${ROOT}test/fixtures/messages/version-1.json`, `${JSON.stringify(messageShapes())}\n`);
