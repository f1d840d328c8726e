/** Machines that become nodes with one command: over TLS, with a key of their own, only dialling out. */
import { X509Certificate } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { seededRandom } from "../../src/kernel/index.ts";
import { faultProxy } from "../chaos/parts/fault-proxy.ts";
import { selfSigned } from "../support/certificate.ts";
import { commandsIn } from "../support/commands.ts";
import { PATIENT, patience } from "../support/patience.ts";
import { freePort, owned } from "../support/process.ts";
import { declareTiny, mainProcess, processesWith } from "./parts/worker-world.ts";

const soon = <T>(look: () => T | Promise<T>) => vi.waitFor(look, PATIENT);
/** Long enough that a slow machine is not taken for a dead one. */
const SILENCE_SECONDS = patience(2_000) / 1_000;
const MAIN = {
  RINGRIFT_WORK_LEASE_SILENCE: String(SILENCE_SECONDS),
  RINGRIFT_NODE_BEAT: "0.5",
  RINGRIFT_NODE_SUSPECT: "1.5",
  RINGRIFT_NODE_DEAD: "600",
};
const NODE = { RINGRIFT_WORKER_BEAT_INTERVAL: "0.3", RINGRIFT_WORKER_CLAIM_WAIT: "1", RINGRIFT_JOB_GRACE_PERIOD: "1" };

async function world({ tls = false, ends = false } = {}) {
  const own = owned(onTestFinished);
  const certificate = tls ? selfSigned(own.folder()) : undefined;
  const port = await freePort();
  const main = mainProcess(own, {
    ...MAIN,
    RINGRIFT_PORT: String(port),
    ...(certificate === undefined
      ? {}
      : { RINGRIFT_TLS_CERT_FILE: certificate.cert, RINGRIFT_TLS_KEY_FILE: certificate.key }),
  });
  // One that ends within the test is a process of its own.
  await (ends ? main.start() : main.startInside(onTestFinished));
  const node = (env: Readonly<Record<string, string>> = {}) => {
    const folder = own.folder();
    declareTiny(folder);
    const dataDir = join(folder, ".ringrift");
    const run = (...args: string[]) => own.startCli(args, { cwd: folder, env: { ...NODE, ...env } });
    /** Runs to its end, in this process. */
    const told = commandsIn(folder, { env: { NO_COLOR: "1", ...NODE, ...env } });
    return { folder, dataDir, run, told };
  };
  const url = `${certificate === undefined ? "http" : "https"}://localhost:${port}`;
  return { own, main, certificate, url, node, token: await main.token() };
}
const nodes = async (main: ReturnType<typeof mainProcess>) => {
  const { ask } = await import("../support/surface.ts");
  const { socket_path: socketPath } = JSON.parse(readFileSync(join(main.dataDir, "endpoint.json"), "utf8"));
  return (await ask({ socketPath }, "/v1/nodes")).json.nodes as { node_id: string; label: string; state: string }[];
};

test("joins over TLS with the authority or the fingerprint, and does jobs whose files come home", async () => {
  const { main, certificate, url, node, token } = await world({ tls: true });
  if (certificate === undefined) return;
  const untrusted = await node().told("join", url, token);
  expect(untrusted.code).not.toBe(0);
  expect(untrusted.err).toMatch(/is not trusted[\s\S]*--ca[\s\S]*--fingerprint/);
  const wrong = await node().told("join", url, token, "--fingerprint", "ab".repeat(32));
  expect(wrong.code).not.toBe(0);
  expect(wrong.err).toMatch(/shows another certificate/);
  expect(await nodes(main)).toHaveLength(1);

  const byAuthority = node();
  const first = byAuthority.run("join", url, token, "--ca", certificate.cert, "--label", "one", "--slots", "1");
  await first.waitForLine(/joined .* as one \(n[0-9a-f]{16}\)/);
  await first.waitForLine(/worker ready/);
  const { fingerprint256 } = new X509Certificate(readFileSync(certificate.cert));
  const second = node().run("join", url, token, "--fingerprint", fingerprint256, "--label", "two", "--slots", "1");
  await second.waitForLine(/worker ready/);
  const ids = await main.add(Array.from({ length: 6 }, () => ({ work_type: "selfplay", parameters: { ms: 1_000 } })));
  await soon(async () => expect(await main.states()).toEqual({ completed: 6 }));
  const jobs = await Promise.all(ids.map((id) => main.show(id)));
  expect(new Set(jobs.map(({ node_id }) => node_id)).size).toBe(2);
  for (const { evidence } of jobs) {
    const { sha256, bytes } = evidence!.outputs[0]!;
    expect(statSync(join(main.dataDir, "artifacts", sha256.slice(0, 2), sha256)).size).toBe(bytes);
  }
  for (const file of ["node.key", "node.json"])
    expect(statSync(join(byAuthority.dataDir, "node", file)).mode & 0o777, file).toBe(0o600);
  expect(readFileSync(join(byAuthority.dataDir, "node", "node.json"), "utf8")).not.toContain(token);
  await Promise.all([first.stop(), second.stop()]);
  await soon(async () => expect((await nodes(main)).filter(({ state }) => state === "left")).toHaveLength(2));
});

