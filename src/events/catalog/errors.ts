import { details, field, fields, text, unixTime, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** What the router says of the handlers it runs, and what becomes of the dead letters they leave. */
export const errors = defineEvents("errors", {
  ERROR: {
    about: "A part of the system reports an error that it could not handle itself.",
    orderKey: "component",
    dedup: "content",
    payload: () => ({
      ...fields("component", "error", "error_code?", "severity?", "node_id?", "event_type?", "event_id?"),
      details: details("what helps to understand it").optional(),
    }),
  },
  HANDLER_FAILED: {
    about: "A handler threw on every try; the event is now a dead letter of that consumer.",
    orderKey: "consumer",
    payload: () => ({
      ...fields("consumer", "event_id", "attempts"),
      event_type: field.event_type.describe("event that was being handled"),
      error: text("what the handler threw last"),
      fingerprint: word("groups equal errors"),
    }),
  },
  HANDLER_TIMEOUT: {
    about: "A handler ran into its time limit on its last try; the event is now a dead letter of that consumer.",
    orderKey: "consumer",
    payload: () => ({
      ...fields("consumer", "event_id", "timeout_seconds", "attempts"),
      event_type: field.event_type.describe("event that was being handled"),
    }),
  },
  DLQ_STALE_EVENTS: {
    about: "A consumer has dead letters that wait too long or are too many; somebody should look.",
    orderKey: "consumer",
    dedup: ["consumer"],
    payload: () => ({
      ...fields("consumer", "event_types"),
      dead_letters: field.dead_letters.describe("dead letters that wait"),
      oldest_at: unixTime("when the oldest of them died"),
    }),
  },
  DLQ_EVENTS_REPLAYED: {
    about: "Dead letters of a consumer were delivered again, and this time it succeeded.",
    orderKey: "consumer",
    payload: () => ({
      ...fields("consumer", "event_types", "requested_by?"),
      dead_letters: field.dead_letters.describe("dead letters that were resolved"),
    }),
  },
  DLQ_EVENTS_PURGED: {
    about: "Dead letters of a consumer were discarded without ever being handled.",
    orderKey: "consumer",
    payload: () => ({
      ...fields("consumer", "event_types", "reason", "requested_by?"),
      dead_letters: field.dead_letters.describe("dead letters that are gone"),
      oldest_at: unixTime("when the oldest of them died").optional(),
    }),
  },
});
