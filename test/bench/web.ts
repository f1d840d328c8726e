/**
 * The page over the state of months: how soon a view is seen, how soon it answers a click, what a tab takes after an hour of events
 * told at once, and, whatever the clock says, how many rows it draws and how often it asks.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { systemClock } from "../../src/kernel/index.ts";
import { NAV } from "../../src/surfaces/web/nav.ts";
import { look, openBrowser, openTab } from "../support/browser.ts";
import { fillLargeState } from "../support/large-state.ts";
import { PATIENT, until } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { ask } from "../support/surface.ts";
import { atMost, type Goal } from "./support/measure.ts";
import { printSections, type Section } from "./support/table.ts";

export const about = "the page over 1 million events, 100,000 jobs and 1,000 nodes";

export interface WebOptions {
  readonly jobs?: number;
  readonly events?: number;
  readonly artifacts?: number;
  readonly others?: number;
  readonly nodes?: number;
  /** Events told while a tab looks at them: an hour of ten a second. */
  readonly told?: number;
  /** Of the views at most so many. */
  readonly views?: number;
}
export const tiny: WebOptions = {
  jobs: 1_000,
  events: 2_000,
  artifacts: 500,
  others: 500,
  nodes: 300,
  told: 1_000,
  views: 4,
};

const MAX_PAINT_MS = 1_000;
const MAX_CLICK_MS = 100;
const MAX_TAB_MB = 150;
const MAX_ROWS = 500;
const MAX_REQUESTS = 16;

/** Memory that the processes of pages have for themselves, in MB. */
async function tabMb(page: Page): Promise<number> {
  const browser = await page.context().browser()!.newBrowserCDPSession();
  const { processInfo } = await browser.send("SystemInfo.getProcessInfo");
  await browser.detach();
  const sizes = processInfo
    .filter(({ type }) => type === "renderer")
    .map(({ id }) => {
      const own = readFileSync(`/proc/${id}/smaps_rollup`, "utf8").matchAll(/^Private_(?:Clean|Dirty):\s+(\d+) kB/gm);
      return [...own].reduce((sum, [, kB]) => sum + Number(kB), 0) / 1e3;
    });
  return Math.max(...sizes);
}

const AT_ONCE = 50;

/** Tells so many events through the API, a few at a time. */
async function tell(port: number, token: string, count: number): Promise<void> {
  const event = (games: number) => ({
    specversion: "1.0",
    id: crypto.randomUUID(),
    type: "NEW_GAMES_AVAILABLE",
    source: "bench",
    data: { config_key: "hex8_2p", new_games: 1, total_games: games },
  });
  for (let told = 0; told < count; told += AT_ONCE)
    await Promise.all(
      Array.from({ length: Math.min(AT_ONCE, count - told) }, (_, i) =>
        ask({ host: "127.0.0.1", port }, "/v1/events", { method: "POST", body: event(told + i), token }),
      ),
    );
}

/** From the click to the first frame in which the view is there, as the browser's own clock has it. */
const clicked = (page: Page, to: string): Promise<number> =>
  page.evaluate(`new Promise((resolve) => {
    const link = document.querySelector('nav a[href="${to}"]');
    const began = performance.now();
    link.click();
    const look = () => (location.pathname === "${to}" && document.querySelector("main h1, main .empty, main .error")
      ? resolve(performance.now() - began)
      : requestAnimationFrame(look));
    requestAnimationFrame(look);
  })`);

