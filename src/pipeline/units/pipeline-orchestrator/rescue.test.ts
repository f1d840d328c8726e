/** Games that no manifest knew, on their way into the books; over a database in memory. */
import { expect, onTestFinished, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { sha } from "../../../../test/unit/pipeline/player.ts";
import { testServices } from "../../../../test/unit/pipeline/services.ts";
import { booksOf } from "../../../../test/unit/pipeline/shelf.ts";
import { builtinRows } from "../../../events/index.ts";
import { seededRandom } from "../../../kernel/index.ts";
import { type Brought, createArtifactCatalog, rescueLimits, rescues } from "../../../sync/index.ts";
import { kindsWith, WorkQueue } from "../../../work/index.ts";
import { pipelineOrchestrator } from "./pipeline-orchestrator.unit.ts";

const KEY = "othello6_2p";

async function world() {
  const w = unitWorld(builtinRows);
  onTestFinished(() => w.close());
  const { clock, store } = w;
  const catalog = createArtifactCatalog({ store, clock });
  const queue = new WorkQueue({
    router: w.router as never,
    store,
    clock,
    random: seededRandom(2),
    kinds: kindsWith([]),
  });
  const looks = new Map<string, Awaited<ReturnType<Brought["look"]>>>();
  const woken: string[] = [];
  const services = testServices({
    clock,
    store,
    queue,
    catalog,
    brought: { look: async (sha256) => looks.get(sha256) ?? { state: "away" }, note: () => undefined },
    desk: { wake: (nodeId) => void woken.push(nodeId) },
  });
  await w.driven(w.runtime([pipelineOrchestrator(services)]).start());
  const row = (nodeId: string, sha256: string) => {
    const [found] = store.read<{ value: string }>(
      "SELECT value FROM state_rows WHERE table_name = ? AND key = ?",
      rescues.table,
      `${nodeId}/${sha256}`,
    );
    return found && (JSON.parse(found.value) as { state: string; why: string });
  };
  return {
    ...w,
    catalog,
    looks,
    woken,
    row,
    books: () => booksOf(store, clock),
    orders: () => store.read<{ node_id: string; action: string; reason: string }>("SELECT * FROM sync_orders"),
    said: (eventType: string) =>
      w.router.history({ fromJournal: true, eventType, limit: 100 }).map(({ payload }) => payload),
    detected: (node_id: string, sha256: string, more: object = {}) =>
      w.driven(
        w.router.publish("ORPHAN_GAMES_DETECTED", {
          node_id,
          games: 12,
          artifact_hashes: [sha256],
          orphans: [
            {
              artifact_hash: sha256,
              config_key: KEY,
              games: 12,
              artifact_bytes: 900,
              place: `/data/${sha256}`,
              rule: "adopt",
              reason: "nobody speaks for it",
              ...more,
            },
          ],
        } as never),
      ),
  };
}

const sound = { state: "sound", bytes: 900, kind: "games", config_key: KEY, games: 12, rows: 12 } as const;

test("a file on this node is looked at and enters the books, balanced, and is kept", async () => {
  const w = await world();
  const file = sha("orphan");
  w.looks.set(file, sound);
  await w.detected("n1", file);
  await w.pass(5_000);
  expect(w.said("ORPHAN_GAMES_REGISTERED")).toEqual([
    { node_id: "n1", games: 12, artifact_hashes: [file], config_keys: [KEY] },
  ]);
  expect(w.books()).toEqual({ produced: 12, by: { durable: 12 }, balanced: true });
  expect(w.catalog.pinsOf(file)).toEqual([`brought:${file}`]);
  await w.detected("n1", file);
  await w.pass(5_000);
  expect(w.said("ORPHAN_GAMES_REGISTERED")).toHaveLength(1);
  expect(w.books().produced).toBe(12);
});

test("a file on another node is ordered home once, and counts when it was looked at here", async () => {
  const w = await world();
  const file = sha("far");
  await w.detected("n7", file);
  await w.pass(60_000);
  expect(w.orders()).toMatchObject([{ node_id: "n7", action: "send", reason: "rescue" }]);
  expect(w.woken).toEqual(["n7"]);
  expect(w.books()).toEqual({ produced: 12, by: { in_flight: 12 }, balanced: true });
  w.looks.set(file, sound);
  await w.pass(5_000);
  expect(w.row("n7", file)?.state).toBe("registered");
  expect(w.books()).toEqual({ produced: 12, by: { durable: 12 }, balanced: true });
});

test("one that holds something else than was said, or never comes, is refused, and the books stay balanced", async () => {
  const w = await world();
  const [liar, lost] = [sha("liar"), sha("lost")];
  w.looks.set(liar, { ...sound, games: 11 });
  await w.detected("n7", liar);
  await w.detected("n8", lost);
  await w.pass(5_000);
  expect(w.row("n7", liar)).toMatchObject({ state: "refused", why: expect.stringContaining("11 games") });
  // A day with a tick every few seconds costs half a minute; what counts is that it has gone by.
  w.clock.standStill(rescueLimits.patienceMs);
  await w.pass(60_000);
  expect(w.row("n8", lost)).toMatchObject({ state: "refused", why: "its node did not send it" });
  expect(w.books()).toEqual({ produced: 24, by: { "rejected:orphan refused": 24 }, balanced: true });
});

test("what only a person can deal with is written down, and nothing else is done", async () => {
  const w = await world();
  await w.detected("n7", sha("offered"), { rule: "offer" });
  await w.pass(60_000);
  expect(w.row("n7", sha("offered"))?.state).toBe("told");
  expect(w.catalog.get(sha("offered"))).toBeUndefined();
});
