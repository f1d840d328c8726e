import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { rounds } from "../../test/support/thorough.ts";
import { type CatalogWorld, catalogWorld, entryOf, sha256Of } from "../../test/unit/sync/sync-world.ts";
import { defineOperation, defineStoreModule, type Operation } from "../router/index.ts";
import { noteDamaged, noteSound } from "./artifact-operations.ts";
import { closeBooks } from "./books.ts";
import { forgetArtifacts, freeArtifacts, noteRemoved } from "./retention-operations.ts";

const worlds: CatalogWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const world = () => {
  const opened = catalogWorld();
  worlds.push(opened);
  return opened;
};
const CONFIG = "hex8_2p";

describe("the books", () => {
  test("count the games of a job once, under its games or, where it kept none, under its samples", async () => {
    const { catalog, change } = world();
    await change((artifacts) => {
      artifacts.produced(CONFIG, "n1", "w1", 20);
      artifacts.record([entryOf("s1", { kind: "samples" }), entryOf("g1"), entryOf("m", { kind: "model" })]);
      artifacts.produced(CONFIG, "n2", "w2", 7);
      artifacts.record([entryOf("s2", { kind: "samples", work_id: "w2", producer: "n2", games: 7 })]);
      artifacts.record([entryOf("by-hand", { work_id: null })]);
    });
    await change((artifacts) => artifacts.accept(["s1", "g1"].map(sha256Of)));
    await change((artifacts) => artifacts.reject([sha256Of("s2")], "label_errors"));
    expect(catalog.books()).toEqual([
      {
        config_key: CONFIG,
        produced: 27,
        durable: 20,
        freed: 0,
        in_flight: 0,
        rejected: 7,
        imbalance: 0,
        balanced: true,
        rejected_by_reason: { label_errors: 7 },
        in_flight_since: catalog.get(sha256Of("m"))!.idle_since,
        producers: [
          { producer: "n1", produced: 20, durable: 20, freed: 0, in_flight: 0, rejected: 0, imbalance: 0 },
          { producer: "n2", produced: 7, durable: 0, freed: 0, in_flight: 0, rejected: 7, imbalance: 0 },
        ],
      },
    ]);
    expect(catalog.books("square8_2p")).toEqual([]);
  });

  test("stay readable whatever jobs claim to have made", async () => {
    const { catalog, change } = world();
    const claimed = Number.MAX_SAFE_INTEGER;
    for (const work_id of ["w1", "w2", "w3"])
      await change((artifacts) => {
        artifacts.produced(CONFIG, "n1", work_id, claimed);
        artifacts.record([entryOf(work_id, { work_id, games: claimed })]);
      });
    await change((artifacts) => artifacts.reject([sha256Of("w1")], "implausible"));
    const [books] = catalog.books();
    expect(books).toMatchObject({ produced: claimed, rejected_by_reason: { implausible: claimed } });
    for (const sum of [books!.durable, books!.in_flight, books!.imbalance])
      expect(Number.isSafeInteger(sum)).toBe(true);
    expect(await catalog.bookFaults()).toEqual([]);
  });

  test("let the games take over when they come after the samples", async () => {
    const { catalog, change } = world();
    await change((artifacts) => {
      artifacts.produced(CONFIG, "n1", "w1", 20);
      artifacts.record([entryOf("s1", { kind: "samples" })]);
    });
    expect(catalog.books()).toMatchObject([{ in_flight: 20, balanced: true }]);
    await change((artifacts) => artifacts.record([entryOf("g1")]));
    expect(catalog.books()).toMatchObject([{ in_flight: 20, balanced: true }]);
  });

  test("call the same bytes from a second job rejected as duplicate, and give bytes that come again a new life", async () => {
    const { catalog, change } = world();
    const complete = (work_id: string) =>
      change((artifacts) => {
        artifacts.produced(CONFIG, "n1", work_id, 20);
        artifacts.record([entryOf("g", { work_id })]);
      });
    await complete("w1");
    await complete("w2");
    expect(catalog.books()).toMatchObject([{ produced: 40, in_flight: 20, rejected_by_reason: { duplicate: 20 } }]);
    await change((artifacts) => artifacts.reject([sha256Of("g")], "poisoned"));
    await complete("w3");
    expect(catalog.get(sha256Of("g"))).toMatchObject({ state: "in_flight", work_id: "w3", reason: null });
    expect(catalog.books()).toMatchObject([
      { produced: 60, in_flight: 20, rejected_by_reason: { duplicate: 20, poisoned: 20 }, balanced: true },
    ]);
    // Who says again what it said before changes nothing, however its files fared since.
    for (const work of ["w1", "w2", "w3"]) await complete(work);
    expect(catalog.books()).toMatchObject([{ produced: 60, in_flight: 20, rejected: 40, balanced: true }]);
  });

  test("show an imbalance, by how much, and the jobs behind it", async () => {
    const { catalog, change } = world();
    await change((artifacts) => {
      artifacts.produced(CONFIG, "n1", "w1", 25);
      artifacts.record([entryOf("g1"), entryOf("g2", { work_id: "w2", producer: "n2", games: 5 })]);
    });
    expect(catalog.books()).toMatchObject([{ produced: 25, in_flight: 25, imbalance: 0, balanced: false }]);
    expect(await catalog.bookFaults()).toEqual([
      { work_id: "w1", config_key: CONFIG, producer: "n1", produced: 25, recorded: 20 },
      { work_id: "w2", config_key: CONFIG, producer: "n2", produced: 0, recorded: 5 },
    ]);
  });

  test("come in the order of their names, and one producer's fault is not made good by another that balances", () => {
    const line = (config_key: string, producer: string, account: "produced" | "durable", games: number) => ({
      config_key,
      producer,
      account,
      reason: "",
      games,
    });
    const books = closeBooks([
      line("square8_2p", "n2", "produced", 5),
      line("square8_2p", "n2", "durable", 5),
      line("square8_2p", "n3", "produced", 3),
      line("square8_2p", "n1", "produced", 1),
      line("square8_2p", "n1", "durable", 1),
      line("hex8_2p", "n1", "produced", 1),
      line("octo8_2p", "n1", "produced", 1),
    ]);
    expect(books.map(({ config_key }) => config_key)).toEqual(["hex8_2p", "octo8_2p", "square8_2p"]);
    expect(books[2]!.producers.map(({ producer }) => producer)).toEqual(["n1", "n2", "n3"]);
    expect(books[2]).toMatchObject({ produced: 9, durable: 6, imbalance: 3, balanced: false });
  });

  test("keep no line of what has moved on, and no reason where none is asked for", async () => {
    const { store, catalog, change } = world();
    await change((artifacts) => {
      artifacts.produced(CONFIG, "n1", "w1", 20);
      artifacts.record([entryOf("g1")]);
    });
    await change((artifacts) => artifacts.accept([sha256Of("g1")]));
    expect(catalog.books()).toMatchObject([{ in_flight: 0, durable: 20 }]);
    expect(store.read("SELECT account, reason, games FROM sync_books ORDER BY 1")).toEqual([
      { account: "durable", reason: "", games: 20 },
      { account: "produced", reason: "", games: 20 },
    ]);
  });

  test("are the sums of their lines", () => {
    const line = fc.record({
      config_key: fc.constantFrom("hex8_2p", "square8_3p"),
      producer: fc.constantFrom("n1", "n2"),
      account: fc.constantFrom("durable", "freed", "in_flight", "rejected"),
      reason: fc.constant("r"),
      games: fc.nat(1_000),
    } as const);
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const produced = lines.map((one) => ({ ...one, account: "produced" as const, reason: "" }));
        const books = closeBooks([...lines, ...produced]);
        expect(books.every(({ balanced, imbalance }) => balanced && imbalance === 0)).toBe(true);
        const total = books.reduce((sum, { durable, in_flight, rejected }) => sum + durable + in_flight + rejected, 0);
        expect(total).toBe(lines.reduce((sum, { games }) => sum + games, 0));
      }),
    );
  });
});

