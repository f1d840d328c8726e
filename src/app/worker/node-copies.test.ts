/** A node's files and the desk of the main process, joined without the wire: what is told, what may go, what was lost. */
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, afterEach, expect, onTestFinished, test, vi } from "vitest";
import { nodeKey } from "../../../test/support/node-keys.ts";
import { packsBeside } from "../../../test/support/packs.ts";
import { PATIENT } from "../../../test/support/patience.ts";
import { owned } from "../../../test/support/process.ts";
import { s3Double } from "../../../test/support/s3-double.ts";
import { type CatalogWorld, catalogWorld, entryOf, oneNode, sha256Of } from "../../../test/unit/sync/sync-world.ts";
import { markBucket } from "../../adapters/transports/s3/s3-transport.ts";
import { startTransfers } from "../../adapters/transports/transfers.ts";
import { createFileHasher, messageOf, OperatingError, seededRandom, silentLog } from "../../kernel/index.ts";
import type { CopiesPort } from "../../surfaces/index.ts";
import { createCopies } from "../../sync/copies/copies.ts";
import { confirmCopies, noteCopies } from "../../sync/copies/copy-operations.ts";
import { createNodeDesk } from "../../sync/copies/node-desk.ts";
import { type PackedFiles, packSeqs } from "../../sync/index.ts";
import { placeOrders } from "../../sync/orders/order-operations.ts";
import { freeArtifacts } from "../../sync/retention-operations.ts";
import { createSources } from "../../sync/sources/sources.ts";
import { bringOverLine } from "./bring-over-line.ts";
import { keepInputs } from "./inputs.ts";
import { keepCopies } from "./node-copies.ts";
import { fillStores, type StoreFiller } from "./node-stores.ts";

const own = owned();
afterAll(() => own.end());
const worlds: CatalogWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
const never = new AbortController().signal;
const hasher = createFileHasher((message) => OperatingError.internal("ARTIFACT_UNREADABLE", message));
afterAll(() => hasher.close());

/** A main process with these files in its catalog and its store, and a node that has none of them yet. */
async function world(...texts: string[]) {
  const w = catalogWorld();
  worlds.push(w);
  const folder = join(own.folder(), "inputs");
  mkdirSync(folder);
  const record = async (...more: string[]) => {
    await w.change((artifacts) => {
      artifacts.record(more.map((text) => entryOf(text, { work_id: `w ${text}` })));
      artifacts.accept(more.map(sha256Of));
    });
    await w.store.commit([noteCopies({ node_id: "n1", sha256s: more.map(sha256Of), by: "n1", at: 1 })]);
  };
  await record(...texts);
  const facts = { incarnation: 1, isRented: false };
  const third = { isThere: false, isLate: false };
  const nodes = () => [
    ...oneNode.nodes(),
    { node_id: "n3", name: "n3", isRented: false, incarnation: 1, kinds: [], freeCpus: 1, ...third },
    { node_id: "n2", name: "box-2", isThere: true, kinds: [], freeCpus: 1, ...facts },
  ];
  const copies = createCopies({ ...w, nodeId: "n1", copies: oneNode.copies, nodes });
  const sources = createSources({ ...w, nodeId: "n1", copies, nodes });
  const policies: string[] = [];
  const desk = createNodeDesk({
    ...{ ...w, log: silentLog(), copies, sources, get: w.catalog.get, verify: () => {} },
    policies: () => policies,
  });
  const line = { get: async (path: string) => Readable.from([Buffer.from(contents.get(path.split("/").at(-1)!)!)]) };
  const contents = new Map(texts.map((text) => [sha256Of(text), text]));
  const bring = bringOverLine(line, folder, w.clock);
  const sent = new Map<string, string>();
  const arrived: unknown[] = [];
  const terms: unknown[] = [];
  let told = 0;
  const start = (stores?: StoreFiller, packed?: PackedFiles) => {
    const { incarnation } = facts;
    const port: CopiesPort = {
      tell: async (news) => {
        told += 1;
        const { held = [], gone = [], drop = [], orders = [], storage } = news;
        return desk.exchange({ node_id: "n2", incarnation, held, gone, drop, orders, storage }) as never;
      },
      sources: async (files) => desk.sourcesFor("n2", files).batches as never,
      known: async () => new Set(),
      listed: async () => desk.listed("n2", 0, 10_000),
      confirm: async (present, upto) => desk.confirm("n2", incarnation, upto, packSeqs(present, upto)),
    };
    const waiting = async () => ({ files: 2, bytes: 30, oldest_at: 5 });
    const agent = keepCopies({
      port,
      folder,
      packed,
      artifacts: {
        async upload({ sha256, file }) {
          sent.set(sha256, readFileSync(file, "utf8"));
        },
      },
      transfers: {
        async bringBatch(batch, { signal, only: files = batch.files, ...options }) {
          terms.push({ maxRate: options.maxRate, priority: options.priority });
          const failed = new Map<string, { code: string; message: string }>();
          for (const { sha256 } of files)
            await bring(sha256, signal, options).catch((thrown) =>
              failed.set(sha256, { code: "TRANSFER_FAILED", message: messageOf(thrown) }),
            );
          return {
            failed,
            came: new Set(files.map(({ sha256 }) => sha256).filter((sha256) => !failed.has(sha256))),
            tries: [],
          };
        },
        arrived: ({ sha256, games, config_key, sync_id }) => void arrived.push({ sha256, games, config_key, sync_id }),
        told: async () => ({ serving: null, ways: [], refused: [] }),
        heard() {},
      },
      ...(stores === undefined ? {} : { stores }),
      atOnce: 2,
      hasher,
      freeBytes: () => 1e9,
      waiting,
      clock: w.clock,
      random: seededRandom(1),
      log: silentLog(),
    });
    const inputs = keepInputs({
      folder,
      packed,
      clock: w.clock,
      idleMs: 600_000,
      bring,
      copies: agent.watch,
      newest: agent.newest,
    });
    const use = async (text: string) => {
      await inputs.at(sha256Of(text), never);
      inputs.done(sha256Of(text));
    };
    return { inputs, use, agent, round: () => agent.round(inputs) };
  };
  const holders = (text: string) =>
    copies.of(w.catalog.get(sha256Of(text))!).holders.map(({ name, state }) => `${name} ${state}`);
  const isHere = async (text: string) => (await readdir(folder)).includes(sha256Of(text));
  return {
    ...w,
    folder,
    desk,
    copies,
    facts,
    third,
    sent,
    arrived,
    terms,
    policies,
    told: () => told,
    start,
    record,
    holders,
    isHere,
    contents,
  };
}

