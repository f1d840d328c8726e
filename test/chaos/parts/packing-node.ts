/**
 * Keeps small files together, makes files of some, drops some and gives room back. It says what is done when it is done, and dies as by kill -9 before
 * the call to the file system whose number it is given; every call is told with what it is about.
 */
import { hash } from "node:crypto";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { basename, join } from "node:path";

const [root = "", dieAt = ""] = process.argv.slice(2);
const { writeSync } = fs;
const say = (line: string): void => void writeSync(1, `${line}\n`);

/** Calls count once all is loaded. */
let isLoaded = false;
let calls = 0;
const opened = new Map<number, string>();
const called = (name: string, about: unknown): void => {
  if (!isLoaded) return;
  calls += 1;
  const what = typeof about === "number" ? opened.get(about) : basename(String(about));
  say(`call ${name} ${what}`);
  if (calls === Number(dieAt)) process.kill(process.pid, "SIGKILL");
};
type Call = (...given: readonly unknown[]) => unknown;
const calling = fs as unknown as Record<string, Call>;
for (const name of ["openSync", "writeSync", "fsync", "renameSync", "rmSync", "closeSync", "ftruncateSync"]) {
  const real = calling[name]!;
  calling[name] = (...given) => {
    called(name, given[0]);
    const found = real(...given);
    if (name === "openSync") opened.set(found as number, basename(String(given[0])));
    return found;
  };
}
const { open } = fs.promises;
fs.promises.open = async (path, ...rest) => {
  const file = await open(path, ...rest);
  const sync = file.sync.bind(file);
  file.sync = () => {
    called("sync", path);
    return sync();
  };
  return file;
};
syncBuiltinESMExports();

const { createFlusher } = await import("../../../src/sync/transfer/flush.ts");
const { packHead } = await import("../../../src/sync/transfer/pack.ts");
const { openPackStore } = await import("../../../src/sync/transfer/pack-store.ts");

isLoaded = true;
const pathOf = (sha256: string) => join(root, "inputs", sha256);
const store = await openPackStore({
  folder: join(root, "packs"),
  landingOf: (sha256) => ({
    path: pathOf(sha256),
    part: `${pathOf(sha256)}.part`,
    quarantine: join(root, "quarantine"),
  }),
  flusher: createFlusher(),
  clock: { now: () => 1_700_000_000_000 },
});
const filesOf = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => {
    const content = Buffer.from(`${name} ${i} `.repeat(20 + i));
    return { content, sha256: hash("sha256", content, "hex"), bytes: content.length };
  });
const keep = async (files: ReturnType<typeof filesOf>): Promise<void> => {
  const writer = store.begin();
  for (const one of files) writer.append(Buffer.concat([packHead(one), one.content]), [one]);
  await writer.seal();
  for (const { sha256 } of files) say(`here ${sha256}`);
};

say("begun");
const [first, second] = [filesOf("first", 4), filesOf("second", 5)];
await keep(first);
await keep(second);
await store.makeFiles([first[0]!.sha256]);
say(`file ${first[0]!.sha256}`);
const gone = [first[1]!, second[0]!, second[1]!, second[2]!].map(({ sha256 }) => sha256);
for (const sha256 of gone) say(`going ${sha256}`);
await store.drop(gone);
for (const sha256 of gone) say(`gone ${sha256}`);
await store.compact();
say("compacted");
await keep(filesOf("third", 3));
store.close();
say("done");
