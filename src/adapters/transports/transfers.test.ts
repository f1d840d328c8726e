import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { nodeKey } from "../../../test/support/node-keys.ts";
import { silentLog } from "../../kernel/index.ts";
import { createArtifactStore, createReservations, type TransferProgress, type Wanted } from "../../sync/index.ts";
import { listClaim, signTicket, type TicketClaim } from "../../sync/transfer/ticket.ts";
import { newFolder, wantedOf } from "../../sync/transport.contract.ts";
import { markDisk } from "./folder/folder-transport.ts";
import type { ServerRefusal } from "./http/artifact-server.ts";
import { startTransfers, type TransfersOptions } from "./transfers.ts";

const coordinator = generateKeyPairSync("ed25519");

async function startNode(more: Partial<TransfersOptions> = {}) {
  const folder = more.folder ?? join(newFolder(), "artifacts");
  mkdirSync(folder, { recursive: true });
  const files = createArtifactStore({ folder });
  const store = more.store ?? files;
  const refusals: ServerRefusal[] = [];
  const key = nodeKey();
  const transfers = await startTransfers({
    ...key,
    folder,
    store,
    scratch: `${folder}.scratch`,
    maxBytesPerSecond: null,
    stallMs: 60_000,
    programs: { rsync: "rsync", ssh: "ssh" },
    log: silentLog(),
    onRefused: (refusal) => void refusals.push(refusal),
    ...more,
  });
  onTestFinished(async () => {
    await transfers.close();
    await files.close();
  });
  return {
    ...key,
    folder,
    store,
    transfers,
    refusals,
    give(content: Uint8Array): Wanted {
      const wanted = wantedOf(content);
      mkdirSync(join(folder, wanted.sha256.slice(0, 2)), { recursive: true });
      writeFileSync(store.pathOf(wanted.sha256), content);
      return wanted;
    },
    has: ({ sha256 }: Wanted) => (existsSync(store.pathOf(sha256)) ? readFileSync(store.pathOf(sha256)) : undefined),
  };
}

const serve = { host: "127.0.0.1", port: 0, coordinatorKey: coordinator.publicKey };
const nowSeconds = () => Math.floor(Date.now() / 1_000);

type Node = Pick<Awaited<ReturnType<typeof startNode>>, "nodeId" | "transfers">;
const sourceOf = (from: Node, to: Node, list: readonly Wanted[], more: Partial<TicketClaim> = {}) => ({
  transport: "http" as const,
  url: `http://127.0.0.1:${from.transfers.port}`,
  nodeId: from.nodeId,
  ticket: signTicket(
    {
      ...listClaim(list),
      from: from.nodeId,
      to: to.nodeId,
      issuedAt: nowSeconds() - 1,
      expiresAt: nowSeconds() + 600,
      ...more,
    },
    coordinator.privateKey,
  ),
  list,
});

test("small and large files come from another node, are told on the way, and are not fetched twice", async () => {
  const [from, to] = [await startNode({ serve }), await startNode()];
  // So many small ones that a thread makes their files.
  const contents = [...Array.from({ length: 300 }, (_, i) => randomBytes(i)), randomBytes(20_000_000)];
  const wanted = contents.map((content) => from.give(content));
  const told: TransferProgress[] = [];
  const sources = [sourceOf(from, to, wanted)];
  const report = await to.transfers.fetch({
    wanted: [...wanted, wanted[0]!],
    sources,
    onProgress: (one) => void told.push(one),
  });
  expect(report).toMatchObject({ present: [], failed: [] });
  expect([...report.arrived].sort()).toEqual(wanted.map(({ sha256 }) => sha256).sort());
  // Compared as a whole: byte by byte, as values are compared, twenty megabytes take seconds.
  for (const [i, one] of wanted.entries()) expect(to.has(one)?.equals(contents[i]!), `file ${i}`).toBe(true);
  expect(told.at(-1)).toMatchObject({ files: wanted.length, transport: "http", place: `node ${from.nodeId}` });
  expect(told.at(-1)!.bytesDone).toBeLessThanOrEqual(told.at(-1)!.bytes);
  expect((await to.transfers.fetch({ wanted, sources })).present).toHaveLength(wanted.length);
});

