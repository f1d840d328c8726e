/** The way back: steps that undo what was done, last first. A step that fails does not keep the others from being taken. */
export interface Undo {
  push(step: () => unknown): void;
  /** Takes all steps. Doing it twice is doing it once. Rejects in the end if steps failed. */
  run(): Promise<void>;
}

export function createUndo(): Undo {
  const steps: (() => unknown)[] = [];
  let running: Promise<void> | undefined;
  const runNow = async () => {
    const failures: unknown[] = [];
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      try {
        await step();
      } catch (thrown) {
        failures.push(thrown);
      }
    }
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, "several steps of the shutdown failed");
  };
  return {
    push: (step) => void steps.push(step),
    run() {
      running ??= runNow();
      return running;
    },
  };
}
