import { describe, expect, test } from "vitest";
import { declaredRegistry } from "../../../src/app/registry.ts";
import { DaemonType, daemonTypeRow, daemonTypes } from "../../../src/daemons/legacy.ts";
import { canonicalDaemonName, resolveDaemon } from "../../../src/daemons/supervisor/daemon-names.ts";
import { isOperatingError } from "../../../src/kernel/index.ts";
import { plannedUnits } from "../../fixtures/ownership.ts";

const { units } = declaredRegistry();
const named = (name: string) => ({ name, daemonTypes: units.find((unit) => unit.name === name)?.daemonTypes ?? [] });
const built = ["event_router", "dlq_retry", "node_health", "auto_sync"].map(named);
const types = Object.keys(daemonTypes).map((name) => ({ name, unit: canonicalDaemonName(name, units) }));
/** As if every planned unit existed. */
const all = [...new Set(types.map(({ unit }) => unit))].map(named);
const codeOf = (act: () => unknown): string => {
  try {
    act();
    return "none";
  } catch (thrown) {
    return isOperatingError(thrown) ? thrown.code : String(thrown);
  }
};

describe("a daemon type", () => {
  test("is the work of one unit that is planned, and where the unit names it the plan says nothing else", () => {
    const planned = new Set(plannedUnits.map(({ name }) => name as string));
    expect(types.filter(({ unit }) => !planned.has(unit))).toEqual([]);
    const claims = units.flatMap((unit) => unit.daemonTypes.map((type) => ({ type, unit: unit.name })));
    expect(new Set(claims.map(({ type }) => type)).size).toBe(claims.length);
    for (const { type, unit } of claims) expect([undefined, unit], type).toContain(daemonTypeRow(type)!.unit);
  });

  test("resolves to its unit once all are built, by its constant and by its lower-case value", () => {
    for (const { name, unit } of types) {
      expect(resolveDaemon(name, all).name).toBe(unit);
      const value = name.toLowerCase();
      if (name !== "SYNC_COORDINATOR" && !all.some((other) => other.name === value))
        expect(resolveDaemon(value, all).name).toBe(unit);
    }
    expect(DaemonType.DATA_PIPELINE).toBe("DATA_PIPELINE");
  });

  test("whose unit does not exist yet is an error that names the unit if it is known, never a success", () => {
    for (const { name, unit } of types)
      if (!built.some((other) => other.name === unit))
        expect(
          codeOf(() => resolveDaemon(name, built)),
          name,
        ).toBe("DAEMON_NOT_BUILT");
    expect(() => resolveDaemon("MODEL_SYNC", built)).toThrow("unit 'model_distribution_daemon'");
    expect(() => resolveDaemon("DATA_PIPELINE", built)).toThrow("no unit here implements 'DATA_PIPELINE'");
  });

  test("that is deprecated resolves with a notice of what to write instead, which resolves to the same unit", () => {
    expect(resolveDaemon("HEALTH_CHECK", built)).toEqual({
      name: "node_health",
      notice: "'HEALTH_CHECK' is deprecated: use 'AVAILABILITY_NODE_MONITOR'",
    });
    expect(resolveDaemon("EVENT_ROUTER", built)).toEqual({ name: "event_router", notice: null });
    const deprecated = types.filter(({ name }) => daemonTypeRow(name)!.replacedBy !== undefined);
    expect(deprecated).not.toEqual([]);
    for (const { name, unit } of deprecated)
      expect(canonicalDaemonName(daemonTypeRow(name)!.replacedBy!, units), name).toBe(unit);
  });

  test("that nobody knows is an error with a suggestion", () => {
    expect(() => resolveDaemon("EVENT_RUTER", built)).toThrow(/no daemon 'EVENT_RUTER'.*EVENT_ROUTER/);
    expect(codeOf(() => resolveDaemon("toString", built))).toBe("UNKNOWN_DAEMON");
  });

  test("leaves the coordinator sync_coordinator its own name", () => {
    expect(codeOf(() => resolveDaemon("sync_coordinator", built))).toBe("UNKNOWN_DAEMON");
    expect(resolveDaemon("SYNC_COORDINATOR", built).name).toBe("auto_sync");
  });
});
