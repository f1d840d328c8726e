import { afterEach, describe, expect, test } from "vitest";
import { type CatalogWorld, catalogWorld, entryOf, sha256Of } from "../../test/unit/sync/sync-world.ts";
import { noteDamaged, noteSound } from "./artifact-operations.ts";
import { freeArtifacts, noteRemoved } from "./retention-operations.ts";

const worlds: CatalogWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const world = () => {
  const opened = catalogWorld();
  worlds.push(opened);
  return opened;
};
const [A, B, C] = ["a", "b", "c"].map(sha256Of) as [string, string, string];
const HOUR = 3_600_000;

describe("artifacts", () => {
  test("are in flight when they are recorded, and become what they are judged to be", async () => {
    const { catalog, change } = world();
    await change((artifacts) => {
      artifacts.record([entryOf("a", { iteration: 3, part: "p0", rules_version: "othello-2" }), entryOf("b")]);
      artifacts.accept([A]);
    });
    await change((artifacts) => artifacts.reject([B], "label_errors"));
    expect(catalog.get(A)).toMatchObject({ state: "durable", iteration: 3, part: "p0", rules_version: "othello-2" });
    expect(catalog.get(B)).toMatchObject({ state: "rejected", reason: "label_errors" });
    expect(catalog.list({ state: "durable" }).map(({ sha256 }) => sha256)).toEqual([A]);
    expect(catalog.list({ config_key: "hex8_2p", limit: 1 }).map(({ sha256 }) => sha256)).toEqual([A]);
    expect(catalog.list({ after: catalog.get(A)!.seq }).map(({ sha256 }) => sha256)).toEqual([B]);
  });

  test("are recorded once by file and job, however often it is said", async () => {
    const { catalog, change, store } = world();
    const record = () => change((artifacts) => artifacts.record([entryOf("a")]));
    await record();
    await change((artifacts) => artifacts.accept([A]));
    await record();
    expect(catalog.get(A)?.state).toBe("durable");
    expect(store.read("SELECT * FROM sync_past")).toEqual([]);
  });

  test("a verdict on what nobody recorded, or none at all, is refused with the whole commit", async () => {
    const { catalog, change } = world();
    const speaking = change((artifacts) => {
      artifacts.record([entryOf("a")]);
      artifacts.accept([B]);
    });
    await expect(speaking).rejects.toMatchObject({ code: "ARTIFACT_UNKNOWN" });
    expect(catalog.get(A)).toBeUndefined();
    await expect(change((artifacts) => artifacts.reject([A], " "))).rejects.toMatchObject({ code: "ARTIFACT_REASON" });
    await expect(change((artifacts) => artifacts.accept(["../x"]))).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    const malformed = change((artifacts) => artifacts.record([entryOf("a", { bytes: -1 })]));
    await expect(malformed).rejects.toMatchObject({ code: "ARTIFACT_ENTRY" });
  });

  test("one that is damaged leaves its state, and comes back to it when its bytes are there again", async () => {
    const { catalog, change, clock, store } = world();
    await change((artifacts) => artifacts.record([entryOf("a"), entryOf("b")]));
    await change((artifacts) => artifacts.accept([A]));
    const at = clock.now();
    await store.commit([
      noteDamaged({
        damaged: [
          { sha256: A, damage: "checksum", from: "durable" },
          { sha256: B, damage: "missing", from: "in_flight" },
        ],
        at,
      }),
    ]);
    expect(catalog.get(A)).toMatchObject({ state: "quarantined", reason: "damaged: checksum" });
    // A verdict on what is not there changes nothing.
    await change((artifacts) => artifacts.accept([B]));
    expect(catalog.get(B)?.state).toBe("quarantined");
    await store.commit([noteSound({ sha256s: [A, B], at })]);
    expect([catalog.get(A)?.state, catalog.get(B)?.state]).toEqual(["durable", "in_flight"]);
    const stale = store.commit([noteDamaged({ damaged: [{ sha256: A, damage: "missing", from: "in_flight" }], at })]);
    await expect(stale).rejects.toMatchObject({ code: "READ_CONFLICT" });
  });

  test("the job that made one, and what it was given, say how to make it again", async () => {
    const { catalog, change } = world();
    await change((artifacts) =>
      artifacts.record([
        entryOf("a", { kind: "model", work_id: "w1", games: 0 }),
        entryOf("b", { work_id: "w2", part: "p1", iteration: 4, parents: [C, A] }),
      ]),
    );
    expect(catalog.rebuildOf(B)).toEqual({
      sha256: B,
      kind: "games",
      config_key: "hex8_2p",
      iteration: 4,
      work_id: "w2",
      part: "p1",
      inputs: [C, A],
      missing: [C],
    });
    expect(catalog.rebuildOf(C)).toBeUndefined();
  });
});

