/** What only the worker itself can measure: how late its loop is. Told to the main process beside it, which measures the rest. */
import { createIds, type Edges, messageOf, sleep } from "../../kernel/index.ts";
import { loopDelay, metricsOver, type NodeLink } from "../../surfaces/index.ts";

const FIRST_MS = 1_000;
const EVERY_MS = 15_000;

export function tellOwnFigures({
  link,
  nodeId: node_id,
  clock,
  random,
  log,
}: Edges & { readonly link: NodeLink; readonly nodeId: string }): { stop(): Promise<void> } {
  const ids = createIds(clock, random);
  const delay = loopDelay(clock);
  const stopping = new AbortController();

  const tell = async (): Promise<void> => {
    const { p99, max } = delay.read();
    const metrics = {
      worker_pid: process.pid,
      worker_loop_delay_p99_ms: p99 * 1_000,
      worker_loop_delay_most_ms: max * 1_000,
    };
    await metricsOver(link, { id: ids.uuid(), node_id, metrics });
  };

  const loop = async (): Promise<void> => {
    for (let pauseMs = FIRST_MS; ; pauseMs = EVERY_MS) {
      await sleep(clock, pauseMs, stopping.signal).catch(() => undefined);
      if (stopping.signal.aborted) return;
      await tell().catch((thrown) =>
        log.debug("the figures of this worker were not told", { error: messageOf(thrown) }),
      );
    }
  };
  const running = loop();
  return {
    async stop() {
      stopping.abort(new Error("the worker stops"));
      delay.stop();
      await running;
    },
  };
}
