/** Files of games that nobody knows: on a real disk, with the reader of real files, and time that the test moves. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { packsBeside } from "../../../../test/support/packs.ts";
import { PATIENT } from "../../../../test/support/patience.ts";
import { CONFIG, gamesFile } from "../../../../test/support/played-games.ts";
import { builtinRows } from "../../../events/index.ts";
import { createFileHasher } from "../../../kernel/index.ts";
import { createStructureReader } from "../../../workloads/arena/index.ts";
import { orphanLimits } from "../../limits.ts";
import { createOrphanSearch, type OrphanFolder } from "../../orphans/find-orphans.ts";
import type { Orphan } from "../../orphans/orphan.ts";
import { setOrphanAside } from "../../orphans/set-aside.ts";
import { orphanDetection } from "./orphan-detection.unit.ts";

const structures = createStructureReader();
const hasher = createFileHasher((message) => new Error(message) as never);
afterAll(async () => {
  await structures.close();
  await hasher.close();
});

const shaOf = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const LIMITS = { ...orphanLimits, everyMs: 1_000, prefixes: 256 };

async function world({ watched = false, isNode = false } = {}) {
  const w = unitWorld(builtinRows);
  const root = mkdtempSync(join(tmpdir(), "ringrift-orphans-"));
  const [store, other] = [join(root, "store"), join(root, "watched")];
  mkdirSync(store);
  if (watched) mkdirSync(other);
  const known = new Set<string>();
  const expected = { files: false };
  const packs = isNode ? await packsBeside(store, w.clock) : undefined;
  const folders: OrphanFolder[] = [
    { path: store, layout: isNode ? "flat" : "prefixes" },
    ...(watched ? [{ path: other, layout: "any" as const }] : []),
  ];
  const orphanSearch = createOrphanSearch(
    {
      folders,
      knows: async (sha256s) => new Set(sha256s.filter((sha256) => known.has(sha256))),
      expectsFiles: () => expected.files,
      packed: packs?.store,
      readStructure: structures.read,
      hasher,
    },
    LIMITS,
  );
  const services = { nodeId: "n2", orphanSearch, setOrphanAside: (one: Orphan) => setOrphanAside(store, one) };
  const runtime = w.runtime([orphanDetection(services, LIMITS)]);
  onTestFinished(async () => {
    await w.close();
    rmSync(root, { recursive: true, force: true });
  });
  const told = () =>
    w.router
      .history({ fromJournal: true, eventType: "ORPHAN_GAMES_DETECTED", limit: 100 })
      .map(({ payload }) => payload as { games: number; orphans: { rule: string; reason: string; place: string }[] });
  /** Old by the clock of the world, unless said. */
  const write = (path: string, bytes: Uint8Array, agoMs = LIMITS.youngMs + 1) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, bytes);
    const at = (w.clock.now() - agoMs) / 1_000;
    utimesSync(path, at, at);
  };
  return {
    ...w,
    packs,
    store,
    other,
    known,
    expected,
    told,
    write,
    put(bytes: Uint8Array, name = shaOf(bytes), agoMs?: number): string {
      const path = join(store, name.slice(0, 2), name);
      write(path, bytes, agoMs);
      return path;
    },
    health: () => runtime.status().find(({ name }) => name === "orphan_detection_daemon")!,
    /** Ticks until something is so. Files are read on threads, which virtual time does not wait for. */
    async until(isSo: () => boolean) {
      await vi.waitFor(
        async () => {
          await w.pass(100);
          expect(isSo()).toBe(true);
        },
        { ...PATIENT, interval: 5 },
      );
    },
    start: () => w.driven(runtime.start()),
  };
}

const rules = (told: readonly { orphans: { rule: string }[] }[]) =>
  told.flatMap(({ orphans }) => orphans.map(({ rule }) => rule));