describe("pins", () => {
  test("an owner holds what it said last, and only that", async () => {
    const { catalog, change } = world();
    await change((artifacts) => artifacts.record([entryOf("a"), entryOf("b")]));
    await change((artifacts) => artifacts.pin("window:hex8_2p", [A, B]));
    await change((artifacts) => artifacts.pin("champion:hex8_2p", [B]));
    await change((artifacts) => artifacts.pin("window:hex8_2p", [B, C]));
    expect(catalog.pinnedBy("window:hex8_2p")).toEqual([B, C].toSorted());
    expect(catalog.pinsOf(A)).toEqual([]);
    expect(catalog.pinsOf(B)).toEqual(["champion:hex8_2p", "window:hex8_2p"]);
    await change((artifacts) => artifacts.pin("window:hex8_2p", []));
    expect(catalog.pinsOf(B)).toEqual(["champion:hex8_2p"]);
  });

  test("what is pinned, in flight or young is never given up, and grace begins when the last one lets go", async () => {
    const { catalog, change, clock, pass, store } = world();
    const free = async () => {
      const args = { sha256s: [A, B, C], idleBefore: clock.now() - HOUR, at: clock.now() };
      return (await store.commit([freeArtifacts(args)]))[0].freed;
    };
    await change((artifacts) => {
      artifacts.record([entryOf("a"), entryOf("b"), entryOf("c")]);
      artifacts.accept([A, B]);
      artifacts.pin("window", [A]);
    });
    expect(await free()).toEqual([]);
    pass(2 * HOUR);
    expect(await free()).toEqual([B]);
    expect(catalog.get(B)?.state).toBe("freed");
    await change((artifacts) => artifacts.pin("window", []));
    pass(HOUR / 2);
    expect(await free()).toEqual([]);
    pass(HOUR);
    expect(await free()).toEqual([A]);
    expect(catalog.get(C)?.state).toBe("in_flight");
  });

  test("who pins what it saw, and what was given up meanwhile, looks again", async () => {
    const { catalog, change, clock, pass, store } = world();
    await change((artifacts) => {
      artifacts.record([entryOf("a")]);
      artifacts.accept([A]);
    });
    pass(HOUR);
    const operations: Parameters<typeof store.commit>[0][number][] = [];
    catalog.join({ rows: { apply: (operation) => void operations.push(operation) } }).pin("window", [A]);
    await store.commit([freeArtifacts({ sha256s: [A], idleBefore: clock.now(), at: clock.now() })]);
    await expect(store.commit(operations)).rejects.toMatchObject({ code: "READ_CONFLICT" });
    await change((artifacts) => artifacts.pin("window", [A]));
    expect(catalog.get(A)?.state).toBe("freed");
  });

  test("a rejected file goes too, and stays rejected", async () => {
    const { catalog, change, clock, pass, store } = world();
    await change((artifacts) => {
      artifacts.record([entryOf("a")]);
      artifacts.reject([A], "parity");
    });
    pass(1);
    await store.commit([
      freeArtifacts({ sha256s: [A], idleBefore: clock.now(), at: clock.now() }),
      noteRemoved({ sha256s: [A], at: clock.now() }),
    ]);
    expect(catalog.get(A)).toMatchObject({ state: "rejected", reason: "parity", removed_at: clock.now() });
  });
});

