/** What both units tell of the transfers of a node, over a database in memory. */
import { expect, onTestFinished, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { builtinRows } from "../../../events/index.ts";
import { transferNewsLimits } from "../../limits.ts";
import { createTransferNews } from "../../transfer/transfer-news.ts";
import { transferVerifier } from "../transfer-verifier/transfer-verifier.unit.ts";
import { autoSync } from "./auto-sync.unit.ts";

const HASH = "a".repeat(64);
const OTHER = "b".repeat(64);
const purpose = { syncId: "repair", kinds: ["games"] };

async function world() {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const news = createTransferNews();
  const woken: string[] = [];
  const wake = (nodeId: string) => void woken.push(nodeId);
  const services = { nodeId: "n2", isRented: () => true, stallMs: 20_000, news, wake };
  const runtime = w.runtime([autoSync(services), transferVerifier(services)]);
  await w.driven(runtime.start());
  const said = (eventType: string) =>
    w.router.history({ fromJournal: true, eventType, limit: 1_000 }).map(({ payload }) => payload);
  const health = (name: string) => runtime.status().find((unit) => unit.name === name)!;
  return { ...w, news, woken, said, health };
}

const tried = (place: string, code: string) => ({
  transport: "http" as const,
  place,
  files: 0,
  bytes: 12,
  durationMs: 1,
  error: { code, message: `it was ${code}` },
});

test("a copy of games that came is told once, with who gave it", async () => {
  const w = await world();
  w.news.noteArrived({ sha256: HASH, games: 20, configKey: "hex8_2p", from: "n7" });
  await w.pass(60_000);
  expect(w.said("GAME_SYNCED")).toEqual([
    { artifact_hash: HASH, games: 20, source_node_id: "n7", node_id: "n2", ephemeral: true, config_key: "hex8_2p" },
  ]);
});

test("a way that fell silent and a node that does not answer are told by name, each once", async () => {
  const w = await world();
  w.news.noteTries(
    [
      tried("node n7", "TRANSFER_STALLED"),
      tried("node n8", "PLACE_UNREACHABLE"),
      tried("node n8", "PLACE_UNREACHABLE"),
      tried("the disk 'a'", "PLACE_UNREACHABLE"),
      tried("node n9", "ARTIFACT_NOT_FOUND"),
    ],
    purpose,
  );
  await w.pass(30_000);
  const stalled = { sync_id: "repair", data_type: "games", node_id: "n2", source_node_id: "n7", idle_seconds: 20 };
  expect(w.said("SYNC_STALLED")).toEqual([{ ...stalled, transport: "http", bytes_transferred: 12 }]);
  expect(w.said("SYNC_NODE_UNREACHABLE")).toEqual([
    { node_id: "n8", transport: "http", error: "it was PLACE_UNREACHABLE" },
  ]);
  expect(w.health("auto_sync").message).toMatch(/fell silent 1 times and found nobody 1 times/);
});

test("who sent wrong bytes is named, and shown for as long as it is news", async () => {
  const w = await world();
  const { error: _, ...try1 } = tried("node n7", "");
  w.news.noteTries([{ ...try1, wrong: [{ sha256: HASH, actual: OTHER }] }], purpose);
  await w.pass(30_000);
  expect(w.said("SYNC_CHECKSUM_FAILED")).toEqual([
    {
      node_id: "n2",
      artifact_hash: HASH,
      actual_hash: OTHER,
      transport: "http",
      source_node_id: "n7",
      error: `its bytes are ${OTHER}`,
    },
  ]);
  expect(w.health("transfer_verifier")).toMatchObject({
    status: "degraded",
    message: "files arrived damaged from n7; none was used",
  });
  await w.pass(transferNewsLimits.blamedMs + 30_000);
  expect(w.health("transfer_verifier")).toMatchObject({ status: "running", message: "" });
});

test("what came wrong with a batch is told with its end", async () => {
  const w = await world();
  await w.pass(1_000);
  w.news.noteWrong({ sha256: HASH, actual: OTHER, transport: "coordinator", nodeId: null });
  const ended = {
    sync_id: "s",
    node_id: "n1",
    data_type: "games",
    bytes_transferred: 1,
    duration_seconds: 1,
    artifacts: 1,
  };
  await w.driven(w.router.publish("DATA_SYNC_COMPLETED", ended as never));
  await w.pass(1_000);
  expect(w.said("SYNC_CHECKSUM_FAILED")).toEqual([
    {
      node_id: "n2",
      artifact_hash: HASH,
      actual_hash: OTHER,
      transport: "coordinator",
      error: `its bytes are ${OTHER}`,
    },
  ]);
});

test("a file that is right by its hash and cannot be read is told with what is wrong with it", async () => {
  const w = await world();
  const fault = "ARENA_FILE_TRUNCATED: it ends early";
  w.news.noteWrong({ sha256: HASH, actual: HASH, transport: "http", nodeId: "n7", fault });
  await w.pass(30_000);
  expect(w.said("SYNC_CHECKSUM_FAILED")).toMatchObject([{ artifact_hash: HASH, source_node_id: "n7", error: fault }]);
  expect(w.health("transfer_verifier")).toMatchObject({ status: "degraded" });
});

test("a crowd is told a few at a time, and does not grow without bound", async () => {
  const w = await world();
  for (let i = 0; i < 2_000; i += 1) w.news.noteTries([tried(`node n${i}`, "TRANSFER_STALLED")], purpose);
  await w.pass(1_000);
  const first = w.said("SYNC_STALLED").length;
  await w.pass(600_000);
  const all = w.said("SYNC_STALLED").length;
  expect(first).toBeLessThanOrEqual(2 * transferNewsLimits.maxEvents);
  expect(all).toBeGreaterThan(first);
  expect(all).toBeLessThan(1_000);
});

test("a node for which there are orders is asked to fetch them", async () => {
  const w = await world();
  const sync = { sync_id: "fresh", node_id: "n5", data_type: "npz" } as const;
  await w.driven(w.router.publish("SYNC_REQUEST", { ...sync, target_node_ids: ["n5"], reason: "it is needed" }));
  await w.driven(
    w.router.publish("SYNC_RETRY_REQUESTED", {
      ...sync,
      node_id: "n6",
      transport: "http",
      failed_transports: ["http"],
    }),
  );
  await w.pass(1_000);
  expect(w.woken).toEqual(["n5", "n6"]);
});
