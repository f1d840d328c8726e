import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  realpathSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { keptIn } from "../../bin/kept-program.js";
import { type Owned, owned, type StartOptions } from "../support/process.ts";

const SHIM = fileURLToPath(new URL("../../bin/ringrift.js", import.meta.url));

/** Makes this Node say that it is an older one, so that the tests do not depend on what the machine has. */
const OLD_NODE: StartOptions = {
  execArgv: ["--import", `data:text/javascript,Object.defineProperty(process,"version",{value:"v20.0.0"})`],
};

/** A program that answers with the Node it runs on and its arguments, and then does what the first one says. */
const PROGRAM = `
  const [verb, ...rest] = process.argv.slice(2);
  console.log("node", process.version, "arguments", JSON.stringify(rest));
  if (verb === "exit") process.exit(Number(rest[0]));
  if (verb === "abort") process.kill(process.pid, "SIGKILL");
  if (verb === "echo") process.stdin.pipe(process.stdout);
  if (verb === "wait") {
    for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) {
      process.once(signal, () => { console.log("got", signal); process.exit(7); });
    }
    setInterval(() => {}, 1000);
    console.log("ready", process.ppid);
  }
`;

interface Package {
  readonly own: Owned;
  readonly folder: string;
  readonly shim: string;
}

/** A package with the shim in it and a program behind it, installed into the node_modules of some project. */
function installed(built: "src" | "dist", options: { node: boolean }): Package {
  const own = owned(onTestFinished);
  const project = own.folder();
  const folder = join(project, built === "src" ? "checkout" : "node_modules/ringrift-coordination");
  const file = join(folder, built, "app", built === "src" ? "cli.ts" : "cli.js");
  mkdirSync(join(folder, "bin"), { recursive: true });
  mkdirSync(join(folder, built, "app"), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(file, PROGRAM);
  cpSync(dirname(SHIM), join(folder, "bin"), { recursive: true });
  if (options.node) {
    mkdirSync(join(project, "node_modules", ".bin"), { recursive: true });
    symlinkSync(process.execPath, join(project, "node_modules", ".bin", "node"));
  }
  return { own, folder, shim: join(folder, "bin", "ringrift.js") };
}

test.each(["src", "dist"] as const)("on Node 24 it runs the program in %s itself", async (built) => {
  const { own, shim } = installed(built, { node: false });
  const child = own.startNode(shim, ["exit", "4", "a b", ""]);
  expect(await child.exited).toEqual({ code: 4, signal: null });
  expect(child.stdout()).toBe(`node ${process.version} arguments ["4","a b",""]\n`);
});

test("a checkout that was built runs its sources", async () => {
  const { own, shim, folder } = installed("src", { node: false });
  mkdirSync(join(folder, "dist", "app"), { recursive: true });
  writeFileSync(join(folder, "dist", "app", "cli.js"), "console.log('stale')");
  const child = own.startNode(shim, ["exit", "0"]);
  await child.exited;
  expect(child.stdout()).toMatch(/^node v/);
});

describe("the bundle that a checkout keeps", () => {
  /** A checkout with a bundle that says who it is, made from the sources as they are. */
  function bundled() {
    const checkout = installed("src", { node: false });
    const [kept, source] = [keptIn(checkout.folder), join("src", "app", "cli.ts")];
    mkdirSync(join(kept, "program-1", "dist", "app"), { recursive: true });
    writeFileSync(join(kept, "program-1", "dist", "app", "cli.js"), "console.log('bundle')");
    const { size, mtimeMs } = statSync(join(checkout.folder, source));
    writeFileSync(join(kept, "current.json"), JSON.stringify({ name: "program-1", made: [[source, size, mtimeMs]] }));
    const says = async () => {
      const child = checkout.own.startNode(checkout.shim, ["exit", "0"]);
      await child.exited;
      return child.stdout();
    };
    return { ...checkout, kept, says, source: join(checkout.folder, source) };
  }

  test("runs while its sources are as they were", async () => {
    expect(await bundled().says()).toBe("bundle\n");
  });

  test("does not run after a source was changed, touched or taken away", async () => {
    const changed = bundled();
    const before = statSync(changed.source);
    writeFileSync(changed.source, `${PROGRAM} // longer`);
    utimesSync(changed.source, before.atime, before.mtime);
    expect(await changed.says()).toMatch(/^node v/);
    const touched = bundled();
    utimesSync(touched.source, 1, 1);
    expect(await touched.says()).toMatch(/^node v/);
    const gone = bundled();
    writeFileSync(
      join(gone.kept, "current.json"),
      JSON.stringify({ name: "program-1", made: [["src/was-here.ts", 1, 1]] }),
    );
    expect(await gone.says()).toMatch(/^node v/);
  });

  test.each(["", "{", '{"name":"program-1"}', "null"])("is no reason to fail when its list is %j", async (text) => {
    const { kept, says } = bundled();
    writeFileSync(join(kept, "current.json"), text);
    expect(await says()).toMatch(/^node v/);
  });
});

test("an older Node hands over to the Node 24 beside the package: arguments, input, output and exit code", async () => {
  const { own, shim } = installed("dist", { node: true });
  const exits = own.startNode(shim, ["exit", "3", "a b"], OLD_NODE);
  expect(await exits.exited).toEqual({ code: 3, signal: null });
  expect(exits.stdout()).toBe(`node ${process.version} arguments ["3","a b"]\n`);
  const echoes = own.startNode(shim, ["echo"], OLD_NODE);
  echoes.write("to and fro\n");
  await echoes.waitForLine(/^to and fro$/);
  echoes.endInput();
  expect(await echoes.exited).toEqual({ code: 0, signal: null });
});

test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
  "an older Node passes %s on and waits for the end",
  async (signal) => {
    const { own, shim } = installed("dist", { node: true });
    const child = own.startNode(shim, ["wait"], OLD_NODE);
    const ready = await child.waitForLine(/ready (\d+)/);
    expect(Number(ready.match[1])).toBe(child.pid);
    child.kill(signal);
    expect(await child.exited).toEqual({ code: 7, signal: null });
    expect(child.lines.at(-1)).toBe(`got ${signal}`);
  },
);

test("an older Node ends by the signal that ended the program", async () => {
  const { own, shim } = installed("dist", { node: true });
  expect(await own.startNode(shim, ["abort"], OLD_NODE).exited).toEqual({ code: null, signal: "SIGKILL" });
});

test("without a Node 24, or with an old one in its place, it says what to do", async () => {
  const without = installed("dist", { node: false });
  const tooOld = installed("dist", { node: false });
  const bin = join(tooOld.folder, "..", ".bin");
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, "node"), "#!/bin/sh\necho v22.1.0\n");
  chmodSync(join(bin, "node"), 0o755);
  for (const { own, shim } of [without, tooOld]) {
    const child = own.startNode(shim, ["--version"], OLD_NODE);
    expect(await child.exited).toEqual({ code: 5, signal: null });
    expect(child.stderr()).toMatch(
      /needs Node 24 or newer; this is v20\.0\.0.*\n.*(npm install node-linux-|nodejs\.org)/,
    );
  }
});

test("every other Node of this machine can run it too", async () => {
  const { own, shim } = installed("dist", { node: true });
  const ours = realpathSync(process.execPath);
  const others = (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "node"))
    .filter((file) => existsSync(file) && realpathSync(file) !== ours);
  for (const execPath of new Set(others)) {
    const child = own.startNode(shim, ["exit", "0"], { execPath });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.stdout()).toMatch(/^node v(2[4-9]|[3-9]\d)\./);
  }
});
