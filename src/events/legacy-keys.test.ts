import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { builtinRows } from "./catalog.ts";
import { legacyKeys, liftKeys } from "./legacy-keys.ts";
import { defineEvents, type EventRow } from "./row.ts";

const rows: readonly EventRow[] = Object.values(builtinRows);
const everyKey = new Set(rows.flatMap((row) => Object.keys(row.payload.shape)));

describe("keys of the old system", () => {
  test("get today's names, and each renaming is reported", () => {
    expect(
      liftKeys(builtinRows.TRAINING_COMPLETED, { config: "hex8_2p", epochs_completed: 50, success: true }),
    ).toEqual({
      payload: { config_key: "hex8_2p", epochs: 50, success: true },
      renamed: [
        { from: "config", to: "config_key" },
        { from: "epochs_completed", to: "epochs" },
      ],
    });
    expect(liftKeys(builtinRows.HOST_OFFLINE, { host: "gpu-1", last_heartbeat: 5 }).payload).toEqual({
      node_id: "gpu-1",
      last_seen_at: 5,
    });
  });

  test("a payload with today's keys comes back as the very same object", () => {
    const payload = { config_key: "hex8_2p", epochs: 50 };
    expect(liftKeys(builtinRows.TRAINING_COMPLETED, payload)).toEqual({ payload, renamed: [] });
    expect(liftKeys(builtinRows.TRAINING_COMPLETED, payload).payload).toBe(payload);
  });

  test("a new key that is there wins, and the old one stays beside it", () => {
    const payload = { config_key: "hex8_2p", config: "square8_2p" };
    expect(liftKeys(builtinRows.TRAINING_COMPLETED, payload)).toEqual({ payload, renamed: [] });
  });

  test("of two old keys for one new key the first is taken", () => {
    expect(liftKeys(builtinRows.HOST_OFFLINE, { host: "gpu-1", hostname: "gpu-1.example" })).toEqual({
      payload: { node_id: "gpu-1", hostname: "gpu-1.example" },
      renamed: [{ from: "host", to: "node_id" }],
    });
  });

  test("a key that the event has, or a value that does not fit, is not touched", () => {
    const { BOTH } = defineEvents("mine", {
      BOTH: {
        about: "Something broke and says so.",
        class: "durable",
        orderKey: null,
        payload: { message: z.string(), error: z.string().optional() },
      },
    });
    expect(liftKeys(BOTH, { message: "disk is full" }).renamed).toEqual([]);
    expect(liftKeys(builtinRows.HEALTH_ALERT, { message: "disk is full" }).renamed).toEqual([]);
    expect(liftKeys(builtinRows.ERROR, { message: "disk is full" }).payload).toEqual({ error: "disk is full" });
    const options = { config: { board: "hex8", players: 2 } };
    expect(liftKeys(builtinRows.TASK_SPAWNED, options)).toEqual({ payload: options, renamed: [] });
  });

  test("one old key finds the new key that the event has", () => {
    expect(liftKeys(builtinRows.MODEL_SYNC_REQUESTED, { target_node: "gpu-1" }).payload).toEqual({ node_id: "gpu-1" });
    expect(liftKeys(builtinRows.SYNC_STALLED, { target_node: "gpu-1" }).payload).toEqual({ target_node_id: "gpu-1" });
  });

  test("every new key of the table is a key of some event, and no row of the table is in vain", () => {
    for (const [from, to] of Object.entries(legacyKeys)) {
      expect(to, from).not.toHaveLength(0);
      for (const key of [to].flat()) expect(everyKey, `${from} -> ${key}`).toContain(key);
    }
  });

  test("whatever comes in, no value is lost and nothing but keys changes", () => {
    const keys = fc.constantFrom(...Object.keys(legacyKeys), ...everyKey, "__proto__", "constructor", "unknown");
    const payload = fc.array(fc.tuple(keys, fc.oneof(fc.string(), fc.nat(), fc.constant("hex8_2p"))), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(fc.constantFrom(...rows), payload, (row, entries) => {
        const given = Object.fromEntries(entries);
        const lifted = liftKeys(row, given);
        expect(Object.values(lifted.payload)).toEqual(Object.values(given));
        const back = new Map(lifted.renamed.map(({ from, to }) => [to, from]));
        expect(Object.keys(lifted.payload).map((key) => back.get(key) ?? key)).toEqual(Object.keys(given));
        expect(liftKeys(row, lifted.payload).renamed).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });
});
