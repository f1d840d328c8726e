import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { entryOf, type SyncWorld, syncWorld } from "../../../../../test/unit/sync/sync-world.ts";
import { EVIDENCE, type WorkWorld, workWorld } from "../../../../../test/unit/work/work-world.ts";
import { seededRandom, silentLog } from "../../../../kernel/index.ts";
import { iterations, suspects } from "../../../../pipeline/index.ts";
import type { LocalWorker } from "../../../worker/local-worker.ts";
import type { ChaosWorld } from "./act.ts";
import { allowChaos, forgetChaos } from "./chaos-folder.ts";
import { damage, flipBytes, setAsideAt } from "./damage.ts";
import { cameThrough } from "./kill.ts";
import { foundOut } from "./poison.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "chaos-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

describe("a kill is seen in the queue", () => {
  const open = async () => {
    const w: WorkWorld = workWorld();
    closing.push(() => w.close());
    await w.queue.add({ work_type: "selfplay", config_key: "hex8_2p", payload: {} });
    const lease = (await w.claimOne())!;
    await w.queue.start(lease);
    const victims = [{ work_id: lease.work_id, fence: lease.fence }];
    return { w, lease, victims, seen: () => cameThrough(w.store, victims, 4_100) };
  };

  test("as a job that somebody did again", async () => {
    const { w, lease, seen } = await open();
    expect(seen()).toBeUndefined();
    await w.queue.release(lease, "killed");
    const again = (await w.claimOne("b"))!;
    await w.queue.start(again);
    expect(seen()).toBeUndefined();
    await w.queue.complete(again, EVIDENCE);
    expect(seen()).toBe(`${lease.work_id} was done again by b after 4.1 s`);
  });

  test("as a job that was not hit, or is no longer wanted", async () => {
    const one = await open();
    await one.w.queue.complete(one.lease, EVIDENCE);
    expect(one.seen()).toMatch(/was not hit$/);
    const other = await open();
    await other.w.queue.cancel(other.lease.work_id, { reason: "decided" });
    expect(other.seen()).toMatch(/was no longer wanted$/);
  });

  test("and a job that failed for good was not caught", async () => {
    const { w, lease, seen } = await open();
    await w.queue.fail(lease, { class: "bad_input", error: "gone" });
    expect(seen()).toBeUndefined();
  });
});

/** What chaos sees of files that are really there. */
function fileWorld() {
  const w: SyncWorld = syncWorld();
  closing.push(() => w.close());
  const dataDir = newFolder();
  const { store, catalog, clock } = w;
  const world: ChaosWorld = {
    store,
    catalog,
    clock,
    random: seededRandom(3),
    log: silentLog(),
    dataDir,
    nodeId: "n1",
    worker: {} as LocalWorker,
    env: {},
    url: new URL("http://127.0.0.1:1"),
    socketPath: "",
    configKeys: ["hex8_2p"],
  };
  return { w, world, dataDir };
}
const write = (
  w: SyncWorld,
  put: (rows: Parameters<Parameters<SyncWorld["router"]["transact"]>[1]>[0]["rows"]) => void,
) => w.driven(w.router.transact({ source: "test" }, ({ rows }) => put(rows)));
const at = (iteration: number) => ({ iteration, stage: "selfplay" }) as never;

