/** What people meet at the command line: verbs that can be tried first, a line that joins, and words about what is. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { logPathOf } from "../../src/kernel/index.ts";
import { selfSigned } from "../support/certificate.ts";
import { commandsIn } from "../support/commands.ts";
import { PATIENT } from "../support/patience.ts";
import { owned, type StartOptions } from "../support/process.ts";
import { mainProcess } from "./parts/worker-world.ts";

const NODE = "desk";

function world(env: StartOptions["env"] = {}) {
  const own = owned(onTestFinished);
  const main = mainProcess(own, { RINGRIFT_PORT: "0", RINGRIFT_NODE_ID: NODE, ...env });
  return { own, main, run: commandsIn(main.folder) };
}

test("a join token comes with the whole line that joins, and the folder it is run in speaks of its node", async () => {
  const own = owned(onTestFinished);
  const certificate = selfSigned(own.folder());
  if (certificate === undefined) return;
  const { main, run } = world({ RINGRIFT_TLS_CERT_FILE: certificate.cert, RINGRIFT_TLS_KEY_FILE: certificate.key });
  await main.startInside(onTestFinished);
  const made = await run("token", "create", "box-1", "--join");
  expect(made.out).toMatch(
    /^ringrift join https:\/\/127\.0\.0\.1:\d+ \S+ --fingerprint ([0-9A-F]{2}:){31}[0-9A-F]{2}\n$/,
  );
  expect(made.err).toMatch(/listens only on this machine/);

  const folder = own.folder();
  const words = made.out.trim().split(" ").slice(1);
  const joined = own.startCli([...words, "--label", "box-1", "--no-run"], { cwd: folder });
  expect((await joined.exited).code, joined.stderr()).toBe(0);
  const status = await commandsIn(folder)("status");
  expect(status.code).toBe(1);
  expect(status.out).toMatch(/this folder is the node box-1 n[0-9a-f]{16}/);
  expect(status.out).toMatch(/works for +https:\/\/127\.0\.0\.1:\d+, joined .*: it answers/);
  expect(status.out).toMatch(/worker +does not run[\s\S]*'ringrift worker' lets it work/);
  const nodes = await commandsIn(folder)("nodes");
  expect(nodes).toMatchObject({ code: 4, err: expect.stringMatching(/a node of a main process elsewhere: ask there/) });

  const doctor = await run("doctor");
  expect(doctor.out).toMatch(/port +https:\/\/127\.0\.0\.1:\d+, for this machine only, by process \d+/);
});

test("what a verb would do can be seen first, and the record of writes says that it was a dry run, and why", async () => {
  const { main, run } = world();
  await main.startInside(onTestFinished);
  const [job = ""] = await main.add([{ work_type: "selfplay", parameters: {} }]);
  const drain = await run("nodes", "drain", NODE, "--dry-run", "--reason", "new disk");
  expect(drain.out).toMatch(/would get no new work and give back its jobs \(it has none\); nothing was changed/);
  expect((await run("nodes", "list")).out).not.toMatch(/draining|cordoned/);
  expect((await run("nodes", "cordon", NODE, "--dry-run")).out).toMatch(/would get no new work/);
  expect((await run("nodes", "cordon", NODE, "--reason", "new disk")).out).toMatch(/\(reason: new disk\)/);
  expect((await run("nodes", "list")).out).toMatch(/cordoned: new disk/);

  const cancel = await run("queue", "cancel", job, "--dry-run", "--reason", "not needed");
  expect(cancel.out).toMatch(new RegExp(`${job} is pending and would be cancelled \\(reason: not needed\\)`));
  expect(await main.states()).toEqual({ pending: 1 });
  expect((await run("queue", "cancel", job, "--reason", "not needed")).out).toMatch(/is cancelled/);
  expect((await run("queue", "retry", job, "--dry-run")).out).toMatch(/is cancelled and would be pending/);
  expect(await main.states()).toEqual({ cancelled: 1 });
  const refused = await run("queue", "cancel", "w999", "--dry-run");
  expect(refused.code).toBe(3);

  const { out } = await run("logs", "--writes");
  expect(out).toMatch(/dry run .*POST \/v1\/nodes\/\S+\/drain +new disk/);
  expect(out).toMatch(/dry run .*POST \/v1\/work\/jobs\/w\d+\/cancel +not needed/);
  expect(out).toMatch(/200 .*POST \/v1\/work\/jobs\/w\d+\/cancel +not needed/);
  expect(out).toMatch(/404 .*POST \/v1\/work\/jobs\/w999\/cancel/);
});

test.each([
  [["stauts", "--help"], /unknown command 'stauts'\n {2}.*status/],
  [["queue", "lits", "--help"], /unknown command 'lits'\n {2}.*list/],
  [["help", "stauts"], /unknown command 'stauts'\n {2}.*status/],
])("help on a command that is none is an error with a suggestion: %j", async (args, expected) => {
  const { code, out, err } = await commandsIn("/")(...args);
  expect(code).toBe(2);
  expect(out).toBe("");
  expect(err).toMatch(expected);
});

test("where configs are trained a worker starts beside the main process unless told otherwise, and a report stays", async () => {
  const own = owned(onTestFinished);
  const folder = own.folder();
  const start = async (...flags: string[]) => {
    const env = { RINGRIFT_LOOP_CONFIGS: "othello6_2p", RINGRIFT_PORT: "0" };
    const up = own.startCli(["up", ...flags], { cwd: folder, env });
    await up.waitForLine(/^ready/);
    return up;
  };
  const up = await start();
  await up.waitForLine(/the local worker starts/);
  await up.stop();
  expect(up.stdout()).toMatch(/What to do next/);
  expect(existsSync(join(folder, ".ringrift", "report.html"))).toBe(true);
  expect(readdirSync(join(folder, ".ringrift", "reports"))).toEqual([expect.stringMatching(/^\d{4}-.*Z\.html$/)]);

  const alone = await start("--workers", "0");
  await alone.stop();
  expect(alone.stderr()).not.toMatch(/the local worker starts/);
});

test("the games that were played can be listed, looked at, traced and exported, and the processes that played them seen", async () => {
  const own = owned(onTestFinished);
  const folder = own.folder();
  const run = commandsIn(folder);
  const train = own.startCli(["train", "hex7_2p", "--port", "0", "--workers", "1"], { cwd: folder });
  await train.waitForLine(/^ready/);
  const found = await vi.waitFor(async () => {
    const listed = await run("records", "list", "--json");
    const [segment] = (JSON.parse(listed.out) as { segments: { sha256: string; games: number }[] }).segments;
    expect(segment, listed.out).toBeDefined();
    return segment!;
  }, PATIENT);

  const id = `${found.sha256.slice(0, 12)}#1`;
  const shown = await run("records", "show", id);
  expect(shown.code, shown.err).toBe(0);
  expect(shown.out).toMatch(new RegExp(`^game ${id} of hex7_2p: (player [12] won|a draw) after \\d+ moves`));
  // The moves in the notation of the game, and the board.
  expect(shown.out).toMatch(/^([a-g][1-7] ?){10,}$/m);
  expect((await run("trace", id)).out).toMatch(/games/);

  const file = join(folder, "games.jsonl");
  expect((await run("records", "export", "--limit", "2", "--to", file)).code).toBe(0);
  const lines = readFileSync(file, "utf8").trim().split("\n");
  expect(lines.map((line) => Object.keys(JSON.parse(line)))).toEqual([
    expect.arrayContaining(["id", "config_key", "seed", "winner", "moves"]),
    expect.arrayContaining(["id", "config_key", "seed", "winner", "moves"]),
  ]);
  expect((await run("records", "show", "ffffffffffff#1")).code).toBe(3);

  // A worker tells of its loop within seconds.
  const out = await vi.waitFor(async () => {
    const all = (await run("resources")).out;
    expect(all).toMatch(/ (ms|s|min) +[\d.]+ (ms|s) +\d+ +\d+ +node cli\.\w+ .*worker/);
    return all;
  }, PATIENT);
  expect(out).toMatch(/RSS +FDS +CPU +LOOP +CHILDREN +TRANSFERS/);
  expect(out).toMatch(/\d+ MB +\d+ .* train hex7_2p/);
  expect(out).toMatch(/ {2}node cli\.\w+ .*worker/);
  expect(out).toMatch(/transfers +\d+ uploads? \(limit \d+/);
  await train.stop();
  // In a pipe there are sentences; what is for programs is in the log file.
  expect(train.lines.filter((line) => line.startsWith("{"))).toEqual([]);
  expect(readFileSync(logPathOf(join(folder, ".ringrift")), "utf8")).toMatch(/"msg":"the local worker starts"/);
});