test("what a node fetched and what it made are copies once they are told, and it says what waits there", async () => {
  const w = await world("model");
  const node = w.start();
  await node.use("model");
  writeFileSync(join(w.folder, "..", "made"), "made");
  await node.inputs.keep(sha256Of("made"), join(w.folder, "..", "made"));
  await node.round();
  expect(w.holders("model")).toEqual(["n1 held", "box-2 held"]);
  expect(w.copies.of(w.catalog.get(sha256Of("model"))!)).toMatchObject({ copies: 2, required: 2, safe: true });
  expect(w.desk.storageOf("n2")).toEqual({ free_bytes: 1e9, waiting: { files: 2, bytes: 30, oldest_at: 5 } });
  // Its job is done with later: then it is in the catalog, and told once more.
  await w.record("made");
  w.clock.standStill(20_000);
  await node.round();
  expect(w.holders("made")).toEqual(["n1 held", "box-2 held"]);
});

test("a file that nobody needs stays while its copy is needed, and goes when it may", async () => {
  const w = await world("games", "next");
  const node = w.start();
  await node.use("games");
  await node.round();
  w.clock.standStill(700_000);
  await node.use("next");
  await node.round();
  expect([await w.isHere("games"), w.holders("games")]).toEqual([true, ["n1 held", "box-2 held"]]);
  // A third node has it: now there are enough elsewhere.
  w.facts.isRented = true;
  w.clock.standStill(700_000);
  node.inputs.done(sha256Of("next"));
  await node.use("next");
  node.agent.watch.unneeded([sha256Of("games")]);
  await node.round();
  await node.round();
  expect([await w.isHere("games"), w.holders("games")]).toEqual([false, ["n1 held"]]);
});

test("a copy does not go against one on a node that is late", async () => {
  const w = await world("games", "next");
  const node = w.start();
  await node.use("games");
  await node.round();
  await w.store.commit([
    confirmCopies({ node_id: "n3", incarnation: 1, upto: 0, present: [], at: 1 }),
    noteCopies({ node_id: "n3", sha256s: [sha256Of("games")], by: "n3", at: 1 }),
  ]);
  w.third.isLate = true;
  w.third.isThere = true;
  node.agent.watch.unneeded([sha256Of("games")]);
  await node.round();
  await node.round();
  expect([await w.isHere("games"), w.copies.of(w.catalog.get(sha256Of("games"))!).copies]).toEqual([true, 3]);
  w.third.isLate = false;
  w.clock.standStill(400_000);
  node.agent.watch.unneeded([sha256Of("games")]);
  await node.round();
  await node.round();
  expect([await w.isHere("games"), w.holders("games")]).toEqual([false, ["n1 held", "n3 held"]]);
});

