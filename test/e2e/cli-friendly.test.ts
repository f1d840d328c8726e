/** What people meet at the command line: verbs that can be tried first, a line that joins, and words about what is. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { selfSigned } from "../support/certificate.ts";
import { owned, type StartOptions } from "../support/process.ts";
import { mainProcess } from "./parts/worker-world.ts";

const NODE = "desk";

function world(env: StartOptions["env"] = {}) {
  const own = owned(onTestFinished);
  const main = mainProcess(own, { RINGRIFT_PORT: "0", RINGRIFT_NODE_ID: NODE, ...env });
  const run = async (...args: string[]) => {
    const child = own.startCli(args, { cwd: main.folder });
    const { code } = await child.exited;
    return { code, out: child.stdout(), err: child.stderr() };
  };
  return { own, main, run };
}

test("a join token comes with the whole line that joins, and the folder it is run in speaks of its node", async () => {
  const own = owned(onTestFinished);
  const certificate = selfSigned(own.folder());
  if (certificate === undefined) return;
  const { main, run } = world({ RINGRIFT_TLS_CERT_FILE: certificate.cert, RINGRIFT_TLS_KEY_FILE: certificate.key });
  await main.start();
  const made = await run("token", "create", "box-1", "--join");
  expect(made.out).toMatch(
    /^ringrift join https:\/\/127\.0\.0\.1:\d+ \S+ --fingerprint ([0-9A-F]{2}:){31}[0-9A-F]{2}\n$/,
  );
  expect(made.err).toMatch(/listens for this machine alone/);

  const folder = own.folder();
  const words = made.out.trim().split(" ").slice(1);
  const joined = own.startCli([...words, "--label", "box-1", "--no-run"], { cwd: folder });
  expect((await joined.exited).code, joined.stderr()).toBe(0);
  const status = own.startCli(["status"], { cwd: folder });
  expect((await status.exited).code).toBe(1);
  expect(status.stdout()).toMatch(/this folder is the node box-1 n[0-9a-f]{16}/);
  expect(status.stdout()).toMatch(/works for +https:\/\/127\.0\.0\.1:\d+, since .*: it answers/);
  expect(status.stdout()).toMatch(/worker +does not run[\s\S]*'ringrift worker' lets it work/);

  const doctor = await run("doctor");
  expect(doctor.out).toMatch(/port +https:\/\/127\.0\.0\.1:\d+, for this machine alone, by process \d+/);
});

test("what a verb would do can be seen first, and the record of writes says that it was a dry run, and why", async () => {
  const { main, run } = world();
  await main.start();
  const [job = ""] = await main.add([{ work_type: "selfplay", parameters: {} }]);
  const drain = await run("nodes", "drain", NODE, "--dry-run", "--reason", "new disk");
  expect(drain.out).toMatch(/would get no new work and give back what it has \(it has none\); nothing was changed/);
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

  const { out } = await run("writes");
  expect(out).toMatch(/dry run +POST \/v1\/nodes\/\S+\/drain +new disk/);
  expect(out).toMatch(/dry run +POST \/v1\/work\/jobs\/w\d+\/cancel +not needed/);
  expect(out).toMatch(/done +POST \/v1\/work\/jobs\/w\d+\/cancel +not needed/);
  expect(out).toMatch(/refused \(404\) +POST \/v1\/work\/jobs\/w999\/cancel/);
});

test.each([
  [["stauts", "--help"], /unknown command 'stauts'\n {2}.*status/],
  [["queue", "lits", "--help"], /unknown command 'lits'\n {2}.*list/],
  [["help", "stauts"], /unknown command 'stauts'\n {2}.*status/],
])("help on a command that is none is an error with a suggestion: %j", async (args, expected) => {
  const { run } = world();
  const { code, out, err } = await run(...args);
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
