import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineEvents } from "./row.ts";

const row = {
  about: "Something happened here.",
  class: "durable",
  orderKey: null,
  payload: { robot: z.string() },
} as const;

describe("defining events", () => {
  test("fills in what was not said", () => {
    expect(defineEvents("mine", { ROBOT_MOVED: row }).ROBOT_MOVED).toMatchObject({
      name: "ROBOT_MOVED",
      category: "mine",
      wire: "robot_moved",
      dedup: "none",
      legacy: [],
      stage: null,
      version: 1,
      critical: false,
      provisional: false,
    });
  });

  test("refuses a name that is not upper snake case and a wire value that is not lower case", () => {
    expect(() => defineEvents("mine", { robotMoved: row })).toThrow("upper snake case");
    expect(() => defineEvents("mine", { ROBOT_MOVED: { ...row, wire: "RobotMoved" } })).toThrow("must be lower case");
  });

  test("refuses a version without its upcasters", () => {
    const upcasters = { 1: (payload: Record<string, unknown>) => payload };
    expect(() => defineEvents("mine", { ROBOT_MOVED: { ...row, version: 3, upcasters } })).toThrow(
      "version 3 needs an upcaster from 2",
    );
    expect(defineEvents("mine", { ROBOT_MOVED: { ...row, version: 2, upcasters } }).ROBOT_MOVED.version).toBe(2);
  });

  test("refuses to keep order or dedup by what may be missing or is not there", () => {
    const payload = { robot: z.string(), place: z.string().optional() };
    expect(() => defineEvents("mine", { ROBOT_MOVED: { ...row, payload, orderKey: "place" } })).toThrow(
      "'place' keeps order or dedup and must be required",
    );
    expect(() => defineEvents("mine", { ROBOT_MOVED: { ...row, payload, dedup: ["robot", "place"] } })).toThrow(
      "'place' keeps order or dedup and must be required",
    );
    expect(() => defineEvents("mine", { ROBOT_MOVED: { ...row, orderKey: "toString" as "robot" } })).toThrow(
      "'toString' is no field of its payload",
    );
    expect(() => defineEvents("mine", { ROBOT_MOVED: { ...row, dedup: [] } })).toThrow("by no field");
  });

  test("makes fields that are given as a function when they are first read, and once", () => {
    const made: string[] = [];
    const payload = () => {
      made.push("fields");
      return { robot: z.string() };
    };
    const { ROBOT_MOVED: moved } = defineEvents("mine", { ROBOT_MOVED: { ...row, payload, orderKey: "robot" } });
    expect([moved.orderKey, moved.provisional, moved.dedup, moved.version]).toEqual(["robot", false, "none", 1]);
    expect(made).toEqual([]);
    expect(moved.payload.safeParse({ robot: "r2", wheels: 3 }).success).toBe(false);
    expect(moved.tolerant.safeParse({ robot: "r2", wheels: 3 }).success).toBe(true);
    expect(moved.required).toEqual(["robot"]);
    expect(made).toEqual(["fields"]);
  });

  test("says what is wrong with such fields when they are made", () => {
    const payload = () => ({ robot: z.string().optional() });
    const { ROBOT_MOVED: moved } = defineEvents("mine", { ROBOT_MOVED: { ...row, payload, orderKey: "robot" } });
    expect(() => moved.payload).toThrow("'robot' keeps order or dedup and must be required");
  });
});
