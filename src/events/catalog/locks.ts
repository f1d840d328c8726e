import { field, fields, list, unixTime, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Named locks that were waited for too long. */
export const locks = defineEvents("locks", {
  LOCK_TIMEOUT: {
    about: "A lock was not free in time.",
    orderKey: "lock_name",
    dedup: "content",
    payload: () => ({
      ...fields("lock_name", "requested_by", "timeout_seconds", "node_id?"),
      holder: word("who holds it").optional(),
      held_since_at: unixTime("when it was taken").optional(),
    }),
  },
  DEADLOCK_DETECTED: {
    about: "Holders of locks would wait for each other; the one who asked last was refused.",
    orderKey: "lock_name",
    dedup: "content",
    payload: () => ({
      lock_name: field.lock_name.describe("lock that the one who would close the cycle asked for in vain"),
      lock_names: list("locks in the cycle", field.lock_name),
      holders: list(
        "who waits for them, in the same order; each holds a lock that the one before it waits for",
        word("holder"),
      ),
    }),
  },
});
