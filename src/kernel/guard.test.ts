import { expect, test } from "vitest";
import { guarded, guardWith } from "./guard.ts";

test("an act is done only while its guard is sure; what is no act passes, and so does everything without a guard", async () => {
  let isSure = true;
  const done: string[] = [];
  const port = {
    name: "sink",
    get count() {
      return done.length;
    },
    list: () => done.length,
    send: async (text: string) => void done.push(text),
  };
  const safe = guarded(
    guardWith(() => isSure),
    port,
    { send: "a message" },
  );
  await safe.send("one");
  isSure = false;
  await expect(safe.send("two")).rejects.toMatchObject({
    code: "LEAD_UNSURE",
    retryable: true,
    message: "this coordinator cannot be sure that it still leads: a message waits",
  });
  expect([safe.name, safe.count, safe.list(), done]).toEqual(["sink", 1, 1, ["one"]]);
  expect(guarded(undefined, port, { send: "a message" })).toBe(port);
});
