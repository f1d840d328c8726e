/** How games move from one account to another, line by line. */
import { expect, onTestFinished, test } from "vitest";
import { catalogWorld } from "../../test/unit/sync/sync-world.ts";
import { defineOperation, defineStoreModule } from "../router/index.ts";
import { addGames, book, type Counted, type Fate } from "./accounts.ts";
import { closeBooks, readBooks } from "./books.ts";

interface Move {
  readonly whose?: Partial<Counted>;
  readonly from?: Fate | null;
  readonly to?: Fate | null;
}
const move = defineOperation<Move, void>("test.book", (tx, { whose, from = null, to = null }) =>
  book(tx, { config_key: "hex8_2p", producer: "n1", counted: 20, ...whose }, from, to),
);
const moves = defineStoreModule({ name: "test_books", migrations: [], operations: [move] });

const fate = (outcome: Fate["outcome"], reason: string | null = null): Fate => ({ outcome, reason });

function world() {
  const { store, close } = catalogWorld(moves);
  onTestFinished(close);
  return {
    store,
    move: (...all: Move[]) => store.commit(all.map(move)),
    lines: () =>
      store
        .read<{ line: string }>(
          `SELECT concat_ws(' ', config_key, producer, account, reason, games) AS line FROM sync_books
           ORDER BY config_key, producer, account, reason`,
        )
        .map(({ line }) => line.replaceAll("  ", " ")),
  };
}

test("what became of games is told by their file: lost and repeated ones are rejected, with a reason also where none was given", async () => {
  const w = world();
  await w.move(
    { to: fate("produced") },
    { to: fate("durable", "not asked for") },
    { to: fate("freed") },
    { to: fate("in_flight") },
    { to: fate("duplicate", "not asked for") },
    { to: fate("quarantined", "damaged") },
    { to: fate("rejected") },
    { to: fate("rejected", "damaged") },
  );
  expect(w.lines()).toEqual([
    "hex8_2p n1 durable 20",
    "hex8_2p n1 freed 20",
    "hex8_2p n1 in_flight 20",
    "hex8_2p n1 produced 20",
    "hex8_2p n1 rejected damaged 40",
    "hex8_2p n1 rejected duplicate 20",
    "hex8_2p n1 rejected no reason given 20",
  ]);
});

test("games that move on leave no line behind, those that stay keep theirs", async () => {
  const w = world();
  await w.move(
    { to: fate("in_flight") },
    { to: fate("in_flight") },
    { whose: { producer: "n2" }, to: fate("in_flight") },
  );
  await w.move({ from: fate("in_flight"), to: fate("rejected", "labels") });
  expect(w.lines()).toEqual(["hex8_2p n1 in_flight 20", "hex8_2p n1 rejected labels 20", "hex8_2p n2 in_flight 20"]);
  await w.move({ from: fate("in_flight") });
  expect(w.lines()).toEqual(["hex8_2p n1 rejected labels 20", "hex8_2p n2 in_flight 20"]);
});

test("files without games, and those of no config, are in no book", async () => {
  const w = world();
  await w.move({ whose: { counted: 0 }, to: fate("durable") }, { whose: { config_key: null }, to: fate("durable") });
  expect(w.lines()).toEqual([]);
  expect(readBooks(w.store)).toEqual([]);
});

test("no sum goes beyond what can be read, up or down, in the rows and where they are added up", async () => {
  const most = Number.MAX_SAFE_INTEGER;
  expect([addGames(most, 1), addGames(-most, -1), addGames(most, -most), addGames(2, 3)]).toEqual([most, -most, 0, 5]);
  const w = world();
  const much = { whose: { counted: most } };
  await w.move({ ...much, to: fate("durable") }, { ...much, to: fate("durable") }, { ...much, from: fate("freed") });
  await w.move({ ...much, from: fate("freed") });
  expect(w.lines()).toEqual([`hex8_2p n1 durable ${most}`, `hex8_2p n1 freed ${-most}`]);
});

test("the books of one config are asked for by its name, and balance producer by producer", () => {
  const line = { config_key: "a", reason: "" } as const;
  const [books] = closeBooks([
    { ...line, producer: "n2", account: "produced", games: 5 },
    { ...line, producer: "n1", account: "produced", games: 5 },
    { ...line, producer: "n1", account: "durable", games: 10 },
  ]);
  expect(books).toMatchObject({ imbalance: 0, balanced: false, in_flight_since: null });
  expect(books!.producers.map(({ producer, imbalance }) => [producer, imbalance])).toEqual([
    ["n1", -5],
    ["n2", 5],
  ]);
});
