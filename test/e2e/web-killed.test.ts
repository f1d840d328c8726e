/** Twelve tabs on one main process that is killed with -9: they come back by themselves, with every event once. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { look, openBrowser, openTab, type Tab, tabIn } from "../support/browser.ts";
import { PATIENT } from "../support/patience.ts";
import { freePort, owned } from "../support/process.ts";
import { ask } from "../support/surface.ts";

const TABS = 12;
const TYPE = "NEW_GAMES_AVAILABLE";

test("twelve tabs live on one stream, and outlive the process with no gap and no repeat", async ({ skip }) => {
  const browser = await openBrowser();
  if (browser === undefined) return skip();
  onTestFinished(() => browser.close());
  const own = owned(onTestFinished);
  const dataDir = own.folder();
  const port = await freePort();
  const env = { RINGRIFT_DATA_DIR: dataDir, RINGRIFT_PORT: String(port), RINGRIFT_LOCAL_WORKERS: "0" };
  const start = async () => {
    const main = own.startNode(new URL("../../bin/ringrift.js", import.meta.url), ["up"], { env });
    await main.waitForLine(/^ready /);
    return main;
  };
  const where = { host: "127.0.0.1", port };
  const base = `http://127.0.0.1:${port}`;
  const published: string[] = [];
  const publish = async (games: number) => {
    const token = readFileSync(join(dataDir, "token"), "utf8").trim();
    const data = { config_key: "hex8_2p", new_games: games, total_games: games };
    const body = { specversion: "1.0", id: crypto.randomUUID(), type: TYPE, source: "tester", data };
    const { json } = await ask(where, "/v1/events", { method: "POST", body, token });
    published.unshift((json as { events: { event_id: string }[] }).events[0]!.event_id);
  };
  const main = await start();
  await publish(1);
  const first = await openTab(browser);
  const context = first.page.context();
  const tabs: Tab[] = [first];
  while (tabs.length < TABS) tabs.push(await tabIn(await context.newPage()));
  for (const { page } of tabs) await look(page, `${base}/journal?type=${TYPE}`);
  /** Every tab shows each event once, the newest first. */
  const allShow = () =>
    vi.waitFor(async () => {
      for (const { page } of tabs) {
        const links = await page.locator('main .rows a[href^="/journal/"]').all();
        const shown = await Promise.all(links.map((link) => link.getAttribute("href")));
        expect(shown.map((href) => href!.slice("/journal/".length))).toEqual(published);
      }
    }, PATIENT);
  for (const { page } of tabs) await page.waitForSelector(".live.good");
  await publish(2);
  await allShow();
  const streams = /^ringrift_http_streams(?:{.*})? (\d+)$/m.exec((await ask(where, "/metrics")).text)?.[1];
  expect(streams).toBe("1");

  await main.killNow();
  await first.page.waitForSelector(".live.bad");
  // What it said last stays.
  expect(await first.page.locator('main .rows a[href^="/journal/"]').count()).toBe(2);
  await start();
  for (const games of [3, 4, 5]) await publish(games);
  await allShow();
  for (const { page } of tabs) await page.waitForSelector(".live.good");
  await publish(6);
  await allShow();

  // At 200 % a screen of 1,280 is one of 640.
  await first.page.setViewportSize({ width: 640, height: 400 });
  for (const address of ["/", "/journal", "/daemons", "/settings", "/play/othello6_2p", "/cluster"]) {
    await look(first.page, base + address);
    expect(await first.page.evaluate<number>("document.documentElement.scrollWidth"), address).toBe(640);
  }
});
