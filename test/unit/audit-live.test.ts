import { describe, expect, test } from "vitest";
import { readRecordedWiring } from "../../src/app/recorded-wiring.ts";
import { declaredRegistry } from "../../src/app/registry.ts";
import { auditWiring, isPlaceholder, printAudit, recordWiring } from "../../src/daemons/index.ts";

import { plannedUnits } from "../fixtures/ownership.ts";
import { PLANNED_UNITS } from "../fixtures/planned-units.ts";
import { syntheticRegistry, withOneTieCut } from "../fixtures/synthetic-registry.ts";

const recorded = readRecordedWiring()!;

describe("the live registry", () => {
  test("passes the audit", () => {
    const report = auditWiring(declaredRegistry(), { recorded });
    expect(report.findings.filter(({ fails, excuse }) => fails && excuse === null)).toEqual([]);
    expect(report).toMatchObject({ ok: true, exit_code: 0 });
  });

  test("has no stale excuse, and leaves few events to those outside", () => {
    const registry = declaredRegistry();
    const outside = [...registry.units, ...registry.parts].flatMap(({ unheard }) =>
      Object.entries(unheard).flatMap(([event, reason]) => ("outside" in reason ? [event] : [])),
    );
    expect(auditWiring(registry, { recorded }).totals.stale_excuses).toBe(0);
    expect(outside).toEqual(["WORK_QUEUED"]);
  });

  test("excuses by units that are planned and not built, and plans none that is", () => {
    const { units, parts } = declaredRegistry();
    const built = new Set([...units, ...parts].map(({ name }) => name));
    const all: readonly string[] = Object.values(PLANNED_UNITS).flat();
    const named = [
      ...[...units, ...parts].flatMap(({ unheard }) =>
        Object.values(unheard).flatMap((reason) => ("by" in reason ? [reason.by] : [])),
      ),
      ...units.flatMap(({ awaits }) => Object.values(awaits) as string[]),
    ];
    expect(named.filter((name) => !all.includes(name))).toEqual([]);
    expect(all.filter((name) => built.has(name))).toEqual([]);
    expect(all.filter((name) => !plannedUnits.some((planned) => planned.name === name))).toEqual([]);
  });

  test("holds units that are planned, each in a profile unless it is a mere name", () => {
    const planned = new Set(plannedUnits.map(({ name }) => name as string));
    const { units } = declaredRegistry();
    expect(units.filter(({ name }) => !planned.has(name))).toEqual([]);
    expect(units.filter((unit) => unit.profiles.length === 0 && !isPlaceholder(unit))).toEqual([]);
  });

  test("is what was printed: a tie that comes or goes shows in docs/reference/wiring.json", () => {
    expect(recorded, "print the wiring with 'npm run docs'").toEqual(
      JSON.parse(JSON.stringify(recordWiring(declaredRegistry()))),
    );
  });

  test("fails the audit when any one tie is cut", () => {
    const passed: string[] = [];
    let tried = 0;
    for (const { cut, registry } of withOneTieCut(declaredRegistry())) {
      tried += 1;
      if (auditWiring(registry, { recorded }).ok) passed.push(cut);
    }
    expect(passed).toEqual([]);
    const ties = [...Object.values(recorded.units), ...Object.values(recorded.parts)].flatMap(({ emits, hears }) => [
      ...emits,
      ...hears,
    ]);
    expect(tried).toBe(ties.length);
  });
});

describe("a full registry of all planned units", () => {
  const full = syntheticRegistry();
  const recorded = recordWiring(full);

  test("passes clean, with every event emitted and heard", () => {
    const report = auditWiring(full, { recorded });
    expect(report.findings).toEqual([]);
    expect(report).toMatchObject({ ok: true, status: "HEALTHY" });
    const events = Object.keys(full.catalog.rows).length;
    expect(report.totals).toMatchObject({
      events,
      well_connected: events,
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
      if (auditWiring(registry, { recorded }).ok) passed.push(cut);
    }
    expect(passed).toEqual([]);
    expect(tried).toBe(
      [...full.units, ...full.parts].reduce((sum, unit) => sum + unit.emits.length, 0) +
        full.units.reduce((sum, unit) => sum + unit.hears.length, 0),
    );
  });

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
  });

  test("prints within 100 columns", () => {
    const text = printAudit(auditWiring(full, { recorded }));
    expect(text.split("\n").filter((line) => line.length > 100)).toEqual([]);
    expect(text).toContain("Layer 9");
  });
});
