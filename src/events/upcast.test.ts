import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { isOperatingError } from "../kernel/index.ts";
import { defineEvents, type Upcasters } from "./row.ts";
import { upcast } from "./upcast.ts";

/** Version 1 had `host`; 2 renamed it; 3 counts in seconds instead of minutes. */
const upcasters: Upcasters = {
  1: ({ host, ...rest }) => ({ ...rest, node_id: host }),
  2: ({ minutes, ...rest }) => ({ ...rest, duration_seconds: Number(minutes) * 60 }),
};

const { NODE_RESTED: row } = defineEvents("mine", {
  NODE_RESTED: {
    about: "A node rested for a while.",
    class: "durable",
    orderKey: "node_id",
    version: 3,
    upcasters,
    payload: { node_id: z.string(), duration_seconds: z.number() },
  },
});

describe("upcasting", () => {
  test("brings an old payload to today's version and keeps fields that nobody knows", () => {
    expect(upcast(row, { host: "gpu-1", minutes: 2, mood: "calm" }, 1)).toEqual({
      payload: { node_id: "gpu-1", duration_seconds: 120, mood: "calm" },
      version: 3,
      newer: false,
    });
  });

  test("leaves a payload of today's version as the very same object", () => {
    const payload = { node_id: "gpu-1", duration_seconds: 120 };
    expect(upcast(row, payload, 3).payload).toBe(payload);
  });

  test("keeps a payload of a newer version as it is, and says so", () => {
    const payload = { node: { id: "gpu-1" } };
    expect(upcast(row, payload, 4)).toEqual({ payload, version: 4, newer: true });
  });

  test("the whole chain equals its steps one after the other, and the input is never changed", () => {
    const chain = fc
      .array(fc.tuple(fc.constantFrom("rename", "add", "drop"), fc.constantFrom("a", "b", "c"), fc.integer()), {
        minLength: 1,
        maxLength: 8,
      })
      .map((steps) => {
        const made: Record<number, Upcasters[number]> = {};
        for (const [i, [kind, key, value]] of steps.entries())
          made[i + 1] = (payload) => {
            if (kind === "add") payload[key] = value;
            else if (kind === "rename" && key in payload) payload[`${key}${i}`] = payload[key];
            if (kind !== "add") delete payload[key];
            return payload;
          };
        const version = steps.length + 1;
        const at = (v: number) =>
          defineEvents("mine", {
            MINE: {
              about: "Something of mine.",
              class: "durable",
              orderKey: null,
              payload: {},
              version: v,
              upcasters: made,
            },
          }).MINE;
        return { version, at };
      });
    const payload = fc.dictionary(fc.constantFrom("a", "b", "c", "d"), fc.integer());
    fc.assert(
      fc.property(chain, payload, fc.nat(), ({ version, at }, start, pick) => {
        const from = 1 + (pick % version);
        const before = structuredClone(start);
        let stepwise: Readonly<Record<string, unknown>> = start;
        for (let v = from; v < version; v += 1) stepwise = upcast(at(v + 1), stepwise, v).payload;
        const whole = upcast(at(version), start, from);
        expect(whole).toEqual({ payload: stepwise, version, newer: false });
        expect(start).toEqual(before);
      }),
    );
  });

  test("an upcaster that meets what its version never promised gives a typed error", () => {
    const { MINE } = defineEvents("mine", {
      MINE: {
        about: "Something of mine.",
        class: "durable",
        orderKey: null,
        payload: {},
        version: 2,
        upcasters: { 1: ({ name }) => ({ name: (name as string).trim() }) },
      },
    });
    expect(() => upcast(MINE, {}, 1)).toThrow(
      expect.toSatisfy((error) => isOperatingError(error, "UPCAST_FAILED") && /MINE.*version 1/.test(error.message)),
    );
  });

  test("a version that is no version is a bug of the caller", () => {
    for (const version of [0, -1, 1.5, Number.NaN]) expect(() => upcast(row, {}, version)).toThrow("assertion failed");
  });
});
