/** The unit over a database in memory; what it frees is noted, and goes by the sweep's own tests. */
import { afterEach, expect, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { builtinRows } from "../../../events/index.ts";
import type { Cleaned, Cleaning, DiskMeasure } from "../../disk-space.ts";
import { diskSpaceLimits } from "../../limits.ts";
import { sweepPolicy } from "../../sweep.ts";
import { diskSpaceManager } from "./disk-space-manager.unit.ts";

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const SHA = "a".repeat(64);
const low = { node_id: "n1", level: "critical", usage: 0.97, free_gb: 3, threshold: 0.95 } as const;
const books = { config_key: "hex8_2p", error_code: "BOOKS_UNBALANCED", message: "7 games are nowhere" } as const;

async function world() {
  const w = unitWorld(builtinRows);
  ends.push(() => w.close());
  const asked: Cleaning[] = [];
  const state = { disk: undefined as DiskMeasure | undefined, next: [] as Cleaned[], tidied: 0 };
  const unit = diskSpaceManager(
    {
      nodeId: "n1",
      graces: sweepPolicy(),
      space: {
        measured: () => state.disk,
        async clean(how) {
          asked.push(how);
          return state.next.shift() ?? { sha256s: [], bytes: 0, fromQuarantine: 0 };
        },
        tidyLogs() {
          state.tidied += 1;
          return false;
        },
      },
    },
    { ...diskSpaceLimits, holdMs: 300_000 },
  );
  const told: unknown[] = [];
  w.router.subscribe("DISK_CLEANUP_TRIGGERED", ({ payload }) => void told.push(payload));
  const runtime = w.runtime([unit]);
  await w.driven(runtime.start());
  const health = () => runtime.status().find(({ name }) => name === "disk_space_manager")!;
  return { ...w, asked, state, told, health };
}

test("frees what nobody holds once a minute, tidies the logs, and tells what went and why", async () => {
  const w = await world();
  w.state.next = [{ sha256s: [SHA], bytes: 500, fromQuarantine: 0 }];
  await w.pass(125_000);
  expect(w.asked.map(({ level }) => level)).toEqual(["none", "none", "none"]);
  expect(w.state.tidied).toBe(w.asked.length);
  expect(w.told).toEqual([
    { node_id: "n1", bytes_freed: 500, artifacts: 1, artifact_hashes: [SHA], reason: "nobody held them" },
  ]);
});

test("looks at once when the disk is said to be low here, more thoroughly, and says that it is not well while it is critical", async () => {
  const w = await world();
  await w.pass(10_000);
  w.state.disk = { level: "critical", usage: 0.97, freeBytes: 3e9, fullInMs: null };
  await w.driven(w.router.publish("DISK_SPACE_LOW", low));
  await w.pass(6_000);
  const [usual, urgent] = [w.asked[0]!, w.asked.at(-1)!];
  expect(urgent.level).toBe("critical");
  expect(urgent.graceMs).toBeLessThan(usual.graceMs);
  expect(w.health()).toMatchObject({ status: "degraded", message: expect.stringMatching(/nothing more can be freed/) });
  w.state.disk = { level: "none", usage: 0.5, freeBytes: 50e9, fullInMs: null };
  expect(w.health()).toMatchObject({ status: "running", message: "50 GB of the disk are free" });
});

test("keeps the files of a config whose books do not balance until they do, or its time is over", async () => {
  const w = await world();
  const kept = () => w.asked.at(-1)!.exceptConfigs;
  await w.driven(w.router.publish("DATA_QUALITY_ALERT", { ...books, severity: "error" }));
  await w.pass(65_000);
  expect(kept()).toEqual(["hex8_2p"]);
  await w.driven(w.router.publish("DATA_QUALITY_ALERT", { ...books, severity: "info" }));
  await w.pass(65_000);
  expect(kept()).toEqual([]);
  await w.driven(w.router.publish("DATA_QUALITY_ALERT", { ...books, severity: "error" }));
  await w.pass(400_000);
  expect(kept()).toEqual([]);
});