test("games that no manifest knows are told once, with what they are; known, young and other files are not", async () => {
  const w = await world();
  const games = gamesFile(7, 1).bytes;
  w.put(games);
  const known = gamesFile(3, 2).bytes;
  w.put(known);
  w.known.add(shaOf(known));
  w.put(gamesFile(3, 3).bytes, undefined, -3_600_000);
  w.put(Buffer.from("the results of a match"));
  await w.start();
  await w.until(() => w.told().length > 0);
  await w.pass(60_000);
  expect(w.told()).toHaveLength(1);
  const [{ games: count, orphans }] = w.told() as never as [ReturnType<typeof w.told>[number]];
  expect(count).toBe(7);
  expect(orphans).toEqual([
    expect.objectContaining({ artifact_hash: shaOf(games), config_key: CONFIG, rule: "adopt" }),
  ]);
});

test("an orphan is off the list when somebody has written it down", async () => {
  const w = await world();
  const games = gamesFile(5, 4).bytes;
  w.put(games);
  await w.start();
  await w.until(() => w.told().length > 0);
  expect(w.health().details).toMatchObject({ adopt: 1 });
  w.known.add(shaOf(games));
  await w.driven(
    w.router.publish("ORPHAN_GAMES_REGISTERED", { node_id: "n2", games: 5, artifact_hashes: [shaOf(games)] } as never),
  );
  await w.until(() => w.health().details?.adopt === 0);
});

test("a damaged one is told, then moved aside, and never deleted", async () => {
  const w = await world();
  const bytes = Buffer.from(gamesFile(5, 5).bytes);
  bytes[bytes.length - 40]! ^= 1;
  const path = w.put(bytes, shaOf(gamesFile(5, 5).bytes));
  await w.start();
  await w.until(() => !existsSync(path));
  expect(rules(w.told())).toEqual(["quarantine"]);
  expect(readdirSync(join(w.store, "quarantine"))).toEqual([`orphan-${shaOf(gamesFile(5, 5).bytes)}`]);
});

test("what lies in the watched folder is offered; a broken file there is left where it is, with the reason", async () => {
  const w = await world({ watched: true });
  w.write(join(w.other, "deep", "a.arena"), gamesFile(4, 6).bytes);
  w.write(join(w.other, "b.npz"), Buffer.from("PK\x03\x04 and no archive"));
  w.write(join(w.other, "notes.txt"), Buffer.from("nothing"));
  await w.start();
  await w.until(() => rules(w.told()).length === 2);
  expect(rules(w.told()).sort()).toEqual(["leave", "offer"]);
  expect(w.health().message).toContain("'ringrift artifacts orphans'");
  expect(readdirSync(w.other).sort()).toEqual(["b.npz", "deep", "notes.txt"]);
});

test("an empty or missing folder is a fault, and what was found there before stays on the list", async () => {
  const w = await world({ watched: true });
  w.write(join(w.other, "a.arena"), gamesFile(4, 7).bytes);
  await w.start();
  await w.until(() => w.told().length > 0);
  rmSync(join(w.other, "a.arena"));
  await w.until(() => w.health().status === "degraded");
  expect(w.health().message).toContain("is empty: is its disk mounted?");
  expect(w.health().details).toMatchObject({ offer: 1 });
  rmSync(w.other, { recursive: true });
  await w.until(() => w.health().message.includes("is not there"));
  expect(w.health().details).toMatchObject({ offer: 1 });
});

test("a store without a file is a fault where the catalog counts on some, and nothing where it does not", async () => {
  const w = await world();
  await w.start();
  await w.pass(5_000);
  await w.until(() => w.health().status === "running");
  w.expected.files = true;
  await w.until(() => w.health().status === "degraded");
  expect(w.health().message).toContain("files must be there");
});

test("games in a pack of a node that nobody knows are found as others are; a node with packs alone has its disk", async () => {
  const w = await world({ isNode: true });
  w.expected.files = true;
  const [games, known] = [gamesFile(6, 1).bytes, gamesFile(3, 2).bytes];
  const [orphan = "", held = ""] = await w.packs!.keep([games, known, Buffer.from("the results of a match")]);
  w.known.add(held);
  await w.pass(LIMITS.youngMs + 1);
  await w.start();
  await w.until(() => w.told().length > 0);
  expect(w.told()[0]!.orphans).toEqual([expect.objectContaining({ artifact_hash: orphan, rule: "adopt" })]);
  expect((await w.packs!.store.list()).map(({ sha256 }) => sha256)).toEqual([held]);
  expect(w.health().details).toMatchObject({ adopt: 1 });
});
