import { list, lockName, nodeId, requestedBy, timeoutSeconds, unixTime, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** Named locks that were waited for too long. */
export const locks = defineEvents("locks", {
  LOCK_TIMEOUT: {
    about: "A lock could not be had in time.",
    class: "durable",
    orderKey: "lock_name",
    dedup: "content",
    provisional: true,
    payload: {
      lock_name: lockName,
      requested_by: requestedBy,
      timeout_seconds: timeoutSeconds,
      holder: word("who holds it").optional(),
      held_since_at: unixTime("when it was taken").optional(),
      node_id: nodeId.optional(),
    },
  },
  DEADLOCK_DETECTED: {
    about: "Holders of locks wait for each other; one of them has to give way.",
    class: "durable",
    orderKey: "lock_name",
    dedup: "content",
    provisional: true,
    payload: {
      lock_name: lockName.describe("lock that is taken away to break the cycle"),
      lock_names: list("locks in the cycle", lockName),
      holders: list("who holds them, in the same order", word("holder")),
    },
  },
});
