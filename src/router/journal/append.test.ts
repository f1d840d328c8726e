/** What enters the journal, what is a repeat, and how long somebody remembers it. */
import { expect, onTestFinished, test } from "vitest";
import { routerOver } from "../../../test/support/router.ts";
import { builtinRows } from "../../events/index.ts";
import { type AppendArgs, type AppendResult, appendEvents, type EventValues, resultOf } from "./append.ts";
import { enforceRetention } from "./retention.ts";

const WINDOW_SECONDS = 60;

function world() {
  const { router, store } = routerOver(builtinRows);
  onTestFinished(async () => {
    await router.stop();
    await store.close();
  });
  /** Events in one commit, as id and time; those with a key are said once within the window. */
  const append = async (...given: readonly [id: string, at: number, key?: string][]): Promise<AppendResult[]> => {
    const events = given.map(
      ([id, at]): EventValues => [
        id,
        "ERROR",
        null,
        "{}",
        1,
        at,
        "test",
        "router",
        "n1",
        "t",
        id,
        null,
        `hash of ${id}`,
        7,
      ],
    );
    const keys = given.flatMap(([, , key], at): [number, string][] => (key === undefined ? [] : [[at, key]]));
    const args: AppendArgs =
      keys.length === 0 ? { events } : { events, dedup: { windowSeconds: WINDOW_SECONDS, keys } };
    const [places] = await store.commit([appendEvents(args)]);
    return (places as Parameters<typeof resultOf>[0][]).map(resultOf);
  };
  return {
    store,
    append,
    ids: () =>
      store.read<{ event_id: string }>("SELECT event_id FROM events ORDER BY seq").map(({ event_id }) => event_id),
    remembered: () => store.read("SELECT dedup_key, event_id, at, suppressed FROM dedup ORDER BY dedup_key"),
  };
}

const stored = (seq: number) => ({ seq, suppressed: null });
const repeatOf = (event_id: string, seq: number | null) => ({ seq, suppressed: "content", event_id });

test("the same content is a repeat until the window is over, and just then it is news, which begins a window of its own", async () => {
  const { append, ids, remembered } = world();
  expect(await append(["a", 1_000, "k"])).toEqual([stored(1)]);
  expect(await append(["b", 1_059.999, "k"], ["c", 1_000, "k"])).toEqual([repeatOf("a", 1), repeatOf("a", 1)]);
  expect(remembered()).toEqual([{ dedup_key: "k", event_id: "a", at: 1_000, suppressed: 2 }]);
  expect(await append(["d", 1_060, "k"])).toEqual([stored(2)]);
  expect(remembered()).toEqual([{ dedup_key: "k", event_id: "d", at: 1_060, suppressed: 0 }]);
  expect(await append(["e", 1_061, "k"])).toEqual([repeatOf("d", 2)]);
  expect(ids()).toEqual(["a", "d"]);
});

test("whose clock runs ahead silences nobody: what was said a window before is news", async () => {
  const { append, ids } = world();
  await append(["ahead", 9_000, "k"]);
  expect(await append(["close", 8_940.001, "k"])).toEqual([repeatOf("ahead", 1)]);
  expect(await append(["now", 8_940, "k"])).toEqual([stored(2)]);
  expect(ids()).toEqual(["ahead", "now"]);
});

test("an event that is sent again under its id is there already, and counts as no repeat of itself", async () => {
  const { append, ids, remembered } = world();
  await append(["first", 1, "k"], ["bare", 2]);
  const again = (event_id: string, seq: number) => ({ seq, suppressed: "event_id", event_id });
  expect(await append(["bare", 2], ["first", 1, "k"])).toEqual([again("bare", 2), again("first", 1)]);
  expect(remembered()).toEqual([{ dedup_key: "k", event_id: "first", at: 1, suppressed: 0 }]);
  expect(ids()).toEqual(["first", "bare"]);
});

test("a repeat of what the journal has let go of names it, and no place", async () => {
  const { append, store } = world();
  await append(["old", 1, "k"], ["newer", 2]);
  // Retention removes events, and leaves what is remembered of them to its own time.
  await enforceRetention(store, { olderThan: 2, maxBytes: Number.MAX_SAFE_INTEGER, chunk: 10 });
  expect(await append(["again", 3, "k"])).toEqual([repeatOf("old", null)]);
});

test("of many events in one commit each is judged by its own key, and all stand in their order", async () => {
  const { append, ids, remembered } = world();
  expect(await append(["a", 1], ["b", 1, "x"], ["c", 1, "y"], ["d", 1, "x"], ["e", 1])).toEqual([
    stored(1),
    stored(2),
    stored(3),
    repeatOf("b", 2),
    stored(4),
  ]);
  expect(ids()).toEqual(["a", "b", "c", "e"]);
  expect(remembered()).toMatchObject([
    { event_id: "b", suppressed: 1 },
    { event_id: "c", suppressed: 0 },
  ]);
});

test("every value of an event stands in the column of its name", async () => {
  const { append, store } = world();
  await append(["a", 12.5]);
  expect(store.read("SELECT * FROM events")).toEqual([
    {
      seq: 1,
      event_id: "a",
      event_type: "ERROR",
      order_key: null,
      payload: "{}",
      payload_version: 1,
      timestamp: 12.5,
      source: "test",
      origin: "router",
      node_id: "n1",
      trace_id: "t",
      correlation_id: "a",
      parent_event_id: null,
      content_hash: "hash of a",
      views: 7,
    },
  ]);
});
