/** The page in a real browser, on a real process: every view, by mouse and by keys, in light and dark, wide and narrow. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { Browser, BrowserContext } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pick, seededRandom } from "../../src/kernel/index.ts";
import { verdictOf } from "../../src/surfaces/status/verdict.ts";
import { NAV } from "../../src/surfaces/web/nav.ts";
import { pageFolder } from "../../src/surfaces/web/page-files.ts";
import { VIEWS } from "../../src/surfaces/web/views.ts";
import { createArenaConsole } from "../../src/workloads/arena/index.ts";
import { accessibility, look, openBrowser, openTab, REBOUND, type Tab, tabIn } from "../support/browser.ts";
import { commandsOn } from "../support/commands.ts";
import { HOSTILE, HOSTILE_START, type Planted, plantHostile, withHostile } from "../support/hostile.ts";
import { planned, QUICK, type RunningLoop, startLoop } from "../support/loop.ts";
import { type Owned, owned } from "../support/process.ts";
import { ask } from "../support/surface.ts";

const CONFIG = "othello6_2p";
let own: Owned;
let loop: RunningLoop;
let browser: Browser | undefined;
let base: string;
let tab: Tab;
let planted: Planted;
let jobId: string;
let gamesId: string;

const run = (...words: string[]) => commandsOn(loop.dataDir)(...words);
const json = async (...words: string[]) => JSON.parse((await run("--json", ...words)).out);

/** What views show besides, each at an address of its own. */
const FURTHER = [
  "/journal?tab=rates",
  "/journal?tab=consumers",
  "/journal?type=MODEL_PROMOTED",
  `/journal?config=${CONFIG}&iteration=1`,
  "/daemons?tab=drawing",
  "/daemons?tab=actions",
  "/wiring?unit=training_coordinator",
  "/wiring?all=1",
  "/alerts?status=closed",
  "/dead-letters?status=recovered",
  "/work?state=failed",
  "/handover?hours=12",
];

/** Views with something in their places. */
const addresses = (): string[] => [
  ...VIEWS.map((view) => {
    const config = loop.config();
    const [model = config.champion?.model ?? "0000"] = config.gates.map(({ candidate }) => candidate);
    const ids: Record<string, string> = {
      "/models/:id": model,
      "/why/:subject": CONFIG,
      "/journal/:id": planted.shownOn.find((address) => address.startsWith("/journal/"))!.slice("/journal/".length),
      "/work/:id": jobId,
      "/nodes/:id": loop.main.router.nodeId,
      "/artifacts/:id": model,
      "/games/:id": `${gamesId}?game=1`,
      "/daemons/:id": "dlq_retry",
    };
    return view.replace(":config", CONFIG).replace(/:\w+/, ids[view] ?? "nobody");
  }),
  ...FURTHER,
];

beforeAll(async () => {
  own = owned();
  // One round with all that belongs to it; then it is paused, which the page has to tell of.
  loop = await startLoop(own, { plans: planned({ ...QUICK, most_iterations: 20 }) });
  await loop.until(({ gates }) => gates.some(({ verdict }) => verdict !== null));
  expect((await run("pause", CONFIG, "--reason", HOSTILE)).code).toBe(0);
  base = `http://127.0.0.1:${loop.main.api.port}`;
  const token = readFileSync(join(loop.dataDir, "token"), "utf8").trim();
  planted = await plantHostile({ host: "127.0.0.1", port: loop.main.api.port }, token, CONFIG);
  jobId = (await json("queue", "list")).jobs[0].work_id;
  gamesId = (await json("records", "list")).segments[0].sha256;
  browser = await openBrowser();
});
afterAll(async () => {
  await browser?.close();
  await loop.end();
  await own.end();
});

