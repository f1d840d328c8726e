import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { routerOver } from "../../test/support/router.ts";
import { defineEvents } from "../events/index.ts";
import { isOperatingError } from "../kernel/index.ts";
import { defineTable, type EventRouter } from "./index.ts";

const rows = defineEvents("test", {
  CAUSED: { about: "A cause.", class: "durable", orderKey: null, payload: {} },
  COUNTED: { about: "A count.", class: "durable", orderKey: null, payload: { n: z.number() } },
  BLINKED: { about: "A passing thing.", class: "volatile", orderKey: null, payload: { n: z.number() } },
});
const counts = defineTable<{ n: number }>("counts");
const open: EventRouter[] = [];
const fresh = () => {
  const { router, store } = routerOver(rows);
  open.push(router as unknown as EventRouter);
  return { router, stored: () => store.read("SELECT value FROM state_rows") };
};
afterEach(async () => {
  for (const router of open.splice(0)) {
    await router.stop();
    await router.store.close();
  }
});

describe("work that is no delivery", () => {
  test("commits its rows and its words together, and then runs what was to follow", async () => {
    const { router, stored } = fresh();
    const heard: unknown[] = [];
    router.subscribe(null, ({ eventType, source }) => void heard.push([eventType, source, stored().length]));
    await router.transact({ source: "loop" }, ({ rows, emit, afterCommit }) => {
      rows.put(counts, "a", { n: 1 });
      emit("BLINKED", { n: 1 });
      emit("COUNTED", { n: 1 });
      afterCommit(() => heard.push("after"));
      expect(heard).toEqual([]);
    });
    expect(heard).toEqual([["COUNTED", "loop", 1], ["BLINKED", "loop", 1], "after"]);
  });

  test("keeps nothing when it throws", async () => {
    const { router, stored } = fresh();
    const work = router.transact({ source: "loop" }, async ({ rows, emit, afterCommit }) => {
      rows.put(counts, "a", { n: 1 });
      emit("COUNTED", { n: 1 });
      afterCommit(() => expect.unreachable());
      throw new Error("no");
    });
    await expect(work).rejects.toThrow("no");
    expect(stored()).toEqual([]);
    expect(router.history()).toEqual([]);
  });

  test("ends at its time limit, and what it says afterwards is refused", async () => {
    const { router } = fresh();
    let late: Promise<void> | undefined;
    const work = router.transact({ source: "loop", timeoutMs: 1 }, ({ signal, emit }) => {
      late = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve())).then(() => {
        emit("COUNTED", { n: 1 });
      });
      return late;
    });
    await expect(work).rejects.toSatisfy((thrown) => isOperatingError(thrown, "HANDLER_TIME_LIMIT"));
    await expect(late).rejects.toThrow("loop emits COUNTED after its work has ended");
  });

  test("has the cause that it names and no other", async () => {
    const { router } = fresh();
    const ended: Promise<void>[] = [];
    router.subscribe("CAUSED", (event) => {
      ended.push(router.transact({ source: "free" }, ({ emit }) => void emit("COUNTED", { n: 1 })));
      ended.push(router.transact({ source: "bound", parent: event }, ({ emit }) => void emit("COUNTED", { n: 2 })));
    });
    const cause = await router.publish("CAUSED", {});
    await Promise.all(ended);
    const parents = router
      .history({ eventType: "COUNTED" })
      .map(({ source, parentEventId }) => [source, parentEventId]);
    expect(parents).toEqual([
      ["free", null],
      ["bound", cause.eventId],
    ]);
  });

  test("does not begin when its signal has aborted or the router has stopped", async () => {
    const { router } = fresh();
    const never = () => expect.unreachable();
    await expect(router.transact({ source: "x", signal: AbortSignal.abort(new Error("over")) }, never)).rejects.toThrow(
      "over",
    );
    await router.stop();
    await expect(router.transact({ source: "x" }, never)).rejects.toThrow("the router has stopped");
  });
});
