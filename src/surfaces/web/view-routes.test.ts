import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { WireRoute } from "../http/wire.ts";
import { allRoutes } from "../routes.ts";
import { isShared, isViewPrefix, VIEW_ROUTES } from "./view-routes.ts";
import { VIEWS } from "./views.ts";

const web = new URL("../../../web/", import.meta.url);
const textOf = (path: string): string => readFileSync(new URL(path, web), "utf8");

/** Which file shows each view, as the page itself says. */
function pages(): Map<string, string[]> {
  const text = textOf("views.ts");
  const named = new Map(
    [...text.matchAll(/const (\w+): Loader = \(\) => import\("\.\/([\w./-]+)"\)/g)].map((m) => [m[1]!, m[2]!]),
  );
  const files = new Map<string, string[]>();
  for (const view of VIEWS) {
    const [, loader] = new RegExp(`"${view}": ([^\\n]+),\\n`).exec(text)!;
    const file = /import\("\.\/([\w./-]+)"\)/.exec(loader!)?.[1] ?? named.get(loader!)!;
    files.set(file, [...(files.get(file) ?? []), view]);
  }
  return files;
}

/** The routes that a file asks to look at something, and those of the parts that it is made of. */
async function readsOf(file: string, seen = new Set<string>()): Promise<string[]> {
  if (seen.has(file)) return [];
  seen.add(file);
  const found: string[] = [];
  for (const [, names, from] of textOf(file).matchAll(/import (?:\{([^}]*)\}|\w+) from "([^"?]+)/g)) {
    const path = new URL(from!, new URL(file, web));
    if (from!.endsWith("/wire.ts")) {
      const wire = (await import(path.href)) as Record<string, WireRoute | undefined>;
      const routes = names!.split(",").map((name) => wire[name.trim()]);
      found.push(...routes.flatMap((route) => (route?.method === "GET" && route.scope === "read" ? [route.id] : [])));
    } else if (from!.startsWith(".") && path.href.startsWith(web.href))
      found.push(...(await readsOf(path.href.slice(web.href.length), seen)));
  }
  return found;
}

describe("what a view asks", () => {
  // The frame of the page asks these; it does not for a share of a part.
  const OF_THE_FRAME = new Set(["getSession", "getStatus", "findAnything"]);

  test.each([...pages()])("is written down for %s, and nothing else", async (file, views) => {
    const written = new Set(views.flatMap((view) => Object.keys(VIEW_ROUTES[view as (typeof VIEWS)[number]])));
    const asked = new Set((await readsOf(file)).filter((id) => written.has(id) || !OF_THE_FRAME.has(id)));
    expect([...asked].sort()).toEqual([...written].sort());
  });

  test("are routes that there are, bound by parameters that they have", () => {
    const byId = new Map(allRoutes.map((route) => [route.id, route]));
    for (const [view, asked] of Object.entries(VIEW_ROUTES))
      for (const [id, bound] of Object.entries(asked)) {
        const route = byId.get(id)!;
        expect(route?.method, id).toBe("GET");
        for (const [name, place] of Object.entries(bound)) {
          expect([
            ...Object.keys(route.query.shape),
            ...[...route.path.matchAll(/\{(\w+)\}/g)].map((m) => m[1]),
          ]).toContain(name);
          expect(view.split("/")).toContain(`:${place}`);
        }
      }
  });
});

describe("a share", () => {
  const route = (id: string) => allRoutes.find((each) => each.id === id)!;
  const may = (path: string, id: string, url: string) => isShared(path, route(id), url);
  const MODEL = "ab".repeat(32);

  test("of one config shows that one, however it is asked for", () => {
    const path = "/configs/othello6_2p";
    expect(may(path, "getLoop", "/v1/loop?config_key=othello6_2p")).toBe(true);
    expect(may(path, "getLoopHistory", "/v1/loop/othello6_2p/history?limit=40")).toBe(true);
    expect(may(path, "getLoop", "/v1/loop")).toBe(false);
    expect(may(path, "getLoop", "/v1/loop?config_key=othello6_2p&config_key=hex7_2p")).toBe(false);
    expect(may(path, "getLoopHistory", "/v1/loop/hex7_2p/history")).toBe(false);
    expect(may(path, "getStatus", "/status")).toBe(false);
    expect(may(path, "followEvents", "/events")).toBe(false);
  });

  test("of all models shows each, and of one only that, by its whole hash too", () => {
    expect(may("/models", "getModel", `/v1/models/${MODEL}`)).toBe(true);
    expect(may("/models", "listModels", "/v1/models")).toBe(true);
    expect(may(`/models/${MODEL}`, "getModel", `/v1/models/${MODEL}`)).toBe(true);
    expect(may(`/models/${MODEL.slice(0, 10)}`, "getLineage", `/v1/trace/${MODEL}`)).toBe(true);
    expect(may(`/models/${MODEL}`, "getModel", `/v1/models/${"cd".repeat(32)}`)).toBe(false);
    expect(may(`/models/${MODEL}`, "listModels", "/v1/models")).toBe(false);
  });

  test("never changes anything, whatever it shows", () => {
    for (const each of allRoutes.filter(({ method }) => method !== "GET"))
      expect(isShared("/", each, each.path), each.id).toBe(["beginSession", "endSession"].includes(each.id));
  });

  test("is of an address that views have", () => {
    for (const path of ["/", "/configs/othello6_2p", "/models", "/why", "/why/w1", "/journal", "/configs"])
      expect(isViewPrefix(path), path).toBe(true);
    for (const path of ["/v1", "/nothing", "/models/a/b", "/gates/x"]) expect(isViewPrefix(path), path).toBe(false);
  });
});
