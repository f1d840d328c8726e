/**
 * Runs every step in order, also after one has thrown: what stops a system must not end half-way. What was thrown comes at
 * the end, alone or as an `AggregateError`.
 */
export async function runAll(steps: readonly (() => unknown)[]): Promise<void> {
  const thrown: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      thrown.push(error);
    }
  }
  if (thrown.length === 1) throw thrown[0];
  if (thrown.length > 1) throw new AggregateError(thrown, `${thrown.length} of ${steps.length} steps failed`);
}