describe("lineage", () => {
  test("goes up to what an artifact was made from and down to what was made from it, nearest first", async () => {
    const { catalog, change } = world();
    const made = (content: string, kind: string, ...from: string[]) =>
      entryOf(content, { kind, games: 0, work_id: `w-${content}`, parents: from.map(sha256Of) });
    await change((artifacts) =>
      artifacts.record([
        made("games", "games", "model-0"),
        made("samples", "samples", "model-0"),
        made("shard", "training_set", "samples"),
        made("model-1", "model", "shard", "model-0"),
        made("games-2", "games", "model-1"),
      ]),
    );
    const lineage = catalog.lineage(sha256Of("model-1"))!;
    expect(lineage.ancestors.map(({ sha256, distance, artifact }) => [sha256, distance, artifact?.kind])).toEqual([
      [sha256Of("shard"), 1, "training_set"],
      [sha256Of("model-0"), 1, undefined],
      [sha256Of("samples"), 2, "samples"],
    ]);
    expect(lineage.descendants.map(({ sha256 }) => sha256)).toEqual([sha256Of("games-2")]);
    expect(lineage.truncated).toBe(false);
    const short = catalog.lineage(sha256Of("model-1"), 1)!;
    expect([short.ancestors.length, short.truncated]).toEqual([1, true]);
    expect(catalog.lineage(A)).toBeUndefined();
  });
});

describe("lists", () => {
  const names = (rows: readonly { sha256: string }[]) => rows.map(({ sha256 }) => sha256);

  test("hold what fits everything that is asked for, in the order it was first recorded", async () => {
    const { catalog, change } = world();
    await change((artifacts) => {
      artifacts.record([
        entryOf("a", { kind: "model", games: 0, work_id: "w1", iteration: 1 }),
        entryOf("b", { config_key: "square8_2p", work_id: "w2", iteration: 2 }),
        entryOf("c", { producer: "n2", work_id: "w3", iteration: 2 }),
      ]);
      artifacts.accept([B]);
    });
    const found = (filter?: Parameters<typeof catalog.list>[0]) => names(catalog.list(filter));
    expect(found()).toEqual([A, B, C]);
    expect(found({ config_key: "square8_2p" })).toEqual([B]);
    expect(found({ kind: "model" })).toEqual([A]);
    expect(found({ state: "in_flight" })).toEqual([A, C]);
    expect(found({ producer: "n2" })).toEqual([C]);
    expect(found({ work_id: "w1" })).toEqual([A]);
    expect(found({ iteration: 2 })).toEqual([B, C]);
    expect(found({ iteration: 2, state: "durable" })).toEqual([B]);
    expect(found({ limit: 2 })).toEqual([A, B]);
    expect(found({ after: catalog.get(A)!.seq, limit: 1 })).toEqual([B]);
  });

  test("hold a thousand unless more are asked for, and ten thousand at most", async () => {
    const { catalog, change } = world();
    const many = Array.from({ length: 10_001 }, (_, n) => entryOf(`n${n}`, { games: 0, work_id: `w${n}` }));
    await change((artifacts) => artifacts.record(many));
    expect(catalog.list()).toHaveLength(1_000);
    expect(catalog.list({ limit: 1_001 })).toHaveLength(1_001);
    expect(catalog.list({ limit: 20_000 })).toHaveLength(10_000);
    expect(catalog.games({ limit: 20_000 })).toHaveLength(10_000);
  });

  test("of games are of games alone, the newest first, of one config or of all", async () => {
    const { catalog, change } = world();
    await change((artifacts) =>
      artifacts.record([
        entryOf("a", { work_id: "w1" }),
        entryOf("b", { work_id: "w2", config_key: "square8_2p" }),
        entryOf("c", { work_id: "w3" }),
        entryOf("d", { work_id: "w3", kind: "samples" }),
      ]),
    );
    expect(names(catalog.games({ limit: 10 }))).toEqual([C, B, A]);
    expect(names(catalog.games({ limit: 10, configKey: "hex8_2p" }))).toEqual([C, A]);
    expect(names(catalog.games({ limit: 2 }))).toEqual([C, B]);
    const { seq } = catalog.get(C)!;
    expect(names(catalog.games({ limit: 10, before: seq }))).toEqual([B, A]);
  });

  test("files are found by the beginning of their name, a few where it is not one", async () => {
    const { catalog, change } = world();
    const contents = Array.from({ length: 40 }, (_, n) => `g${n}`);
    await change((artifacts) =>
      artifacts.record([
        ...contents.map((content) => entryOf(content, { work_id: content })),
        entryOf("model", { kind: "model", games: 0, work_id: "w" }),
      ]),
    );
    const sorted = contents.map(sha256Of).toSorted();
    for (const sha256 of sorted) {
      expect(names(catalog.beginning(sha256, "games"))).toEqual([sha256]);
      const alike = sorted.filter((other) => other.startsWith(sha256[0]!));
      expect(names(catalog.beginning(sha256[0]!, "games"))).toEqual(alike.slice(0, 6));
    }
    expect(catalog.beginning(sha256Of("model"), "games")).toEqual([]);
    expect(names(catalog.beginning("", "games"))).toEqual(sorted.slice(0, 6));
    // Whatever it is, where nobody says.
    expect(names(catalog.beginning(sha256Of("model")))).toEqual([sha256Of("model")]);
  });

  test("of the damaged begin with the newest loss", async () => {
    const { catalog, change, clock, pass, store } = world();
    const found = (max?: number) => names(catalog.quarantined(max));
    await change((artifacts) => artifacts.record([entryOf("a"), entryOf("b"), entryOf("c")]));
    for (const sha256 of [B, A]) {
      pass(1);
      const lost = { sha256, damage: "missing", from: "in_flight" } as const;
      await store.commit([noteDamaged({ damaged: [lost], at: clock.now() })]);
    }
    expect([found(), found(1), found(0)]).toEqual([[A, B], [A], []]);
  });
});

