import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { dryRun, name, note, time, whole } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const tag = "locks";
const DAY_SECONDS = 86_400;
const MAX_WAIT_SECONDS = 30;

/** What programs do with locks all the time: not recorded as writes. */
const daily = {
  tag,
  scope: "worker",
  limit: "claim",
  record: "no",
  bound: "10,000 locks, 10,000 requests that wait",
} as const;
const fence = lazy(() => z.int().min(1).describe("Number of the lock; it grows with every lock that is given."));

const held = lazy(() =>
  z
    .object({
      name: z.string(),
      holder: z.string(),
      fence: fence(),
      acquired_at: time,
      ttl_seconds: z.number().describe("How long it is theirs without a renewal."),
    })
    .meta({ id: "Lock", description: "A name that one holder has at a time." }),
);

export const listLocks = defineRoute("listLocks", "GET /v1/locks", {
  tag,
  summary: "Locks that somebody has, by name, and who waits for them.",
  query: () => z.strictObject({ name: name.optional(), limit: whole(1, 1_000).default(1_000) }),
  about: "Those that fit.",
  answer: () =>
    z.object({
      locks: z.array(
        held().extend({
          left_seconds: z
            .number()
            .describe("How long it is still theirs; 0 once it has lapsed and nobody has asked since."),
          waiting: z.array(z.string()).describe("Who waits for it, the first in the queue first."),
        }),
      ),
    }),
});

export const acquireLock = defineRoute("acquireLock", "POST /v1/locks/acquire", {
  ...daily,
  summary: "Takes a lock, or waits for it.",
  body: () =>
    z.strictObject({
      name,
      holder: name.describe("Who you are; asked again by the same holder, it gets the same lock, renewed."),
      ttl_seconds: z.number().min(0.1).max(DAY_SECONDS),
      wait_seconds: z.number().min(0).max(MAX_WAIT_SECONDS).default(0),
      asks_again: z
        .boolean()
        .default(false)
        .describe("You will ask again if it is not free in time: LOCK_HELD instead of LOCK_TIMEOUT, and no event."),
    }),
  about: "The lock with its fence.",
  answer: held,
});

const ref = lazy(() => z.strictObject({ name, fence: fence() }));

export const renewLock = defineRoute("renewLock", "POST /v1/locks/renew", {
  ...daily,
  summary: "Holds a lock for its whole time again.",
  body: ref,
  about: "It is still yours.",
  answer: () => z.object({ name: z.string(), fence: fence() }),
});

export const releaseLock = defineRoute("releaseLock", "POST /v1/locks/release", {
  ...daily,
  summary: "Gives a lock back.",
  body: ref,
  about: "It is free, or has gone to the next who waits.",
  answer: () => z.object({ name: z.string(), fence: fence() }),
});

export const breakLock = defineRoute("breakLock", "POST /v1/locks/break", {
  tag,
  summary: "Takes a lock away from its holder, whose fence is refused from then on.",
  body: () => z.strictObject({ name, reason: note.min(1), dry_run: dryRun }),
  about: "Who had it.",
  answer: () => held().extend({ applied: z.boolean() }),
});

export type ListedLock = Answer<typeof listLocks>["locks"][number];
