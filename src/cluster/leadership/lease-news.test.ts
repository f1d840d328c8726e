import { afterEach, expect, test } from "vitest";
import { unitWorld } from "../../../test/fixtures/unit-world.ts";
import { builtinRows } from "../../events/index.ts";
import { silentLog } from "../../kernel/index.ts";
import type { EventRouter } from "../../router/index.ts";
import { beginOf, lateBy, splitsOf, tellLeaseNews } from "./lease-news.ts";
import type { ClusterView, HeardMember, RefusedEntry } from "./members.ts";
import { leaseTimingOf } from "./timing.ts";

const timing = leaseTimingOf(12_000);
const term = (number: number, node: string, stepDown: ClusterView["terms"][number]["stepDown"] = null) => ({
  ...{ term: number, node, since: number * 1_000, stepDown },
});
const heard = (name: string, more: Partial<HeardMember> = {}): HeardMember => ({
  ...{ name, boot: name, cluster: "c-1", role: "follower", term: 3, seq: 40, leader: "b", trouble: null },
  ...{
    url: "http://x",
    fingerprint: null,
    refused: null,
    preferred: false,
    lease_ms: null,
    check: null,
    version: "1",
    heardMsAgo: 100,
    ...more,
  },
});
const view = (more: Partial<ClusterView> = {}): ClusterView => ({
  ...{ cluster: "c-1", generation: 1, name: "b", role: "leader", term: 3, seq: 42, trouble: null, checks: [] },
  leader: { name: "b", term: 3, since: 3_000, url: "http://b", fingerprint: null },
  ...{ members: [], terms: [term(3, "b"), term(2, "a")], refused: null, engine: null, ...more },
});
const evidence: RefusedEntry = { term: 2, seq: 31, by: "b", by_term: 3, at: 5_000 };
const names = (told: readonly (readonly [string, unknown])[]) => told.map(([type]) => type);

test("a term tells first how the one before it ended, then that it began", () => {
  expect(beginOf(view())).toEqual([
    [
      "LEADER_LOST",
      {
        ...{ cluster_id: "c-1", epoch: 2, previous_leader_node_id: "a" },
        reason: "it was silent for a lease, and b took over",
      },
    ],
    ["EPOCH_ADVANCED", { cluster_id: "c-1", epoch: 3, previous_epoch: 2, leader_node_id: "b" }],
    ["LEADER_ELECTED", { cluster_id: "c-1", epoch: 3, leader_node_id: "b", previous_leader_node_id: "a" }],
  ]);
  const handed = view({ terms: [term(3, "b"), term(2, "a", { to: "b", reason: "upgrade" })] });
  expect(beginOf(handed)[0]).toMatchObject(["LEADER_STEPDOWN", { epoch: 2, reason: "upgrade" }]);
  expect(names(beginOf(view({ terms: [term(1, "a")] })))).toEqual(["EPOCH_ADVANCED", "LEADER_ELECTED"]);
  expect(beginOf(view({ terms: [] }))).toEqual([]);
});

test("a stale leader's refused entry is told with its evidence, and that it follows again, each once", () => {
  const stale = view({ members: [heard("a", { refused: evidence, role: "leader", term: 2 })] });
  expect(splitsOf(stale, new Map(), 9_000)).toEqual([
    [
      "SPLIT_BRAIN_DETECTED",
      {
        ...{ cluster_id: "c-1", epoch: 2, severity: "warning", claiming_node_ids: ["a", "b"] },
        ...{ refused_sequence: 31, standing_epoch: 3 },
      },
    ],
  ]);
  const follows = view({ members: [heard("a", { refused: evidence })] });
  expect(splitsOf(follows, new Map([[2, "detected"]]), 9_000)).toEqual([
    [
      "SPLIT_BRAIN_RESOLVED",
      { cluster_id: "c-1", epoch: 2, leader_node_id: "b", demoted_node_ids: ["a"], duration_seconds: 4 },
    ],
  ]);
  expect(splitsOf(follows, new Map([[2, "resolved"]]), 9_000)).toEqual([]);
  // One that leads again tells of itself.
  expect(names(splitsOf(view({ refused: evidence }), new Map(), 9_000))).toEqual([
    "SPLIT_BRAIN_DETECTED",
    "SPLIT_BRAIN_RESOLVED",
  ]);
});

test("two renewals that did not come are late; a lease that is over is no longer that", () => {
  expect(lateBy(10_000, timing)).toBeUndefined();
  expect(lateBy(4_100, timing)).toBeUndefined();
  expect(lateBy(4_000, timing)).toBe(6_000);
  expect(lateBy(-1, timing)).toBeUndefined();
});

const worlds: ReturnType<typeof unitWorld>[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

test("whoever leads tells all of it through the journal, and stops when it leads no more", async () => {
  const w = unitWorld(builtinRows);
  worlds.push(w as never);
  const router = w.router as unknown as EventRouter;
  const persisted: unknown[] = [];
  const late: unknown[] = [];
  router.subscribe("STATE_PERSISTED", ({ payload }) => void persisted.push(payload));
  router.subscribe("LEADER_HEARTBEAT_MISSING", ({ payload }) => void late.push(payload));
  let shown = view({ members: [heard("a"), heard("b")] });
  let trustedForMs = 9_000;
  const cluster = { view: () => shown, trustedForMs: () => trustedForMs, timing };
  const news = await w.driven(tellLeaseNews({ router, cluster, clock: w.clock, log: silentLog() }));
  const journal = (eventType: string) => router.history({ eventType: eventType as never, fromJournal: true });
  expect(journal("LEADER_ELECTED")).toHaveLength(1);
  expect(journal("LEADER_LOST")).toHaveLength(1);
  await w.pass(3_000);
  expect(persisted).toMatchObject([
    { node_id: "b", last_sequence: 42, pending_commits: 0 },
    { node_id: "a", epoch: 3, last_sequence: 40, pending_commits: 2 },
  ]);
  shown = view({ seq: 50, members: [heard("a", { seq: 50, refused: evidence })] });
  trustedForMs = 3_000;
  await w.pass(3_000);
  expect(persisted).toHaveLength(4);
  expect(late).toMatchObject([{ leader_node_id: "b", silent_seconds: 7, interval_seconds: 3 }]);
  expect(journal("SPLIT_BRAIN_DETECTED")).toHaveLength(1);
  expect(journal("SPLIT_BRAIN_RESOLVED")).toHaveLength(1);
  // Whoever leads next may tell the same again: it is one event.
  const again = await w.driven(tellLeaseNews({ router, cluster, clock: w.clock, log: silentLog() }));
  await w.pass(3_000);
  expect(journal("SPLIT_BRAIN_DETECTED")).toHaveLength(1);
  expect(journal("EPOCH_ADVANCED")).toHaveLength(1);
  news.stop();
  again.stop();
  shown = view({ seq: 60 });
  await w.pass(3_000);
  expect(persisted.filter((one) => (one as { last_sequence: number }).last_sequence === 60)).toEqual([]);
});
