/**
 * Makes the pictures of the page for the documentation: `node tools/make-page-pictures.ts <data folder> [config]`, of a folder in which something was
 * trained. It goes on training there with one worker while pictures are taken, and needs Chromium (`CHROMIUM` names it unless it is
 * /usr/bin/chromium).
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { chromium, type Page } from "playwright-core";
import { OperatingError, ROOT, reportAndExit, say } from "./parts/root.ts";

const CLI = join(ROOT, "bin", "ringrift.js");
const WIDE = { width: 1_280, height: 800 };
const PHONE = { width: 390, height: 760 };
const GAMES = { width: 1_280, height: 420 };
const AT_WORK_MS = 300_000;

/** A main process on the folder, once it is ready. */
async function started(folder: string, config: string): Promise<ChildProcess> {
  const words = ["--data-dir", folder, "train", config, "--workers", "1", "--headless", "--no-report", "--port", "0"];
  const child = spawn(process.execPath, [CLI, ...words], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith("ready ")) return child;
  throw OperatingError.internal("NOT_STARTED", `no main process started in ${folder}`);
}

/** A process that has just started has nothing to show: pictures wait until a worker plays. */
async function untilAtWork(page: Page, base: string): Promise<void> {
  await page.goto(`${base}/games`);
  await page.waitForSelector(".live-boards li", { timeout: AT_WORK_MS });
}

async function picture(page: Page, address: string, file: string, size = WIDE): Promise<void> {
  await page.setViewportSize(size);
  await page.goto(address);
  await page.waitForSelector("main h1");
  await page.waitForSelector("main .loading", { state: "detached" });
  await page.waitForSelector("[data-verdict]:not(.plain)");
  if (address.includes("/play/")) await page.waitForSelector("[data-turn=yours]");
  await page.screenshot({ path: join(ROOT, "docs", "pictures", file) });
  say(`docs/pictures/${file}`);
}

async function main(): Promise<number> {
  const [given, config = "othello6_2p"] = process.argv.slice(2);
  if (given === undefined)
    throw OperatingError.invalid(
      "INVALID_OPTION",
      "name the data folder of a run, and its config if it is not othello6_2p",
    );
  const folder = resolve(given);
  const child = await started(folder, config);
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [CLI, "--data-dir", folder, "open", "--print"]);
    const page = await browser.newPage();
    await page.goto(stdout.trim());
    await page.waitForSelector("main h1");
    const base = new URL(page.url()).origin;
    await untilAtWork(page, base);
    await page.screenshot({ path: join(ROOT, "docs", "pictures", "page-games.png"), clip: { x: 0, y: 0, ...GAMES } });
    say("docs/pictures/page-games.png");
    await picture(page, `${base}/configs/${config}`, "page-config.png");
    await picture(page, `${base}/play/${config}`, "page-play.png", PHONE);
    return 0;
  } finally {
    await browser.close();
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }
}

await reportAndExit(main);
