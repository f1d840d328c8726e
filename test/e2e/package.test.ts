/** What is published, as somebody who installs it gets it: packed here, installed elsewhere, used from there. */
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { COMPILER, COMPILER_THREADS } from "../../tools/parts/root.ts";
import { owned, type Started } from "../support/process.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
/** Far above what sources come to, far below what a binary would. */
const UNPACKED_BYTES_MOST = 10 * 2 ** 20;

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string }[];
}

const own = owned();
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
let packed: Packed;
let checkout: string;
let user: string;

afterAll(() => own.end());

/** npm as a script that the Node of the tests runs, wherever the machine keeps it. */
function npmScript(): string {
  const { npm_execpath: told, PATH = "" } = process.env;
  if (told?.endsWith(".js")) return told;
  const command = PATH.split(":")
    .map((folder) => join(folder, "npm"))
    .find(existsSync);
  if (command === undefined) throw new Error("there is no npm on this machine");
  return command;
}

async function succeed(child: Started): Promise<string> {
  const { code } = await child.exited;
  if (code !== 0) throw new Error(`exit code ${code}:\n${child.lines.join("\n")}`);
  return child.stdout();
}

const npm = (cwd: string, ...args: string[]): Promise<string> =>
  succeed(
    own.startNode(npmScript(), [...args, "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd,
      // What npm tells its scripts about this repository is nothing that the other folder should know.
      env: Object.fromEntries(
        Object.keys(process.env).flatMap((name) => (/^npm_/i.test(name) ? [[name, undefined]] : [])),
      ),
    }),
  );

/** A copy of the checkout, so that packing touches nothing of the real one. */
function copyCheckout(): string {
  const folder = own.folder();
  const wanted = [
    "package-lock.json",
    "tsconfig.json",
    "tsconfig.build.json",
    "src",
    "tools",
    "web",
    "README.md",
    "LICENSE",
  ];
  for (const name of ["package.json", ".npmrc", ...wanted, ...manifest.files])
    if (name !== "dist" && existsSync(join(ROOT, name)))
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  const modules = join(folder, "node_modules");
  mkdirSync(modules);
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (name !== ".installed") symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
  // Everything is installed; the set-up knows it by the lockfile's hash.
  const lock = readFileSync(join(folder, "package-lock.json"));
  writeFileSync(join(modules, ".installed"), createHash("sha256").update(lock).digest("hex"));
  return folder;
}