export async function run(options: WebOptions = {}) {
  const {
    jobs = 100_000,
    events = 1_000_000,
    artifacts = 100_000,
    others = 20_000,
    nodes = 1_000,
    told = 36_000,
    views = 100,
  } = options;
  await using own = owned();
  const browser = await openBrowser();
  if (browser === undefined) return { bench: "web", skipped: "no Chromium", sections: [] };
  try {
    const dataDir = own.folder();
    fillLargeState(dataDir, { jobs, events, artifacts, others, nodes }, systemClock().now());
    const env = {
      RINGRIFT_DATA_DIR: dataDir,
      RINGRIFT_LOCAL_WORKERS: "0",
      RINGRIFT_RATE_FACTOR: "10000",
      // Nobody beats for the nodes, and a fleet that dies is another subject.
      RINGRIFT_NODE_SUSPECT: "3600",
      RINGRIFT_NODE_DEAD: "7200",
    };
    const main = own.startCli(["up", "--port", "0"], { env });
    const port = Number((await main.waitForLine(/^ready .*port (\d+)/, { timeoutMs: 120_000 })).match[1]);
    const base = `http://127.0.0.1:${port}`;
    const { page, troubles } = await openTab(browser);
    let requests = 0;
    page.on("request", (request) => {
      if (request.url().includes("/v1/")) requests += 1;
    });
    const places = NAV.flatMap(({ items }) => items.map(({ to }) => to)).slice(0, views);
    const seen: { view: string; paint: number; click: number; rows: number; asked: number }[] = [];
    for (const view of places) {
      requests = 0;
      await look(page, base + view);
      const paint = await page.evaluate<number>(
        "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? performance.now()",
      );
      const asked = requests;
      const rows = await page.locator("main tr, main li").count();
      // The code of a view is loaded once: what is measured is a view that was seen before.
      await look(page, `${base}/alerts`);
      await clicked(page, view);
      await clicked(page, view === "/alerts" ? "/" : "/alerts");
      seen.push({ view, paint, click: await clicked(page, view), rows, asked });
    }
    // A tab of its own: what a minute of all views leaves to be cleared away says nothing about an hour of one.
    await page.context().close();
    const tail = await openTab(browser);
    await look(tail.page, `${base}/journal`);
    const token = readFileSync(join(dataDir, "token"), "utf8").trim();
    await tell(port, token, told);
    // It has taken up all of it when one of the last ones is drawn.
    await until(
      async () => {
        const drawn = await tail.page.locator("main .rows").innerText();
        return [...drawn.matchAll(/total_games=(\d+)/g)].some(([, games]) => Number(games) >= told - AT_ONCE);
      },
      () => "the last events were not drawn",
      { ...PATIENT, interval: 500 },
    );
    const rowsAfter = await tail.page.locator("main tr").count();
    const memory = await tabMb(tail.page);
    const worst = (of: "paint" | "click" | "rows" | "asked") => seen.toSorted((a, b) => b[of] - a[of])[0]!;
    const [paint, click, rows, asked] = [worst("paint"), worst("click"), worst("rows"), worst("asked")];
    const goals: Goal[] = [
      atMost(`first paint of the slowest view (${paint.view}), ms`, paint.paint, MAX_PAINT_MS),
      atMost(`from a click to the slowest view (${click.view}), ms`, click.click, MAX_CLICK_MS),
      atMost(`a tab after ${told} events, MB`, memory, MAX_TAB_MB),
    ];
    // These are no matter of the clock: a view that draws or asks without bound is a fault.
    if (rows.rows > MAX_ROWS) throw new Error(`${rows.view} draws ${rows.rows} rows; ${MAX_ROWS} are allowed`);
    if (rowsAfter > MAX_ROWS) throw new Error(`the journal draws ${rowsAfter} rows after ${told} events`);
    if (asked.asked > MAX_REQUESTS)
      throw new Error(`${asked.view} asks ${asked.asked} times; ${MAX_REQUESTS} are allowed`);
    const complaints = [...troubles, ...tail.troubles];
    if (complaints.length > 0) throw new Error(`the page complains: ${complaints.join("\n")}`);
    const notes = Object.fromEntries(
      seen.flatMap(({ view, ...figures }) =>
        Object.entries(figures).map(([what, value]) => [`${view}: ${what}`, value] as const),
      ),
    );
    const title = `${events} events, ${jobs} jobs, ${nodes} nodes`;
    const section: Section = { title, measured: [], goals, notes: { ...notes, "journal: rows after": rowsAfter } };
    return { bench: "web", sections: [section] };
  } finally {
    await browser.close();
  }
}

export const print = ({ sections }: { sections: readonly Section[] }): string => printSections(sections);

if (import.meta.main) console.log(print(await run()));
