/**
 * The program as few files: what `src` runs, with the dependencies that it needs at a start, put together by rolldown.
 *
 * A start costs time for every module, whether its code runs or not. Commands stay chunks of their own, loaded when they are named;
 * what several of them need is shared. Threads and workers are entries: they are started by their path.
 */
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { isAbsolute, join, relative } from "node:path";
import { type Plugin, rolldown } from "rolldown";
import { OperatingError, ROOT } from "./root.ts";

const SRC = join(ROOT, "src");

/** What others name by its path: the program, what the package offers, and all that is started or imported by a URL. */
const ENTRY = /^(app\/(cli|store-modules|outbox-modules)|index|client|.*\.(thread|worker))\.ts$/;

/** They are loaded by few, or must be the very module that the user's program has. */
const STAYS_OUTSIDE = /^((node:)?http$|node:(?!http2$).*|pino$|@opentelemetry\/.*)/;
const COMMANDER = "/node_modules/commander/";
const LATE = /^node:(process|child_process)$/;

/** A module is known by the place that it had alone, so that what it looks for beside itself is found. */
const ownPlace: Plugin = {
  name: "own-place",
  transform: {
    filter: { id: /\.ts$/, code: "import.meta.url" },
    handler: (code, id) => {
      const place = JSON.stringify(`../${relative(SRC, id).replace(/\.ts$/, ".js")}`);
      return code.replaceAll("import.meta.url", `new URL(${place}, import.meta.url).href`);
    },
  },
};

/** Dear to load, and most that import them call nothing of it in most commands. */
const CALLED_LATE = new Set(["node:fs/promises", "node:net", "node:child_process"]);

/** Something to call, and no class to extend or to make one of. */
const isPlainFunction = (value: unknown): boolean =>
  typeof value === "function" && Object.keys(value.prototype ?? {}).length === 0 && !/^class\b/.test(String(value));

/** What stands for `import { a, b as c } from "node:..."`. */
function namesOf(id: string, names: readonly string[]): string {
  const module = `process.getBuiltinModule(${JSON.stringify(id)})`;
  const whole = process.getBuiltinModule(id) as Readonly<Record<string, unknown>>;
  const isLate = (name: string) => CALLED_LATE.has(id) && isPlainFunction(whole[name]);
  const pairs = names.map((text) => text.trim().split(" as ")).map(([name = "", as = name]) => ({ name, as }));
  const now = pairs.filter(({ name }) => !isLate(name)).map(({ name, as }) => (name === as ? name : `${name}: ${as}`));
  const late = pairs.filter(({ name }) => isLate(name));
  return [
    ...(now.length === 0 ? [] : [`const { ${now.join(", ")} } = ${module};`]),
    ...late.map(({ name, as }) => `const ${as} = (...given) => ${module}.${name}(...given);`),
  ].join(" ");
}

/**
 * `import` of a module of Node's reads everything that it exports, and much of that loads more: node:http a whole client for
 * WebSockets, node:fs all streams. Asked for as an object it loads what is used.
 */
const leanBuiltins: Plugin = {
  name: "lean-builtins",
  renderChunk: (code) =>
    code.replace(/^import (?:(\w+)(?:, )?)?(?:\{([^}]*)\})? ?from "([\w:/]+)";$/gm, (line, whole, names, id) => {
      if (!isBuiltin(id)) return line;
      return [
        ...(whole === undefined ? [] : [`const ${whole} = process.getBuiltinModule(${JSON.stringify(id)});`]),
        ...(names === undefined ? [] : [namesOf(id, names.split(","))]),
      ].join(" ");
    }),
};

/** Whoever serves HTTP asks of every request whether it came by HTTP/2. Nobody here serves that: 50 ms of every start less. */
const noHttp2: Plugin = {
  name: "no-http2",
  // What speaks it itself, such as the calls to a cloud, has the real one.
  resolveId: {
    filter: { id: /^(node:)?http2$/ },
    handler: (id, from) => (from?.includes("/node_modules/") ? "\0no-http2" : { id, external: true }),
  },
  load: {
    filter: { id: /^\0no-http2$/ },
    handler: () => "export class Http2ServerRequest {}\nexport const constants = { NGHTTP2_NO_ERROR: 0 };",
  },
};

