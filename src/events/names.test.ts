import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { builtinRows } from "./catalog.ts";
import { createNames } from "./names.ts";
import { defineEvents, type EventRow } from "./row.ts";

const names = createNames(builtinRows);
const rows: readonly EventRow[] = Object.values(builtinRows);

/** Any way to write a name: case by letter, and any of the usual characters between words. */
const spelledFreely = (name: string) =>
  fc
    .tuple(
      fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length }),
      fc.constantFrom("_", "-", ".", " "),
      fc.constantFrom("", " ", "\n"),
    )
    .map(([upper, between, around]) => {
      const letters = [...name].map((letter, i) => (upper[i] ? letter.toUpperCase() : letter.toLowerCase()));
      return `${around}${letters.join("").replaceAll("_", between)}${around}`;
    });

describe("names", () => {
  test("constant, wire value and legacy spelling resolve to one event, in any case and with any separator", () => {
    const spelling = fc
      .constantFrom(...rows)
      .chain((row) =>
        fc
          .constantFrom(row.name, row.wire, ...row.legacy)
          .chain((known) => fc.tuple(fc.constant(row.name), spelledFreely(known))),
      );
    fc.assert(
      fc.property(spelling, ([name, spelled]) => {
        expect(names.resolve(spelled)?.name).toBe(name);
      }),
      { numRuns: 2_000 },
    );
  });

  test("say how a name was spelled, so that a legacy spelling can be counted", () => {
    for (const row of rows) {
      expect(names.resolve(row.name)).toEqual({ name: row.name, spelling: "name" });
      for (const legacy of row.legacy) expect(names.resolve(legacy)).toEqual({ name: row.name, spelling: "legacy" });
    }
    expect(names.resolve("sync_started")).toEqual({ name: "DATA_SYNC_STARTED", spelling: "wire" });
    expect(names.resolve("SYNC_STARTED")).toEqual({ name: "DATA_SYNC_STARTED", spelling: "wire" });
  });

  test("tell a wire value from the legacy constant that is the same in capitals", () => {
    expect(names.resolve("new_games")).toEqual({ name: "NEW_GAMES_AVAILABLE", spelling: "wire" });
    expect(names.resolve("NEW_GAMES")).toEqual({ name: "NEW_GAMES_AVAILABLE", spelling: "legacy" });
    expect(names.resolve("sync_completed")).toEqual({ name: "DATA_SYNC_COMPLETED", spelling: "wire" });
    expect(names.resolve("SYNC_COMPLETED")).toEqual({ name: "DATA_SYNC_COMPLETED", spelling: "legacy" });
  });

  test.each([
    ["EVALUATION_COMPLETE", "EVALUATION_COMPLETED"],
    ["NEW_GAMES", "NEW_GAMES_AVAILABLE"],
    ["NPZ_EXPORT_COMPLETED", "NPZ_EXPORT_COMPLETE"],
    ["EXPORT_COMPLETE", "NPZ_EXPORT_COMPLETE"],
    ["PROMOTION_COMPLETE", "MODEL_PROMOTED"],
    ["TIER_GATING_COMPLETE", "MODEL_PROMOTED"],
    ["SELFPLAY_COMPLETION", "SELFPLAY_COMPLETE"],
    ["SELFPLAY_BATCH_COMPLETE", "SELFPLAY_COMPLETE"],
    ["GPU_SELFPLAY_COMPLETE", "SELFPLAY_COMPLETE"],
    ["SYNC_COMPLETE", "DATA_SYNC_COMPLETED"],
    ["SYNC_COMPLETED", "DATA_SYNC_COMPLETED"],
    ["CLUSTER_SYNC_COMPLETE", "DATA_SYNC_COMPLETED"],
    ["TASK_COMPLETE", "TASK_COMPLETED"],
    ["TRAINING_COMPLETE", "TRAINING_COMPLETED"],
    ["TRAINING_TRIGGERED", "TRAINING_THRESHOLD_REACHED"],
    ["MODEL_SYNCED", "P2P_MODEL_SYNCED"],
    ["SHADOW_TOURNAMENT_COMPLETE", "EVALUATION_COMPLETED"],
  ])("%s still means %s", (legacy, name) => {
    expect(names.resolve(legacy)).toEqual({ name, spelling: "legacy" });
  });

  test("PROMOTION_COMPLETED, once sent for failures too, does not count as a promotion", () => {
    expect(names.resolve("PROMOTION_COMPLETED")).toBeUndefined();
  });

  test("an unknown name is unknown, and the error proposes what may have been meant", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 60 }), (text) => {
        const found = names.resolve(text);
        if (found !== undefined) expect(Object.keys(builtinRows)).toContain(found.name);
      }),
    );
    const error = names.unknown("TRAINING_COMPELTED");
    expect(error.code).toBe("UNKNOWN_EVENT");
    expect(error.message).toContain("Did you mean TRAINING_COMPLETED");
  });

  test("properties of objects are no names", () => {
    for (const name of ["constructor", "__proto__", "toString"]) expect(names.resolve(name)).toBeUndefined();
  });

  test("a spelling that names two events is refused where the catalog is put together", () => {
    const row = {
      about: "Something happened here.",
      class: "durable",
      orderKey: null,
      payload: { x: z.string() },
    } as const;
    const clash = { ...builtinRows, ...defineEvents("mine", { MINE: { ...row, legacy: ["sync_complete"] } }) };
    expect(() => createNames(clash)).toThrow(/names both .*DATA_SYNC_COMPLETED.*MINE|names both .*MINE/);
    const takesWire = { ...builtinRows, ...defineEvents("mine", { MINE: { ...row, wire: "new_games" } }) };
    expect(() => createNames(takesWire)).toThrow(/one spelling, one event/);
  });
});