describe("the page", async () => {
  test("lets a code in once, and keeps it in a cookie that no script sees", async ({ skip }) => {
    if (browser === undefined) return skip();
    const url = (await run("open", "--print")).out.trim();
    expect(url).toMatch(new RegExp(`^${base}/#code=rrt_`));
    tab = await openTab(browser);
    await look(tab.page, url);
    expect(tab.page.url()).toBe(`${base}/`);
    await expect.poll(() => tab.page.textContent(".session")).toContain("operator");
    const [cookie] = await tab.page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict", path: "/" });
    expect(await tab.page.evaluate("document.cookie")).toBe("");
    const second = await openTab(browser);
    await look(second.page, url);
    expect(await second.page.textContent(".locked")).toContain("UNAUTHORIZED");
    await second.page.context().close();
  });

  test("says what the commands say: how all is, and why a config stands still", async ({ skip }) => {
    if (browser === undefined) return skip();
    const { page } = tab;
    await look(page, `${base}/`);
    // The fault is judged again and again: both are asked until they speak of the same moment.
    await expect
      .poll(async () => {
        const { troubles } = await json("status");
        return (await page.textContent("[data-verdict]"))?.slice(1).trim() === verdictOf(troubles);
      })
      .toBe(true);
    const { configs } = await json("pipeline");
    expect(await page.textContent("main .rows")).toContain(configs[0].config_key);
    await look(page, `${base}/why/${CONFIG}`);
    await expect
      .poll(async () => (await page.textContent("[data-why]")) === (await json("why", CONFIG)).verdict)
      .toBe(true);
    for (const { gate } of (await json("why", CONFIG)).gates) expect(await page.textContent(".chain")).toContain(gate);
  });

  test("shows every view without a complaint, readable for everybody, in light and dark, wide and narrow", async ({
    skip,
  }) => {
    if (browser === undefined) return skip();
    const { page, troubles } = tab;
    const found: string[] = [];
    for (const address of addresses()) {
      await page.setViewportSize({ width: 1_280, height: 800 });
      await page.emulateMedia({ colorScheme: "light" });
      await look(page, base + address);
      found.push(...(await accessibility(page)).map((each) => `${address} light: ${each}`));
      await page.emulateMedia({ colorScheme: "dark" });
      // What depends on colours alone, and what on room alone: the rest is the same.
      found.push(...(await accessibility(page, "color-contrast")).map((each) => `${address} dark: ${each}`));
      await page.setViewportSize({ width: 320, height: 640 });
      found.push(...(await accessibility(page, "target-size")).map((each) => `${address} at 320: ${each}`));
      const width = await page.evaluate<number>("document.documentElement.scrollWidth");
      if (width > 320) found.push(`${address} is ${width} wide at 320`);
      if ((await page.locator("main .error").count()) > 0)
        found.push(`${address}: ${await page.textContent("main .error")}`);
    }
    await page.setViewportSize({ width: 1_280, height: 800 });
    await page.emulateMedia({ colorScheme: "light" });
    expect(found).toEqual([]);
    expect(troubles).toEqual([]);
  });

  test("leaves what strangers write as text", async ({ skip }) => {
    if (browser === undefined) return skip();
    const { page } = tab;
    for (const address of planted.shownOn) {
      await look(page, base + address);
      await expect
        .poll(async () => {
          if (address === "/games") await planted.showBoard();
          return `${address}: ${await page.textContent("main")}`;
        })
        .toContain(HOSTILE_START);
      expect(await page.evaluate("window.hacked"), address).toBeUndefined();
      expect(await page.locator("main script, main img").count(), address).toBe(0);
    }
    expect(tab.troubles).toEqual([]);
  });

  test("runs nothing, whatever an answer says, on any view", async ({ skip }) => {
    if (browser === undefined) return skip();
    const { page } = tab;
    const answers = /\/v1\/(?!session|events\b.*stream)/;
    await page.route(answers, async (route) => {
      const response = await route.fetch().catch(() => undefined);
      if (response === undefined) return route.abort();
      if (!response.headers()["content-type"]?.includes("json")) return route.fulfill({ response });
      await route.fulfill({ response, json: withHostile(await response.json()) });
    });
    for (const address of addresses()) {
      await look(page, base + address);
      expect(await page.evaluate("window.hacked"), address).toBeUndefined();
      expect(await page.locator("main script, main img").count(), address).toBe(0);
    }
    await page.unroute(answers);
    await look(page, `${base}/nothing`);
    expect(await page.textContent("main")).toContain("There is no view /nothing.");
    // Ids with more behind them are refused, which a browser tells; nothing else may be wrong.
    expect(tab.troubles.splice(0).filter((trouble) => !trouble.includes("Failed to load resource"))).toEqual([]);
  });

  test("can be walked through by keys alone", async ({ skip }) => {
    if (browser === undefined) return skip();
    const { page } = tab;
    await look(page, `${base}/`);
    for (const { to, key } of NAV.flatMap(({ items }) => items)) {
      // Two keys that come too far apart on a busy machine are none.
      await expect
        .poll(async () => {
          await page.keyboard.press("g");
          await page.keyboard.press(key);
          return new URL(page.url()).pathname;
        })
        .toBe(to);
    }
    await page.keyboard.press("/");
    await page.keyboard.type(jobId);
    await page.waitForSelector("#found [aria-selected=true]");
    await page.keyboard.press("Enter");
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/work/${jobId}`);
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await page.keyboard.press("Escape");
    expect(await page.locator("dialog[open]").count()).toBe(0);
  });

  test("shows another run of a config beside it, and says what is wrong with a file that is none", async ({ skip }) => {
    if (browser === undefined) return skip();
    const { page } = tab;
    await look(page, `${base}/configs/${CONFIG}`);
    const take = (name: string, content: string) =>
      page.setInputFiles("input[type=file]", { name, mimeType: "application/json", buffer: Buffer.from(content) });
    await take("notes.json", "[1]");
    await expect.poll(() => page.textContent("main [role=alert]")).toContain("notes.json cannot be compared");
    const printed = await json("pipeline");
    printed.configs[0].games = 4_321;
    await take(`${HOSTILE_START}.json`, JSON.stringify(printed));
    await expect.poll(() => page.textContent("[aria-label='Side by side']")).toContain("4,321");
    expect(await page.textContent("[aria-label='Side by side']")).toContain(HOSTILE_START);
    expect(await page.locator("main [role=alert]").count()).toBe(0);
    await page.click("button:text-is('close')");
    await expect.poll(() => page.locator("[aria-label='Side by side']").count()).toBe(0);
  });

  test("changes something after a dry run, and the record says who", async ({ skip }) => {
    if (browser === undefined) return skip();
    const { page } = tab;
    await look(page, `${base}/configs/${CONFIG}`);
    await page.click("button:text-is('Resume')");
    await page.waitForSelector(".would");
    expect(await page.textContent(".would")).toContain("running");
    await page.fill("dialog[open] input", "to see whether it works");
    await page.click("dialog[open] .primary");
    await expect.poll(() => loop.config().state).not.toBe("paused");
    expect((await run("pause", CONFIG)).code).toBe(0);
    await look(page, `${base}/writes`);
    expect(await page.textContent("main .rows")).toContain("to see whether it works");
  });

  test("gives a foreign page nothing: no write with the cookie of the browser, no frame, no other name", async ({
    skip,
  }) => {
    if (browser === undefined) return skip();
    const resume = `${base}/v1/loop/${CONFIG}/resume`;
    const html = `<!doctype html><title>Elsewhere</title><iframe src="${base}/"></iframe>
      <form method="post" action="${resume}" enctype="text/plain"><input name='{"reason":"' value='"}'></form>`;
    const elsewhere = createServer((_, response) => response.setHeader("content-type", "text/html").end(html));
    await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
    // Another port of the same machine: browsers count it as the same site.
    const page = await tab.page.context().newPage();
    try {
      await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`);
      expect(page.frames()[1]!.url()).toBe("chrome-error://chromewebdata/");
      const sent = page.waitForResponse(resume);
      await page.evaluate(
        `void fetch("${resume}", { method: "POST", credentials: "include", mode: "no-cors", body: "{}" }).catch(() => {})`,
      );
      expect((await sent).status()).toBe(403);
      await page.evaluate("document.forms[0].submit()");
      await page.waitForURL(resume);
      expect(await page.textContent("body")).toContain("FORBIDDEN");
      const rebound = await page.goto(`http://${REBOUND}:${loop.main.api.port}/v1/loop`);
      expect([rebound!.status(), await rebound!.text()]).toEqual([403, expect.stringContaining("FORBIDDEN")]);
      expect(loop.config().state).toBe("paused");
    } finally {
      await page.close();
      elsewhere.close();
    }
  });

  test("plays as the command does: the same seed gives the same moves", async ({ skip }) => {
    if (browser === undefined) return skip();
    const model = loop.config().champion!.model;
    const file = join(own.folder(), "champion.model");
    writeFileSync(file, Buffer.from(await (await fetch(`${base}/v1/artifacts/${model}`)).arrayBuffer()));
    const worker = readdirSync(join(pageFolder(), "assets")).find((name) => /^arena\.worker-.*\.js$/.test(name))!;
    // Whoever drives the thread of the page by hand needs no leave of its policy.
    const { page } = await openTab(browser, { bypassCSP: true });
    await look(page, `${base}/`);
    const games: { configKey: string; model?: string; baseline?: string; seed: number; seat: number }[] = [
      ...[1, 2, 3, 4, 5].map((seed) => ({ configKey: CONFIG, model, seed, seat: seed % 2 })),
      { configKey: CONFIG, baseline: "mcts-100", seed: 6, seat: 0 },
      { configKey: CONFIG, baseline: "alphabeta-2", seed: 7, seat: 1 },
      { configKey: "connect4_8x7_3p", baseline: "mcts-100", seed: 8, seat: 1 },
      { configKey: "hex7_2p", baseline: "random", seed: 9, seat: 0 },
    ];
    let replies = 0;
    for (const { configKey, model: isModel, baseline, seed, seat } of games) {
      const request = { configKey, seat, seed, simulations: 12 };
      const table = await createArenaConsole().open({
        ...request,
        ...(isModel === undefined ? { baseline: baseline! } : { modelPath: file }),
      });
      const random = seededRandom(seed);
      const mine: string[] = [];
      while (!table.isOver()) {
        if (table.turn() !== seat) {
          table.reply();
          replies += 1;
          continue;
        }
        const legal = table.legalMoves();
        mine.push(legal[pick(random, legal.length)]!);
        table.play(mine.at(-1)!);
      }
      const opponent = isModel === undefined ? { kind: "baseline", name: baseline } : { kind: "model", sha256: model };
      const wish = JSON.stringify({ ...request, opponent });
      const moves = await page.evaluate(`(async () => {
        const worker = new Worker("/assets/${worker}", { type: "module" });
        const ask = (kind, more) => new Promise((resolve, reject) => {
          worker.onmessage = ({ data }) => (data.refused ? reject(new Error(data.refused.message)) : resolve(data.answer));
          worker.postMessage({ id: 1, kind, ...more });
        });
        const mine = ${JSON.stringify(mine)};
        let { seen } = await ask("open", ${wish});
        // What is no legal move is none, whoever asks for it.
        if ((await ask("play", { move: "z9" })) !== undefined) throw new Error("an illegal move was taken");
        while (!seen.isOver)
          seen = seen.turn === ${seat} ? await ask("play", { move: mine.shift() }) : (await ask("reply", {})).seen;
        worker.terminate();
        return seen.moves;
      })()`);
      expect(moves).toEqual(table.moves());
    }
    expect(replies).toBeGreaterThanOrEqual(100);
    await page.context().close();
  });

  test("can be played on a phone, and takes no model that is another", async ({ skip }) => {
    if (browser === undefined) return skip();
    const phone = await openTab(browser, { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    const { page } = phone;
    await look(page, `${base}/play/${CONFIG}`);
    await page.waitForSelector("[data-turn=yours]");
    expect(await page.locator(".cell.legal").count()).toBe(4);
    expect(await page.locator("button.cell:not(.legal)").count()).toBe(0);
    await page.tap(".cell.legal");
    await expect.poll(async () => (await page.textContent("[data-moves]"))!.trim().split(" ").length).toBe(2);
    await page.click("button:text-is('Take back')");
    await expect.poll(async () => (await page.textContent("[data-moves]"))!.trim()).toBe("");
    expect(await page.evaluate<number>("document.documentElement.scrollWidth")).toBe(390);
    expect(phone.troubles).toEqual([]);
    // Somebody in between gives another file under its name.
    await page.context().route("**/v1/artifacts/*", async (route) => {
      const response = await route.fetch();
      const body = await response.body();
      body[body.length >> 1]! ^= 1;
      await route.fulfill({ response, body });
    });
    await look(page, `${base}/play/${CONFIG}?seed=2`);
    await page.waitForSelector("main .error");
    expect(await page.textContent("main .error")).toContain("WRONG_HASH");
    await page.context().close();
  });

  test("shows a game move by move, as its network sees it", async ({ skip }) => {
    if (browser === undefined) return skip();
    const { page } = tab;
    await look(page, `${base}/games`);
    await page.click(`a[href="/games/${gamesId}"]`);
    await page.click(`a[href="/games/${gamesId}?game=1"]`);
    await page.waitForSelector(".board");
    const { moves } = await json("records", "show", `${gamesId.slice(0, 12)}#1`);
    expect((await page.locator("ol.moves li").allTextContents()).map((text) => text.trim())).toEqual(moves);
    expect(await page.locator(".values").count()).toBe(1);
    await page.keyboard.press("ArrowRight");
    await expect.poll(() => page.textContent("ol.moves .here")).toBe(moves[0]);
    expect(await page.locator(".stone.last").count()).toBe(1);
    expect(tab.troubles).toEqual([]);
  });

  test("finds one game by its id, and sets any two models side by side", async ({ skip }) => {
    if (browser === undefined) return skip();
    const { page } = tab;
    await look(page, `${base}/`);
    await page.fill("#search", `${gamesId.slice(0, 12)}#1`);
    await page.waitForSelector("#found [aria-selected=true]");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.textContent("main h1")).toBe(`Game ${gamesId.slice(0, 12)}#1`);
    const [one, other] = (await json("models")).models as { model_id: string; iteration: number }[];
    await look(page, `${base}/models/${one!.model_id}`);
    await page.selectOption(".beside select", other!.model_id);
    const beside = "[aria-label='Two models']";
    await expect.poll(() => page.textContent(`${beside} thead`)).toContain(other!.model_id.slice(0, 10));
    expect(await page.textContent(beside)).toContain(`iteration${one!.iteration}${other!.iteration}`);
  });

  test("rolls the champion back where it is shown, after a dry run", async ({ skip }) => {
    if (browser === undefined) return skip();
    const { page } = tab;
    await look(page, `${base}/models/${loop.config().champion!.model}`);
    await page.click("main button:text-is('Roll back')");
    const would = await run("rollback", CONFIG, "--dry-run");
    // There may be nothing to go back to: then the command says why, and so does the page.
    await page.waitForSelector(would.code === 0 ? "dialog[open] .would" : "dialog[open] .error");
    await page.keyboard.press("Escape");
  });

  test("goes back in a long list page by page, and keeps what newer rows push off the first page", async ({ skip }) => {
    if (browser === undefined) return skip();
    const { page, troubles } = tab;
    const where = { host: "127.0.0.1", port: loop.main.api.port };
    const token = readFileSync(join(loop.dataDir, "token"), "utf8").trim();
    const fits = "state=pending&work_type=validation";
    const add = async (count: number) => {
      const job = { work_type: "validation", config_key: CONFIG, target_nodes: ["far"] };
      const body = { jobs: Array.from({ length: count }, () => job) };
      expect((await ask(where, "/v1/work/jobs", { method: "POST", token, body })).status).toBe(201);
      const { json: listed } = await ask(where, `/v1/work/jobs?${fits}&order=newest&limit=1000`, { token });
      return (listed.jobs as { work_id: string }[]).map(({ work_id }) => work_id);
    };
    const first = await add(130);
    await look(page, `${base}/work?state=pending&type=validation`);
    const shown = () => page.locator("table[aria-label='Jobs'] tbody td:first-child").allTextContents();
    expect(await shown()).toEqual(first.slice(0, 100));
    await page.click("main button:text-is('Older')");
    await expect.poll(shown).toEqual(first);
    expect(await page.locator("main button:text-is('Older')").count()).toBe(0);
    const all = await add(10);
    await expect.poll(shown).toEqual(all);
    expect(await page.textContent("[aria-label='Jobs by kind and state']")).toMatch(/validation[\d.]+ m?s/);
    expect(troubles).toEqual([]);
  });

  test("shows what was shared and nothing else, until the link is revoked", async ({ skip }) => {
    if (browser === undefined) return skip();
    await look(tab.page, `${base}/configs/${CONFIG}`);
    await tab.page.click("button:text-is('Share')");
    await tab.page.click("dialog[open] .primary");
    const url = await tab.page.inputValue("dialog[open] input[readonly]");
    await tab.page.keyboard.press("Escape");
    const guest = await openTab(browser);
    await look(guest.page, url);
    expect(guest.page.url()).toBe(`${base}/configs/${CONFIG}`);
    await expect.poll(() => guest.page.textContent(".session")).toContain("shared, read only");
    expect(await guest.page.textContent("main h1")).toBe(CONFIG);
    await guest.page.waitForSelector("main .rows");
    expect(await guest.page.locator("main .error, main button.grave, .search, [data-verdict], nav a").count()).toBe(0);
    await guest.page.waitForSelector(".live:text-is('polling')", { state: "detached" });
    expect(guest.troubles).toEqual([]);
    // Elsewhere it is told what the link is for.
    await look(guest.page, `${base}/gates`);
    expect(await guest.page.textContent("main .error")).toContain("SHARE_TOO_SMALL");
    // Whoever is logged in loses nothing by opening it.
    await look(tab.page, url);
    await expect.poll(() => tab.page.textContent(".session")).toContain("operator");
    await look(guest.page, `${base}/configs/${CONFIG}`);
    const { shares } = await json("share", "list");
    expect(shares[0]).toMatchObject({ path: `/configs/${CONFIG}`, status: "active" });
    expect((await run("share", "revoke", shares[0].id)).code).toBe(0);
    await guest.page.waitForSelector(".locked");
    expect(await guest.page.textContent(".locked")).toContain("UNAUTHORIZED");
    await guest.page.context().close();
  });

  test("lives in many tabs with one stream", async ({ skip }) => {
    if (browser === undefined) return skip();
    const context: BrowserContext = tab.page.context();
    const more = await Promise.all([1, 2, 3].map(async () => tabIn(await context.newPage())));
    for (const { page } of more) await look(page, `${base}/journal`);
    for (const { page } of more) await expect.poll(() => page.textContent(".live")).toBe("live");
    const streams = async () =>
      /^ringrift_http_streams(?:{.*})? (\d+)$/m.exec(
        (await ask({ host: "127.0.0.1", port: loop.main.api.port }, "/metrics")).text,
      )?.[1];
    expect(await streams()).toBe("1");
    const { eventId: id } = await loop.main.router.publish("NEW_GAMES_AVAILABLE", {
      config_key: CONFIG,
      new_games: 3,
      total_games: 3,
    });
    for (const { page } of more) await page.waitForSelector(`a[href="/journal/${id}"]`);
    for (const { page, troubles } of more) {
      const places = await page.locator("main .rows tbody td:first-child").allTextContents();
      const known = places.filter((text) => text !== "passing");
      expect(new Set(known).size).toBe(known.length);
      expect(troubles).toEqual([]);
      await page.close();
    }
  });

  test("ends with its session: what was open under it is refused", async ({ skip }) => {
    if (browser === undefined) return skip();
    const { page } = tab;
    await look(page, `${base}/`);
    const { tokens } = await json("token", "list");
    const session = tokens.find(
      (token: { kind: string; status: string }) => token.kind === "session" && token.status === "active",
    );
    await run("token", "revoke", session.id);
    await page.waitForSelector(".locked");
    expect(await page.textContent(".locked")).toContain("UNAUTHORIZED");
  });
});
