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
