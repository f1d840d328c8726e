/** What runs on a node that has joined. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { silentLog, systemClock, systemRandom } from "../../kernel/index.ts";
import { openLink } from "../../surfaces/index.ts";
import { createTransferNews } from "../../sync/index.ts";
import { declaredRegistry } from "../registry.ts";
import { readSettings } from "../settings.ts";
import { startNodeEvents } from "./node-events.ts";

test("a joined node runs the profile training_node, whole and under a supervisor", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "ringrift-node-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const clock = systemClock();
  const link = openLink({ target: { url: new URL("http://127.0.0.1:9"), trust: {} }, clock, token: "none" });
  onTestFinished(() => link.close());
  const settings = readSettings({}, dataDir, { dataDir });
  const space = { clean: async () => ({ sha256s: [], bytes: 0, fromQuarantine: 0 }), tidyLogs: () => false };
  const node = await startNodeEvents({
    settings,
    clock,
    random: systemRandom(),
    log: silentLog(),
    link,
    nodeId: "n7",
    line: { reach: () => ({ peers: 1, expected: 1 }), failures: () => 0, reopen: () => undefined },
    news: createTransferNews(),
    orphans: { folders: [], knows: async () => new Set(), expectsFiles: () => false },
    ownWork: () => ({ running: 0, slots: 1 }),
    space,
  });
  onTestFinished(() => node.close());
  const profile = declaredRegistry().units.filter(({ profiles }) => profiles.includes("training_node"));
  const running = Object.values(node.daemons.getStatus()).filter(({ state }) => state === "running");
  expect(running.map(({ name }) => name).sort()).toEqual(profile.map(({ name }) => name).sort());
  await node.finish();
  expect(Object.values(node.daemons.getStatus()).map(({ state }) => state)).toEqual(running.map(() => "stopped"));
});
