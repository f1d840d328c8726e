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
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";
import { freePort } from "../test/support/process.ts";
import { type Block, blocksOf } from "./docs/blocks.ts";
import { brokenLinks } from "./docs/links.ts";
import { programOf, runPage } from "./docs/run-page.ts";
import { openWorkshop, type Workshop } from "./docs/workshop.ts";
import { OperatingError, ROOT, reportAndExit, scriptOf } from "./parts/root.ts";

const LIMITS = { blockMs: 60_000, readyMs: 30_000, endMs: 15_000 };

interface Page {
  readonly name: string;
  readonly file: string;
  readonly blocks: readonly Block[];
  readonly workshop: Workshop;
}

function pagesOf(args: readonly string[]): string[] {
  if (args.length > 0) return args.map((arg) => resolve(arg));
  if (!existsSync(join(ROOT, "README.md"))) throw new OperatingError("README_MISSING", "there is no README.md");
  const docs = existsSync(join(ROOT, "docs"))
    ? readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" })
    : [];
  return [...readdirSync(ROOT), ...docs.map((file) => join("docs", file))]
    .filter((file) => file.endsWith(".md"))
    .sort()
    .map((file) => join(ROOT, file));
}

/** Compiles all programs of all pages in one go, and leads each message back to its page. */
function typeErrors(pages: readonly Page[], folder: string): string[] {
  const programs = new Map<string, { page: Page; block: Block }>();
  for (const page of pages)
    for (const block of page.blocks)
      if (block.run && block.language === "ts") programs.set(programOf(page.workshop, block), { page, block });
  if (programs.size === 0) return [];
  for (const [file, { block }] of programs) writeFileSync(file, block.code);
  const config = {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: {
      typeRoots: [join(ROOT, "node_modules", "@types")],
      moduleDetection: "force",
      noUnusedLocals: false,
      noUnusedParameters: false,
    },
    files: [...programs.keys()],
    include: [],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const done = spawnSync(process.execPath, [scriptOf("tsc"), "-p", folder, "--pretty", "false"], {
    cwd: folder,
    encoding: "utf8",
  });
  if (done.status === 0) return [];
  return [
    done.stdout.trimEnd().replaceAll(/^(\S+?)\((\d+),(\d+)\)/gm, (message, path, line, column) => {
      const found = programs.get(resolve(folder, path));
      return found === undefined ? message : `${found.page.name}:${found.block.line + Number(line) - 1}:${column}`;
    }),
  ];
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
  const say = (text: string) => void process.stdout.write(`${text}\n`);
  const problems = pages.flatMap(({ name, file, blocks }) => [
    ...blocks.filter(({ problem }) => problem !== undefined).map(({ line, problem }) => `${name}:${line}: ${problem}`),
    ...brokenLinks(file, ROOT),
  ]);
  problems.push(...typeErrors(pages, folder));
  for (const problem of problems) say(problem);
  let ran = 0;
  const skipped: string[] = [];
  for (const { name, blocks, workshop } of pages) {
    if (signal.aborted) throw new OperatingError("INTERRUPTED", "interrupted");
    const result = await runPage(name, blocks, workshop, LIMITS, signal);
    for (const problem of result.problems) say(problem);
    for (const each of result.skipped) say(`SKIPPED ${each}`);
    if (result.ran > 0) say(`${result.problems.length === 0 ? "ok" : "FAILED"} ${name}: ${result.ran} blocks`);
    ran += result.ran;
    problems.push(...result.problems);
    skipped.push(...result.skipped);
  }
  if (ran === 0) problems.push("no block was run");
  if (process.env.CI === "true") problems.push(...skipped);
  say(`${ran} blocks run in ${pages.length} pages, ${problems.length} problems, ${skipped.length} skipped`);
  return problems.length === 0 ? 0 : 1;
}

await reportAndExit(async () => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), "ringrift-docs-"));
  const interrupt = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => interrupt.abort());
  try {
    return await checkDocs(folder, interrupt.signal);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