/** The writer dies in the middle: everything of that commit is as if it had never been. */
const die = defineOperation<null, void>("test.die", () => {
  throw new Error("died in the middle");
});
const dying = defineStoreModule({ name: "dying", migrations: [], operations: [die] });

/**
 * Jobs and their files. The same content holds the same games whoever makes it; some jobs share files, some keep only samples.
 */
const GAMES: Readonly<Record<string, number>> = { g0: 20, g1: 7, g2: 1, s0: 20, s1: 7, s2: 1 };
const JOBS = [
  { work_id: "w0", producer: "n1", files: ["g0", "s0"] },
  { work_id: "w1", producer: "n1", files: ["g1", "s1"] },
  { work_id: "w2", producer: "n2", files: ["s2"] },
  { work_id: "w3", producer: "n2", files: ["s0", "g0"] },
  { work_id: "w4", producer: "n1", files: ["s1"] },
  { work_id: "w5", producer: "n3", files: ["g2", "s2"] },
] as const;
const FILES = Object.keys(GAMES);

/** The running sums, and the same counted from the rows, which must agree while none is forgotten. */
const RUNNING = "SELECT producer, account, sum(games) AS games FROM sync_books GROUP BY 1, 2";
const recounted = (store: CatalogWorld["store"]) =>
  store.read(
    `SELECT producer, CASE WHEN outcome IN ('quarantined', 'duplicate') THEN 'rejected' ELSE outcome END AS account,
       sum(counted) AS games FROM (
       SELECT producer, state AS outcome, counted FROM sync_artifacts
       UNION ALL SELECT producer, outcome, counted FROM sync_past
       UNION ALL SELECT producer, 'produced', games FROM sync_produced)
     WHERE counted > 0 GROUP BY 1, 2 ORDER BY 1, 2, 3`,
  );