test("what was given up goes from the node without asking, unless a job uses it just now", async () => {
  const w = await world("games");
  const node = w.start();
  await node.inputs.at(sha256Of("games"), never);
  await node.round();
  const at = w.clock.now() + 1;
  await w.store.commit([freeArtifacts({ sha256s: [sha256Of("games")], idleBefore: at, at })]);
  await node.round();
  expect([await w.isHere("games"), w.holders("games")]).toEqual([true, ["n1 retired", "box-2 retired"]]);
  node.inputs.done(sha256Of("games"));
  await node.round();
  await node.round();
  expect([await w.isHere("games"), w.holders("games")]).toEqual([false, ["n1 retired"]]);
});

test("after a restart its copies count again once it has said which are there; what is not is lost", async () => {
  const w = await world("kept", "lost", "untold");
  const before = w.start();
  for (const text of ["kept", "lost"]) await before.use(text);
  await before.round();
  await before.use("untold");
  rmSync(join(w.folder, sha256Of("lost")));
  w.facts.incarnation = 2;
  expect(w.copies.of(w.catalog.get(sha256Of("kept"))!)).toMatchObject({ copies: 1 });
  await w.start().round();
  expect(w.copies.of(w.catalog.get(sha256Of("kept"))!)).toMatchObject({ copies: 2 });
  expect([w.holders("lost"), w.holders("untold")]).toEqual([["n1 held"], ["n1 held", "box-2 held"]]);
});

test("a disk that is not mounted after a restart loses nothing, and counts nothing until it is there again", async () => {
  const w = await world("kept");
  const before = w.start();
  await before.use("kept");
  await before.round();
  w.facts.incarnation = 2;
  renameSync(w.folder, `${w.folder}.away`);
  mkdirSync(w.folder);
  const after = w.start();
  await after.round();
  expect(w.holders("kept")).toEqual(["n1 held", "box-2 held"]);
  expect(w.copies.of(w.catalog.get(sha256Of("kept"))!)).toMatchObject({ copies: 1 });
  rmSync(w.folder, { recursive: true });
  await expect(after.round()).rejects.toThrow("ENOENT");
  renameSync(`${w.folder}.away`, w.folder);
  await after.round();
  expect(w.copies.of(w.catalog.get(sha256Of("kept"))!)).toMatchObject({ copies: 2 });
});

test("a copy that it is asked to look at is hashed, and goes if it is damaged", async () => {
  const w = await world("model");
  const node = w.start();
  await node.use("model");
  await node.round();
  w.clock.standStill(1_000);
  w.desk.look("n2", sha256Of("model"));
  await node.round();
  await node.round();
  expect(w.copies.of(w.catalog.get(sha256Of("model"))!).holders[1]).toMatchObject({ verified_at: w.clock.now() });
  writeFileSync(join(w.folder, sha256Of("model")), "MODEL");
  w.desk.look("n2", sha256Of("model"));
  await node.round();
  await node.round();
  expect([await w.isHere("model"), w.holders("model")]).toEqual([false, ["n1 held"]]);
});

test("it carries out what it is ordered: fetches at the rate it may, and sends its own copy home", async () => {
  const w = await world("games", "model");
  const node = w.start();
  await node.round();
  const order = (text: string, action: "fetch" | "send") => {
    const { seq, bytes } = w.catalog.get(sha256Of(text))!;
    return { node_id: "n2", seq, action, urgency: 3, bytes, max_rate: 2_000_000, reason: "repair" };
  };
  await w.store.commit([placeOrders({ sync_id: "s1", orders: [order("games", "fetch")], at: w.clock.now() })]);
  const states = () => w.store.read("SELECT action, state, bytes_done FROM sync_orders ORDER BY order_id");
  await node.round();
  await vi.waitFor(async () => {
    await node.round();
    // At that rate a few bytes take a moment, and the clock goes on only here.
    w.pass(10);
    expect(states()).toEqual([{ action: "fetch", state: "done", bytes_done: 5 }]);
  }, PATIENT);
  expect(w.terms).toEqual([{ maxRate: 2_000_000, priority: "critical" }]);
  expect(w.holders("games")).toEqual(["n1 held", "box-2 held"]);
  expect(w.arrived).toEqual([{ sha256: sha256Of("games"), games: 20, config_key: "hex8_2p", sync_id: "s1" }]);
  await w.store.commit([placeOrders({ sync_id: "s2", orders: [order("games", "send")], at: w.clock.now() })]);
  await vi.waitFor(async () => {
    await node.round();
    expect([...w.sent.values()]).toEqual(["games"]);
  }, PATIENT);
  await w.store.commit([noteCopies({ node_id: "n1", sha256s: [sha256Of("games")], by: "n1", at: 9, isHome: true })]);
  expect(states()[1]).toMatchObject({ action: "send", state: "done" });
});

