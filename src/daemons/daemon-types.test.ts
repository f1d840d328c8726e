import { describe, expect, test } from "vitest";
import { plannedUnits } from "../../test/fixtures/ownership.ts";
import { isOperatingError } from "../kernel/index.ts";
import { canonicalDaemonName, DaemonType, daemonProfiles, daemonTypes, resolveDaemon } from "./daemon-types.ts";

const built = new Set(["event_router", "dlq_retry", "node_health", "auto_sync"]);
const codeOf = (act: () => unknown): string => {
  try {
    act();
    return "none";
  } catch (thrown) {
    return isOperatingError(thrown) ? thrown.code : String(thrown);
  }
};

describe("a daemon type", () => {
  test("is the work of a unit that is planned, all 89 of them", () => {
    const planned = new Set(plannedUnits.map(({ name }) => name as string));
    expect(Object.keys(daemonTypes)).toHaveLength(89);
    expect(Object.values(daemonTypes).filter(({ unit }) => !planned.has(unit))).toEqual([]);
  });

  test("resolves to its unit once all are built, by its constant and by its lower-case value", () => {
    const all = new Set(Object.values(daemonTypes).map(({ unit }) => unit as string));
    for (const [name, { unit }] of Object.entries(daemonTypes)) {
      expect(resolveDaemon(name, all).name).toBe(unit);
      if (name !== "SYNC_COORDINATOR")
        expect(all.has(name.toLowerCase()) || resolveDaemon(name.toLowerCase(), all).name === unit).toBe(true);
    }
    expect(DaemonType.DATA_PIPELINE).toBe("DATA_PIPELINE");
  });

  test("whose unit does not exist yet is an error that names the unit, never a success", () => {
    for (const [name, { unit }] of Object.entries(daemonTypes))
      if (!built.has(unit))
        expect(
          codeOf(() => resolveDaemon(name, built)),
          name,
        ).toBe("DAEMON_NOT_BUILT");
    expect(() => resolveDaemon("DATA_PIPELINE", built)).toThrow("unit 'pipeline_orchestrator'");
  });

  test("that is deprecated resolves with a notice of what to write instead, which resolves to the same unit", () => {
    expect(resolveDaemon("HEALTH_CHECK", built)).toEqual({
      name: "node_health",
      notice: "'HEALTH_CHECK' is deprecated: use 'AVAILABILITY_NODE_MONITOR'",
    });
    expect(resolveDaemon("EVENT_ROUTER", built)).toEqual({ name: "event_router", notice: null });
    const deprecated = Object.values(daemonTypes).filter((row) => "replacedBy" in row);
    expect(deprecated).toHaveLength(11);
    for (const row of deprecated) expect(canonicalDaemonName(row.replacedBy)).toBe(row.unit);
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

test("profiles name units that are planned", () => {
  const planned = new Set(plannedUnits.map(({ name }) => name as string));
  for (const names of Object.values(daemonProfiles)) expect(names.filter((name) => !planned.has(name))).toEqual([]);
});
