import { generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { nodeKey } from "../../../test/support/node-keys.ts";
import { silentLog } from "../../kernel/index.ts";
import { createArtifactStore, type TransferProgress, type Wanted } from "../../sync/index.ts";
import { listClaim, signTicket, type TicketClaim } from "../../sync/transfer/ticket.ts";
import { newFolder, wantedOf } from "../../sync/transport.contract.ts";
import { markDisk } from "./folder/folder-transport.ts";
import type { ServerRefusal } from "./http/artifact-server.ts";
import { startTransfers, type TransfersOptions } from "./transfers.ts";

const coordinator = generateKeyPairSync("ed25519");

async function startNode(more: Partial<TransfersOptions> = {}) {
  const folder = join(newFolder(), "artifacts");
  mkdirSync(folder);
  const store = createArtifactStore({ folder });
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
    await store.close();
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

type Node = Awaited<ReturnType<typeof startNode>>;
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