test("a transfer that fails is tried again later, and given up when its tries are spent", async () => {
  const w = await world("games");
  w.contents.clear();
  const node = w.start();
  await node.round();
  const { seq, bytes } = w.catalog.get(sha256Of("games"))!;
  const order = { node_id: "n2", seq, action: "fetch", urgency: 1, bytes, max_rate: null, reason: "spread" } as const;
  await w.store.commit([placeOrders({ sync_id: "s1", orders: [order], at: w.clock.now() })]);
  const row = () => w.store.read<{ state: string; attempts: number }>("SELECT state, attempts FROM sync_orders")[0]!;
  for (let attempts = 1; attempts <= 5; attempts += 1)
    await vi.waitFor(async () => {
      await node.round();
      if (row().attempts < attempts) w.pass(300_000);
      expect(row()).toEqual({ state: attempts < 5 ? "waiting" : "failed", attempts });
    }, PATIENT);
});

test("a node is told of the newest models, which go last from its cache", async () => {
  const w = await world("samples");
  await w.change((artifacts) => {
    artifacts.record(["first", "second"].map((text) => entryOf(text, { work_id: `w ${text}`, kind: "model" })));
    artifacts.accept(["first", "second"].map(sha256Of));
  });
  const node = w.start();
  await node.round();
  expect(node.agent.newest()).toEqual([sha256Of("second"), sha256Of("first")]);
});

test("a node that is wanted asks for its orders before its pause is over", async () => {
  const w = await world("model");
  const { agent, inputs } = w.start();
  w.desk.wake("n2");
  w.desk.wake("nobody");
  expect(["n2", "nobody"].map(w.desk.isWanted)).toEqual([true, false]);
  agent.start(inputs);
  await vi.waitFor(() => expect(w.told()).toBe(1), PATIENT);
  await vi.waitFor(() => expect(w.desk.isWanted("n2")).toBe(false), PATIENT);
  // The clock stands still: only the call ends the pause.
  await vi.waitFor(() => {
    agent.hurry();
    expect(w.told()).toBeGreaterThan(1);
  }, PATIENT);
  await agent.stop();
});

test("S3_NODE_SYNC has a node bring what it holds and what it gets to its S3 store, until it is off again", async () => {
  const w = await world("before", "later", "after");
  const double = await s3Double(["games"]);
  onTestFinished(() => double.stop());
  const { endpoint, accessKeyId, secretAccessKey, objects } = double;
  const store = { transport: "s3" as const, endpoint, accessKeyId, secretAccessKey, bucket: "games", disk: "bucket-1" };
  await markBucket(store, never);
  const transfers = await startTransfers({
    ...{ ...nodeKey(), folder: w.folder, isFlat: true, scratch: `${w.folder}.scratch` },
    store: {
      reserve: () => ({ expected: [], refused: [], release() {} }),
      pathOf: (sha256) => join(w.folder, sha256),
    },
    ...{ maxBytesPerSecond: null, stallMs: 60_000, programs: { rsync: "rsync", ssh: "ssh" } },
    ...{ log: silentLog(), onRefused: () => {} },
  });
  onTestFinished(() => transfers.close());
  const stores = fillStores({ folder: w.folder, stores: [store], transfers, log: silentLog() });
  const node = w.start(stores);
  const inStore = (...texts: string[]) =>
    texts.filter((text) => objects.has(`games/${sha256Of(text).slice(0, 2)}/${sha256Of(text)}`));
  const round = async () => {
    await node.round();
    await stores.ended();
  };
  await node.use("before");
  await round();
  expect(inStore("before")).toEqual([]);
  w.policies.push("S3_NODE_SYNC");
  await round();
  expect(inStore("before")).toEqual(["before"]);
  await node.use("later");
  await round();
  await round();
  w.policies.pop();
  await round();
  await node.use("after");
  await round();
  await round();
  expect(inStore("before", "later", "after")).toEqual(["before", "later"]);
});

