/** A data folder is lost with everything in it, and comes back from a real S3 store and from a folder: it trains on from there. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { Readable } from "node:stream";
import { afterAll, expect, test } from "vitest";
import { s3Client } from "../../src/adapters/transports/s3/s3-client.ts";
import { runCli } from "../../src/app/cli.ts";
import { seededRandom, systemClock } from "../../src/kernel/index.ts";
import { planned, QUICK, SOUND, sha256Of, soundness, startLoop } from "../support/loop.ts";
import { owned } from "../support/process.ts";
import { type SwiftServer, swiftServer } from "../support/swift/swift-server.ts";

const own = owned();
const ports = { clock: systemClock(), random: seededRandom(1), actor: "tester" };
let swift: SwiftServer | undefined;
afterAll(async () => {
  await swift?.stop();
  await own.end();
});

const outside = own.folder();
const fileWith = (name: string, text: string): string => {
  const path = join(outside, name);
  writeFileSync(path, text);
  return path;
};

async function run(env: Readonly<Record<string, string>>, ...args: readonly string[]) {
  const said = { out: "", err: "" };
  const io = {
    out: (text: string) => {
      said.out += text;
    },
    err: (text: string) => {
      said.err += text;
    },
    env: { NO_COLOR: "1", ...env },
    cwd: outside,
    stdin: Readable.from([]),
    isTerminal: false,
    columns: 100,
    signal: new AbortController().signal,
  };
  const code = await runCli(args, io, ports);
  return { code, ...said };
}

/** Every artifact of a folder by its path, with the hash of its bytes. */
const artifactsIn = (dataDir: string): Record<string, string> => {
  const folder = join(dataDir, "artifacts");
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files.map(({ name, parentPath }) => [relative(folder, join(parentPath, name)), sha256Of(join(parentPath, name))]),
  );
};

test("lost as a whole, it comes back from S3 and from a disk: clean hashes, the same books and champion, and it trains on", async () => {
  swift = await swiftServer(own.folder());
  if (swift === undefined) return;
  const { endpoint, accessKeyId, secretAccessKey } = swift;
  await s3Client({ ...swift, bucket: "games" }).ask({ method: "PUT", signal: new AbortController().signal });
  const disk = join(outside, "disk");
  mkdirSync(disk);
  const env = {
    RINGRIFT_BACKUP_FOLDER: disk,
    RINGRIFT_BACKUP_S3_URL: `${endpoint}/games/cluster-1`,
    RINGRIFT_BACKUP_S3_ACCESS_KEY: accessKeyId,
    RINGRIFT_BACKUP_S3_SECRET_FILE: fileWith("secret", secretAccessKey),
    RINGRIFT_BACKUP_KEY_FILE: fileWith("key", "a-key-of-the-user-that-nobody-else-has"),
  };
  const first = await startLoop(own, { plans: planned({ ...QUICK, most_iterations: 1 }), slots: 2, env });
  const { dataDir } = first;
  const before = await first.complete();
  for (const place of ["s3", "folder"]) {
    const { code, err } = await run(env, "--data-dir", dataDir, "backup", "run", "--place", place);
    expect(code, err).toBe(0);
  }
  const books = await run(env, "--data-dir", dataDir, "ledger", "--json");
  await first.end();
  const token = readFileSync(join(dataDir, "token"), "utf8");

  const wrong = { ...env, RINGRIFT_BACKUP_S3_SECRET_FILE: fileWith("wrong", "a-secret-that-is-not-it") };
  const refused = await run(wrong, "backup", "restore", "--from", "s3", "--to", "nowhere", "--json");
  expect(refused.err + refused.out).toContain("PLACE_REFUSED");
  const otherKey = fileWith("other-key", "another-key-as-long-as-the-first");
  const unread = await run(
    env,
    "backup",
    "restore",
    "--from",
    "s3",
    "--key-file",
    otherKey,
    "--to",
    "nowhere",
    "--json",
  );
  expect(unread.err + unread.out).toContain("BACKUP_KEY_WRONG");
  const taken = await run(env, "backup", "restore", "--from", "s3", "--to", dataDir, "--json");
  expect(taken.err + taken.out).toContain("RESTORE_TARGET_TAKEN");
  expect(existsSync(join(outside, "nowhere"))).toBe(false);

  rmSync(dataDir, { recursive: true });
  const back = await run(env, "backup", "restore", "--from", "s3", "--to", dataDir, "--json");
  expect(back.code, back.err).toBe(0);
  const beside = join(outside, "from-disk");
  const fromDisk = await run(
    {},
    "backup",
    "restore",
    "--from",
    disk,
    "--key-file",
    join(outside, "key"),
    "--to",
    beside,
  );
  expect(fromDisk.code, fromDisk.err).toBe(0);
  const files = artifactsIn(dataDir);
  for (const [path, sha256] of Object.entries(files)) expect(path).toBe(join(sha256.slice(0, 2), sha256));
  expect(artifactsIn(beside)).toEqual(files);
  expect(readFileSync(join(dataDir, "token"), "utf8")).toBe(token);
  const restoredBooks = await run(env, "--data-dir", dataDir, "ledger", "--json");
  expect(JSON.parse(restoredBooks.out)).toEqual(JSON.parse(books.out));

  const second = await startLoop(own, { dataDir, plans: planned({ ...QUICK, most_iterations: 2 }), slots: 2, env });
  const after = await second.until(({ gates, state }) => gates.length > before.gates.length && state === "complete");
  expect(after.champions.slice(0, before.champions.length)).toMatchObject(
    before.champions.map(({ model, generation }) => ({ model, generation })),
  );
  expect(await soundness(second)).toEqual(SOUND);
  await second.end();
});
