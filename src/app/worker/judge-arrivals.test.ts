/** What arrived and cannot be read is set aside before anybody is told of it, and who gave it is named. */
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { packsBeside } from "../../../test/support/packs.ts";
import { gamesFile } from "../../../test/support/played-games.ts";
import { systemClock } from "../../kernel/index.ts";
import { createTransferNews, type TransferReport } from "../../sync/index.ts";
import { encodeZip } from "../../workloads/arena/files/zip.ts";
import { createStructureReader } from "../../workloads/arena/index.ts";
import { judgeArrivals } from "./judge-arrivals.ts";

const structures = createStructureReader();
afterAll(() => structures.close());

async function arrive(...files: readonly Uint8Array[]) {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-arrivals-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const pathOf = (sha256: string) => join(folder, sha256);
  const arrived = files.map((bytes) => {
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(pathOf(sha256), bytes);
    return sha256;
  });
  const news = createTransferNews();
  const quarantine = join(folder, "quarantine");
  const way = { transport: "http", place: "node n7", files: arrived.length, bytes: 1, durationMs: 1 } as const;
  const report: TransferReport = { arrived, present: [], failed: [], tries: [way] };
  const ports = { pathOf, quarantine, news, clock: systemClock(), faultsOf: structures.faultsOf };
  return { judged: await judgeArrivals(report, ports), arrived, news, quarantine, pathOf };
}

/** An archive whose member says that it has a hundred bytes, and inflates to very many. */
function bomb(): Uint8Array {
  const honest = encodeZip([{ name: "meta.npy", data: Buffer.alloc(64_000_000) }], true);
  const packed = deflateRawSync(Buffer.alloc(64_000_000));
  const archive = Buffer.from(honest);
  const directory = archive.indexOf(Buffer.from("504b0102", "hex"), packed.length);
  archive.writeUInt32LE(100, directory + 24);
  return archive;
}

test("a file that is sound, or of somebody else's program, is let through", async () => {
  const torch = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), Buffer.alloc(500, 7)]);
  const { judged, arrived } = await arrive(gamesFile(3).bytes, Buffer.from("weights of another program"), torch);
  expect(judged).toMatchObject({ arrived, failed: [] });
});

const games = gamesFile(3, 2).bytes;
test.each([
  ["was cut before it was hashed", games.slice(0, -40), "ARENA_FILE_TRUNCATED"],
  ["has bytes behind its end", Buffer.concat([games, Buffer.alloc(8)]), "ARENA_FILE_CORRUPT"],
  ["lies about the size of its header", lying(games), "ARENA_FILE_TOO_LARGE"],
  ["is an archive that inflates to more than it says", bomb(), "ARENA_FILE_CORRUPT"],
])("one that %s is set aside, and its sender is named", async (_, bytes, code) => {
  const { judged, arrived, news, quarantine, pathOf } = await arrive(gamesFile(3).bytes, bytes);
  const [good, bad] = arrived as [string, string];
  expect(judged.arrived).toEqual([good]);
  expect(judged.failed).toMatchObject([{ sha256: bad, code: "ARTIFACT_STRUCTURE" }]);
  expect(existsSync(pathOf(bad))).toBe(false);
  expect(readdirSync(quarantine)[0]).toContain(bad);
  expect(news.wrong.next(10).all).toMatchObject([
    { sha256: bad, actual: bad, nodeId: "n7", transport: "http", fault: expect.stringContaining(code) },
  ]);
});

function lying(bytes: Uint8Array): Uint8Array {
  const huge = Buffer.from(bytes);
  huge.writeUInt32LE(0xffff_ffff, 8);
  return huge;
}

test("what came together is judged where it lies: what cannot be read is set aside, and the others stay together", async () => {
  const root = mkdtempSync(join(tmpdir(), "ringrift-arrivals-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const pathOf = (sha256: string) => join(root, "inputs", sha256);
  const packs = await packsBeside(join(root, "inputs"));
  const came = await packs.keep([gamesFile(3).bytes, games.slice(0, -40), Buffer.from("weights of another program")]);
  const [good = "", bad = "", other = ""] = came;
  const news = createTransferNews();
  const report: TransferReport = { arrived: [...came, "f".repeat(64)], present: [], failed: [], tries: [] };
  const quarantine = join(root, "quarantine");
  const ports = { pathOf, quarantine, news, clock: systemClock(), packed: packs.store, faultsOf: structures.faultsOf };
  const judged = await judgeArrivals(report, ports);
  // One that somebody has used and removed meanwhile says nothing.
  expect(judged.arrived).toEqual([good, other, "f".repeat(64)]);
  expect(judged.failed).toMatchObject([{ sha256: bad, code: "ARTIFACT_STRUCTURE" }]);
  expect(readdirSync(quarantine)).toEqual([expect.stringContaining(bad)]);
  expect((await packs.store.list()).map(({ sha256 }) => sha256).sort()).toEqual([good, other].sort());

  // One that becomes a file while it is looked for is judged as such.
  const [late = ""] = await packs.keep([games.slice(0, -30), Buffer.from("another")]);
  const moving = {
    ...packs.store,
    find: async (sha256s: readonly string[]) => {
      const places = await packs.store.find(sha256s);
      await packs.store.makeFiles(sha256s);
      await packs.store.drop((await packs.store.list()).map(({ sha256 }) => sha256));
      return places;
    },
  };
  const again = await judgeArrivals({ ...report, arrived: [late] }, { ...ports, packed: moving });
  expect(again.failed).toMatchObject([{ sha256: late }]);
  expect(existsSync(pathOf(late))).toBe(false);
});
