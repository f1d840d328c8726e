import { afterAll, describe, expect, test } from "vitest";
import { liveRegistry } from "../../src/app/registry.ts";
import { auditBaseline, auditWiring, baselineOf, printAudit } from "../../src/daemons/index.ts";
import { builtinRows } from "../../src/events/index.ts";
import type { EventRouter } from "../../src/router/index.ts";
import { syntheticRegistry, withOneTieCut } from "../fixtures/synthetic-registry.ts";
import { unitWorld } from "../fixtures/unit-world.ts";

const world = unitWorld(builtinRows);
afterAll(() => world.close());
const live = () => liveRegistry({ router: world.router as unknown as EventRouter, store: world.store });

describe("the live registry", () => {
  test("passes the audit", () => {
    const report = auditWiring(live(), { baseline: auditBaseline });
    expect(report.findings.filter(({ fails, excuse }) => fails && excuse === null)).toEqual([]);
    expect(report).toMatchObject({ ok: true, exit_code: 0 });
  });

  test("is what the baseline says: fewer open rows must be written down too", () => {
    const now = baselineOf(live());
    expect(now.openRows, "open rows may not become more").toBeLessThanOrEqual(auditBaseline.openRows);
    expect(now, "the wiring changed: write it into src/daemons/audit-baseline.ts").toEqual(auditBaseline);
  });

  test("fails the audit when any one tie is cut", () => {
    const passed: string[] = [];
    let tried = 0;
    for (const { cut, registry } of withOneTieCut(live())) {
      tried += 1;
      if (auditWiring(registry, { baseline: auditBaseline }).ok) passed.push(cut);
    }
    expect(passed).toEqual([]);
    const ties = Object.values(auditBaseline.ties).flatMap(({ emits, hears }) => [...emits, ...hears]);
    expect(tried).toBe(ties.length);
  });
});

describe("a full registry of all planned units", () => {
  const full = syntheticRegistry();
  const baseline = baselineOf(full);

  test("passes clean, with every event emitted and heard", () => {
    const report = auditWiring(full, { baseline });
    expect(report.findings).toEqual([]);
    expect(report).toMatchObject({ ok: true, status: "HEALTHY" });
    expect(report.totals).toMatchObject({
      events: 218,
      well_connected: 218,
      open: 0,
      orphans: 0,
      dead_subscriptions: 0,
    });
  });

  test("fails the audit when any one emit or handler is cut", () => {
    const passed: string[] = [];
    let tried = 0;
    for (const { cut, registry } of withOneTieCut(full)) {
      tried += 1;
      if (auditWiring(registry, { baseline }).ok) passed.push(cut);
    }
    expect(passed).toEqual([]);
    expect(tried).toBe(
      [...full.units, ...full.parts].reduce((sum, unit) => sum + unit.emits.length, 0) +
        full.units.reduce((sum, unit) => sum + unit.hears.length, 0),
    );
    expect(tried).toBeGreaterThan(700);
  }, 60_000);

  test("names the fault of the graph itself where the last emitter or consumer is cut", () => {
    let orphaned = 0;
    let starved = 0;
    for (const { cut, registry } of withOneTieCut(full)) {
      const kinds = auditWiring(registry).findings.map(({ kind, event }) => `${kind} ${event}`);
      const event = cut.split(" ")[2]!;
      const left = (verb: "emits" | "hears") =>
        registry.units.some((unit) => unit[verb].includes(event)) ||
        (verb === "emits" && registry.parts.some((part) => part.emits.includes(event)));
      if (!left("hears")) {
        orphaned += 1;
        expect(kinds, cut).toContain(`orphan ${event}`);
      }
      if (!left("emits")) {
        starved += 1;
        expect(kinds, cut).toContain(`dead_subscription ${event}`);
      }
    }
    const speakers = [...full.units, ...full.parts];
    const single = (list: readonly string[]) => list.filter((event) => list.indexOf(event) === list.lastIndexOf(event));
    expect(orphaned).toBe(single(full.units.flatMap(({ hears }) => hears)).length);
    expect(starved).toBe(single(speakers.flatMap(({ emits }) => emits)).length);
    expect(Math.min(orphaned, starved)).toBeGreaterThan(0);
  }, 60_000);

  test("prints within 100 columns", () => {
    const text = printAudit(auditWiring(full, { baseline }));
    expect(text.split("\n").filter((line) => line.length > 100)).toEqual([]);
    expect(text).toContain("Layer 9");
  });
});
