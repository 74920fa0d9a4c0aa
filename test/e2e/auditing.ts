// What the tests of the audit share: an audit beside a deployment, and a voice with which a test makes real what should
// never be, by telling an owner what nobody would.

import type { AnyMessage } from '../../actors/messages/any.ts';
import type { AuditResult } from '../../runtime/audit/audit.ts';
import { type AuditorOptions, auditOn } from '../../runtime/audit/auditor.ts';
import { cellsHeard } from '../../runtime/audit/cells.ts';
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

/** @param pauseMs Between two looks. */
export function auditorOf(
  { bus, subjects }: { bus: Bus; subjects: Subjects },
  { pauseMs = 300, timeoutMs = 5_000 }: { pauseMs?: number; timeoutMs?: number } = {},
): Auditor {
  const clock = systemClock();
  const onError = () => undefined;
  const outbox = outboxOf({ bus, clock, subjects, events: false, onError });
  const asker = asking({ name: 'auditor', bus, clock, outbox, subjects, timeoutMs, onError });
  let cells: ReadonlySet<string> | undefined;
  const auditor: Auditor = {
    asking: asker,
    async audit(options = {}) {
      // Those of a test do not change; to listen for them takes a while.
      cells ??= await cellsHeard({ bus, clock, subjects });
      return auditOn({ bus, clock, subjects, cells, pauseMs, answerMs: timeoutMs, ...options });
    },
    async found(options) {
      const { findings, unknown } = await auditor.audit(options);
      return [...findings.map(({ kind, what }) => `${kind}: ${what}`), ...unknown];
    },
    say: (to, message) => outbox.send(asker.address, to, message),
    stop: () => asker.stop(),
  };
  return auditor;
}
