// What the tests of the audit share: an audit beside a deployment, and a voice with which a test makes real what should
// never be, by telling an owner what nobody would.

import type { AnyMessage } from '../../actors/messages/any.ts';
import type { AuditResult } from '../../runtime/audit/audit.ts';
import { type AuditorOptions, auditOn } from '../../runtime/audit/auditor.ts';
import type { Bus } from '../../runtime/bus/bus.ts';
import { type Asking, asking } from '../../runtime/gateway/asking.ts';
import { outboxOf } from '../../runtime/outbox.ts';
import type { Subjects } from '../../runtime/subjects.ts';
import { systemClock } from '../../runtime/system-clock.ts';

export interface Auditor {
  readonly asking: Asking;
  audit(options?: Partial<AuditorOptions>): Promise<AuditResult>;
  /** The kinds of what is found, and what is not known. */
  found(options?: Partial<AuditorOptions>): Promise<string[]>;
  say(to: string, message: AnyMessage): void;
  stop(): void;
}

/** @param cells Those of the deployment: to listen for them takes a while, and is done by the command line's tests. */
export function auditorOf(
  { bus, subjects }: { bus: Bus; subjects: Subjects },
  { cells, pauseMs = 300 }: { cells: readonly string[]; pauseMs?: number },
): Auditor {
  const clock = systemClock();
  const onError = () => undefined;
  const outbox = outboxOf({ bus, clock, subjects, events: false, onError });
  const asker = asking({ name: 'auditor', bus, clock, outbox, subjects, timeoutMs: 60_000, onError });
  const auditor: Auditor = {
    asking: asker,
    audit: (options = {}) => auditOn({ bus, clock, subjects, cells, pauseMs, ...options }),
    async found(options) {
      const { findings, unknown } = await auditor.audit(options);
      return [...findings.map(({ kind, what }) => `${kind}: ${what}`), ...unknown];
    },
    say: (to, message) => outbox.send(asker.address, to, message),
    stop: () => asker.stop(),
  };
  return auditor;
}