test("files of a large pack that cannot be made are said to be, and all others come; later they come too", async () => {
  const [from, to] = [await startNode({ serve }), await startNode()];
  const wanted = Array.from({ length: 400 }, (_, i) => from.give(Buffer.from(`file ${i}`)));
  const prefix = wanted[200]!.sha256.slice(0, 2);
  const isBlocked = ({ sha256 }: Wanted) => sha256.startsWith(prefix);
  writeFileSync(join(to.folder, prefix), "where a folder should be");
  const sources = [sourceOf(from, to, wanted)];
  const report = await to.transfers.fetch({ wanted, sources });
  const namesOf = (all: readonly Wanted[]) => all.map(({ sha256 }) => sha256).sort();
  expect(report.failed.map(({ sha256 }) => sha256).sort()).toEqual(namesOf(wanted.filter(isBlocked)));
  expect([...report.arrived].sort()).toEqual(namesOf(wanted.filter((one) => !isBlocked(one))));
  rmSync(join(to.folder, prefix));
  const again = await to.transfers.fetch({ wanted, sources });
  expect([...again.arrived].sort()).toEqual(namesOf(wanted.filter(isBlocked)));
  for (const [i, one] of wanted.entries()) expect(to.has(one)?.toString()).toBe(`file ${i}`);
});

/** One that has joined: its files lie side by side, and small ones that came together stay so. */
async function startJoined(more: Partial<TransfersOptions> = {}) {
  const root = newFolder();
  const folder = join(root, "inputs");
  const pathOf = (sha256: string) => join(folder, sha256);
  const { reserve } = createReservations({
    maxBytes: 1e9,
    landingOf: (sha256) => ({ path: pathOf(sha256), part: `${pathOf(sha256)}.part` }),
    isLeaving: () => false,
  });
  const packs = { folder: join(root, "packs"), quarantine: join(root, "quarantine") };
  const node = await startNode({ folder, isFlat: true, packs, store: { pathOf, reserve }, ...more });
  const packed = node.transfers.packed!;
  const namesIn = (at: string) => (existsSync(at) ? readdirSync(at).sort() : []);
  return {
    ...node,
    packed,
    files: () => namesIn(folder),
    packs: () => namesIn(packs.folder),
    inPacks: async () => (await packed.list()).map(({ sha256 }) => sha256).sort(),
  };
}

test("small ones that came together stay so, are served from there, and become files when they are needed", async () => {
  const [from, to] = [await startNode({ serve }), await startJoined({ serve })];
  const contents = [
    ...Array.from({ length: 300 }, (_, i) => randomBytes(i * 10)),
    randomBytes(100_000),
    randomBytes(2e6),
  ];
  const wanted = contents.map((content) => from.give(content));
  const [small, large] = [wanted.slice(0, 300), wanted.slice(300)];
  const namesOf = (all: readonly Wanted[]) => all.map(({ sha256 }) => sha256).sort();
  const report = await to.transfers.fetch({ wanted, sources: [sourceOf(from, to, wanted)] });
  expect(report.failed).toEqual([]);
  expect([...report.arrived].sort()).toEqual(namesOf(wanted));
  expect([await to.inPacks(), to.files(), to.packs()]).toEqual([namesOf(small), namesOf(large), [expect.any(String)]]);
  const again = await to.transfers.fetch({ wanted, sources: [sourceOf(from, to, wanted)] });
  expect([again.arrived, again.present.length]).toEqual([[], wanted.length]);

  // To one that keeps each as a file, to one that keeps them together, and one alone.
  const [third, fourth] = [await startNode(), await startJoined()];
  expect((await third.transfers.fetch({ wanted, sources: [sourceOf(to, third, wanted)] })).failed).toEqual([]);
  for (const [i, one] of wanted.entries()) expect(third.has(one)?.equals(contents[i]!), `file ${i}`).toBe(true);
  const one = wanted.slice(7, 8);
  expect((await fourth.transfers.fetch({ wanted: one, sources: [sourceOf(to, fourth, one)] })).arrived).toHaveLength(1);
  expect([await fourth.inPacks(), fourth.files()]).toEqual([[], namesOf(one)]);
  const lacking = [wantedOf(randomBytes(50))];
  expect(
    (await fourth.transfers.fetch({ wanted: lacking, sources: [sourceOf(to, fourth, lacking)] })).failed,
  ).toMatchObject([{ code: "ARTIFACT_NOT_FOUND" }]);

  // What is asked of the thread from here.
  const [first = "", second = ""] = namesOf(small);
  expect((await to.packed.find([first, large[0]!.sha256])).map((place) => place?.sha256)).toEqual([first, undefined]);
  expect([await to.packed.check(first), await to.packed.check(large[0]!.sha256)]).toEqual([first, null]);
  await to.packed.makeFiles([first]);
  await to.packed.drop([second]);
  expect([(await to.inPacks()).length, to.files().includes(first)]).toEqual([298, true]);
  await to.packed.setAside(namesOf(small)[2]!);
  await to.packed.compact();
  expect(await to.inPacks()).toHaveLength(297);
  await to.transfers.close();
  await expect(to.packed.list()).rejects.toMatchObject({ code: "TRANSFERS_ENDED" });
});

