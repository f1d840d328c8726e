import { afterEach, expect, test } from "vitest";
import { unitWorld } from "../../../../test/fixtures/unit-world.ts";
import { testServices } from "../../../../test/unit/pipeline/services.ts";
import { entryOf } from "../../../../test/unit/sync/sync-world.ts";
import { createAlerts } from "../../../cluster/index.ts";
import { alertManagerCoordinator } from "../../../cluster/units/alert-manager/alert-manager.unit.ts";
import { builtinRows } from "../../../events/index.ts";
import { seededRandom } from "../../../kernel/index.ts";
import { createArtifactCatalog } from "../../../sync/index.ts";
import { booksFault } from "./book-watch.ts";
import { progressWatchdog } from "./progress-watchdog.unit.ts";

const KEY = "hex8_2p";
const worlds: ReturnType<typeof unitWorld<typeof builtinRows>>[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

async function watched(everyMs = 5_000) {
  const w = unitWorld(builtinRows);
  worlds.push(w);
  const { clock, store } = w;
  const catalog = createArtifactCatalog({ store, clock });
  const alerts = createAlerts({ store, clock });
  const runtime = w.runtime([
    progressWatchdog(testServices({ clock, store, catalog, everyMs, queue: undefined as never })),
    alertManagerCoordinator({
      store,
      clock,
      random: seededRandom(3),
      sinks: [],
      absence: [],
      settings: { alerts: { messagesPerMinute: 10 } },
    }),
  ]);
  await w.driven(runtime.start());
  const change = (body: (artifacts: ReturnType<typeof catalog.join>) => void) =>
    w.driven(w.router.transact({ source: "test" }, ({ rows }) => body(catalog.join({ rows }))));
  const open = () => alerts.list().filter(({ status }) => status !== "closed");
  return { w, catalog, alerts, change, open };
}

test("books that do not balance are an alert that names the job, said once, and over when they balance again", async () => {
  const { w, catalog, change, open } = await watched();
  await change((artifacts) => {
    artifacts.produced(KEY, "n1", "w1", 20);
    artifacts.record([entryOf("a")]);
  });
  await w.pass(30_000);
  expect(catalog.books(KEY)).toMatchObject([{ balanced: true }]);
  expect(open()).toEqual([]);

  // A file of games that nobody counted, as a faulty unit would leave it.
  await change((artifacts) => artifacts.record([entryOf("b", { work_id: "w2", games: 7 })]));
  await w.pass(60_000);
  expect(open()).toMatchObject([
    {
      severity: "error",
      title: `The data of ${KEY} is not sound`,
      message: expect.stringMatching(/20 games produced.*off by -7.*w2 made 0 and 7 are in its files/),
      count: 1,
    },
  ]);

  await change((artifacts) => artifacts.produced(KEY, "n1", "w2", 7));
  await w.pass(10_000);
  expect(open()).toEqual([]);
});

test("another trouble with the same data stays an alert of its own", async () => {
  const { w, change, open } = await watched();
  await w.driven(
    w.router.publish(
      "DATA_QUALITY_ALERT",
      { config_key: KEY, severity: "error", message: "a segment breaks the rules" },
      { source: "test" },
    ),
  );
  await change((artifacts) => artifacts.produced(KEY, "n1", "w1", 20));
  await w.pass(10_000);
  expect(open()).toHaveLength(2);
  await change((artifacts) => artifacts.record([entryOf("a")]));
  await w.pass(10_000);
  expect(open()).toMatchObject([{ message: "a segment breaks the rules" }]);
});

test("an imbalance that lasts is said again, so that nobody takes it for over", async () => {
  const { w, change, open } = await watched(600_000);
  await change((artifacts) => artifacts.produced(KEY, "n1", "w1", 20));
  await w.pass(13 * 3_600_000);
  expect(open()).toMatchObject([{ status: "open" }]);
  expect(open()[0]!.count).toBeGreaterThanOrEqual(12);
});

test("producers whose faults cancel each other out are a fault too", () => {
  const sums = { durable: 10, freed: 0, in_flight: 0, rejected: 0 };
  const books = {
    config_key: KEY,
    produced: 10,
    ...sums,
    imbalance: 0,
    balanced: false,
    rejected_by_reason: {},
    in_flight_since: null,
    producers: [],
  };
  expect(booksFault(books, [])).toMatch(/do not balance.*off by 0/);
  expect(booksFault({ ...books, balanced: true }, [])).toBeNull();
});
