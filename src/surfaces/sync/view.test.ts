import { expect, test } from "vitest";
import { virtualClock } from "../../kernel/index.ts";
import { createPaint } from "../cli/paint.ts";
import type { Shell } from "../cli/shell.ts";
import { deliveryLines, planLines } from "./view.ts";
import type { DeliveriesView, SyncPlanView } from "./wire.ts";

const shell = { paint: createPaint(false), width: 200, clock: virtualClock(100_000) } as Partial<Shell> as Shell;
const delivery: DeliveriesView["deliveries"][number] = {
  order_id: 1,
  sync_id: "replication",
  node: "box",
  action: "fetch",
  sha256: "ab".repeat(32),
  kind: "games",
  config_key: "hex8_2p",
  state: "waiting",
  reason: "repair",
  attempts: 2,
  bytes: 2_000,
  bytes_done: 0,
  error: "cut off",
  ordered_at: 1,
  next_at: 130_000,
  ended_at: null,
  tries: [
    { attempt: 1, transport: "http", place: "other", code: "PLACE_UNREACHABLE", error: "no route", at: 1 },
    { attempt: 1, transport: null, place: null, code: "PLACE_UNREACHABLE", error: "no route", at: 1 },
    { attempt: 2, transport: null, place: null, code: "TRANSFER_SILENT", error: "said nothing", at: 2 },
  ],
};

test("a delivery tells each way that was tried, and when it is tried next or that it was given up", () => {
  const hosts = [
    { node: "box", waiting: 1, running: 0, bytes: 2_000, failures: 2, reasons: { A: 2 }, last_success_at: null },
  ];
  const figures = { files: 3, bytes: 9_000, failures: 2, stalls: 1, error: "PLACE_UNREACHABLE: no route" };
  const ways = [{ node: "box", transport: "http", place: "other", state: "open", ...figures }];
  const told = deliveryLines({ deliveries: [delivery], hosts, ways }, "failing", shell);
  expect(told.slice(0, 3)).toEqual([
    expect.stringMatching(
      /^games abababababab of hex8_2p \(2(\.0)? kB\) to box for repair: tried again in 30(\.0)? s$/,
    ),
    "    try 1 by http from other: no route (PLACE_UNREACHABLE)",
    "    try 2: said nothing (TRANSFER_SILENT)",
  ]);
  expect(told.join("\n")).toMatch(/box\s+1\s+2(\.0)? kB\s+never\s+A 2/);
  expect(told.join("\n")).toMatch(/box\s+other\s+http\s+3\s+9(\.0)? kB\s+2\s+passed over: PLACE_UNREACHABLE: no route/);
  const over = { ...delivery, state: "failed" as const, next_at: null, attempts: 5 };
  expect(deliveryLines({ deliveries: [over], hosts: [], ways: [] }, "failing", shell)[0]).toMatch(
    /given up after 5 tries$/,
  );
  expect(deliveryLines({ deliveries: [], hosts: [], ways: [] }, "failing", shell)).toEqual(["no transfer fails"]);
});

test("explain tells from whom each node would get its files, whom it would not ask, and why each backend is used or not", () => {
  const plan: SyncPlanView = {
    backend: "router",
    files: 300,
    bytes: 9_000,
    nodes: [{ node: "box", files: 300, bytes: 9_000 }],
    judgements: [],
    backends: [
      { backend: "router", role: "chosen", why: "targets", actual: "1 named", required: "named" },
      { backend: "ephemeral_sync", role: "skipped", why: "prefer_ephemeral", actual: "false", required: "true" },
    ],
    ways: [
      {
        node: "box",
        action: "fetch",
        files: 200,
        bytes: 6_000,
        sources: [
          { node: "other", transports: ["http", "relay"], feeding: 1, depth: 2, troubled: true },
          { node: "home", transports: ["http", "coordinator"], feeding: 0, depth: 0, troubled: false },
        ],
        passed_over: [{ node: "third", why: "it is away", actual: "away", required: "online" }],
      },
    ],
    transfers_looked_at: 200,
    error: null,
  };
  const told = planLines(plan, shell).join("\n");
  expect(told).toMatch(
    /box gets 200 files \(6(\.0)? kB\) from other \(http or relay, still fetches it, 2 steps from the/,
  );
  expect(told).toContain(
    "whole, sends to 1 node now, its own transfers fail), then home (http or coordinator, has the whole)",
  );
  expect(told).toContain("not from third: it is away (away, required online)");
  expect(told).toMatch(/router\s+chosen\s+targets: 1 named, required named/);
  expect(told).toMatch(/ephemeral_sync\s+skipped\s+prefer_ephemeral: false, required true/);
  expect(told).toContain("the first 200 of 300 transfers");
  const sent = { ...plan.ways[0]!, action: "send" as const, sources: [], passed_over: [] };
  expect(planLines({ ...plan, ways: [sent] }, shell).join("\n")).toContain("box sends 200 files");
});
