/** Answers browsers: every view is one document, and what it loads has a name that changes with its content. */
import type { Context, Hono } from "hono";
import { OperatingError } from "../../kernel/index.ts";
import { DOCUMENT, type PageFile, type PageFiles } from "../web/page-files.ts";
import { PAGE_HEADERS } from "../web/policy.ts";
import { VIEWS } from "../web/views.ts";
import type { Env } from "./request.ts";

export type { PageFiles } from "../web/page-files.ts";

const FOR_EVER = "public, max-age=31536000, immutable";

function responseOf(c: Context<Env>, { type, bytes, gzipped }: PageFile, caching: string): Response {
  const isSmall = gzipped !== undefined && /\bgzip\b/.test(c.req.header("accept-encoding") ?? "");
  const body = isSmall ? gzipped : bytes;
  return new Response(body, {
    headers: {
      ...PAGE_HEADERS,
      "content-type": type,
      "content-length": String(body.length),
      "cache-control": caching,
      vary: "accept-encoding",
      ...(isSmall ? { "content-encoding": "gzip" } : {}),
    },
  });
}

/** What a browser gets at an address that no view has: the page, which says so. */
export async function pageOfNothing(c: Context<Env>, files: PageFiles): Promise<Response | undefined> {
  const isBrowser = c.req.method === "GET" && (c.req.header("accept") ?? "").includes("text/html");
  const found = isBrowser ? await files.find(DOCUMENT) : undefined;
  if (found === undefined) return undefined;
  const { headers, body } = responseOf(c, found, "no-cache");
  return new Response(body, { status: 404, headers });
}

/** `within` guards each answer and lets it out, as it does for all others. */
export function mountPage(
  app: Hono<Env>,
  files: PageFiles,
  within: (c: Context<Env>, answer: () => Promise<Response>) => Promise<Response>,
): void {
  const document = (c: Context<Env>) =>
    within(c, async () => {
      const found = await files.find(DOCUMENT);
      if (found !== undefined) return responseOf(c, found, "no-cache");
      throw OperatingError.unavailable("PAGE_NOT_BUILT", "the page was not built", {
        retryable: false,
        hint: "In a checkout run 'node tools/program.ts', which 'npm start' does as well.",
      });
    });
  for (const view of VIEWS) app.get(view, document);
  const file = (name: string, caching: string) => (c: Context<Env>) =>
    within(c, async () => {
      const found = await files.find(name === "" ? `assets/${c.req.param("name")}` : name);
      if (found !== undefined) return responseOf(c, found, caching);
      throw OperatingError.notFound("ROUTE_NOT_FOUND", `there is no ${c.req.path.slice(0, 200)}`, {
        hint: "The page may be older than the process: load it again.",
      });
    });
  app.get("/assets/:name", file("", FOR_EVER));
  app.get("/theme.js", file("theme.js", "no-cache"));
  app.get("/favicon.svg", file("favicon.svg", "no-cache"));
}
