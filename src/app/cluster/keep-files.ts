/** Lets a coordinator look after its files, again and again, until it is told to end. */
import { type Clock, isOperatingError, type Log, messageOf, sleep } from "../../kernel/index.ts";
import { type MemberFiles, memberLimits } from "../../sync/index.ts";

/** What is said between two leaders; it is over when the next one is up. */
const BETWEEN_TERMS: ReadonlySet<string> = new Set([
  "NO_LEADER",
  "NOT_LEADER",
  "STARTING",
  "UNKNOWN_MEMBER",
  "UNREACHABLE",
]);

export function keepFiles(files: MemberFiles, clock: Clock, log: Log): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  /** The same trouble is logged once while it lasts. */
  let said = "";
  const running = (async () => {
    while (!signal.aborted) {
      let more = false;
      try {
        more = (await files.round(signal)).more;
        said = "";
      } catch (thrown) {
        const why = messageOf(thrown);
        const isUsual = isOperatingError(thrown) && BETWEEN_TERMS.has(thrown.code);
        if (!signal.aborted && !isUsual && why !== said)
          log.warn("files of the coordinators are not kept equal", { error: why });
        said = why;
      }
      if (!more) await sleep(clock, memberLimits.everyMs, signal).catch(() => {});
    }
  })();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
