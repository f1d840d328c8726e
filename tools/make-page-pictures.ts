/**
 * Makes the pictures of the page for the documentation: `node tools/make-page-pictures.ts <data folder> [configs...]`, of a folder in which
 * something was trained. It goes on training there with two workers while pictures are taken, and needs Chromium (`CHROMIUM` names it
 * unless it is /usr/bin/chromium).
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { chromium, type Page } from "playwright-core";
import { OperatingError, ROOT, reportAndExit, say } from "./parts/root.ts";

const CLI = join(ROOT, "bin", "ringrift.js");
const AT_WORK_MS = 300_000;

interface Picture {
  readonly file: string;
  readonly to: (config: string) => string;
  readonly width?: number;
  readonly height?: number;
  readonly dark?: boolean;
}

const PICTURES: readonly Picture[] = [
  { file: "page-games.png", to: () => "/games", height: 420 },
  { file: "page-home.png", to: () => "/", height: 560 },
  { file: "page-config.png", to: (config) => `/configs/${config}`, height: 940 },
  { file: "page-config-dark.png", to: (config) => `/configs/${config}`, height: 940, dark: true },
  { file: "page-work.png", to: () => "/work", height: 760 },
  { file: "page-play.png", to: (config) => `/play/${config}`, width: 390, height: 844 },
];

/** A main process on the folder, once it is ready. */
async function started(folder: string, configs: readonly string[]): Promise<ChildProcess> {
  const words = [
    "--data-dir",
    folder,
    "train",
    ...configs,
    "--workers",
    "2",
    "--headless",
    "--no-report",
    "--port",
    "0",
  ];
  const child = spawn(process.execPath, [CLI, ...words], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) if (line.startsWith("ready ")) return child;
  throw OperatingError.internal("NOT_STARTED", `no main process started in ${folder}`);
}

/** A process that has just started has nothing to show: pictures wait until games are played, and then until a gate is under way. */
async function untilAtWork(page: Page, base: string): Promise<void> {
  await page.goto(`${base}/games`);
  await page.waitForSelector(".live-boards li", { timeout: AT_WORK_MS });
}

async function untilGate(page: Page, base: string, config: string): Promise<void> {
  await page.goto(`${base}/configs/${config}`);
  const waited = page.waitForSelector(":text('running, ')", { timeout: AT_WORK_MS });
  await waited.catch(() => say("no gate ran in time: the picture of the config shows the last one"));
}

async function picture(page: Page, base: string, config: string, wanted: Picture): Promise<void> {
  const { file, to, width = 1_280, height = 800, dark = false } = wanted;
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
  const address = base + to(config);
  if (page.url() !== address) await page.goto(address);
  await page.waitForSelector("main h1");
  await page.waitForSelector("main .loading", { state: "detached" });
  await page.waitForSelector("[data-verdict]:not(.plain)");
  if (address.includes("/play/")) await page.waitForSelector("[data-turn=yours]");
  await page.screenshot({ path: join(ROOT, "docs", "pictures", file) });
  say(`docs/pictures/${file}`);
}

async function main(): Promise<number> {
  const [given, ...configs] = process.argv.slice(2);
  if (given === undefined)
    throw OperatingError.invalid(
      "INVALID_OPTION",
      "name the data folder of a run, and its configs if they are not othello6_2p alone",
    );
  const folder = resolve(given);
  const [config = "othello6_2p"] = configs;
  const child = await started(folder, configs.length === 0 ? [config] : configs);
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
    for (const wanted of PICTURES) {
      if (wanted.file === "page-config.png") await untilGate(page, base, config);
      await picture(page, base, config, wanted);
    }
    return 0;
  } finally {
    await browser.close();
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  }
}

await reportAndExit(main);
