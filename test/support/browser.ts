/** Debian's Chromium, driven by Playwright: what people really see, with what it complains of. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { hasProgram } from "./debian-programs.ts";
import { patience } from "./patience.ts";

const INSTALL_MS = 600_000;

const skip = (why: string): undefined => {
  if (process.env.CI === "true") throw new Error(`the page cannot be tried in a browser: ${why}`);
  console.warn(`SKIPPED: the page was not tried in a browser: ${why}`);
  return undefined;
};

/** Where it is; root on Debian gets it where it is missing. */
function findChromium(): string | undefined {
  const found = [process.env.CHROMIUM ?? "", "chromium", "chromium-browser", "google-chrome"].find(
    (program) => program !== "" && hasProgram(program),
  );
  if (found !== undefined) return found;
  if (process.getuid?.() !== 0 || !hasProgram("apt-get"))
    return skip("there is no Chromium, and nobody may install it");
  const quiet = { timeout: INSTALL_MS, env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" } };
  spawnSync("apt-get", ["update", "-qq"], quiet);
  spawnSync("apt-get", ["install", "-y", "-qq", "--no-install-recommends", "chromium"], quiet);
  return hasProgram("chromium") ? "chromium" : skip("apt-get could not install Chromium");
}

/** A name of somebody else, which leads to this machine all the same. */
export const REBOUND = "rebound.example";

export async function openBrowser(): Promise<Browser | undefined> {
  const program = findChromium();
  if (program === undefined) return undefined;
  const executablePath = program.includes("/") ? program : spawnSync("which", [program]).stdout.toString().trim();
  const args = ["--no-sandbox", "--disable-dev-shm-usage", `--host-resolver-rules=MAP ${REBOUND} 127.0.0.1`];
  return chromium.launch({ executablePath, args });
}

/** A tab that remembers all that went wrong in it: errors of scripts, of the console, and what the policy stopped. */
export interface Tab {
  readonly page: Page;
  readonly troubles: string[];
}

export async function openTab(browser: Browser, options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser.newContext({ viewport: { width: 1_280, height: 800 }, ...options });
  return tabIn(await context.newPage());
}

export async function tabIn(page: Page): Promise<Tab> {
  page.setDefaultTimeout(patience(30_000));
  const troubles: string[] = [];
  page.on("pageerror", (error) => troubles.push(`${page.url()}: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") troubles.push(`${page.url()}: ${message.text()}`);
  });
  await page.addInitScript(
    `document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
      console.error("the policy stopped " + violatedDirective + " " + blockedURI))`,
  );
  return { page, troubles };
}

/** A view with everything that it asks for. */
export async function look(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await page.waitForSelector("main h1, main .empty, main .error, .locked");
  await page.waitForSelector("main .loading", { state: "detached" });
}

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

interface Found {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

/** What a judge of WCAG 2.2 AA finds in a view; just one of its rules where that is named. */
export async function accessibility(page: Page, rule?: string): Promise<string[]> {
  if (!(await page.evaluate("typeof axe !== 'undefined'"))) await page.evaluate(`${AXE};undefined`);
  const only = rule === undefined ? ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] : [rule];
  const violations = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(only)}, resultTypes: ["violations"] }).then(({ violations }) => violations)`,
  )) as Found[];
  return violations.flatMap(({ id, nodes }) =>
    nodes
      .slice(0, 3)
      .map(
        ({ target, failureSummary = "" }) => `${id} at ${target.join(" ")}: ${failureSummary.replaceAll("\n", " ")}`,
      ),
  );
}
