/** Who keeps small files together is killed before any of its calls to the file system: what it said was here is here, and nothing is wrong. */
import { hash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createFlusher } from "../../src/sync/transfer/flush.ts";
import { openPackStore } from "../../src/sync/transfer/pack-store.ts";
import { type Owned, owned } from "../support/process.ts";
import { rounds } from "../support/thorough.ts";

/** Runs it in a process of its own until it ends or dies; gives what it said. */
async function run(own: Owned, root: string, dieAt: number): Promise<readonly string[]> {
  const node = own.startNode(new URL("./parts/packing-node.ts", import.meta.url), [root, String(dieAt)]);
  const { code, signal } = await node.exited;
  expect([node.stderr(), signal ?? code]).toEqual(["", dieAt === 0 ? 0 : "SIGKILL"]);
  return node.lines;
}

const namesSaid = (said: readonly string[], word: string): string[] =>
  said.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1));

/** What the next life sees, in packs and as files. */
async function seenIn(root: string): Promise<string[]> {
  const inputs = join(root, "inputs");
  const store = await openPackStore({
    folder: join(root, "packs"),
    landingOf: (sha256) => ({ path: join(inputs, sha256), part: join(inputs, `${sha256}.part`) }),
    flusher: createFlusher(),
    clock: { now: () => 1_700_000_000_001 },
    onBroken: (path, why) => expect.fail(`${path}: ${why}`),
  });
  try {
    const together = (await store.list()).map(({ sha256 }) => sha256);
    for (const sha256 of together) expect(hash("sha256", store.read(sha256)!, "hex")).toBe(sha256);
    const files = readdirSync(inputs).filter((name) => !name.endsWith(".part"));
    for (const name of files) expect(hash("sha256", readFileSync(join(inputs, name)), "hex")).toBe(name);
    expect(existsSync(join(root, "quarantine"))).toBe(false);
    return [...together, ...files].sort();
  } finally {
    store.close();
  }
}

test("killed before any call, it has all that it said was here, once, and nothing of what it said was gone", async () => {
  const own = owned(onTestFinished);
  const whole = await run(own, own.folder(), 0);
  const calls = whole.filter((line) => line.startsWith("call ")).length;
  expect(whole.at(-1)).toBe("done");
  expect(calls).toBeGreaterThan(40);
  const every = Math.ceil(calls / rounds(24, calls));
  for (let dieAt = 1; dieAt <= calls; dieAt += every) {
    const root = own.folder();
    const said = await run(own, root, dieAt);
    expect(said.filter((line) => line.startsWith("call "))).toHaveLength(dieAt);
    const [here, going, gone] = ["here", "going", "gone"].map((word) => namesSaid(said, word)) as [
      string[],
      string[],
      string[],
    ];
    const seen = await seenIn(root);
    const about = `killed before ${said.at(-1)}, its call ${dieAt}`;
    expect(new Set(seen).size, about).toBe(seen.length);
    for (const sha256 of here) if (!going.includes(sha256)) expect(seen, about).toContain(sha256);
    for (const sha256 of gone) expect(seen, about).not.toContain(sha256);
  }
});

test("it says that files are here after they were flushed, and lets go of them after their next place was", async () => {
  const own = owned(onTestFinished);
  const said = await run(own, own.folder(), 0);
  const [first = ""] = namesSaid(said, "here");
  const [made = ""] = namesSaid(said, "file");
  /** Each of these lines stands behind the one before. */
  const inOrder = (...lines: readonly RegExp[]): void => {
    let at = -1;
    for (const line of lines) {
      const next = said.findIndex((one, i) => i > at && line.test(one));
      expect(next, `${line} behind line ${at} of ${said.join("\n")}`).toBeGreaterThan(at);
      at = next;
    }
  };
  inOrder(
    /^begun$/,
    /^call writeSync .*-1\.pack\.part$/,
    /^call fsync .*-1\.pack\.part$/,
    /^call renameSync .*-1\.pack\.part$/,
  );
  inOrder(/^call renameSync .*-1\.pack\.part$/, /^call sync packs$/, new RegExp(`^here ${first}$`));
  const writes = said.map((line, i) => (/^call (writeSync|ftruncateSync) .*-1\.pack\.part$/.test(line) ? i : -1));
  expect(Math.max(...writes)).toBeLessThan(said.findIndex((line) => /^call fsync .*-1\.pack\.part$/.test(line)));
  inOrder(
    new RegExp(`^call writeSync ${made}\\.part$`),
    new RegExp(`^call sync ${made}\\.part$`),
    new RegExp(`^call renameSync ${made}\\.part$`),
    /^call sync inputs$/,
    /^call writeSync .*-1\.pack$/,
    new RegExp(`^file ${made}$`),
  );
  // The pack of which too little was left goes when all its files have their names, and those are flushed.
  const names = said.map((line, i) => (/^call renameSync [0-9a-f]{64}\.part$/.test(line) ? i : -1));
  const removed = said.findIndex((line) => /^call rmSync .*-2\.pack$/.test(line));
  expect(Math.max(...names)).toBeLessThan(
    said.findIndex((line, i) => i > Math.max(...names) && line === "call sync inputs"),
  );
  expect(said.slice(Math.max(...names), removed)).toContain("call sync inputs");
  expect(removed).toBeLessThan(said.indexOf("compacted"));
});
