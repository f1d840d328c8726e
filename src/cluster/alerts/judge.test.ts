import { describe, expect, test } from "vitest";
import { ownership } from "../../../test/fixtures/ownership.ts";
import { builtinRows, type EventName } from "../../events/index.ts";
import { alertEvents, fill, judge } from "./judge.ts";
import { type AlertRule, alertRules } from "./rules.ts";

const rules = Object.entries<AlertRule>(alertRules);
const fieldsOf = (event: string) => Object.keys(builtinRows[event as EventName].payload.shape);

/** What the documents send to AlertManager. */
const DOCUMENTED =
  `REPLICATION_ALERT LOW_QUALITY_DATA_WARNING TRAINING_LOSS_ANOMALY MODEL_DISTRIBUTION_FAILED SYNC_STALLED
  SYNC_CHECKSUM_FAILED SPLIT_BRAIN_DETECTED DAEMON_PERMANENTLY_FAILED HEALTH_ALERT RECOVERY_FAILED TASK_FAILED LOCK_TIMEOUT
  DEADLOCK_DETECTED MODEL_CORRUPTED COORDINATOR_UNHEALTHY COORDINATOR_HEALTH_DEGRADED COORDINATOR_INIT_FAILED HANDLER_TIMEOUT
  HANDLER_FAILED ERROR TRAINING_FAILED SYNC_FAILURE_CRITICAL`.split(/\s+/);

describe("the rules", () => {
  test("hear everything that the documents and the plan send to the alerts", () => {
    const planned = Object.entries(ownership).filter(([, { consumers }]) => consumers.includes("alert_manager"));
    const heard = new Set<string>(alertEvents);
    expect(planned.map(([event]) => event)).toContain("MODEL_CORRUPTED");
    expect(planned.map(([event]) => event).filter((event) => !heard.has(event))).toEqual([]);
    expect(DOCUMENTED.filter((event) => !Object.hasOwn(alertRules, event))).toEqual([]);
  });

  test.each(rules)("of %s name fields that it has", (event, rule) => {
    const fields = fieldsOf(event);
    const named = [...`${rule.title} ${rule.message}`.matchAll(/\{(\w+)\}/g)].map(([, field]) => field!);
    const keys = rule.by.filter((field) => !field.startsWith("="));
    const own = rule.severity === "own" ? ["severity"] : rule.severity === "level" ? ["level"] : [];
    const over = rule.overWhen === undefined ? [] : [rule.overWhen.field];
    expect([...named, ...keys, ...own, ...over].filter((field) => !fields.includes(field))).toEqual([]);
    for (const closer of rule.closedBy)
      expect(rule.by.filter((field) => !fieldsOf(closer).includes(field))).toEqual([]);
  });

  test("that share a group are closed by the same events, or one of them could not be closed", () => {
    for (const [group, all] of Map.groupBy(rules, ([event, { group: of }]) => of ?? event))
      for (const [event, rule] of all)
        if (rule.policy === "lasting")
          expect(
            rule.closedBy.length > 0 || rule.overWhen !== undefined || all.some(([, { overWhen }]) => overWhen),
            `${event} of ${group} lasts and nothing ends it`,
          ).toBe(true);
  });
});

describe("an event", () => {
  test("raises one alert for each of its key", () => {
    const [one] = judge("TASK_FAILED", { work_type: "selfplay", node_id: "n1", task_id: "t1", error: "no" });
    const [two] = judge("TASK_FAILED", { work_type: "selfplay", node_id: "n1", task_id: "t2", error: "no" });
    expect(one).toMatchObject({ kind: "raise", severity: "warning", subject: "selfplay n1", message: "t1: no" });
    expect(one!.key).toBe(two!.key);
  });

  test("of another key is never taken for the same, whatever its values hold", () => {
    const key = (lock: string) => judge("LOCK_TIMEOUT", { lock_name: lock })[0]!.key;
    expect(new Set(["a", "a/b", "a%2Fb", "", "(not told)"].map(key)).size).toBe(5);
  });

  test("that mends a model's file closes the alert of its damage", () => {
    const about = { node_id: "n1", artifact_hash: "ab".repeat(32) };
    const [raised] = judge("MODEL_CORRUPTED", { ...about, model_id: "othello-3", damage: "missing" });
    expect(judge("REPAIR_COMPLETED", { ...about, copies: 1 })).toContainEqual({ kind: "close", key: raised!.key });
  });

  test("closes what it ends, under the same key", () => {
    const [failed] = judge("TRAINING_FAILED", { config_key: "hex8_2p", error: "no" });
    const closed = judge("TRAINING_COMPLETED", { config_key: "hex8_2p" });
    expect(closed).toContainEqual({ kind: "close", key: failed!.key });
  });

  test("that says itself that it is over closes instead of raising", () => {
    const bad = { node_id: "n1", resource: "disk", level: "critical", usage: 0.97, threshold: 0.95 };
    const [raised] = judge("RESOURCE_CONSTRAINT", bad);
    expect(raised).toMatchObject({ kind: "raise", severity: "critical" });
    const [low] = judge("DISK_SPACE_LOW", { node_id: "n1", level: "high", usage: 0.9, free_gb: 3, threshold: 0.85 });
    expect(low).toMatchObject({ kind: "raise", severity: "error", key: raised!.key });
    expect(judge("RESOURCE_CONSTRAINT", { ...bad, level: "none" })).toEqual([{ kind: "close", key: raised!.key }]);
  });

  test("of a busy processor is a warning at any level: it slows work and stops nothing", () => {
    const busy = { node_id: "n1", resource: "cpu", level: "critical", usage: 0.99, threshold: 0.95 };
    expect(judge("RESOURCE_CONSTRAINT", busy)[0]).toMatchObject({ kind: "raise", severity: "warning" });
  });

  test("takes its own severity where it has one, and error where it does not say", () => {
    expect(judge("ERROR", { component: "x", error: "e", severity: "critical" })[0]).toMatchObject({
      severity: "critical",
    });
    expect(judge("ERROR", { component: "x", error: "e" })[0]).toMatchObject({ severity: "error" });
    expect(judge("ERROR", { component: "x", error: "e", severity: "toString" })[0]).toMatchObject({
      severity: "error",
    });
  });

  test("with fields left out still raises its alarm", () => {
    expect(judge("TRAINING_FAILED", {})[0]).toMatchObject({
      kind: "raise",
      title: "Training of (not told) failed",
      message: "(not told)",
    });
  });

  test("that no rule names means nothing", () => {
    expect(judge("NEW_GAMES_AVAILABLE", {})).toEqual([]);
  });
});

test("texts are bounded, on one line, and numbers are short", () => {
  expect(fill("{a}\n{b}", { a: 0.123456, b: Array.from({ length: 25 }, (_, i) => i) }, 200)).toMatch(
    /^0\.123 0, 1, .*, 19 and 5 more$/,
  );
  expect(fill("{a}", { a: "x".repeat(5_000) }, 100)).toHaveLength(100);
});
