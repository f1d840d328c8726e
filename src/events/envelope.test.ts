import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { builtinRows } from "./catalog.ts";
import { contentHash, DataEventType, EventSource } from "./envelope.ts";

describe("the envelope", () => {
  test("DataEventType has the wire value of every event and cannot be changed", () => {
    expect(Object.keys(DataEventType)).toEqual(Object.keys(builtinRows));
    expect(DataEventType.NEW_GAMES_AVAILABLE).toBe("new_games");
    expect(DataEventType.MODEL_PROMOTED).toBe("model_promoted");
    expect(Object.isFrozen(DataEventType)).toBe(true);
  });

  test("EventSource has the four views by which an event can come", () => {
    expect(Object.values(EventSource)).toEqual(["data_bus", "stage_bus", "cross_process", "router"]);
    expect(Object.isFrozen(EventSource)).toBe(true);
  });

  test("the content hash is the SHA-256 of name and sorted payload", () => {
    expect(contentHash("MODEL_PROMOTED", { b: 1, a: [true, null] })).toBe(
      createHash("sha256").update('MODEL_PROMOTED:{"a":[true,null],"b":1}').digest("hex"),
    );
  });

  test("equal payloads have equal hashes whatever the order of their keys, and other names other hashes", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (payload) => {
        const reversed = Object.fromEntries(Object.entries(payload).reverse());
        expect(contentHash("A", reversed)).toBe(contentHash("A", payload));
        expect(contentHash("B", payload)).not.toBe(contentHash("A", payload));
      }),
    );
  });
});
