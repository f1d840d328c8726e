/** What came by each way since the start of this node, for whoever asks how files travel. */
import type { CopiesTold } from "../../surfaces/index.ts";
import type { TransferTry, Ways } from "../../sync/index.ts";

type Shown = NonNullable<CopiesTold["transfers"]>["ways"][number];
type Figures = Omit<Shown, "state">;

/** Ways that are told, the last ones used. */
const MAX_WAYS = 50;
const MAX_KNOWN = 1_000;

export function createWayBook() {
  const known = new Map<string, Figures>();
  const keyOf = ({ transport, place }: Pick<Figures, "transport" | "place">) => `${transport} ${place}`;
  return {
    note(tries: readonly TransferTry[]): void {
      for (const { transport, place, files, bytes, error } of tries) {
        const key = keyOf({ transport, place });
        const before = known.get(key) ?? { transport, place, files: 0, bytes: 0, failures: 0, stalls: 0, error: null };
        known.delete(key);
        known.set(key, {
          transport,
          place,
          files: before.files + files,
          bytes: before.bytes + bytes,
          failures: before.failures + (error === undefined ? 0 : 1),
          stalls: before.stalls + (error?.code === "TRANSFER_STALLED" ? 1 : 0),
          error: error === undefined ? null : `${error.code}: ${error.message}`.slice(0, 500),
        });
        if (known.size > MAX_KNOWN) known.delete(known.keys().next().value!);
      }
    },
    /** With how the breaker of each is now. */
    shown(states: ReturnType<Ways["states"]>): Shown[] {
      const stateOf = new Map(states.map(({ transport, place, state }) => [`${transport} ${place}`, state]));
      return [...known.values()]
        .slice(-MAX_WAYS)
        .map((figures) => ({ ...figures, state: stateOf.get(keyOf(figures)) ?? "closed" }));
    },
  };
}
