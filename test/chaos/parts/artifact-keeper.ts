/**
 * Makes, looks through, accepts, pins and frees artifacts, three rounds of them, one file spoilt on the way; every step is one
 * that may be done again. `node artifact-keeper.ts <folder> <operation> <before|after> <n>` dies by SIGKILL around the n-th commit
 * with that operation; run again without it, it does the rest and says `done`.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { threadedStore } from "../../../src/adapters/sqlite/threaded-store.ts";
import { builtinRows, createCatalog } from "../../../src/events/index.ts";
import { silentLog, sleep, systemClock, systemRandom } from "../../../src/kernel/index.ts";
import { EventRouter, type Operation, type Store } from "../../../src/router/index.ts";
import type { ArtifactEntryInput } from "../../../src/sync/artifact.ts";
import { createArtifactInspector } from "../../../src/sync/artifact-inspector.ts";
import type { JoinedArtifacts } from "../../../src/sync/catalog.ts";
import { createArtifactCatalog, createArtifactStore } from "../../../src/sync/index.ts";
import { createSweeper } from "../../../src/sync/sweep.ts";

const [folder = "", dieAt = "never", when = "before", n = "1"] = process.argv.slice(2);
const CONFIG = "hex8_2p";
const clock = systemClock();
const log = silentLog();

function dyingStore(store: Store): Store {
  let left = Number(n);
  const die = () => process.kill(process.pid, "SIGKILL");
  return {
    read: store.read,
    scan: store.scan,
    onFault: store.onFault,
    close: store.close,
    get fault() {
      return store.fault;
    },
    async commit(operations: readonly Operation[]) {
      if (operations.some(({ op }) => op === dieAt)) left -= 1;
      else return store.commit(operations) as never;
      if (left === 0 && when === "before") die();
      const results = await store.commit(operations);
      if (left === 0) die();
      return results as never;
    },
  };
}

mkdirSync(join(folder, "artifacts"), { recursive: true });
const store = dyingStore(
  await threadedStore({
    path: join(folder, "coordination.db"),
    modulesUrl: new URL("./artifact-modules.ts", import.meta.url).href,
    clock,
  }),
);
const router = new EventRouter({
  catalog: createCatalog(builtinRows),
  store,
  clock,
  random: systemRandom(),
  log,
  nodeId: "n1",
}) as unknown as EventRouter;
const files = createArtifactStore({ folder: join(folder, "artifacts"), clock });
const catalog = createArtifactCatalog({ store, clock });
const inspector = createArtifactInspector({ router, store, files, catalog, clock, log, nodeId: "n1" });
const policy = { graceMs: 0, strayGraceMs: 0, folders: 256 };
const sweeper = createSweeper({ store, files, clock, nodeId: "n1", policy });

const sha256Of = (text: string) => createHash("sha256").update(text).digest("hex");
const change = (body: (artifacts: JoinedArtifacts) => void) =>
  router.transact({ source: "keeper" }, (context) => body(catalog.join(context)));
const put = (text: string) =>
  files.write({
    sha256: sha256Of(text),
    offset: 0,
    size: text.length,
    length: text.length,
    bytes: (async function* () {
      yield Buffer.from(text);
    })(),
    accept: () => {},
    from: "n1",
  });
/** What a job makes is the same however often it runs. */
const textOf = (round: number, part: number, kind: string) => `${kind} of part ${part} of round ${round}\n`.repeat(100);
const entriesOf = (round: number): ArtifactEntryInput[] =>
  [0, 1].flatMap((part) =>
    ["games", "samples"].map((kind) => {
      const text = textOf(round, part, kind);
      const whose = { config_key: CONFIG, producer: `n${part}`, work_id: `w${round}${part}` } as const;
      return { sha256: sha256Of(text), kind, bytes: text.length, games: 10, iteration: round, ...whose };
    }),
  );

for (const round of [1, 2, 3]) {
  const entries = entriesOf(round);
  const all = entries.map(({ sha256 }) => sha256);
  const isAccepted = () =>
    all.every((sha256) => {
      const row = catalog.get(sha256);
      return row?.work_id != null && (row.state === "durable" || row.state === "freed");
    });
  for (let attempt = 1; !isAccepted(); attempt += 1) {
    for (const part of [0, 1]) for (const kind of ["games", "samples"]) await put(textOf(round, part, kind));
    await change((artifacts) => {
      for (const part of [0, 1]) artifacts.produced(CONFIG, `n${part}`, `w${round}${part}`, 10);
      artifacts.record(entries);
      artifacts.pin(`round:${round}`, all);
    });
    if (round === 2 && !existsSync(join(folder, "spoilt"))) {
      writeFileSync(files.pathOf(all[0]!), "spoilt");
      writeFileSync(join(folder, "spoilt"), "");
    }
    const outcome = await inspector.syncBatch({ syncId: `round:${round}:${attempt}`, configKey: CONFIG, entries });
    if (outcome.state === "completed") await change((artifacts) => artifacts.accept(all));
  }
  await put(`an upload of round ${round} that nobody records`);
  await change((artifacts) => artifacts.pin(`round:${round - 1}`, []));
  // Grace is nothing here, and even that has to be over.
  await sleep(clock, 5);
  await sweeper.sweep();
}
await router.stop();
await store.close();
process.stdout.write("done\n");
process.exit(0);
