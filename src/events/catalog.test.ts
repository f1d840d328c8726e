import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { ownership, plannedUnits, plannedWiring } from "../../test/fixtures/ownership.ts";
import { builtinRows, createCatalog, type EventName } from "./catalog.ts";
import { fields } from "./fields.ts";
import { jsonSchemaOf } from "./json-schema.ts";
import { legacyKeys } from "./legacy-keys.ts";
import { defineEvents, type EventRow } from "./row.ts";

const rows: readonly EventRow[] = Object.values(builtinRows);
const shapeOf = (row: EventRow) => Object.entries(row.payload.shape);
const isOptional = (schema: z.ZodType) => schema.safeParse(undefined).success;

describe("the catalog", () => {
  test("has every event that is planned, each under its own name", () => {
    expect(Object.keys(ownership).filter((name) => !(name in builtinRows))).toEqual([]);
    for (const [name, row] of Object.entries(builtinRows)) expect(row.name).toBe(name);
  });

  test("has a wire value of its own for every event, and only five differ from the name", () => {
    expect(new Set(rows.map((row) => row.wire)).size).toBe(rows.length);
    const renamed = rows.filter((row) => row.wire !== row.name.toLowerCase());
    expect(Object.fromEntries(renamed.map((row) => [row.name, row.wire]))).toEqual({
      NEW_GAMES_AVAILABLE: "new_games",
      DATA_SYNC_STARTED: "sync_started",
      DATA_SYNC_COMPLETED: "sync_completed",
      DATA_SYNC_FAILED: "sync_failed",
      TRAINING_THRESHOLD_REACHED: "training_threshold",
    });
  });

  test("marks the seven critical events", () => {
    const critical = rows.filter((row) => row.critical).map((row) => row.name);
    expect(critical.sort()).toEqual([
      "DATA_SYNC_COMPLETED",
      "DATA_SYNC_STARTED",
      "TASK_COMPLETED",
      "TASK_FAILED",
      "TASK_SPAWNED",
      "TRAINING_COMPLETED",
      "TRAINING_STARTED",
    ]);
  });

  test("knows which events have a twin on the stage bus, and two may share one", () => {
    const { names } = createCatalog(builtinRows);
    for (const { name, stage } of rows) if (stage !== null) expect(names.ofStage(stage), name).toContain(name);
    expect(names.ofStage("selfplay_complete")).toEqual(["SELFPLAY_COMPLETE", "NEW_GAMES_AVAILABLE"]);
    expect(names.ofStage("promotion_complete")).toEqual(["MODEL_PROMOTED"]);
  });

  test.each(rows.map((row) => [row.name, row] as const))("%s says what it tells in a sentence", (_, row) => {
    expect(row.about).toMatch(/^[A-Z].{10,}\.$/);
  });
});

describe("payloads", () => {
  test("require their order key and dedup fields", () => {
    for (const row of rows)
      for (const field of [row.orderKey, ...(Array.isArray(row.dedup) ? row.dedup : [])]) {
        expect(field, row.name).not.toBeNull();
        expect(isOptional(row.payload.shape[field as string]!), `${row.name}.${field}`).toBe(false);
      }
  });

  test("are small: every event has a field, none has more than sixteen", () => {
    for (const row of rows) {
      expect(shapeOf(row).length, row.name).toBeGreaterThanOrEqual(2);
      expect(shapeOf(row).length, row.name).toBeLessThanOrEqual(16);
    }
  });

  test("describe every field", () => {
    for (const row of rows)
      for (const [key, schema] of shapeOf(row))
        expect(jsonSchemaOf(schema).description ?? "", `${row.name}.${key}`).not.toBe("");
  });

  test("give one key one kind, whichever event carries it", () => {
    const kinds = new Map<string, Map<string, string[]>>();
    for (const row of rows)
      for (const [key, schema] of shapeOf(row)) {
        const { description: _, ...kind } = jsonSchemaOf(schema);
        const text = JSON.stringify(kind);
        const byKind = kinds.get(key) ?? new Map<string, string[]>();
        kinds.set(key, byKind.set(text, [...(byKind.get(text) ?? []), row.name]));
      }
    const split = [...kinds].filter(([, byKind]) => byKind.size > 1).map(([key, byKind]) => [key, [...byKind]]);
    expect(split).toEqual([]);
    // It looked: the key that most of them carry was met with its one kind and all its events.
    const carriers = rows.filter((row) => "config_key" in row.payload.shape).map(({ name }) => name);
    expect([...kinds.get("config_key")!.values()]).toEqual([carriers]);
  });

  test("use no synonym of a key and no key of the Python system", () => {
    // These are words of ours for something else than what the old key of that name meant.
    const reused = new Set(["message", "severity", "action", "epoch", "weights", "priority"]);
    const synonyms = ["daemon_id", "node_address", "loss_value", "timestamp", "source", "board_type", "num_players"];
    const forbidden = new Set([...Object.keys(legacyKeys), ...synonyms].filter((key) => !reused.has(key)));
    for (const key of ["config", "host", "host_id", "hostname", "node", "daemon_type", "games_count", "games_played"])
      expect(forbidden).toContain(key);
    const found = rows.flatMap((row) => Object.keys(row.payload.shape).filter((key) => forbidden.has(key)));
    expect(found).toEqual([]);
  });

  test("name times, durations and money by their unit", () => {
    for (const row of rows)
      for (const [key, schema] of shapeOf(row)) {
        const { description = "" } = jsonSchemaOf(schema);
        if (description.endsWith("in Unix seconds")) expect(key, row.name).toMatch(/_at$/);
        else if (description.endsWith("in seconds")) expect(key, row.name).toMatch(/_seconds$/);
        if (/ in US dollars$/.test(description)) expect(key, row.name).toMatch(/_usd$/);
        if (/ in GB$/.test(description)) expect(key, row.name).toMatch(/_gb$/);
      }
  });
});

