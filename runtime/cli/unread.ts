// What becomes of a command whose output cannot be written.

/**
 * Whoever reads our output may stop reading, as `head` does: the command then ends, quietly. That it cannot be written, as
 * to a full disk, is told.
 * @param exitCode What the command ends with then.
 * @param unread And with this when nobody reads on.
 */
export function endWhenUnread(command: string, exitCode: () => number, unread = 0): void {
  // Nobody reads what is said beside the output, which is no reason to end.
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(unread);
    process.stderr.write(`${command}: standard output cannot be written: ${error.code ?? error.message}\n`, () =>
      process.exit(exitCode()),
    );
  });
}
