/**
 * Builds the page for browsers with vite: files whose names tell their content, each also gzipped. It fails when a first load
 * or a page takes more than it may.
 *
 * A page imports the routes that it asks from the `wire.ts` of a feature, as commands do. The browser gets of each only what
 * it needs: method, path, and where in the answer times stand. Schemas stay here.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import type { Plugin, Rolldown } from "vite";
import { OperatingError, ROOT } from "./root.ts";

const MAX_FIRST_LOAD = 60_000;
const MAX_PAGE = 20_000;
const WIRE = /\/src\/surfaces\/[^/]+\/wire\.ts$/;

interface Schema {
  readonly _zod: { readonly def: Definition };
}
interface Definition {
  readonly type: string;
  readonly innerType?: Schema;
  readonly element?: Schema;
  readonly valueType?: Schema;
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly options?: readonly Schema[];
}
/** Where times stand: here, in each of a list or record, in some fields. */
type Times = 1 | { readonly each: Times } | { readonly in: Readonly<Record<string, Times>> };

function timesOf({ _zod: { def } }: Schema): Times | undefined {
  switch (def.type) {
    case "pipe":
      return 1;
    case "array":
    case "record": {
      const each = timesOf((def.element ?? def.valueType)!);
      return each && { each };
    }
    case "object": {
      const fields = Object.entries(def.shape!).flatMap(([name, schema]) => {
        const times = timesOf(schema);
        return times === undefined ? [] : [[name, times] as const];
      });
      return fields.length === 0 ? undefined : { in: Object.fromEntries(fields) };
    }
    case "union":
      return def.options!.flatMap((option) => timesOf(option) ?? [])[0];
    default:
      return def.innerType && timesOf(def.innerType);
  }
}

const isRoute = (value: unknown): value is { id: string; method: string; path: string; answer: Schema } =>
  typeof value === "object" && value !== null && "method" in value && "path" in value && "answer" in value;

/** What the browser gets of something that a `wire.ts` exports. */
function thinned(value: unknown): unknown {
  if (isRoute(value)) {
    const { id, method, path, answer } = value;
    return { id, method, path, times: timesOf(answer) };
  }
  if (Array.isArray(value)) return value;
  if (typeof value === "object" && value !== null) {
    const inside = Object.entries(value).filter(([, each]) => isRoute(each));
    return inside.length === 0 ? undefined : Object.fromEntries(inside.map(([name, each]) => [name, thinned(each)]));
  }
  return typeof value === "function" ? undefined : value;
}

const thinRoutes: Plugin = {
  name: "thin-routes",
  enforce: "pre",
  async load(id) {
    if (!WIRE.test(id)) return null;
    const exported = Object.entries((await import(pathToFileURL(id).href)) as Record<string, unknown>);
    const code = exported.flatMap(([name, value]) => {
      const thin = thinned(value);
      return thin === undefined ? [] : [`export const ${name} = ${JSON.stringify(thin)};`];
    });
    return { code: code.join("\n"), moduleSideEffects: false };
  },
};

/** Words that commands share with the page measure terminals as well; nothing of that is left in the browser. */
const withoutTerminal: Plugin = {
  name: "without-terminal",
  enforce: "pre",
  resolveId: (id) => (id === "node:util" ? "\0util" : null),
  load: (id) =>
    id === "\0util"
      ? { code: "export const stripVTControlCharacters = (text) => text;", moduleSideEffects: false }
      : null,
};

/** What the browser takes of the kernel: what needs nothing but the language. */
const PURE_KERNEL = ["canonical-json", "defined", "errors", "random", "suggest", "sum"];
const withoutNode: Plugin = {
  name: "without-node",
  enforce: "pre",
  load: (id) =>
    id.endsWith("/src/kernel/index.ts")
      ? {
          code: PURE_KERNEL.map((name) => `export * from "./${name}.ts";`).join("\n"),
          moduleSideEffects: false,
        }
      : null,
};

const zipped = (chunk: Rolldown.OutputChunk): number => gzipSync(chunk.code).length;

