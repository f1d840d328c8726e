import { consumerName, count, eventId, seconds, text, word } from "../fields.ts";
import { defineEvents } from "../row.ts";

/** What the router says of the handlers it runs. */
export const handlers = defineEvents("error_recovery", {
  HANDLER_FAILED: {
    about: "A handler threw on every try; the event is now a dead letter of that consumer.",
    class: "durable",
    orderKey: "consumer",
    payload: {
      consumer: consumerName,
      event_type: word("event that was being handled"),
      event_id: eventId,
      error: text("what the handler threw last"),
      fingerprint: word("groups equal errors"),
      attempts: count("tries spent"),
    },
  },
  HANDLER_TIMEOUT: {
    about: "A handler ran into its time limit on its last try; the event is now a dead letter of that consumer.",
    class: "durable",
    orderKey: "consumer",
    payload: {
      consumer: consumerName,
      event_type: word("event that was being handled"),
      event_id: eventId,
      timeout_seconds: seconds("time limit"),
      attempts: count("tries spent"),
    },
  },
});
