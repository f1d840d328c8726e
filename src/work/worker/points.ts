import { messageOf, type Timer } from "../../kernel/index.ts";
import type { Held, HeldLeases } from "./held-leases.ts";
import type { WorkerOptions } from "./worker-options.ts";

/** Between two tellings: what is said in between goes together. */
const EVERY_MS = 2_000;

export type Points = ReturnType<typeof createPoints>;

/** Tells what jobs say of themselves step by step. Nothing waits for it, and what cannot be told is let go of. */
export function createPoints(
  { queue, clock, log }: Pick<WorkerOptions, "queue" | "clock" | "log">,
  leases: Pick<HeldLeases, "all">,
) {
  let timer: Timer | undefined;
  let stopped = queue.curves === undefined;
  const tell = async (all: readonly Held[]): Promise<void> => {
    const curves = all.flatMap(({ ref, points }) => {
      const said = points.take();
      return said.length === 0 ? [] : [{ ref, points: said }];
    });
    if (stopped || curves.length === 0) return;
    try {
      if ((await queue.curves?.(curves)) === false) stopped = true;
    } catch (thrown) {
      log.debug("the metrics of jobs could not be told", { jobs: curves.length, error: messageOf(thrown) });
    }
  };
  return {
    /** A job says numbers of how it goes. */
    add(one: Held, metrics: Readonly<Record<string, number>>) {
      if (stopped) return;
      one.points.add({ at: clock.now(), progress: one.progress.progress ?? null, metrics });
      timer ??= clock.after(EVERY_MS, () => {
        timer = undefined;
        void tell(leases.all());
      });
    },
    /** A job has ended: its last points go now. */
    end: (one: Held) => void tell([one]),
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