describe("damage is seen in the catalog and on the disk", () => {
  test("a file has other bytes afterwards, as many as before", () => {
    const path = join(newFolder(), "file");
    writeFileSync(path, "x".repeat(1_000));
    flipBytes(path, seededRandom(1));
    const after = readFileSync(path, "latin1");
    expect(after).toHaveLength(1_000);
    expect(after.replaceAll("x", "").length).toBeGreaterThanOrEqual(1);
  });

  test("it counts as caught when the file was set aside and is there again, not before", async () => {
    const { w, world, dataDir } = fileWorld();
    const content = "s".repeat(500);
    const entry = entryOf(content, { kind: "samples", iteration: 2 });
    await w.change((artifacts) => artifacts.record([entry]));
    await write(w, (rows) => rows.put(iterations, "hex8_2p", at(2)));
    const place = join(dataDir, "artifacts", entry.sha256.slice(0, 2));
    mkdirSync(place, { recursive: true });
    expect(damage(world, "segment")).toBeUndefined();
    writeFileSync(join(place, entry.sha256), content);
    const act = damage(world, "segment")!;
    expect(act.what).toMatch(/flipped 3 bytes of the samples .*, a segment of iteration 2/);
    expect(readFileSync(join(place, entry.sha256), "latin1")).not.toBe(content);
    expect(act.caught(w.clock.now())).toBeUndefined();

    const quarantine = join(dataDir, "artifacts", "quarantine");
    mkdirSync(quarantine);
    writeFileSync(join(quarantine, `${entry.sha256}.${w.clock.now() - 1}`), "an older one");
    expect(setAsideAt(dataDir, entry.sha256, w.clock.now())).toBeUndefined();
    writeFileSync(join(quarantine, `${entry.sha256}.${w.clock.now() + 700}`), "");
    rmSync(join(place, entry.sha256));
    expect(act.caught(w.clock.now() + 900)).toBeUndefined();
    writeFileSync(join(place, entry.sha256), content);
    expect(act.caught(w.clock.now() + 5_000)).toMatch(/set aside after 0.7 s, and was restored, .* after 5.0 s/);
  });

  test("a segment whose part others have played is replaced, once its iteration is over", async () => {
    const { w, world, dataDir } = fileWorld();
    const entry = entryOf("t".repeat(500), { kind: "samples", iteration: 2 });
    await w.change((artifacts) => artifacts.record([entry]));
    await write(w, (rows) => rows.put(iterations, "hex8_2p", at(2)));
    const place = join(dataDir, "artifacts", entry.sha256.slice(0, 2));
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, entry.sha256), "t".repeat(500));
    const act = damage(world, "segment")!;
    mkdirSync(join(dataDir, "artifacts", "quarantine"));
    writeFileSync(join(dataDir, "artifacts", "quarantine", `${entry.sha256}.${w.clock.now()}`), "");
    await w.change((artifacts) => artifacts.reject([entry.sha256], "corrupt"));
    expect(act.caught(w.clock.now())).toBeUndefined();
    await write(w, (rows) => rows.put(iterations, "hex8_2p", at(3)));
    expect(act.caught(w.clock.now())).toMatch(/others took its place/);
  });
});

test("a producer is found out when it is a suspect and the books have rejected all its games", async () => {
  const { w, world } = fileWorld();
  const seen = () => foundOut(world, "bad", ["hex8_2p"]);
  const suspect = { bad: { producer: "bad", reasons: ["labels"] } } as never;
  await write(w, (rows) => rows.put(suspects, "hex8_2p", suspect));
  expect(seen()).toBeUndefined();
  const [one, two] = [
    entryOf("1", { producer: "bad", work_id: "w1" }),
    entryOf("2", { producer: "bad", work_id: "w2" }),
  ];
  await w.change((artifacts) => {
    artifacts.record([one, two]);
    artifacts.reject([one.sha256], "labels");
  });
  // The other one may still come to be used.
  expect(seen()).toBeUndefined();
  await w.change((artifacts) => artifacts.reject([two.sha256], "labels"));
  expect(seen()).toMatchObject({ configKey: "hex8_2p", reasons: ["labels"], rejected: 40 });
});

describe("chaos is never enabled by accident", () => {
  const withChampion = async (dataDir: string) => {
    const { DatabaseSync } = await import("node:sqlite");
    const db = new DatabaseSync(join(dataDir, "coordination.db"));
    db.exec("CREATE TABLE champion_history (model TEXT); INSERT INTO champion_history VALUES ('a')");
    db.close();
  };

  test("a folder that is new, or whose champion was made with it, may be harmed", async () => {
    const dataDir = newFolder();
    allowChaos(dataDir, false);
    await withChampion(dataDir);
    expect(() => allowChaos(dataDir, false)).not.toThrow();
  });

  test("one whose champion was made without it is refused, unless somebody says yes", async () => {
    const dataDir = newFolder();
    await withChampion(dataDir);
    expect(() => allowChaos(dataDir, false)).toThrow(/has a champion that was trained without --chaos/);
    allowChaos(dataDir, true);
    expect(() => allowChaos(dataDir, false)).not.toThrow();
    forgetChaos(dataDir);
    expect(() => allowChaos(dataDir, false)).toThrow(/without --chaos/);
  });
});