test("who fetches while room is given back where it fetches from gets everything", async () => {
  const [from, to, third] = [await startNode({ serve }), await startJoined({ serve }), await startNode()];
  const contents = Array.from({ length: 600 }, () => randomBytes(20_000));
  const wanted = contents.map((content) => from.give(content));
  await to.transfers.fetch({ wanted, sources: [sourceOf(from, to, wanted)] });
  const [gone, left] = [wanted.slice(0, 350), wanted.slice(350)];
  await to.packed.drop(gone.map(({ sha256 }) => sha256));
  let isFetched = false;
  const begun = Promise.withResolvers<void>();
  const fetching = third.transfers
    .fetch({
      wanted: left,
      sources: [sourceOf(to, third, left)],
      maxBytesPerSecond: 8_000_000,
      onProgress: () => begun.resolve(),
    })
    .finally(() => {
      isFetched = true;
    });
  await begun.promise;
  await to.packed.compact();
  // It was in the midst of it.
  expect([isFetched, to.packs(), to.files().length]).toEqual([false, [], left.length]);
  expect((await fetching).failed).toEqual([]);
  for (const [i, one] of left.entries()) expect(third.has(one)?.equals(contents[350 + i]!), `file ${i}`).toBe(true);
});

test("a node that begins again has what lies together, in a folder of before too; of a pack that is cut it tells", async () => {
  const [from, to] = [await startNode({ serve }), await startJoined()];
  const wanted = Array.from({ length: 50 }, (_, i) => from.give(Buffer.from(`file ${i}`)));
  await to.transfers.fetch({ wanted, sources: [sourceOf(from, to, wanted)] });
  await to.transfers.close();
  const [pack = ""] = to.packs();
  const path = join(to.folder, "..", "packs", pack);
  writeFileSync(path, readFileSync(path).subarray(0, -1));
  const errors: string[] = [];
  const log = { ...silentLog(), error: (message: string) => void errors.push(message) };
  const packs = { folder: join(to.folder, "..", "packs"), quarantine: join(to.folder, "..", "quarantine") };
  const next = await startNode({ folder: to.folder, isFlat: true, packs, store: to.store, log });
  expect(await next.transfers.packed!.list()).toEqual([]);
  expect(to.files()).toEqual(wanted.map(({ sha256 }) => sha256).sort());
  expect(errors).toEqual([expect.stringContaining("damaged")]);
  // Both kinds live side by side, and nothing of it comes twice.
  const more = Array.from({ length: 50 }, (_, i) => from.give(Buffer.from(`more ${i}`)));
  const all = [...wanted, ...more];
  const report = await next.transfers.fetch({ wanted: all, sources: [sourceOf(from, { ...to, ...next }, all)] });
  expect([report.present.length, report.arrived.length, report.failed]).toEqual([50, 50, []]);
  expect(await next.transfers.packed!.list()).toHaveLength(50);
});

