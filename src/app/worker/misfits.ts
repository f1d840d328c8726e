/** Configs for which this machine has too little: their jobs ran out of memory, disk or processes again and again. */
import type { ExecutorPort } from "../../work/worker/index.ts";

/** So many attempts in a row are no accident. */
const IN_A_ROW = 3;
const MAX_CONFIGS = 1_000;

/** The executor as it is, with a look at how its jobs end. */
export function noticeMisfits(executor: ExecutorPort): ExecutorPort & { readonly misfits: () => readonly string[] } {
  const inARow = new Map<string, number>();
  return {
    kinds: executor.kinds,
    kill: () => executor.kill(),
    close: () => executor.close(),
    async run(lease, hooks) {
      const result = await executor.run(lease, hooks);
      const config = lease.config_key;
      if (config === null || result.status === "stopped") return result;
      const isShort = result.status === "failed" && result.failure.class === "resource";
      if (!isShort) inARow.delete(config);
      else if (inARow.has(config) || inARow.size < MAX_CONFIGS) inARow.set(config, (inARow.get(config) ?? 0) + 1);
      return result;
    },
    misfits: () =>
      [...inARow]
        .filter(([, times]) => times >= IN_A_ROW)
        .map(([config]) => config)
        .sort(),
  };
}
