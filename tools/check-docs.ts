/**
 * Every command in the docs works. In README.md, the other pages of the repository's root and docs/ it
 *
 * - runs each block that is marked `sh run` (`run fails`: must fail; `run background`: goes on until the end of the page, once
 *   it has printed `ready`; `run repository`: in the repository; `run needs=python3`: where the machine has that), page by
 *   page, in a folder of its own with `ringrift` at hand;
 * - checks the types of each block that is marked `ts run`, and runs it;
 * - refuses blocks with commands that are not marked, unless they say `norun <reason>`;
 * - follows relative links to files and headings.
 *
 * `node tools/check-docs.ts README.md` checks just that page.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { patience } from "../test/support/patience.ts";
import { freePort } from "../test/support/process.ts";
import { type Block, blocksOf } from "./docs/blocks.ts";
import { brokenLinks } from "./docs/links.ts";
import { programOf, runPage } from "./docs/run-page.ts";
import { openWorkshop, type Workshop } from "./docs/workshop.ts";
import { OperatingError, ROOT, reportAndExit, say, untilInterrupted } from "./parts/root.ts";

const LIMITS = { blockMs: patience(60_000), readyMs: patience(30_000), endMs: patience(15_000) };

interface Page {
  readonly name: string;
  readonly file: string;
  readonly blocks: readonly Block[];
  readonly workshop: Workshop;
}

function pagesOf(args: readonly string[]): string[] {
  if (args.length > 0) return args.map((arg) => resolve(arg));
  if (!existsSync(join(ROOT, "README.md"))) throw OperatingError.internal("README_MISSING", "there is no README.md");
  const docs = existsSync(join(ROOT, "docs"))
    ? readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    : [];
  return [...readdirSync(ROOT), ...docs.map((file) => join("docs", file))]
    .filter((file) => file.endsWith(".md"))
    .sort()
    .map((file) => join(ROOT, file));
}

/** What is wrong with the programs of all pages; the compiler is loaded where there is one. */
async function wrongPrograms(pages: readonly Page[]): Promise<string[]> {
  const programs = pages.flatMap(({ name, blocks, workshop }) =>
    blocks
      .filter(({ run, language }) => run && language === "ts")
      .map((block) => ({ file: programOf(workshop, block), page: name, block })),
  );
  if (programs.length === 0) return [];
  const { programErrors } = await import("./docs/program-errors.ts");
  return programErrors(programs);
}

/** Pages know nothing of each other, and mostly wait: as many at once as there are cores, and one more. */
async function inLanes<T>(all: readonly T[], run: (one: T) => Promise<void>): Promise<void> {
  const left = [...all];
  const lane = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await run(next);
  };
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, lane));
}

async function checkDocs(folder: string, signal: AbortSignal): Promise<number> {
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const pages: Page[] = [];
  for (const [index, file] of pagesOf(process.argv.slice(2)).entries()) {
    const place = join(folder, String(index));
    mkdirSync(place);
    const workshop = openWorkshop(place, Object.keys(dependencies), await freePort());
    pages.push({ name: relative(ROOT, file), file, blocks: blocksOf(readFileSync(file, "utf8")), workshop });
  }
  const problems = pages.flatMap(({ name, file, blocks }) => [
    ...blocks.filter(({ problem }) => problem !== undefined).map(({ line, problem }) => `${name}:${line}: ${problem}`),
    ...brokenLinks(file, ROOT),
  ]);
  problems.push(...(await wrongPrograms(pages)));
  for (const problem of problems) say(problem);
  let ran = 0;
  const skipped: string[] = [];
  await inLanes(pages, async ({ name, blocks, workshop }) => {
    if (signal.aborted) throw OperatingError.internal("INTERRUPTED", "interrupted");
    const result = await runPage(name, blocks, workshop, LIMITS, signal);
    for (const problem of result.problems) say(problem);
    for (const each of result.skipped) say(`SKIPPED ${each}`);
    if (result.ran > 0) say(`${result.problems.length === 0 ? "ok" : "FAILED"} ${name}: ${result.ran} blocks`);
    ran += result.ran;
    problems.push(...result.problems);
    skipped.push(...result.skipped);
  });
  if (ran === 0) problems.push("no block was run");
  if (process.env.CI === "true") problems.push(...skipped);
  say(`${ran} blocks run in ${pages.length} pages, ${problems.length} problems, ${skipped.length} skipped`);
  return problems.length === 0 ? 0 : 1;
}

await reportAndExit(async () => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "ringrift-docs-"));
  const signal = untilInterrupted();
  try {
    return await checkDocs(folder, signal);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
