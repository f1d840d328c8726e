import { existsSync, readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { breathe } from "../../test/support/virtual-time.ts";
import { entryOf, type SyncWorld, sha256Of, syncWorld } from "../../test/unit/sync/sync-world.ts";
import { artifactStorePart } from "./artifact-inspector.ts";

const worlds: SyncWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const world = (...options: Parameters<typeof syncWorld>) => {
  const opened = syncWorld(...options);
  worlds.push(opened);
  return opened;
};
const names = (w: SyncWorld) => w.said().map(({ eventType }) => eventType);
const batch = (...contents: string[]) => ({
  syncId: "hex8_2p:1:data_sync:1",
  configKey: "hex8_2p",
  entries: contents.map((content, i) =>
    entryOf(content, { kind: content.startsWith("s") ? "samples" : "games", work_id: `w${i}` }),
  ),
});

describe("a batch", () => {
  test("is begun, looked through, announced and completed, and its rows stay in flight", async () => {
    const w = world();
    for (const content of ["g1", "g2", "s1"]) await w.put(content);
    const outcome = await w.inspector.syncBatch(batch("g1", "g2", "s1"));
    expect(outcome).toEqual({ state: "completed", artifacts: 3, bytes: 6, games: 60 });
    expect(names(w)).toEqual(["DATA_SYNC_STARTED", "DATABASE_CREATED", "DATABASE_CREATED", "DATA_SYNC_COMPLETED"]);
    expect(w.said("DATA_SYNC_COMPLETED")[0]?.payload).toMatchObject({
      sync_id: "hex8_2p:1:data_sync:1",
      node_id: "n1",
      data_type: "all",
      artifacts: 3,
      bytes_transferred: 6,
      games: 60,
      config_key: "hex8_2p",
    });
    expect(w.said("DATABASE_CREATED")[0]?.payload).toEqual({
      config_key: "hex8_2p",
      artifact_hash: sha256Of("g1"),
      node_id: "n1",
      games: 20,
      artifact_bytes: 2,
    });
    expect(w.catalog.list().map(({ state, verified_at }) => [state, verified_at])).toEqual(
      Array.from({ length: 3 }, () => ["in_flight", w.clock.now()]),
    );
  });

  test("asked for twice, at once or later, is one", async () => {
    const w = world();
    await w.put("g1");
    const both = await Promise.all([w.inspector.syncBatch(batch("g1")), w.inspector.syncBatch(batch("g1"))]);
    const again = await w.openInspector().syncBatch(batch("g1"));
    expect(new Set([...both, again].map((outcome) => JSON.stringify(outcome))).size).toBe(1);
    expect(names(w)).toEqual(["DATA_SYNC_STARTED", "DATABASE_CREATED", "DATA_SYNC_COMPLETED"]);
  });

  test("that was cut short does the rest when it is asked for again", async () => {
    const w = world();
    await w.put("g1");
    const told = new AbortController();
    told.abort(new Error("shutting down"));
    await expect(w.inspector.syncBatch(batch("g1"), told.signal)).rejects.toThrow("shutting down");
    expect(names(w)).toEqual(["DATA_SYNC_STARTED"]);
    expect(await w.openInspector().syncBatch(batch("g1"))).toMatchObject({ state: "completed" });
    expect(names(w)).toEqual(["DATA_SYNC_STARTED", "DATABASE_CREATED", "DATA_SYNC_COMPLETED"]);
  });

  test("with a damaged file fails, names it, and the sound ones are announced once, over all attempts", async () => {
    const w = world();
    for (const content of ["g1", "g2"]) await w.put(content);
    w.spoil(sha256Of("g2"), "xx");
    const failed = await w.inspector.syncBatch(batch("g1", "g2"));
    expect(failed).toMatchObject({ state: "failed", damaged: [{ sha256: sha256Of("g2"), damage: "checksum" }] });
    expect(names(w)).toEqual(["DATA_SYNC_STARTED", "DATABASE_CREATED", "DATA_SYNC_FAILED"]);
    expect(w.said("DATA_SYNC_FAILED")[0]?.payload).toMatchObject({
      error: expect.stringContaining(sha256Of("g2")),
      retryable: true,
    });
    expect(w.catalog.get(sha256Of("g2"))).toMatchObject({ state: "quarantined", reason: "damaged: checksum" });
    expect(w.catalog.rebuildOf(sha256Of("g2"))).toMatchObject({ work_id: "w1" });
    // The job makes the same bytes again.
    await w.put("g2");
    const next = { ...batch("g1", "g2"), syncId: "hex8_2p:1:data_sync:2" };
    expect(await w.inspector.syncBatch(next)).toMatchObject({ state: "completed", artifacts: 2 });
    expect(w.catalog.get(sha256Of("g2"))).toMatchObject({ state: "in_flight", reason: null });
    expect(w.said("DATABASE_CREATED").map(({ payload }) => payload.artifact_hash)).toEqual(["g1", "g2"].map(sha256Of));
  });

  test("with a file that may still come from another coordinator waits for it, and is judged once nobody has it", async () => {
    const w = world();
    await w.put("g1");
    const coming = new Set([sha256Of("g2")]);
    const inspector = w.openInspector((sha256) => coming.has(sha256));
    await expect(inspector.syncBatch(batch("g1", "g2"))).rejects.toMatchObject({
      code: "ARTIFACT_AWAITED",
      retryable: true,
    });
    await inspector.verify([sha256Of("g2")]);
    await w.driven(inspector.scrub({ everyMs: 0 }));
    expect(names(w)).toEqual(["DATA_SYNC_STARTED"]);
    expect(w.catalog.get(sha256Of("g2"))).toMatchObject({ state: "in_flight", reason: null });
    await w.put("g2");
    expect(await inspector.syncBatch(batch("g1", "g2"))).toMatchObject({ state: "completed", artifacts: 2 });
    coming.clear();
    const lost = { ...batch("g3"), syncId: "hex8_2p:1:data_sync:2" };
    expect(await inspector.syncBatch(lost)).toMatchObject({ state: "failed", damaged: [{ damage: "missing" }] });
  });

  test("of nothing is refused", async () => {
    await expect(world().inspector.syncBatch(batch())).rejects.toMatchObject({ code: "SYNC_EMPTY" });
  });
});

describe("a model", () => {
  const about = { modelId: "m1", sha256: sha256Of("model"), configKey: "hex8_2p" };
  const recorded = async (w: SyncWorld) => {
    await w.put("model");
    await w.change((artifacts) => artifacts.record([entryOf("model", { kind: "model", games: 0 })]));
  };

  test("is handed out once", async () => {
    const w = world();
    await recorded(w);
    const both = await Promise.all([w.inspector.distribute(about), w.inspector.distribute(about)]);
    expect(both[0]).toEqual({ state: "completed", artifacts: 1, bytes: 5, games: 0 });
    expect(await w.openInspector().distribute(about)).toEqual(both[0]);
    expect(names(w)).toEqual(["MODEL_DISTRIBUTION_STARTED", "MODEL_DISTRIBUTION_COMPLETE"]);
    expect(w.said("MODEL_DISTRIBUTION_COMPLETE")[0]?.payload).toMatchObject({ model_id: "m1", node_ids: ["n1"] });
  });

  test("that is damaged is told as such under its name, and is handed out anew when it was made again", async () => {
    const w = world();
    await recorded(w);
    truncateSync(w.files.pathOf(about.sha256), 2);
    expect(await w.inspector.distribute(about)).toMatchObject({ state: "failed" });
    expect(names(w)).toEqual(["MODEL_DISTRIBUTION_STARTED", "MODEL_CORRUPTED", "MODEL_DISTRIBUTION_FAILED"]);
    expect(w.said("MODEL_CORRUPTED")[0]?.payload).toEqual({
      model_id: "m1",
      node_id: "n1",
      artifact_hash: about.sha256,
      damage: "truncated",
      actual_hash: sha256Of("mo"),
      config_key: "hex8_2p",
    });
    await w.put("model");
    expect(await w.inspector.distribute(about)).toMatchObject({ state: "completed" });
    expect(w.said("MODEL_DISTRIBUTION_FAILED")).toHaveLength(1);
    expect(w.said("MODEL_DISTRIBUTION_STARTED")).toHaveLength(2);
  });

  test("that was lost after it was handed out is handed out anew", async () => {
    const w = world();
    await recorded(w);
    await w.inspector.distribute(about);
    w.spoil(about.sha256, "other");
    await w.inspector.verify([about.sha256]);
    expect(w.said("MODEL_CORRUPTED")).toHaveLength(1);
    await w.put("model");
    expect(await w.inspector.distribute(about)).toMatchObject({ state: "completed" });
    expect(w.said("MODEL_DISTRIBUTION_COMPLETE")).toHaveLength(2);
  });

  test("that nobody recorded is refused", async () => {
    await expect(world().inspector.distribute(about)).rejects.toMatchObject({ code: "ARTIFACT_UNKNOWN" });
  });
});

describe("a damaged file", () => {
  const read = async (w: SyncWorld, sha256: string) => {
    const all: Uint8Array[] = [];
    for await (const chunk of w.files.read(sha256, 0, 5)) all.push(chunk);
    return Buffer.concat(all).toString();
  };

  test("is never given out: the first byte waits for the hash, the row is quarantined and an event tells", async () => {
    const w = world();
    const sha256 = await w.put("games");
    await w.change((artifacts) => {
      artifacts.record([entryOf("games")]);
      artifacts.accept([sha256]);
    });
    expect(await read(w, sha256)).toBe("games");
    w.pass(60_000);
    w.spoil(sha256, "gamez");
    await expect(read(w, sha256)).rejects.toMatchObject({ code: "ARTIFACT_DAMAGED" });
    while (w.catalog.get(sha256)?.state !== "quarantined") await breathe();
    expect(w.said("DATA_SYNC_FAILED")[0]?.payload).toMatchObject({
      sync_id: `check:${sha256}`,
      data_type: "games",
      error: expect.stringContaining("job w1 made it"),
      retryable: true,
    });
    expect(existsSync(w.files.pathOf(sha256))).toBe(false);
    expect(readdirSync(join(w.folder, "quarantine"))).toEqual([`${sha256}.${w.clock.now()}`]);
    expect((await w.files.stat(sha256)).size).toBeNull();
  });

  test("is found by the scrub, which looks at the longest unseen first, a bounded number at a time, slowly", async () => {
    const w = world();
    for (const content of ["games", "gamez", "gamey"]) await w.put(content);
    await w.change((artifacts) =>
      artifacts.record(["games", "gamez", "gamey"].map((content, i) => entryOf(content, { work_id: `w${i}` }))),
    );
    await w.inspector.verify([sha256Of("games")]);
    w.pass(1_000);
    w.spoil(sha256Of("gamey"), "gamex");
    const begun = w.clock.now();
    const done = await w.driven(w.inspector.scrub({ max: 2, everyMs: 0, bytesPerSecond: 5 }));
    expect(done).toEqual({ checked: 2, bytes: 5, damaged: [{ sha256: sha256Of("gamey"), damage: "checksum" }] });
    expect(w.clock.now() - begun).toBe(2_000);
    expect(await w.driven(w.inspector.scrub({ everyMs: 24 * 3_600_000 }))).toMatchObject({ checked: 0 });
  });

  test("that is gone is told as missing; a store that is gone says nothing of its files", async () => {
    const w = world();
    const sha256 = sha256Of("never came");
    await w.put("other");
    await w.change((artifacts) => artifacts.record([entryOf("never came")]));
    expect(await w.inspector.verify([sha256])).toEqual([{ sha256, sound: false, damage: "missing", actual: null }]);
    expect(w.catalog.get(sha256)).toMatchObject({ state: "quarantined", reason: "damaged: missing" });
    const gone = world({ folder: join(w.folder, "not", "mounted") });
    await gone.change((artifacts) => artifacts.record([entryOf("never came")]));
    await expect(gone.inspector.verify([sha256])).rejects.toMatchObject({
      code: "ARTIFACT_UNREADABLE",
      retryable: true,
    });
    expect(gone.catalog.get(sha256)?.state).toBe("in_flight");
  });
});

test("everything that the inspector says, it has declared, and nothing else", () => {
  expect([...artifactStorePart.emits].toSorted()).toEqual([
    "DATABASE_CREATED",
    "DATA_SYNC_COMPLETED",
    "DATA_SYNC_FAILED",
    "DATA_SYNC_STARTED",
    "MODEL_CORRUPTED",
    "MODEL_DISTRIBUTION_COMPLETE",
    "MODEL_DISTRIBUTION_FAILED",
    "MODEL_DISTRIBUTION_STARTED",
  ]);
});
