/**
 * Makes the pictures of the documentation from the report of a run: `node tools/make-pictures.ts <report.html>`. It needs
 * Chromium (`CHROMIUM` names it unless it is /usr/bin/chromium). Without a report it trains for four minutes first.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { ROOT, reportAndExit, say } from "./parts/root.ts";

const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const QUIET = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--hide-scrollbars",
];

const run = promisify(execFile);

/** A run that is long enough for a few champions. */
async function trained(folder: string): Promise<string> {
  const cli = join(ROOT, "bin", "ringrift.js");
  await run(process.execPath, [cli, "train", "--data-dir", folder, "--for", "4m", "--port", "0", "--headless"]);
  return join(folder, "report.html");
}

/** The report with its first figure alone: the ladder. */
function ladderOf(report: string): string {
  const style = /<style>[\s\S]*?<\/style>/.exec(report)?.[0] ?? "";
  const figure = /<figure>[\s\S]*?<\/figure>/.exec(report)?.[0];
  if (figure === undefined) throw new Error("the report has no figure");
  return `<!doctype html><html lang="en"><head><meta charset="utf-8">${style}</head><body><main>${figure}</main></body></html>`;
}

async function picture(page: string, file: string, size: string, profile: string): Promise<void> {
  const target = join(ROOT, "docs", "pictures", file);
  await run(CHROMIUM, [
    ...QUIET,
    `--user-data-dir=${profile}`,
    `--window-size=${size}`,
    `--screenshot=${target}`,
    pathToFileURL(page).href,
  ]);
  say(`docs/pictures/${file}`);
}

async function main(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-pictures-"));
  try {
    const [given] = process.argv.slice(2);
    const report = given === undefined ? await trained(join(folder, "data")) : resolve(given);
    const ladder = join(folder, "ladder.html");
    writeFileSync(ladder, ladderOf(readFileSync(report, "utf8")));
    await picture(ladder, "ladder.png", "1100,500", join(folder, "profile"));
    await picture(report, "report.png", "1100,2000", join(folder, "profile"));
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

await reportAndExit(main);
