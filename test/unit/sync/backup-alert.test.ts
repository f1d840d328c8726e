/** A backup that does not come about is an alert, and one that comes at last closes it: unit, tasks and rules together. */
import { expect, onTestFinished, test } from "vitest";
import { judge } from "../../../src/cluster/alerts/judge.ts";
import { builtinRows } from "../../../src/events/index.ts";
import { createIds, OperatingError, seededRandom } from "../../../src/kernel/index.ts";
import { createBackups } from "../../../src/sync/index.ts";
import { backupDaemon } from "../../../src/sync/units/backup/backup.unit.ts";
import { unitWorld } from "../../fixtures/unit-world.ts";

const HOUR = 3_600_000;
const report = {
  backup_id: "b1",
  place: "disk",
  files: 3,
  bytes: 30,
  copied_files: 3,
  copied_bytes: 30,
  sealed: false,
  missing: [],
  models: [],
  backups: [],
};

test("an overdue backup opens an alert with its reason, and the first one that succeeds closes it", async () => {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const disk = { isMounted: false };
  const backups = createBackups({
    store: w.store,
    clock: w.clock,
    ids: createIds(w.clock, seededRandom(3)),
    places: [{ name: "disk", transport: "folder", path: "/backup", disk: "backup" }],
    secret: undefined,
    folder: { nodeId: "n1", version: "", dataDir: "", database: "", artifacts: "", otherFiles: [] },
    retention: { keep: 1, keepMs: 0 },
    scratch: "",
    run: (async () => {
      if (!disk.isMounted) throw OperatingError.unavailable("PLACE_NOT_THERE", "the disk is not mounted");
      return report;
    }) as never,
    drill: async () => ({ backup_id: "b1", files: 3, bytes: 30, books_equal: true }),
  });
  const pace = { everyMs: HOUR, drillEveryMs: 1_000 * HOUR };
  const services = { backups, backupPace: pace, nodeId: "n1" };
  await w.driven(w.runtime([backupDaemon(services as never)]).start());
  const said = (eventType: string) =>
    w.router
      .history({ fromJournal: true, eventType, limit: 100 })
      .map(({ payload }) => payload as { severity: string; message: string });
  const alerts = () => said("HEALTH_ALERT").flatMap((payload) => judge("HEALTH_ALERT", payload as never));
  await w.pass(3 * HOUR);
  expect(alerts()[0]).toMatchObject({ kind: "raise", severity: "error" });
  expect(said("HEALTH_ALERT").at(-1)?.message).toContain("the disk is not mounted");
  disk.isMounted = true;
  await w.pass(3 * HOUR);
  expect(said("DATA_BACKUP_COMPLETED")[0]).toMatchObject({ node_id: "n1", destination: "disk", artifacts: 3 });
  const [first] = alerts();
  expect(alerts().at(-1)).toEqual({ kind: "close", key: first!.key });
});
