import { describe, expect, test } from "vitest";
import { CONTROL_EVENTS, type ControlEvent, GROUPS, reactionsTo, unitsOf } from "./decide.ts";

const here = { nodeId: "n1" };
/** Each reaction in a line: what it does, its key, and whom it concerns. */
const react = (eventType: ControlEvent["eventType"], payload: Record<string, unknown>): string[] =>
  reactionsTo({ eventType, payload } as unknown as ControlEvent, here).map((reaction) =>
    reaction.kind === "hold" ? `hold ${reaction.key} ${reaction.target}` : `${reaction.kind} ${reaction.key}`,
  );

const pressure = (level: string, more = {}) => ({ scope: "selfplay", level, reason: "full", ...more });
const disk = (level: string, node_id = "n1") => ({ node_id, level, usage: 0.9, free_gb: 3, threshold: 0.85 });
const leader = { cluster_id: "c", epoch: 2 };
const lost = { ...leader, previous_leader_node_id: "n1", reason: "silent" };

describe("an event and what it does to daemons", () => {
  test.each([
    [
      "BACKPRESSURE_ACTIVATED",
      pressure("hard"),
      ["hold backpressure:selfplay producers", "lift backpressure:selfplay:shown"],
    ],
    [
      "BACKPRESSURE_ACTIVATED",
      pressure("stop"),
      ["hold backpressure:selfplay producers", "lift backpressure:selfplay:shown"],
    ],
    ["BACKPRESSURE_ACTIVATED", pressure("medium"), ["lift backpressure:selfplay", "show backpressure:selfplay:shown"]],
    ["BACKPRESSURE_ACTIVATED", pressure("soft"), ["lift backpressure:selfplay", "lift backpressure:selfplay:shown"]],
    ["BACKPRESSURE_ACTIVATED", pressure("stop", { node_id: "n2" }), []],
    [
      "BACKPRESSURE_ACTIVATED",
      pressure("stop", { node_id: "n1", scope: "n1" }),
      ["hold backpressure:n1 hungry", "lift backpressure:n1:shown"],
    ],
    ["BACKPRESSURE_RELEASED", pressure("none"), ["lift backpressure:selfplay", "lift backpressure:selfplay:shown"]],
    [
      "BACKPRESSURE_RELEASED",
      pressure("hard"),
      ["hold backpressure:selfplay producers", "lift backpressure:selfplay:shown"],
    ],
    [
      "RESOURCE_CONSTRAINT",
      { ...disk("critical"), resource: "memory" },
      ["hold resource:memory hungry", "lift resource:memory:shown"],
    ],
    [
      "RESOURCE_CONSTRAINT",
      { ...disk("none"), resource: "memory" },
      ["lift resource:memory", "lift resource:memory:shown"],
    ],
    ["RESOURCE_CONSTRAINT", { ...disk("critical", "n2"), resource: "memory" }, []],
    ["DISK_SPACE_LOW", disk("high"), ["hold resource:disk producers", "lift resource:disk:shown"]],
    ["DISK_SPACE_LOW", disk("none"), ["lift resource:disk", "lift resource:disk:shown"]],
    ["DISK_SPACE_LOW", disk("critical", "n2"), []],
    ["RESOURCE_CONSTRAINT", { ...disk("none"), resource: "disk" }, ["lift resource:disk", "lift resource:disk:shown"]],
    [
      "TRAINING_BLOCKED_BY_QUALITY",
      { config_key: "hex8_2p", quality_score: 0.4, threshold: 0.6 },
      ["show quality:hex8_2p"],
    ],
    ["TRAINING_THRESHOLD_REACHED", { config_key: "hex8_2p" }, ["lift quality:hex8_2p"]],
    ["TRAINING_STARTED", { config_key: "hex8_2p" }, ["lift quality:hex8_2p"]],
    ["REGRESSION_CLEARED", { config_key: "hex8_2p" }, ["lift regression:hex8_2p"]],
    ["REGRESSION_CRITICAL", { config_key: "hex8_2p", model_id: "m" }, ["show regression:hex8_2p"]],
    [
      "P2P_CLUSTER_UNHEALTHY",
      { cluster_id: "c", healthy_nodes: 0, total_nodes: 3, reason: "cut" },
      ["hold cluster:c intake"],
    ],
    ["P2P_CLUSTER_UNHEALTHY", { cluster_id: "c", healthy_nodes: 1, total_nodes: 3, reason: "cut" }, ["show cluster:c"]],
    ["P2P_CLUSTER_HEALTHY", { cluster_id: "c" }, ["lift cluster:c"]],
    ["CLUSTER_STATUS_CHANGED", { cluster_id: "c", cluster_status: "critical" }, ["show cluster_status:c"]],
    ["CLUSTER_STATUS_CHANGED", { cluster_id: "c", cluster_status: "healthy" }, ["lift cluster_status:c"]],
    ["LEADER_ELECTED", { ...leader, leader_node_id: "n1" }, ["lift leader:c", "lift no_leader:c"]],
    ["LEADER_ELECTED", { ...leader, leader_node_id: "n2" }, ["hold leader:c leader_units", "lift no_leader:c"]],
    ["LEADER_LOST", lost, ["hold leader:c leader_units", "show no_leader:c"]],
    ["LEADER_STEPDOWN", { ...lost, previous_leader_node_id: "n2" }, ["show no_leader:c"]],
    [
      "DAEMON_STATUS_CHANGED",
      { daemon_name: "d", node_id: "n1", daemon_state: "failed", reason: "silent" },
      ["show daemon:d"],
    ],
    [
      "DAEMON_STATUS_CHANGED",
      { daemon_name: "d", node_id: "n1", daemon_state: "running", reason: "well" },
      ["lift daemon:d"],
    ],
    ["DAEMON_STATUS_CHANGED", { daemon_name: "d", node_id: "n2", daemon_state: "failed", reason: "silent" }, []],
    ["DAEMON_STARTED", { daemon_name: "d", node_id: "n1", pid: 1 }, ["lift daemon:d"]],
    ["DAEMON_STOPPED", { daemon_name: "d", node_id: "n1" }, ["lift daemon:d"]],
    ["DAEMON_STOPPED", { daemon_name: "d", node_id: "n2" }, []],
  ] as const)("%s %j", (eventType, payload, expected) => {
    expect(react(eventType, payload)).toEqual(expected);
  });

  test("what is held or shown can be lifted by some event of the table", () => {
    const all = CONTROL_EVENTS.flatMap((eventType) =>
      ["none", "stop"].flatMap((level) =>
        ["healthy", "critical"].flatMap((cluster_status) =>
          react(eventType, {
            ...lost,
            ...pressure(level),
            ...disk(level),
            resource: "cpu",
            cluster_status,
            leader_node_id: "n1",
          }),
        ),
      ),
    );
    const keys = (kind: string) =>
      new Set(all.filter((line) => line.startsWith(kind)).map((line) => line.split(" ")[1]));
    expect([...keys("hold"), ...keys("show")].filter((key) => !keys("lift").has(key))).toEqual([]);
    expect(keys("hold").size).toBeGreaterThan(3);
  });

  test("no pressure ever holds sync", () => {
    const sync = /sync|replication|backup|distribution/;
    expect(
      Object.values(GROUPS)
        .flat()
        .filter((name) => sync.test(name)),
    ).toEqual([]);
  });

  test("who does not exist is not found, and leader units are those that the registry says", () => {
    expect(unitsOf("producers", ["dlq_retry", "selfplay_scheduler"], new Set())).toEqual(["selfplay_scheduler"]);
    expect(unitsOf("leader_units", ["dlq_retry", "event_router"], new Set(["dlq_retry", "maintenance"]))).toEqual([
      "dlq_retry",
    ]);
  });
});
