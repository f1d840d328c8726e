/** How long a test may wait for what must come: long on a quiet machine already, and longer on a slow one. */

/** Carries the factor to the processes of a run. It is not one of the settings, so it lacks their prefix. */
export const SLOWNESS = "TEST_SLOWNESS";

/** How slow this machine was said to be for this run, as a factor on every limit; 1 where nobody measured. */
export function slowness(env: NodeJS.ProcessEnv = process.env): number {
  const given = Number(env[SLOWNESS] ?? 1);
  return Number.isFinite(given) && given >= 1 ? given : 1;
}

/** A limit of time as it is on a quiet machine, made longer where the run was told that this one is slower. */
export const patience = (ms: number): number => Math.round(ms * slowness());

/** For `vi.waitFor` and its like: looked at often, but not so often that it takes the time of what it waits for; given up late. */
export const PATIENT = { timeout: patience(60_000), interval: 50 };

/** Waits for a condition also where no test runner is; `what` says what was still wrong when nobody waits any longer. */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what: () => string,
  { timeout, interval } = PATIENT,
): Promise<void> {
  const begunMs = performance.now();
  while (!(await holds())) {
    if (performance.now() - begunMs > timeout) throw new Error(`${what()} after ${Math.round(timeout / 1_000)} s`);
    await new Promise((resolve) => setTimeout(resolve, interval));
  }
}
