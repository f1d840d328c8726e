import { expect, test } from "vitest";
import { causeOf } from "../../daemons/cause.ts";
import type { Alert } from "../alerts/wire.ts";
import { handoverOf, type Records } from "./handover.ts";

const SINCE = 1_000_000;
const write = { scope: "operator", method: "POST", status: 200, request_id: "r", from: "socket", dry_run: false };
const alert = { severity: "error", title: "Training failed", status: "open", opened_at: SINCE + 1 } as Alert;

const records: Records = {
  since: SINCE,
  configs: [
    {
      ...{ config_key: "hex8_2p", state: "running", stage: "training", iteration: 7 },
      champions: [
        { generation: 0, since: SINCE + 1, by: "start" },
        { generation: 1, since: SINCE - 1, by: "gate" },
        { generation: 2, since: SINCE + 5, by: "gate" },
      ],
    },
  ],
  events: { MODEL_PROMOTED: 1, WORK_RETRY: 3, COORDINATOR_HEARTBEAT: 900 },
  alerts: [alert, { ...alert, status: "closed", opened_at: SINCE - 1 }],
  writes: [
    { ...write, at: SINCE + 2, actor: "ann", path: "/v1/loop/hex8_2p/pause", reason: "disk" },
    { ...write, at: SINCE + 2, actor: "ann", path: "/v1/loop/hex8_2p/rollback", reason: null, dry_run: true },
    { ...write, at: SINCE + 2, actor: "ann", path: "/v1/tokens", reason: null, status: 403 },
    { ...write, at: SINCE + 2, actor: "box2", path: "/v1/work/claims", reason: null, scope: "worker" },
    { ...write, at: SINCE + 3, actor: "browser of ann", path: "/v1/session", reason: null },
    { ...write, at: SINCE - 2, actor: "bob", path: "/v1/shutdown", reason: null },
  ],
  causes: [
    causeOf("bad", "no_worker", "w1", "no worker is connected"),
    causeOf("note", "waits", "hex8_2p", "games are being played"),
  ],
};

test("a hand-over tells what came since then, in sentences that count", () => {
  const { configs, done } = handoverOf(records);
  expect(configs.map(({ config_key, promoted }) => [config_key, promoted])).toEqual([["hex8_2p", 1]]);
  expect(done.map(({ what }) => what)).toEqual(["1 model was promoted", "3 jobs were tried again"]);
});

test("what people changed is theirs: no dry run, no refusal, no log-in, no machine, nothing from before", () => {
  expect(handoverOf(records).people.map(({ actor, path }) => [actor, path])).toEqual([
    ["ann", "/v1/loop/hex8_2p/pause"],
  ]);
});

test("only what needs somebody is left to do, beside the alerts that are open", () => {
  const { needs, alerts } = handoverOf(records);
  expect(needs.map(({ code }) => code)).toEqual(["no_worker"]);
  expect([alerts.opened, alerts.open]).toEqual([1, [alert]]);
});