test("needs a token once: after that 'join' without it, or 'worker', is enough, over restarts of the main process", async () => {
  const { main, url, node, token } = await world({ ends: true });
  const one = node();
  const none = await one.told("join", url);
  expect(none.code).toBe(2);
  expect(none.err).toMatch(/a token is needed/);
  const bad = await one.told("join", url, "not-a-token-of-ours");
  expect(bad.code).not.toBe(0);
  expect(bad.err).toMatch(/does not take this token[\s\S]*ringrift token create/);
  expect((await one.told("join", url, await main.token("read"))).code).not.toBe(0);

  const only = one.run("join", url, token, "--no-run");
  expect(await only.exited).toEqual({ code: 0, signal: null });
  const again = one.run("join", url);
  await again.waitForLine(/joined .* already/);
  await again.waitForLine(/worker ready/);
  await main.started().killNow();
  await main.start();
  const [id] = await main.add([{ parameters: {} }]);
  await soon(async () => expect((await main.show(id!)).state).toBe("completed"));
  await again.stop();
  const worker = one.run("worker");
  await worker.waitForLine(/worker ready/);
  await worker.stop();

  // With the whole line again, as a service has it, while nobody answers.
  await main.started().killNow();
  const service = one.run("join", url, token);
  await service.waitForLine(/does not answer; this folder has joined it before/);
  await main.start();
  const [later] = await main.add([{ parameters: {} }]);
  await soon(async () => expect((await main.show(later!)).state).toBe("completed"));
  expect(readFileSync(join(one.dataDir, "node", "incarnation"), "utf8")).toBe("3\n");
});

test("a service that joins again through a proxy that refuses for a moment waits for it", async () => {
  const { main, node, token, url } = await world();
  const line = await faultProxy({ target: Number(new URL(url).port), random: seededRandom(1) });
  onTestFinished(() => line.close());
  const one = node();
  const args = ["join", `http://localhost:${line.port}`, token];
  expect((await one.told(...args, "--no-run")).code).toBe(0);
  line.fault = "error";
  const service = one.run(...args);
  await service.waitForLine(/cannot answer now: the answer was 502; this folder has joined it before/);
  line.fault = "none";
  const [id] = await main.add([{ parameters: {} }]);
  await soon(async () => expect((await main.show(id!)).state).toBe("completed"));
});

test.each([
  [
    "the folder of a main process",
    "FOLDER_IN_USE",
    (folder: string) => {
      mkdirSync(join(folder, ".ringrift"));
      writeFileSync(join(folder, ".ringrift", "coordination.db"), "");
      return ["http://localhost:1"];
    },
  ],
  ["an address that is none", "USAGE", () => ["box-7"]],
  ["plain HTTP beyond this machine", "USAGE", () => ["http://192.0.2.1:8770"]],
  ["a main process that does not answer", "UNREACHABLE", () => ["http://127.0.0.1:1"]],
])("does not join with %s", async (_, code, prepare) => {
  const own = owned(onTestFinished);
  const folder = own.folder();
  const args = ["join", ...prepare(folder), "a-token-that-is-long-enough-to-be-one", "--json"];
  const joining = await commandsIn(folder)(...args);
  expect(joining.code).not.toBe(0);
  expect(JSON.parse(joining.err.trim().split("\n").at(-1)!)).toMatchObject({ error: { code } });
  expect(existsSync(join(folder, ".ringrift", "node", "node.json"))).toBe(false);
});