/** What counts and measures here; the rest of the package watches processes, clusters and gateways, and loads what no start needs. */
const MEASURES = /\/@prometheus-io\/client\/index\.js$/;
const measuresAlone: Plugin = {
  name: "measures-alone",
  load: {
    filter: { id: MEASURES },
    handler: () =>
      ["Registry", "Counter", "Gauge", "Histogram"]
        .map((name) => `exports.${name} = require("./lib/${name.toLowerCase()}");`)
        .join("\n"),
  },
};

/** commander can start other programs and looks at the process by an import: each loads modules that no command of ours uses. */
const lateForCommander: Plugin = {
  name: "late-for-commander",
  resolveId: {
    filter: { id: LATE },
    handler: (id, importer) => (importer?.includes(COMMANDER) ? `\0late-${id}` : null),
  },
  load: {
    filter: { id: /^\0late-node:/ },
    handler: (id) =>
      id.endsWith(":process")
        ? "export default globalThis.process;"
        : 'export default { spawn: (...given) => process.getBuiltinModule("node:child_process").spawn(...given) };',
  },
};

/** What these import is loaded together, so it is one chunk: what every command needs, and what those need that ask. */
const TOGETHER: Readonly<Record<string, readonly string[]>> = {
  command: ["app/cli.ts"],
  asking: ["surfaces/client/call.ts", "surfaces/client/channel.ts", "surfaces/status/wire.ts"],
};

/** What no command may have to wait for: all schemas of all events. */
const HEAVY = /\/src\/events\/catalog\//;

function loadedTogether() {
  const chunkOf = new Map<string, string>();
  const plugin: Plugin = {
    name: "loaded-together",
    buildEnd() {
      for (const [chunk, roots] of Object.entries(TOGETHER)) {
        // The roots stay outside: one that waits for its commands must not be what these wait for.
        const ahead = roots.flatMap((path) => this.getModuleInfo(join(SRC, path))?.importedIds ?? []);
        for (let id = ahead.pop(); id !== undefined; id = ahead.pop()) {
          if (chunkOf.has(id)) continue;
          chunkOf.set(id, chunk);
          ahead.push(...(this.getModuleInfo(id)?.importedIds ?? []));
        }
      }
      const heavy = [...chunkOf.keys()].find((id) => HEAVY.test(id));
      if (heavy !== undefined)
        throw OperatingError.internal("BUILD_HEAVY", `every command that asks would load ${relative(ROOT, heavy)}`);
    },
  };
  const groups = Object.keys(TOGETHER).map((name) => ({ name, test: (id: string) => chunkOf.get(id) === name }));
  return { plugin, groups };
}

/** Writes the bundle; gives the files that it was made from. */
export async function bundle(folder: string): Promise<readonly string[]> {
  const entries = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((path) => ENTRY.test(path));
  const together = loadedTogether();
  const build = await rolldown({
    cwd: ROOT,
    platform: "node",
    input: Object.fromEntries(entries.map((path) => [path.replace(/\.ts$/, ""), join(SRC, path)])),
    external: (id, importer) => STAYS_OUTSIDE.test(id) && !(LATE.test(id) && importer?.includes(COMMANDER)),
    plugins: [leanBuiltins, noHttp2, measuresAlone, lateForCommander, ownPlace, together.plugin],
  });
  try {
    const { output } = await build.write({
      dir: folder,
      format: "esm",
      entryFileNames: "[name].js",
      // One folder deep, as `ownPlace` takes for granted.
      chunkFileNames: "chunks/[name]-[hash].js",
      codeSplitting: { groups: together.groups },
    });
    const parts = output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
    return [...new Set(parts)].filter(isAbsolute).sort();
  } finally {
    await build.close();
  }
}

const PACKAGE = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//;

/** The licences of what is in a bundle that was made from these files: they ask to go where their code goes. */
export function licensesOf(inputs: readonly string[]): string {
  const packages = new Set(inputs.flatMap((path) => PACKAGE.exec(path)?.[1] ?? []));
  const texts = [...packages].map((path) => {
    const file = readdirSync(path).find((name) => /^licen[cs]e/i.test(name));
    if (file === undefined) throw OperatingError.internal("BUILD_LICENSE", `${path} has no licence file`);
    const { name, version } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
    return `${name} ${version}\n\n${readFileSync(join(path, file), "utf8").trim()}\n`;
  });
  return texts.join("\n---\n\n");
}