test("a rejection needs a reason, and of a long one two hundred characters are kept", async () => {
  const { catalog, change } = world();
  await change((artifacts) => artifacts.record([entryOf("a")]));
  await expect(change((artifacts) => artifacts.reject([A], "\t "))).rejects.toMatchObject({
    code: "ARTIFACT_REASON",
    message: "a rejection needs a reason",
  });
  await expect(change((artifacts) => artifacts.reject(["no hash"], "bad"))).rejects.toMatchObject({
    code: "INVALID_REQUEST",
  });
  await change((artifacts) => artifacts.reject([A], "x".repeat(201)));
  expect(catalog.get(A)?.reason).toBe("x".repeat(200));
});

test("where there is nothing to record or to judge, nothing is written", async () => {
  const { catalog } = world();
  const operations: unknown[] = [];
  const artifacts = catalog.join({ rows: { apply: (operation) => void operations.push(operation) } });
  artifacts.record([]);
  artifacts.accept([]);
  artifacts.reject([], "bad");
  expect(operations).toEqual([]);
});

test("what a job needs again is missing when it is unknown, given up or damaged, and there when it is only judged bad", async () => {
  const { catalog, change, clock, pass, store } = world();
  const parents = ["flying", "good", "bad", "freed", "damaged"];
  await change((artifacts) => {
    artifacts.record([
      ...parents.map((content) => entryOf(content, { work_id: `w-${content}` })),
      entryOf("made", { work_id: "w", parents: [...parents, "unknown"].map(sha256Of) }),
      entryOf("by-hand", { work_id: null, parents: [A] }),
    ]);
    artifacts.accept(["good", "freed"].map(sha256Of));
    artifacts.reject([sha256Of("bad")], "parity");
  });
  pass(1);
  await store.commit([
    freeArtifacts({ sha256s: [sha256Of("freed")], idleBefore: clock.now(), at: clock.now() }),
    noteDamaged({
      damaged: [{ sha256: sha256Of("damaged"), damage: "missing", from: "in_flight" }],
      at: clock.now(),
    }),
  ]);
  expect(catalog.rebuildOf(sha256Of("made"))!.missing).toEqual(["freed", "damaged", "unknown"].map(sha256Of));
  for (const content of ["by-hand", "unknown"]) expect(catalog.rebuildOf(sha256Of(content)), content).toBeUndefined();
});