/** What a first load takes, and what each page takes beyond it, in bytes of gzipped JavaScript. */
function sizesOf(output: readonly Rolldown.OutputChunk[]): {
  first: number;
  pages: ReadonlyMap<string, number>;
} {
  const byName = new Map(output.map((chunk) => [chunk.fileName, chunk]));
  const closure = (chunk: Rolldown.OutputChunk, seen = new Set<string>()): Set<string> => {
    if (seen.has(chunk.fileName)) return seen;
    seen.add(chunk.fileName);
    for (const name of chunk.imports) {
      const next = byName.get(name);
      if (next !== undefined) closure(next, seen);
    }
    return seen;
  };
  const sum = (names: Iterable<string>) => [...names].reduce((bytes, name) => bytes + zipped(byName.get(name)!), 0);
  const entries = output.filter(({ isEntry }) => isEntry);
  const first = new Set(entries.flatMap((entry) => [...closure(entry)]));
  const pages = output
    .filter(({ isDynamicEntry }) => isDynamicEntry)
    .map(
      (chunk) =>
        [
          relative(ROOT, chunk.facadeModuleId ?? chunk.name),
          sum([...closure(chunk)].filter((name) => !first.has(name))),
        ] as const,
    );
  return { first: sum(first), pages: new Map(pages) };
}

/** Says how large it is, or refuses what is larger than it may be. */
export function keepToBudget(output: readonly Rolldown.OutputChunk[]): string {
  const { first, pages } = sizesOf(output);
  const over = [
    ...(first > MAX_FIRST_LOAD ? [`the first load takes ${first} of ${MAX_FIRST_LOAD} bytes`] : []),
    ...[...pages].flatMap(([name, bytes]) => (bytes > MAX_PAGE ? [`${name} takes ${bytes} of ${MAX_PAGE} bytes`] : [])),
  ];
  if (over.length > 0)
    throw OperatingError.internal("PAGE_TOO_LARGE", `the page is larger than it may be: ${over.join("; ")}`);
  const largest = Math.max(0, ...pages.values());
  return `page: first load ${(first / 1_000).toFixed(1)} kB, ${pages.size} pages of at most ${(largest / 1_000).toFixed(1)} kB more`;
}

/** Builds into a folder; gives what to say of it and the files that it was made from. */
export async function buildPage(folder: string): Promise<{ summary: string; inputs: readonly string[] }> {
  // Who finds the page fresh does not wait for what builds it.
  const { build } = await import("vite");
  const result = await build({
    configFile: false,
    root: join(ROOT, "web"),
    logLevel: "warn",
    plugins: [thinRoutes, withoutTerminal, withoutNode],
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: "es2023",
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      rolldownOptions: { checks: { pluginTimings: false } },
    },
    worker: { format: "es", plugins: () => [thinRoutes, withoutTerminal, withoutNode] },
  });
  const { output } = result as Rolldown.RolldownOutput;
  const chunks = output.filter((file) => file.type === "chunk");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.(js|css|html|svg)$/.test(file),
  ))
    writeFileSync(join(folder, `${name}.gz`), gzipSync(readFileSync(join(folder, name))));
  const modules = chunks.flatMap(({ moduleIds }) => moduleIds).filter((id) => id.startsWith(ROOT) && existsSync(id));
  return { summary: keepToBudget(chunks), inputs: [...new Set(modules)] };
}

const sourcesOf = (folder: string, fits: RegExp): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => fits.test(name))
    .map((name) => join(folder, name));

/** All that a page may be made from: it is built again when one of them changes, or comes, or goes. */
const stampOf = (): string => {
  const files = [
    ...sourcesOf(join(ROOT, "web"), /\.\w+$/),
    ...sourcesOf(join(ROOT, "src", "surfaces"), /(?<!\.test)\.ts$/),
    ...sourcesOf(join(ROOT, "src", "workloads", "arena"), /(?<!\.test)\.ts$/),
    ...PURE_KERNEL.map((name) => join(ROOT, "src", "kernel", `${name}.ts`)),
    join(ROOT, "package-lock.json"),
    join(ROOT, "tools", "parts", "web-page.ts"),
  ].sort();
  return JSON.stringify(
    files.map((path) => {
      const { size, mtimeMs } = statSync(path);
      return [relative(ROOT, path), size, mtimeMs];
    }),
  );
};

/** Keeps the page of this checkout in a folder; nothing is done while the one that is kept is fresh. */
export async function keepPage(folder: string): Promise<string> {
  const stampFile = `${folder}.json`;
  const stamp = stampOf();
  if (existsSync(stampFile) && existsSync(folder) && readFileSync(stampFile, "utf8") === stamp)
    return "the page that is kept is fresh";
  const fresh = `${folder}-${process.pid}`;
  mkdirSync(fresh, { recursive: true });
  const { summary } = await buildPage(fresh);
  rmSync(stampFile, { force: true });
  rmSync(folder, { recursive: true, force: true });
  renameSync(fresh, folder);
  writeFileSync(stampFile, stamp);
  return summary;
}
