import { messageOf, type Timer } from "../../kernel/index.ts";
import type { HeldLeases } from "./held-leases.ts";
import type { WorkerOptions } from "./worker-options.ts";

/** Between two tellings. What a program says in between is never sent. */
const EVERY_MS = 1_000;

/** Tells the boards of games that run here, from when the queue says that somebody looks until it says that nobody does. */
export function createBoards(
  { queue, clock, log }: Pick<WorkerOptions, "queue" | "clock" | "log">,
  leases: Pick<HeldLeases, "all">,
) {
  let timer: Timer | undefined;
  let telling = false;
  let stopped = false;
  const tell = async (): Promise<void> => {
    telling = true;
    try {
      const shown = leases
        .all()
        .flatMap(({ ref, board, phase }) => (phase === "running" && board !== undefined ? [{ ref, board }] : []));
      const goesOn = await queue.boards?.(shown);
      telling = false;
      if (goesOn) arm();
    } catch (thrown) {
      // The next beat says whether somebody still looks.
      telling = false;
      log.debug("boards could not be told", { error: messageOf(thrown) });
    }
  };
  const arm = (): void => {
    if (stopped || telling || timer !== undefined || queue.boards === undefined) return;
    timer = clock.after(EVERY_MS, () => {
      timer = undefined;
      void tell();
    });
  };
  return {
    /** Somebody looks. */
    wanted: arm,
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
