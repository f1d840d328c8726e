import { readdirSync, readFileSync } from "node:fs";

/** Microseconds that all threads of a process have computed, as the kernel counted them; 0 for one that has ended. */
export function computedUs(pid: number | undefined): number {
  if (pid === undefined) return 0;
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const ns = threads.map((thread) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]),
    );
    return ns.reduce((sum, each) => sum + each, 0) / 1_000;
  } catch (thrown) {
    if (["ENOENT", "ESRCH"].includes((thrown as NodeJS.ErrnoException).code ?? "")) return 0;
    throw thrown;
  }
}

/** Hundredths of a second are what the kernel counts in here. */
const TICK_US = 10_000;

/** Microseconds that a process and the ones that it has started and seen end have computed. */
export function computedWithEndedUs(pid: number | undefined): number {
  if (pid === undefined) return 0;
  try {
    // The name of the program is in brackets and may hold anything.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * TICK_US;
  } catch (thrown) {
    if (["ENOENT", "ESRCH"].includes((thrown as NodeJS.ErrnoException).code ?? "")) return 0;
    throw thrown;
  }
}
