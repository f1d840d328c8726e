import { z } from "zod";
import { defineEvents } from "../../../src/events/index.ts";

export const chaosEvents = defineEvents("chaos", {
  CHAOS_WORK: {
    about: "Something to be counted.",
    class: "durable",
    orderKey: "key",
    payload: { key: z.string(), n: z.number() },
  },
  CHAOS_ECHO: {
    about: "An answer to one piece of work.",
    class: "durable",
    orderKey: null,
    payload: { of: z.string(), by: z.string() },
  },
});
