import { messageOf, type Timer } from "../../kernel/index.ts";
import type { Surroundings } from "./config.ts";
import type { ActionRow, DaemonRecord, SupervisorEvent } from "./supervision-store.ts";

/**
 * Writes down what the supervisor does, in order, one commit at a time. Supervision never waits for the disk: what cannot
 * be written now is kept and tried again.
 */
export type WriteQueue = ReturnType<typeof createWriteQueue>;

const RETRY_MS = 1_000;
/** What waits for a disk that stays away is bounded; the oldest words go first, the records never. */
const MAX_WAITING = 10_000;

export function createWriteQueue({ store, clock, log }: Pick<Surroundings, "store" | "clock" | "log">) {
  let records = new Map<string, DaemonRecord>();
  let actions: ActionRow[] = [];
  let events: SupervisorEvent[] = [];
  let writing = false;
  let retry: Timer | undefined;
  let stopped = false;
  const idle: (() => void)[] = [];
  const isEmpty = () => records.size + actions.length + events.length === 0;

  const pump = async (): Promise<void> => {
    if (writing || stopped || retry !== undefined) return;
    writing = true;
    // One turn later, so that what belongs together is one commit.
    await Promise.resolve();
    while (!isEmpty() && !stopped) {
      const batch = { records, actions, events };
      records = new Map();
      actions = [];
      events = [];
      try {
        await store.write(batch);
      } catch (thrown) {
        log.error("the records of the supervisor were not stored; trying again", { error: messageOf(thrown) });
        records = new Map([...batch.records, ...records]);
        actions = [...batch.actions, ...actions].slice(-MAX_WAITING);
        events = [...batch.events, ...events].slice(-MAX_WAITING);
        if (!stopped)
          retry = clock.after(RETRY_MS, () => {
            retry = undefined;
            void pump();
          });
        break;
      }
    }
    writing = false;
    if (isEmpty() || stopped) for (const wake of idle.splice(0)) wake();
  };

  return {
    record(name: string, record: DaemonRecord) {
      records.set(name, record);
      void pump();
    },
    action(row: ActionRow) {
      actions.push(row);
      void pump();
    },
    event(event: SupervisorEvent) {
      events.push(event);
      void pump();
    },
    /** Resolves when all is written, or with false after so long. */
    drain: (timeoutMs: number) =>
      new Promise<boolean>((resolve) => {
        if (isEmpty() && !writing) return resolve(true);
        const timer = clock.after(timeoutMs, () => resolve(false), "hold");
        idle.push(() => {
          timer.cancel();
          resolve(isEmpty());
        });
      }),
    stop() {
      stopped = true;
      retry?.cancel();
      retry = undefined;
      for (const wake of idle.splice(0)) wake();
    },
  };
}
