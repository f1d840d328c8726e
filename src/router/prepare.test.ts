import { describe, expect, onTestFinished, test } from "vitest";
import { routerOver } from "../../test/support/router.ts";
import { builtinRows } from "../events/index.ts";
import { defaultRouterSettings } from "./settings.ts";

const world = () => {
  const { router, store } = routerOver(builtinRows);
  onTestFinished(async () => {
    await router.stop();
    await store.close();
  });
  return router;
};

describe("an event that nobody has defined", () => {
  test.each([[[1, 2]], [[]], [null], ["text"], [7]])("is refused with %j for a payload", async (payload) => {
    await expect(world().publish("SOMETHING_OF_MINE", payload as never)).rejects.toMatchObject({
      code: "INVALID_PAYLOAD",
      message: "SOMETHING_OF_MINE: a payload is a JSON object",
    });
  });

  test("is durable, has no order key and no window of contents, and is counted", async () => {
    const router = world();
    const first = await router.publish("SOMETHING_OF_MINE", { config_key: "hex8_2p" });
    const second = await router.publish("SOMETHING_OF_MINE", { config_key: "hex8_2p" });
    expect(first).toMatchObject({ eventClass: "durable", orderKey: null, payloadVersion: 1, suppressed: null });
    expect([first.seq, second.seq]).toEqual([1, 2]);
    expect(router.getStats().unknown_events).toEqual({ SOMETHING_OF_MINE: 2 });
  });
});

test("the numbers of the delivery contract hold where nobody sets others", () => {
  expect(defaultRouterSettings).toMatchObject({
    handlerTimeoutMs: 600_000,
    maxAttempts: 5,
    retryFirstMs: 1_000,
    retryMostMs: 60_000,
    dedupWindowSeconds: 60,
    strictNames: false,
    retentionSeconds: 7 * 86_400,
    retentionBytes: 1_000_000_000,
    consumerExpirySeconds: 7 * 86_400,
  });
});
