import { field, fields, list, unixTime, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Named locks that were waited for too long. */
export const locks = defineEvents("locks", {
  LOCK_TIMEOUT: {
    about: "A lock was not free in time.",
    orderKey: "lock_name",
    dedup: "content",
    provisional: true,
    payload: {
      ...fields("lock_name", "requested_by", "timeout_seconds", "node_id?"),
      holder: word("who holds it").optional(),
      held_since_at: unixTime("when it was taken").optional(),
    },
  },
  DEADLOCK_DETECTED: {
    about: "Holders of locks wait for each other; one of them has to give way.",
    orderKey: "lock_name",
    dedup: "content",
    provisional: true,
    payload: {
      lock_name: field.lock_name.describe("lock that is taken away to break the cycle"),
      lock_names: list("locks in the cycle", field.lock_name),
      holders: list("who holds them, in the same order", word("holder")),
    },
  },
});
