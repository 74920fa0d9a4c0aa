// A stream of JetStream that keeps what is asked acknowledges it to whoever asks, mostly before anybody else answers: as if
// it were the answer.

import { CellwrightError } from './errors.ts';

/** @throws CellwrightError `answered-by-stream` that names the stream, where an answer is only such an acknowledgement. */
export function refuseOfStream(subject: string, body: unknown): void {
  const { stream, seq } = (body ?? {}) as { stream?: unknown; seq?: unknown };
  if (typeof stream !== 'string' || typeof seq !== 'number') return;
  const why = `stream '${stream}' keeps what is sent to '${subject}', and acknowledges it as if that were the answer`;
  throw new CellwrightError('answered-by-stream', `${why}: nats stream edit ${stream} --no-ack`);
}
