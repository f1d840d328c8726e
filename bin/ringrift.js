#!/usr/bin/env node
// Runs the program on Node 24. Started by an older one, it looks for a Node 24 beside the package and hands over to it.
// Plain JavaScript that any Node from 18 on can read.

// An import would read, and so load, everything that these export. Older ones have no other way.
const builtin = process.getBuiltinModule ?? ((id) => import(id));
const { accessSync, constants, existsSync, readFileSync, realpathSync } = await builtin("node:fs");
const { basename, dirname, join, sep } = await builtin("node:path");
const { fileURLToPath, pathToFileURL } = await builtin("node:url");

const NEEDED = 24;
const self = realpathSync(fileURLToPath(import.meta.url));
const root = dirname(dirname(self));
const majorOf = (version) => Number(/^v?(\d+)\./.exec(version)?.[1] ?? 0);

/**
 * The program, and where its compiled code is kept: what was built in an installed package. In a checkout the sources, or the
 * bundle that was made of just these sources.
 */
const program = async () => {
  const source = join(root, "src", "app", "cli.ts");
  if (!existsSync(source)) {
    const modules = basename(dirname(root)) === "node_modules" ? dirname(root) : join(root, "node_modules");
    return { file: join(root, "dist", "app", "cli.js"), compiled: join(modules, ".cache", "ringrift") };
  }
  const { keptIn, freshProgram } = await import("./kept-program.js");
  const kept = freshProgram(root);
  return kept === undefined
    ? { file: source, compiled: join(keptIn(root), "compiled") }
    : { file: join(kept, "dist", "app", "cli.js"), compiled: join(kept, "compiled") };
};

/** node_modules/.bin/node of the package or of a folder above it, if it is new enough. */
const newerNode = (spawnSync) => {
  const places = [];
  for (let folder = root; ; folder = dirname(folder)) {
    places.push(join(folder, "node_modules", ".bin", "node"));
    if (dirname(folder) === folder) break;
  }
  return places.find((place) => {
    if (!existsSync(place)) return false;
    const asked = spawnSync(place, ["--version"], { encoding: "utf8" });
    return asked.status === 0 && majorOf(asked.stdout) >= NEEDED;
  });
};

const handOver = (node, spawn) => {
  const child = spawn(node, [self, ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal sends Ctrl-C to both processes by itself; sent again, it would count as a second one.
  const atTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  const signals = ["SIGTERM", "SIGINT", "SIGHUP"];
  for (const signal of signals) {
    process.on(signal, () => {
      if (signal !== "SIGINT" || !atTerminal) child.kill(signal);
    });
  }
  child.on("error", (error) => {
    process.stderr.write(`error: could not start ${node}: ${error.message}\n`);
    process.exit(5);
  });
  child.on("exit", (code, signal) => {
    if (signal === null) process.exit(code);
    // Ended by a signal, it ends by the same one, so that the caller sees what happened.
    for (const each of signals) process.removeAllListeners(each);
    process.kill(process.pid, signal);
  });
};

const explain = () => {
  const linux = process.platform === "linux" && ["x64", "arm64"].includes(process.arch);
  process.stderr.write(
    [
      `error: ringrift needs Node ${NEEDED} or newer; this is ${process.version}, and there is no newer one beside the package.`,
      linux
        ? `  Install one next to it with 'npm install node-linux-${process.arch}@${NEEDED}', or from https://nodejs.org.`
        : "  The npm registry has no build of it for this platform: install one from https://nodejs.org, with brew or with nvm.",
      "",
    ].join("\n"),
  );
  process.exit(5);
};

/** Compiled code is kept beside the dependencies, where nobody else can write; that halves the time of a start. */
const keepCompiledCode = (folder) => {
  const [modules] = folder.split(`${sep}.cache${sep}`);
  try {
    accessSync(modules, constants.W_OK);
  } catch {
    return;
  }
  // Threads and processes that are started from here look for it in the environment.
  process.env.NODE_COMPILE_CACHE ??= folder;
  process.getBuiltinModule("node:module").enableCompileCache(process.env.NODE_COMPILE_CACHE);
};

const isVersion = ["--version", "-V"].includes(process.argv[2]) && process.argv.length === 3;
if (majorOf(process.version) >= NEEDED) {
  if (isVersion) process.stdout.write(`${JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version}\n`);
  else {
    const { file, compiled } = await program();
    keepCompiledCode(compiled);
    await import(pathToFileURL(file).href);
  }
} else {
  // Only who hands over pays for it.
  const { spawn, spawnSync } = await import("node:child_process");
  const node = newerNode(spawnSync);
  if (node === undefined) explain();
  else handOver(node, spawn);
}
