/** A model is taken out of a data folder with all that is known of it, while the loop runs and after it has ended. */
import { hash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCli } from "../../src/app/cli.ts";
import { seededRandom, systemClock } from "../../src/kernel/index.ts";
import { artifactPath, CONFIG, planned, QUICK, type RunningLoop, sha256Of, startLoop } from "../support/loop.ts";
import { owned } from "../support/process.ts";

const own = owned();
const ports = { clock: systemClock(), random: seededRandom(1), actor: "tester" };
let loop: RunningLoop;
let model = "";
let outside = "";

async function run(...args: readonly string[]) {
  const said = { out: "", err: "" };
  const io = {
    out: (text: string) => {
      said.out += text;
    },
    err: (text: string) => {
      said.err += text;
    },
    env: { NO_COLOR: "1" },
    cwd: outside,
    stdin: Readable.from([]),
    isTerminal: false,
    columns: 100,
    signal: new AbortController().signal,
  };
  const code = await runCli(["--data-dir", loop.dataDir, ...args], io, ports);
  return { code, ...said };
}

const manifestIn = (folder: string) => JSON.parse(readFileSync(join(outside, folder, "manifest.json"), "utf8"));

beforeAll(async () => {
  outside = own.folder();
  loop = await startLoop(own, { plans: planned({ ...QUICK, most_iterations: 1 }), slots: 2 });
  const { champions } = await loop.complete();
  model = champions.at(-1)!.model;
});

afterAll(async () => {
  await loop.end();
  await own.end();
});

test("a running system gives a model out, whole and described", async () => {
  const { code, out, err } = await run("models", "export", model.slice(0, 12), "mine");
  expect(code, err).toBe(0);
  expect(out).toMatch(new RegExp(`^model ${model.slice(0, 10)} of ${CONFIG} is in ${join(outside, "mine")}\n`));
  expect(sha256Of(join(outside, "mine", "model"))).toBe(model);
  const manifest = manifestIn("mine");
  expect(manifest).toMatchObject({
    format: "ringrift-model",
    model_id: model,
    config_key: CONFIG,
    stage: "production",
    gate: { verdict: "promote" },
    rules: { config_key: CONFIG, players: 2, board: "6x6" },
    network: { shape: { config_key: CONFIG, wide: 16, narrow: 16 }, columns: [{ name: "weights", type: "f32" }] },
  });
  for (const { path, sha256, bytes } of manifest.files) {
    expect(sha256Of(join(outside, "mine", path)), path).toBe(sha256);
    expect(readFileSync(join(outside, "mine", path)).length).toBe(bytes);
  }
  expect(manifest.files.map(({ path }: { path: string }) => path)).toEqual(["model", "checkpoint"]);
  // What it was made of is in the graph, down to the rows of its games.
  const kinds = manifest.lineage.nodes.map(({ kind }: { kind: string }) => kind);
  expect(kinds).toEqual(expect.arrayContaining(["model", "training_set", "samples", "job"]));
  expect(manifest.lineage.edges.length).toBeGreaterThan(0);
  const [loss] = loop.config().losses;
  const curves = readFileSync(join(outside, "mine", "curves.csv"), "utf8")
    .trim()
    .split("\n");
  expect(curves[0]).toBe("iteration,time,name,value");
  const time = new Date(loss!.at).toISOString();
  for (const [name, value] of Object.entries(loss!.metrics!)) expect(curves).toContain(`1,${time},${name},${value}`);
});

test("what is there is left alone, and what does not exist is said", async () => {
  mkdirSync(join(outside, "taken"));
  writeFileSync(join(outside, "taken", "diary.txt"), "mine");
  const refused = await run("models", "export", model, "taken");
  expect(refused.code).toBe(5);
  expect(refused.err).toMatch(/taken already exists/);
  expect(readdirSync(join(outside, "taken"))).toEqual(["diary.txt"]);
  writeFileSync(join(outside, "file"), "");
  expect((await run("models", "export", model, "file")).code).toBe(5);
  expect((await run("models", "export", "ffffffffff", "other")).code).toBe(3);
  expect((await run("models", "export", model)).code).toBe(2);
  expect(existsSync(join(outside, "other"))).toBe(false);
});

test("a folder on which nothing runs gives the same, and no damaged file as a whole one", async () => {
  await loop.end();
  const { code, out, err } = await run("--json", "models", "export", model, "later");
  expect(code, err).toBe(0);
  expect(err).toMatch(/nothing is running on/);
  // Rating games may have been played meanwhile, and matches made of it.
  const lasting = ({ exported_at: _, rating: __, lineage: ___, ...rest }: Record<string, unknown>) => rest;
  const later = manifestIn("later");
  expect(lasting(later)).toEqual(lasting(manifestIn("mine")));
  expect(JSON.parse(out)).toEqual({ folder: join(outside, "later"), manifest: later });
  // A checkpoint that was freed is no reason to keep the model back.
  rmSync(artifactPath(loop.dataDir, later.files[1].sha256));
  const alone = await run("models", "export", model, "alone");
  expect(alone.err).toMatch(/without its checkpoint/);
  expect(readdirSync(join(outside, "alone")).sort()).toEqual([
    "curves.csv",
    expect.stringMatching(/^events\.out\.tfevents\.\d+\.ringrift$/),
    "manifest.json",
    "model",
  ]);
  const file = artifactPath(loop.dataDir, model);
  const bytes = readFileSync(file);
  bytes[bytes.length >> 1]! ^= 1;
  rmSync(file);
  writeFileSync(file, bytes);
  expect(hash("sha256", bytes, "hex")).not.toBe(model);
  const damaged = await run("models", "export", model, "damaged");
  expect(damaged.code).toBe(5);
  expect(damaged.err).toMatch(/is damaged/);
  expect(readdirSync(outside).filter((name) => name.includes("damaged"))).toEqual([]);
});