describe("evidence", () => {
  const hash = "a".repeat(64);
  const trained = {
    config_key: "hex8_2p",
    job_id: "job-1",
    node_id: "gpu-1",
    model_id: "m1",
    artifact_hash: hash,
    final_loss: 0.71,
    epochs: 20,
    samples: 50_000,
    duration_seconds: 812,
  };
  const evaluated = {
    config_key: "hex8_2p",
    job_id: "job-2",
    model_id: "m1",
    games: 200,
    win_rate: 0.58,
    elo: 1612,
    passed: true,
    win_rates: { heuristic: 0.8 },
  };
  const { row } = createCatalog(builtinRows);
  const accepts = (name: EventName, payload: object) => row(name)?.payload.safeParse(payload).success;

  test("a training run without samples, with a loss of nothing or without a hash is not complete", () => {
    expect(accepts("TRAINING_COMPLETED", trained)).toBe(true);
    for (const [field, value] of [
      ["final_loss", 0],
      ["final_loss", Number.NaN],
      ["final_loss", Number.POSITIVE_INFINITY],
      ["samples", 0],
      ["epochs", 0],
      ["artifact_hash", "models/canonical_hex8_2p.pth"],
      ["artifact_hash", undefined],
    ] as const)
      expect(accepts("TRAINING_COMPLETED", { ...trained, [field]: value }), `${field} ${value}`).toBe(false);
  });

  test("an evaluation of no games is not complete", () => {
    expect(accepts("EVALUATION_COMPLETED", evaluated)).toBe(true);
    expect(accepts("EVALUATION_COMPLETED", { ...evaluated, games: 0 })).toBe(false);
    expect(accepts("EVALUATION_COMPLETED", { ...evaluated, win_rate: 1.2 })).toBe(false);
  });

  test("an emitter is held to the known fields, an outside publisher may bring more and, until emitters exist, less", () => {
    const emitted = builtinRows.TRAINING_COMPLETED;
    expect(emitted.payload.safeParse({ ...trained, extra: 1 }).success).toBe(false);
    expect(emitted.tolerant.safeParse({ ...trained, extra: 1 }).success).toBe(true);
    expect(emitted.tolerant.safeParse({ config_key: "hex8_2p" }).success).toBe(false);
    const { SOMETHING_PLANNED: planned } = defineEvents("curriculum", {
      SOMETHING_PLANNED: {
        about: "It is planned.",
        orderKey: "config_key",
        provisional: true,
        payload: fields("config_key", "reason"),
      },
    });
    expect(planned.tolerant.parse({ config_key: "hex8_2p", extra: 1 })).toEqual({ config_key: "hex8_2p", extra: 1 });
    expect(planned.tolerant.safeParse({ config_key: "hex8" }).success).toBe(false);
  });
});

describe("the plan of who emits and hears what", () => {
  test("leaves no event without an emitter or a consumer", () => {
    for (const [name, { emitters, consumers }] of Object.entries(ownership)) {
      expect(emitters, name).not.toHaveLength(0);
      expect(consumers, name).not.toHaveLength(0);
    }
  });

  test("names each unit once, and parts have no layer", () => {
    expect(new Set(plannedUnits.map((unit) => unit.name)).size).toBe(plannedUnits.length);
    for (const unit of plannedUnits) expect(unit.layer === null, unit.name).toBe(unit.kind === "part");
  });

  test("reads the same by unit as by event", () => {
    const wiring = [...plannedWiring().values()];
    const count = (side: "emitters" | "consumers") => Object.values(ownership).flatMap((owners) => owners[side]).length;
    expect(wiring.flatMap((unit) => unit.emits)).toHaveLength(count("emitters"));
    expect(wiring.flatMap((unit) => unit.hears)).toHaveLength(count("consumers"));
  });
});