test("copies that lie together are told, confirmed after a start, looked at, sent home and dropped as others are", async () => {
  const w = await world("one", "two", "three", "four", "five", "six");
  const packs = await packsBeside(w.folder, w.clock);
  const all = ["one", "two", "three", "four", "five", "six"];
  await packs.keep(all);
  const node = w.start(undefined, packs.store);
  // What an earlier life left in packs is hashed before it is told.
  await node.round();
  expect(all.map((text) => w.holders(text))).toEqual(all.map(() => ["n1 held", "box-2 held"]));
  expect(await readdir(w.folder)).toEqual([]);

  // After a start they are confirmed, as they are.
  w.facts.incarnation = 2;
  const again = await packsBeside(w.folder, w.clock);
  const next = w.start(undefined, again.store);
  await next.round();
  expect(all.map((text) => w.holders(text))).toEqual(all.map(() => ["n1 held", "box-2 held"]));

  // A byte turns: that one goes and is told, and the others stay.
  const place = (await again.store.find([sha256Of("two")]))[0]!;
  const bytes = readFileSync(place.path);
  bytes[place.at]! ^= 1;
  writeFileSync(place.path, bytes);
  w.clock.standStill(1_000);
  for (const text of ["one", "two"]) w.desk.look("n2", sha256Of(text));
  for (let rounds = 0; rounds < 3; rounds += 1) await next.round();
  expect([w.holders("one"), w.holders("two")]).toEqual([["n1 held", "box-2 held"], ["n1 held"]]);
  expect(w.copies.of(w.catalog.get(sha256Of("one"))!).holders[1]).toMatchObject({ verified_at: w.clock.now() });
  expect(await readdir(join(w.folder, "..", "quarantine"))).toEqual([expect.stringContaining(sha256Of("two"))]);

  // What is sent home is a file by then.
  const { seq, bytes: size } = w.catalog.get(sha256Of("three"))!;
  const order = {
    node_id: "n2",
    seq,
    action: "send",
    urgency: 3,
    bytes: size,
    max_rate: null,
    reason: "repair",
  } as const;
  await w.store.commit([placeOrders({ sync_id: "s1", orders: [order], at: w.clock.now() })]);
  await vi.waitFor(async () => {
    await next.round();
    expect([...w.sent.values()]).toEqual(["three"]);
  }, PATIENT);

  // What is given up goes from its pack. When nothing more goes, what is left of the pack becomes files, and its room is free.
  const given = ["four", "five", "six"].map(sha256Of);
  const at = w.clock.now() + 1;
  await w.store.commit([freeArtifacts({ sha256s: given.slice(0, 2), idleBefore: at, at })]);
  await next.round();
  expect((await again.store.list()).map(({ sha256 }) => sha256).sort()).toEqual([sha256Of("one"), given[2]!].sort());
  await next.round();
  expect([await again.store.list(), await readdir(again.folder)]).toEqual([[], []]);
  expect((await readdir(w.folder)).sort()).toEqual(["one", "three", "six"].map(sha256Of).sort());
  expect([w.holders("one"), w.holders("four"), w.holders("six")]).toEqual([
    ["n1 held", "box-2 held"],
    ["n1 retired"],
    ["n1 held", "box-2 held"],
  ]);
});

test("a file that came by a transfer was flushed then; one that has gone since is not told", async () => {
  const w = await world("games", "gone");
  const node = w.start();
  await node.round();
  const orders = ["games", "gone"].map((text) => {
    const { seq, bytes } = w.catalog.get(sha256Of(text))!;
    return { node_id: "n2", seq, action: "fetch", urgency: 3, bytes, max_rate: null, reason: "repair" } as const;
  });
  await w.store.commit([placeOrders({ sync_id: "s1", orders, at: w.clock.now() })]);
  await node.round();
  await vi.waitFor(
    async () => expect([await w.isHere("games"), await w.isHere("gone")]).toEqual([true, true]),
    PATIENT,
  );
  await vi.waitFor(() => expect(w.arrived).toHaveLength(2), PATIENT);
  rmSync(join(w.folder, sha256Of("gone")));
  await node.round();
  expect([w.holders("games"), w.holders("gone")]).toEqual([["n1 held", "box-2 held"], ["n1 held"]]);
});
