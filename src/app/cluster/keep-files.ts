/** Lets a coordinator look after its files, again and again, until it is told to end. */
import { type Clock, type Log, messageOf, sleep } from "../../kernel/index.ts";
import { type MemberFiles, memberLimits } from "../../sync/index.ts";

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
        if (!signal.aborted && why !== said) log.warn("files of the coordinators are not kept equal", { error: why });
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