beforeAll(async () => {
  checkout = copyCheckout();
  packed = JSON.parse(await npm(checkout, "pack", "--json"))[0];
  user = own.folder();
  writeFileSync(join(user, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await npm(user, "install", join(checkout, packed.filename), "--prefer-offline", "--ignore-scripts");
});

test("the tarball holds what is promised and nothing else", () => {
  const paths = packed.files.map(({ path }) => path);
  const known =
    /^(package\.json|README\.md|LICENSE|CHANGELOG\.md|bin\/ringrift\.js|dist\/.+\.(js|d\.ts)|dist\/licenses\.txt|dist\/web\/.+\.(js|css|html|svg)(\.gz)?|clients\/.+|docs\/reference\/.+)$/;
  expect(paths.filter((path) => !known.test(path))).toEqual([]);
  expect(
    paths.filter((path) => /\.(test|contract)\.|(^|\/)(test|tests|__pycache__|node_modules|\.env)(\/|$)/.test(path)),
  ).toEqual([]);
  const promised = [manifest.exports["."], manifest.exports["./client"]].flatMap((each) => Object.values<string>(each));
  for (const path of ["./package.json", "./LICENSE", "./bin/ringrift.js", "./dist/web/index.html", ...promised])
    expect(paths).toContain(path.replace("./", ""));
  const kilobytes = (bytes: number) => `${Math.round(bytes / 1024)} kB`;
  console.info(
    `${packed.filename}: ${paths.length} files, ${kilobytes(packed.size)}, unpacked ${kilobytes(packed.unpackedSize)}`,
  );
  expect(packed.unpackedSize).toBeLessThan(UNPACKED_BYTES_MOST);
});

test("it brings no Node, and packing left the manifest as it was", () => {
  const published = readFileSync(join(user, "node_modules", manifest.name, "package.json"), "utf8");
  expect(JSON.parse(published).version).toBe(manifest.version);
  expect(published).not.toMatch(/node-(linux|darwin|win)/);
  expect(readdirSync(join(user, "node_modules")).filter((name) => /^node-/.test(name))).toEqual([]);
  expect(existsSync(join(user, "node_modules", ".bin", "node"))).toBe(false);
  expect(readFileSync(join(checkout, "package.json"), "utf8")).toBe(readFileSync(join(ROOT, "package.json"), "utf8"));
});

test("the bin tells its version and its help", async () => {
  const bin = join(user, "node_modules", ".bin", "ringrift");
  expect((await succeed(own.startNode(bin, ["--version"], { cwd: user }))).trim()).toBe(manifest.version);
  expect(await succeed(own.startNode(bin, ["--help"], { cwd: user }))).toMatch(/Usage: ringrift/);
});

test("a program imports it with types: it compiles and runs, and one with a wrong name does not compile", async () => {
  const good = `
    import {
      BackpressureLevel, BoardType, builtinRows, configKeyOf, EventRouter, getHealthyNodes, getNodeHealth, HealthCheckHelper,
      NodeHealthState, OperatingError, type RouterEvent, TaskType, WorkQueue,
    } from "ringrift-coordination";
    import { connect, type Client } from "ringrift-coordination/client";
    const open = (): Client => connect({ dataDir: "." });
    const seen: RouterEvent<"MODEL_PROMOTED">[] = [];
    console.log(typeof open, typeof EventRouter, OperatingError.internal("SOME_CODE", "text").code, seen.length);
    console.log(builtinRows.MODEL_PROMOTED.wire);
    // Never called: what it says of the client must compile.
    export const beside = (client: Client) => [
      client.publish("PLATEAU_DETECTED", {
        config_key: "hex8_2p", metric_name: "elo", value: 1500, best_value: 1510, plateau_seconds: 3600,
      }),
      client.subscribe({ consumer: "c", eventTypes: ["MODEL_PROMOTED"] }, ({ payload }) => {
        const elo: number = payload.elo;
        return void elo;
      }),
      client.publishUnchecked("MY_EVENT", { any: 1 }),
      client.work.add({ work_type: TaskType.SELFPLAY, config_key: configKeyOf(BoardType.HEX8, 2), payload: {} }),
      client.nodes.healthy(),
    ];
    export const names = [WorkQueue, HealthCheckHelper, getNodeHealth, getHealthyNodes, BackpressureLevel.SOFT, NodeHealthState.HEALTHY];
  `;
  const bad = `
    import type { RouterEvent } from "ringrift-coordination";
    export const seen: RouterEvent<"MODEL_PROMOTET">[] = [];
    import type { Client } from "ringrift-coordination/client";
    declare const client: Client;
    client.publish("TRAINING_COMPLETD", { config_key: "hex8_2p" });
    client.publish("IDLE_STATE_REQUEST", { node_id: 7 });
    client.subscribe({ consumer: "c", eventTypes: ["MODEL_PROMOTET"] }, () => {});
    client.subscribe({ consumer: "c", eventTypes: ["MODEL_PROMOTED"] }, ({ payload }) => void payload.ello);
  `;
  writeFileSync(join(user, "good.ts"), good);
  writeFileSync(join(user, "bad.ts"), bad);
  const compilerOptions = {
    ...{ target: "ES2024", module: "NodeNext", strict: true, noEmit: true, types: ["node"] },
    typeRoots: [join(ROOT, "node_modules", "@types")],
  };
  writeFileSync(join(user, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["good.ts", "bad.ts"] }));
  const compiler = own.startNode(COMPILER, [...COMPILER_THREADS, "-p", user], { cwd: user });
  expect((await compiler.exited).code).not.toBe(0);
  // Each wrong line is refused, and nothing else: neither its neighbours nor the other program.
  const refused = compiler.lines.flatMap(
    (line) => /^(\w+\.ts)\((\d+),\d+\): error/.exec(line)?.slice(1, 3).join(":") ?? [],
  );
  expect([...new Set(refused)]).toEqual([3, 6, 7, 8, 9].map((line) => `bad.ts:${line}`));
  expect(compiler.lines[0]).toMatch(/^bad\.ts\(3,36\): error TS2344.*MODEL_PROMOTET/);
  expect(await succeed(own.startNode(join(user, "good.ts"), [], { cwd: user }))).toBe(
    "function function SOME_CODE 0\nmodel_promoted\n",
  );
});