test("the next source brings what the first one cannot", async () => {
  const [from, other, to] = [await startNode({ serve }), await startNode({ serve }), await startNode()];
  const content = randomBytes(3_000_000);
  other.give(content);
  from.give(randomBytes(10));
  const wanted = [wantedOf(content)];
  const report = await to.transfers.fetch({
    wanted,
    sources: [sourceOf(from, to, wanted), sourceOf(other, to, wanted)],
  });
  expect(report.arrived).toEqual([wanted[0]!.sha256]);
  expect(report.tries).toMatchObject([
    { place: `node ${from.nodeId}`, files: 0, error: { code: "ARTIFACT_NOT_FOUND" } },
    { place: `node ${other.nodeId}`, files: 1 },
  ]);
});

test("one that is ended on its way goes on where it was; meanwhile nobody else takes its place", async () => {
  const [from, to] = [await startNode({ serve }), await startNode()];
  const wanted = [from.give(randomBytes(8_000_000))];
  const sources = [sourceOf(from, to, wanted)];
  const ended = new AbortController();
  const onProgress = () => ended.abort(new Error("no more"));
  const slow = to.transfers.fetch({ wanted, sources, maxBytesPerSecond: 8_000_000, signal: ended.signal, onProgress });
  expect((await to.transfers.fetch({ wanted, sources })).failed).toMatchObject([{ code: "ARTIFACT_BUSY" }]);
  await expect(slow).rejects.toThrow("no more");
  const report = await to.transfers.fetch({ wanted, sources });
  expect(report.arrived).toEqual([wanted[0]!.sha256]);
  expect(report.tries[0]!.bytes).toBeLessThan(8_000_000);
});

test("who comes with a bad ticket is named to the node that serves, by its coordinator's time", async () => {
  const [from, to] = [await startNode({ serve }), await startNode()];
  const wanted = [from.give(randomBytes(10))];
  const sources = [sourceOf(from, to, wanted, { expiresAt: nowSeconds() - 10 })];
  expect((await to.transfers.fetch({ wanted, sources })).failed).toMatchObject([{ code: "TICKET_EXPIRED" }]);
  expect(from.refusals).toContainEqual(expect.objectContaining({ code: "TICKET_EXPIRED", nodeId: to.nodeId }));
  from.transfers.setAhead(-3_600_000);
  expect(
    (
      await to.transfers.fetch({
        wanted,
        sources: [sourceOf(from, to, wanted, { issuedAt: nowSeconds() - 3_600, expiresAt: nowSeconds() - 10 })],
      })
    ).arrived,
  ).toHaveLength(1);
});

test("files are brought to a disk, and come back from it", async () => {
  const [one, other] = [await startNode(), await startNode()];
  const path = newFolder();
  await markDisk(path, "backup-1");
  const to = { transport: "folder" as const, path, disk: "backup-1" };
  const wanted = [one.give(randomBytes(10)), one.give(randomBytes(2_000_000))];
  expect((await one.transfers.put({ wanted, to })).arrived).toHaveLength(2);
  expect((await other.transfers.fetch({ wanted, sources: [to] })).arrived).toHaveLength(2);
  expect(other.has(wanted[1]!)).toHaveLength(2_000_000);
});

test("when the thread has ended, whoever waits and whoever comes is told", async () => {
  const [from, to] = [await startNode({ serve }), await startNode()];
  const wanted = [from.give(randomBytes(8_000_000))];
  const slow = to.transfers.fetch({ wanted, sources: [sourceOf(from, to, wanted)], maxBytesPerSecond: 1_000_000 });
  const [outcome] = await Promise.allSettled([slow, to.transfers.close()]);
  expect(outcome).toMatchObject({ status: "rejected", reason: { code: "TRANSFERS_ENDED", retryable: true } });
  await expect(to.transfers.fetch({ wanted, sources: [] })).rejects.toMatchObject({ code: "TRANSFERS_ENDED" });
  await to.transfers.close();
});