test("a job whose worker died runs elsewhere once its lease has been silent, long before its node is given up", async () => {
  const { main, url, node, token } = await world();
  const first = node().run("join", url, token, "--slots", "1");
  await first.waitForLine(/worker ready/);
  const [id] = await main.add([{ parameters: { ms: 600_000 } }]);
  await soon(async () => expect((await main.show(id!)).progress).not.toBeNull());
  const second = node().run("join", url, token, "--slots", "1");
  await second.waitForLine(/worker ready/);
  const before = await main.show(id!);
  await first.killNow();
  const after = await soon(async () => {
    const job = await main.show(id!);
    expect(job).toMatchObject({ state: "running", fence: 2, attempts: 2 });
    return job;
  });
  expect(after.node_id).not.toBe(before.node_id);
  // It was the silence of its lease that gave it back: its node is not dead for long yet, and its time is not up.
  expect((await nodes(main)).find(({ node_id }) => node_id === before.node_id)?.state).not.toBe("dead");
  await second.stop();
});

test("a worker that slept beyond its lease is refused, stops its child at once, and keeps what was refused", async () => {
  const { main, url, node, token } = await world({ ends: true });
  const sleeper = node();
  const first = sleeper.run("join", url, token, "--slots", "1");
  await first.waitForLine(/worker ready/);
  const note = join(main.folder, "note");
  const [id] = await main.add([{ parameters: { ms: 600_000, again_ms: 0, stubborn: true, note } }]);
  await soon(() => expect(existsSync(note)).toBe(true));
  first.kill("SIGSTOP");
  const second = node().run("join", url, token, "--slots", "1");
  await soon(async () => expect(await main.show(id!)).toMatchObject({ state: "running", fence: 2 }));
  first.kill("SIGCONT");
  await first.waitForLine(/the lease is lost; its job is stopped/);
  await soon(() => expect(processesWith(join(sleeper.dataDir, "worker", "slots"))).toEqual([]));
  await soon(async () => expect(await main.show(id!)).toMatchObject({ state: "completed", fence: 2 }));
  await Promise.all([first.stop(), second.stop()]);
  await main.started().stop();
  const db = new DatabaseSync(join(main.dataDir, "coordination.db"), { readOnly: true });
  const told = db.prepare("SELECT count(*) AS n FROM events WHERE event_type = 'WORK_COMPLETED'").get();
  db.close();
  expect(told).toEqual({ n: 1 });
  expect(readdirSync(join(sleeper.dataDir, "worker", "spool", "results"))).toEqual([]);
});

test("a drained node gives up claiming, and works again when it is let", async () => {
  const { main, url, node, token } = await world();
  const worker = node().run("join", url, token, "--label", "box", "--slots", "1");
  await worker.waitForLine(/worker ready/);
  await main.post("/v1/nodes/box/drain", { reason: "maintenance" });
  await worker.waitForLine(/no new work is claimed/);
  const [id] = await main.add([{ parameters: {} }]);
  await main.post("/v1/nodes/box/uncordon", {});
  await worker.waitForLine(/work is claimed again/);
  await soon(async () => expect((await main.show(id!)).state).toBe("completed"));
  await worker.stop();
});

test("a node with a dead man ends itself and its job when its main process is gone, and one without waits", async () => {
  const { main, node, token, url } = await world({ ends: true });
  const rented = node({ RINGRIFT_WORKER_DEAD_MAN: String(patience(3_000) / 1_000) });
  const mortal = rented.run("join", url, token, "--label", "mortal", "--slots", "1");
  await mortal.waitForLine(/worker ready/);
  const patient = node().run("join", url, token, "--label", "patient", "--slots", "1");
  await patient.waitForLine(/worker ready/);
  const [first, second] = await main.add([{ parameters: { ms: 600_000 } }, { parameters: { ms: 600_000 } }]);
  for (const id of [first!, second!]) await soon(async () => expect((await main.show(id)).state).toBe("running"));
  await main.started().killNow();
  expect(await mortal.exited).toMatchObject({ code: 5 });
  expect(mortal.stderr()).toMatch(/the main process has not answered for \d+ s; this node ends itself/);
  await soon(() => expect(processesWith(rented.folder)).toEqual([]));
  await patient.waitForLine(/does not receive the heartbeats/);
});

test("a node that was forgotten ends and says that it has to join again", async () => {
  const { main, url, node, token } = await world();
  const worker = node().run("join", url, token, "--label", "box");
  await worker.waitForLine(/worker ready/);
  await main.post("/v1/nodes/box/forget", {});
  expect((await worker.exited).code).not.toBe(0);
  expect(worker.stderr()).toMatch(/Join again/i);
});
