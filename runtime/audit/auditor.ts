// An audit beside a deployment: what it needs to ask with, made and taken down again.

import { randomBytes } from 'node:crypto';
import { untilTaken } from '../backoff.ts';
import type { Bus } from '../bus/bus.ts';
import { clientOf } from '../client.ts';
import type { Clock } from '../clock.ts';
import { type Asking, asking } from '../gateway/asking.ts';
import { outboxOf } from '../outbox.ts';
import { seededRandom } from '../random.ts';
import type { Subjects } from '../subjects.ts';
import { type AuditOptions, type AuditResult, audit } from './audit.ts';
import { cellsHeard } from './cells.ts';

export interface AuditorOptions extends Partial<Omit<AuditOptions, 'asking' | 'client' | 'outbox' | 'clock'>> {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly subjects: Subjects;
}

/** How long an owner may take to answer, ms; beyond it, it counts as down. */
const ANSWER_MS = 5_000;

/**
 * Audits the deployment on a bus. Without `cells` it first listens for them, for a few seconds.
 * @throws CellwrightError `interrupted` when the signal says so, `closed` when the bus is.
 */
export async function auditOn({ bus, clock, subjects, ...options }: AuditorOptions): Promise<AuditResult> {
  // Who was asked to mend something answers, which is of no interest here: the next look shows whether it helped.
  const onError = () => undefined;
  const outbox = outboxOf({ bus, clock, subjects, events: false, onError });
  const name = `audit-${randomBytes(6).toString('hex')}`;
  const asker = asking({ name, bus, clock, outbox, subjects, timeoutMs: ANSWER_MS, onError });
  try {
    const client = clientOf({ bus, clock, subjects });
    const random = seededRandom(name);
    // One who is busy is not down.
    const patient: Asking = {
      ...asker,
      ask: (to, question, type) =>
        untilTaken(() => asker.ask(to, question, type), { clock, random, limitMs: ANSWER_MS }),
    };
    const cells = options.cells ?? (await cellsHeard({ bus, clock, subjects }, options.signal));
    return await audit({ ...options, asking: patient, client, clock, outbox, cells });
  } finally {
    asker.stop();
  }
}