const file = fc.constantFrom(...FILES);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("complete" as const), job: fc.constantFrom(...JOBS) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom("accept", "reject", "damage", "sound"), file }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("pin", "unpin"), file }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("free", "remove", "forget") }) },
);

test("whatever happens to files, in whatever order and through crashes: produced = durable + in flight + rejected", async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(step, fc.boolean()), { minLength: 30, maxLength: 60 }), async (steps) => {
      const { catalog, clock, pass, store, close } = catalogWorld(dying);
      let isForgotten = false;
      const dump = () =>
        ["artifacts", "past", "produced", "books", "pins"].map((table) => store.read(`SELECT * FROM sync_${table}`));
      const operationsOf = (what: (typeof steps)[number][0]): Operation[] => {
        const at = clock.now();
        const sha256 = "file" in what ? sha256Of(what.file) : "";
        const row = catalog.get(sha256);
        const operations: Operation[] = [];
        const artifacts = catalog.join({ rows: { apply: (operation) => void operations.push(operation) } });
        if ("job" in what) {
          const { work_id, producer, files } = what.job;
          artifacts.produced(CONFIG, producer, work_id, GAMES[files[0]]!);
          artifacts.record(
            files.map((name) => {
              const kind = name.startsWith("g") ? "games" : "samples";
              return entryOf(name, { work_id, producer, kind, games: GAMES[name]! });
            }),
          );
        } else if (what.do === "pin" || what.do === "unpin") artifacts.pin("o", what.do === "pin" ? [sha256] : []);
        else if (what.do === "accept" && row) artifacts.accept([sha256]);
        else if (what.do === "reject" && row) artifacts.reject([sha256], "bad");
        else if (what.do === "damage" && row)
          operations.push(noteDamaged({ damaged: [{ sha256, damage: "missing", from: row.state }], at }));
        else if (what.do === "sound") operations.push(noteSound({ sha256s: [sha256], at }));
        else if (what.do === "free")
          operations.push(freeArtifacts({ sha256s: FILES.map(sha256Of), idleBefore: at, at }));
        else if (what.do === "remove") operations.push(noteRemoved({ sha256s: FILES.map(sha256Of), at }));
        else if (what.do === "forget") operations.push(forgetArtifacts({ before: at, maxRows: 4, max: 2 }));
        return operations;
      };
      let produced = 0;
      const completed = new Set<string>();
      for (const [what, dies] of steps) {
        pass(1);
        const operations = operationsOf(what);
        const before = dump();
        const books = catalog.books();
        if (dies) {
          await expect(store.commit([...operations, die(null)])).rejects.toThrow("died in the middle");
          expect(dump()).toEqual(before);
        }
        await store.commit(operations);
        if ("job" in what && !completed.has(what.job.work_id)) {
          completed.add(what.job.work_id);
          produced += GAMES[what.job.files[0]]!;
        }
        const after = catalog.books();
        if (what.do === "forget") expect(after).toEqual(books);
        for (const { imbalance, balanced, producers } of after)
          expect([imbalance, balanced, producers.filter((one) => one.imbalance !== 0)]).toEqual([0, true, []]);
        expect(await catalog.bookFaults()).toEqual([]);
        for (const { state } of catalog.list()) seen.add(state);
        for (const { outcome } of store.read<{ outcome: string }>("SELECT outcome FROM sync_past"))
          seen.add(`past ${outcome}`);
        // A job that is told again after all of it was forgotten counts again, on both sides.
        isForgotten ||= store.read("SELECT 1 FROM sync_produced").length < completed.size;
        if (isForgotten) seen.add("forgotten");
        else {
          expect(after[0]?.produced ?? 0).toBe(produced);
          expect(recounted(store)).toEqual(store.read(`${RUNNING} ORDER BY 1, 2, 3`));
        }
      }
      await close();
    }),
    { numRuns: rounds(50, 150), seed: 7 },
  );
  // The walk has been everywhere.
  expect([...seen].toSorted()).toEqual(
    [
      ...["in_flight", "durable", "rejected", "quarantined", "freed"],
      ...["duplicate", "rejected", "quarantined", "freed"].map((outcome) => `past ${outcome}`),
      "forgotten",
    ].toSorted(),
  );
});
