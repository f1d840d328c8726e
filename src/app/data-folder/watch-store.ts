import { type Log, OperatingError } from "../../kernel/index.ts";
import type { Store } from "../../router/index.ts";

/** Tells when the disk refuses and when it works again. The writer's thread cannot be brought back: then the promise resolves. */
export function watchStore(store: Store, log: Log): Promise<OperatingError> {
  const { promise, resolve } = Promise.withResolvers<OperatingError>();
  store.onFault((fault) => {
    if (fault === null) return log.info("the store works again");
    log.error("the store refuses to commit; publishing is refused until it recovers", { ...fault });
    if (fault.code === "STORE_GONE")
      resolve(
        OperatingError.internal("STORE_GONE", fault.message, {
          status: 503,
          hint: "Start the process again; the journal is safe.",
        }),
      );
  });
  return promise;
}
