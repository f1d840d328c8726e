/**
 * The page in the hands of somebody who clicks on everything: views, links, buttons, keys, sizes, back and forth, while a loop
 * trains. It never complains, never freezes, and changes nothing that nobody confirmed.
 */
import type { ElementHandle, Page } from "playwright-core";
import { assert, pick, seededRandom } from "../../src/kernel/index.ts";
import { VIEWS } from "../../src/surfaces/web/views.ts";
import { look, openBrowser, openTab } from "../support/browser.ts";
import { commandsOn } from "../support/commands.ts";
import { owned } from "../support/process.ts";

export const about = "ten minutes of random use of the page beside a loop that trains: no complaint, nothing changed";

export interface WebOptions {
  readonly seconds?: number;
  readonly seed?: number;
}
export const tiny: WebOptions = { seconds: 8 };

const CONFIG = "othello6_2p";
const WIDTHS = [320, 768, 1_280, 3_840];
const KEYS = ["j", "k", "Enter", "?", "Escape", "/", "ArrowLeft", "ArrowRight", "Tab"];
/** An answer of a page that lives comes well before. */
const FROZEN_MS = 20_000;

type Act = (page: Page, choose: (count: number) => number) => Promise<unknown>;

/** One of what is there to be pressed or followed; it may be gone by then, which is no fault. */
async function click(page: Page, choose: (count: number) => number, selector: string): Promise<void> {
  const found: ElementHandle[] = await page.$$(selector);
  if (found.length > 0) await found[choose(found.length)]!.click({ timeout: 1_000, noWaitAfter: true }).catch(() => {});
}

/** What a person may do; nothing of it confirms a change. */
const ACTS: Readonly<Record<string, Act>> = {
  view: async (page, choose) => {
    const view = VIEWS[choose(VIEWS.length)]!.replace(":config", CONFIG).replace(/:\w+/, "0000");
    await page.evaluate(
      `history.pushState(null, "", ${JSON.stringify(view)}); dispatchEvent(new PopStateEvent("popstate"))`,
    );
  },
  link: (page, choose) => click(page, choose, "main a[href^='/']:not([download], [data-outside]), nav a"),
  button: (page, choose) => click(page, choose, "main button:not([disabled]), header button:not([disabled])"),
  close: (page) => page.keyboard.press("Escape"),
  key: (page, choose) => page.keyboard.press(KEYS[choose(KEYS.length)]!),
  search: async (page, choose) => {
    await page.keyboard.press("/");
    await page.keyboard.type(["othello", "dlq", "<b>", "0", "train"][choose(5)]!);
  },
  narrow: (page, choose) => page.setViewportSize({ width: WIDTHS[choose(WIDTHS.length)]!, height: 800 }),
  dark: (page, choose) => page.emulateMedia({ colorScheme: choose(2) === 0 ? "dark" : "light" }),
  // Before the first view there was none.
  back: (page) => page.evaluate("navigation.canGoBack && history.back()").catch(() => {}),
};

/** Whether the page draws a frame in time. A view that is just being loaded anew is asked again. */
async function isAlive(page: Page): Promise<boolean> {
  const until = performance.now() + FROZEN_MS;
  const frame = () =>
    page
      .evaluate<boolean>("new Promise((resolve) => requestAnimationFrame(() => resolve(true)))")
      .catch(() => undefined);
  while (performance.now() < until) {
    const left = until - performance.now();
    const drawn = await Promise.race([
      frame(),
      new Promise<false>((resolve) => setTimeout(resolve, left, false).unref()),
    ]);
    if (drawn !== undefined) return drawn;
    await page.waitForLoadState("domcontentloaded", { timeout: FROZEN_MS });
  }
  return false;
}

/** What is told of refusals on purpose: a view of something that nobody knows. */
const isExpected = (trouble: string): boolean => /status of 4(00|04|22)/.test(trouble);

export async function run({ seconds = 600, seed = 1 }: WebOptions = {}) {
  await using own = owned();
  const browser = await openBrowser();
  if (browser === undefined) return { skipped: "no Chromium" };
  try {
    const dataDir = own.folder();
    const flags = ["--headless", "--no-report", "--port", "0", "--for", `${seconds + 600}s`];
    const main = own.startCli(["train", CONFIG, ...flags], { env: { RINGRIFT_DATA_DIR: dataDir } });
    await main.waitForLine(/^ready /);
    const command = commandsOn(dataDir);
    const { page, troubles } = await openTab(browser);
    await look(page, (await command("open", "--print")).out.trim());
    const writes = async () => JSON.parse((await command("--json", "token", "list")).out).tokens.length as number;
    const before = await writes();
    const random = seededRandom(seed);
    const choose = (count: number) => pick(random, count);
    const names = Object.keys(ACTS);
    const done: Record<string, number> = {};
    const recent: string[] = [];
    const until = performance.now() + seconds * 1_000;
    let slowest = 0;
    while (performance.now() < until) {
      const name = names[choose(names.length)]!;
      await ACTS[name]!(page, choose);
      done[name] = (done[name] ?? 0) + 1;
      recent.push(`${name} ${new URL(page.url()).pathname}`);
      const asked = performance.now();
      const alive = await isAlive(page);
      slowest = Math.max(slowest, performance.now() - asked);
      assert(alive, `the page froze after ${recent.slice(-8).join(", ")}`);
      const bad = troubles.filter((trouble) => !isExpected(trouble));
      assert(bad.length === 0, `after ${recent.slice(-8).join(", ")}: ${bad.join("\n")}`);
      const isThere = page.waitForSelector("main, .locked", { state: "attached", timeout: FROZEN_MS });
      assert(await isThere.catch(() => false), `nothing is left of the page after ${recent.slice(-8).join(", ")}`);
    }
    assert((await writes()) === before, "somebody who only clicked has made or revoked a token");
    await page.context().close();
    return {
      seconds,
      seed,
      acts: Object.values(done).reduce((sum, count) => sum + count, 0),
      done,
      slowest_frame_ms: slowest,
    };
  } finally {
    await browser.close();
  }
}
