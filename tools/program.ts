/**
 * Keeps the program of this checkout as a bundle, so that it starts as fast as the installed package; nothing is done while the
 * one that is kept is fresh. `bin/ringrift.js` runs it as long as no file that it was made from has changed, and the sources
 * otherwise. Each bundle has a folder of its own: a process that runs keeps its files.
 */
import { mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { freshProgram, keptIn } from "../bin/kept-program.js";
import { messageOf } from "../src/kernel/index.ts";
import { bundle } from "./parts/bundle.ts";
import { ROOT, readArguments, reportAndExit, say } from "./parts/root.ts";
import { keepPage } from "./parts/web-page.ts";

const KEPT = keptIn(ROOT);
/** Those that are older are taken away; a process of one of these may still run. */
const MAX_KEPT = 3;
/** What a program looks for beside itself. */
const BESIDE = ["package.json", "bin", "docs"];

const sizeAndTime = (path: string): readonly [string, number, number] => {
  const { size, mtimeMs } = statSync(path);
  return [relative(ROOT, path), size, mtimeMs];
};

async function keep(): Promise<number> {
  mkdirSync(KEPT, { recursive: true });
  say(await keepPage(join(KEPT, "web")));
  if (freshProgram(ROOT) !== undefined) {
    say("the program that is kept is fresh");
    return 0;
  }
  const begun = Date.now();
  const name = `program-${begun}-${process.pid}`;
  const folder = join(KEPT, name);
  const inputs = await bundle(join(folder, "dist"));
  symlinkSync(join(KEPT, "web"), join(folder, "dist", "web"));
  for (const beside of BESIDE) symlinkSync(join(ROOT, beside), join(folder, beside));
  // What is in node_modules changes with the lockfile.
  const sources = inputs.filter((path) => !relative(ROOT, path).startsWith("node_modules"));
  const made = [...sources, join(ROOT, "package-lock.json"), join(ROOT, "tools", "parts", "bundle.ts")].map(
    sizeAndTime,
  );
  if (made.some(([, , changed]) => changed >= begun)) {
    say("a source changed meanwhile: nothing is kept");
    return 0;
  }
  const written = join(folder, "current.json");
  writeFileSync(written, JSON.stringify({ name, made }));
  renameSync(written, join(KEPT, "current.json"));
  const names = readdirSync(KEPT).filter((each) => each.startsWith("program-"));
  for (const gone of names.sort().slice(0, -MAX_KEPT)) rmSync(join(KEPT, gone), { recursive: true, force: true });
  say(`the program is kept: ${sources.length} sources`);
  return 0;
}

/** Whoever only wants to start the program can do so from the sources as well. */
async function keepIfPossible(): Promise<number> {
  try {
    return await keep();
  } catch (thrown) {
    process.stderr.write(`the program runs from its sources, which is slower: ${messageOf(thrown)}\n`);
    return 0;
  }
}

const { values } = readArguments({ options: { "or-sources": { type: "boolean" } } });
await reportAndExit(values["or-sources"] ? keepIfPossible : keep);
