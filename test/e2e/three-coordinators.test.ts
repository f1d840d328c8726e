/**
 * Three coordinators as an operator runs them: `ringrift` makes and runs the nats-servers, with their certificates and secret; the API speaks
 * TLS; the leader is killed and its disk is lost, the lead is handed over, and the cluster is saved, begun anew and dissolved.
 */
import { createHash, X509Certificate } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { createStream } from "../../src/adapters/nats/connection.ts";
import { logOptionsOf } from "../../src/app/cluster/log-options.ts";
import { readSettings } from "../../src/app/settings.ts";
import { connect } from "../../src/client.ts";
import { EXIT } from "../../src/surfaces/commands/index.ts";
import { selfSigned } from "../support/certificate.ts";
import { commandsIn } from "../support/commands.ts";
import { hasProgram } from "../support/debian-programs.ts";
import { findNatsServer } from "../support/nats-servers.ts";
import { patience, until } from "../support/patience.ts";
import { gamesFile } from "../support/played-games.ts";
import { freePort, owned, type Started } from "../support/process.ts";
import { declareTiny } from "./parts/worker-world.ts";

const LEASE_SECONDS = patience(3_000) / 1_000;
const NAMES = ["a", "b", "c"] as const;
const CLIENTS = fileURLToPath(new URL("../../clients/python", import.meta.url));

interface Job {
  readonly state: string;
  readonly attempts: number;
}

/** What a coordinator answers, whoever signed its certificate. */
function ask(url: string, path: string, headers: Record<string, string> = {}) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; bytes: Buffer }>();
  const asked = request(new URL(path, url), { headers, rejectUnauthorized: false, agent: false }, async (answer) => {
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece as Buffer);
    resolve({ status: answer.statusCode ?? 0, bytes: Buffer.concat(pieces) });
  });
  asked.on("error", reject);
  asked.end();
  return promise;
}
const json = async (url: string, path: string, headers?: Record<string, string>): Promise<unknown> =>
  JSON.parse((await ask(url, path, headers)).bytes.toString());

/** A program in Python that publishes, waits for a file to be there, and publishes again. */
const PUBLISHER = `
import json, os, sys, time
import ringrift
addresses = [ringrift.Address(url, sys.argv[2]) for url in sys.argv[4:]]
client = ringrift.connect(sys.argv[3], addresses=addresses, token=sys.argv[1], patience_seconds=300)
def publish(games):
    receipt = client.publish("NEW_GAMES_AVAILABLE", {"config_key": "hex8_2p", "new_games": 1, "total_games": games})
    print("published", games, flush=True)
publish(101)
while not os.path.exists(os.path.join(sys.argv[3], "go")):
    time.sleep(0.05)
publish(102)
`;

test(
  "a leader that is killed is followed by another: events are there, clients and workers follow, and a job completes once",
  async ({ skip }) => {
    const program = findNatsServer();
    const own = owned(onTestFinished);
    const certificate = selfSigned(own.folder());
    if (program === undefined || certificate === undefined) return skip();
    const { fingerprint256 } = new X509Certificate(readFileSync(certificate.cert));
    const env = {
      RINGRIFT_RAFT_ENABLED: "true",
      RINGRIFT_COORDINATORS_ENGINE: program,
      RINGRIFT_TLS_CERT_FILE: certificate.cert,
      RINGRIFT_TLS_KEY_FILE: certificate.key,
      RINGRIFT_WORKER_BEAT_INTERVAL: "0.3",
      RINGRIFT_WORKER_CLAIM_WAIT: "1",
      RINGRIFT_COORDINATORS_LEASE: String(LEASE_SECONDS),
      RINGRIFT_NODE_BEAT: "0.5",
      RINGRIFT_PORT: "0",
      RINGRIFT_LOG_LEVEL: "ERROR",
    };
    const machine = (name: string) => {
      const folder = own.folder();
      declareTiny(folder);
      const run = (...args: string[]) => own.startCli(args, { cwd: folder, env: { ...env, RINGRIFT_NODE_ID: name } });
      // What does not go on runs inside the test: a process for each would cost more than all the rest.
      const told = commandsIn(folder, { env: { NO_COLOR: "1", ...env, RINGRIFT_NODE_ID: name } });
      const done = async (...args: string[]) => {
        let said = await told(...args);
        // Servers that choose a leader cannot serve for a moment: whoever typed it types it again.
        await until(
          async () => {
            if (said.code === EXIT.unavailable) said = await told(...args);
            return said.code !== EXIT.unavailable;
          },
          () => `${args.join(" ")}: ${said.err}`,
        );
        expect(said.code, said.err).toBe(0);
        return said.out.trim();
      };
      const up = async (...args: string[]) => {
        const started = run("up", "--headless", ...args);
        const { match } = await started.waitForLine(/^standby .* port (\d+) /);
        return { started, url: `https://127.0.0.1:${match[1]}` };
      };
      return { name, told, done, run, up, folder, dataDir: join(folder, ".ringrift") };
    };
    const [a, b, c] = NAMES.map(machine) as [Machine, Machine, Machine];
    type Machine = ReturnType<typeof machine>;
    // The servers of the log: made on one machine, carried to the others, and run on each.
    const peers: string[] = [];
    for (const name of NAMES)
      peers.push(`${name}=127.0.0.1:${await freePort()}:${await freePort()}:${await freePort()}`);
    const { files } = JSON.parse(await a.done("cluster", "engine", "init", "--peers", peers.join(","), "--json"));
    for (const { name, dataDir } of [b, c]) {
      mkdirSync(join(dataDir, "engine"), { recursive: true, mode: 0o700 });
      copyFileSync(files[name], join(dataDir, "engine", "engine.json"));
    }
    const engines = [a, b, c].map((one) => one.run("cluster", "engine", "run"));
    for (const engine of engines) await engine.waitForLine(/^ready: .* runs as [abc]$/);
    let refusal = "";
    await until(
      async () => {
        const { code, err } = await a.told("cluster", "init", "--dry-run");
        refusal = err;
        return code === 0;
      },
      () => `the servers are not there: ${refusal}`,
    );
    // Nobody comes in without the secret, nor without TLS.
    const log = logOptionsOf(readSettings({}, "/", { dataDir: a.dataDir }));
    for (const stranger of [
      { ...log, user: { name: "ringrift", password: "a guess" } },
      { servers: log.servers, monitors: log.monitors, stream: log.stream, replicas: 3, answerMs: log.answerMs },
    ])
      await expect(createStream(stranger, true)).rejects.toMatchObject({ code: "LOG_UNAVAILABLE" });
    expect(await a.done("cluster", "init")).toMatch(/first coordinator/);
    const first = await a.up();
    await first.started.waitForLine(/^leads term 1 /);
    const token = await a.done("token", "create", "members", "--scope", "operator");
    const tokenFile = join(own.folder(), "token");
    writeFileSync(tokenFile, token, { mode: 0o600 });
    const standbys: { readonly started: Started; readonly url: string; readonly machine: Machine }[] = [];
    for (const one of [b, c]) {
      await one.done("cluster", "join", first.url, "--token-file", tokenFile, "--fingerprint", fingerprint256);
      // Without a service for it, the coordinator runs the server by itself. A worker of a standby works for whoever leads.
      if (one === c) await engines[2]!.stop();
      standbys.push({ ...(await one.up(...(one === c ? ["--workers", "1"] : []))), machine: one });
    }
    const twice = await a.told("cluster", "engine", "run", "--json");
    expect(twice.out + twice.err).toContain("ENGINE_RUNS");
    // A standby says who leads, and its command line asks the leader.
    expect(await json(standbys[0]!.url, "/v1/status")).toMatchObject({
      status: 503,
      code: "NOT_LEADER",
      retryable: true,
      details: { leader: { name: "a", url: first.url }, term: 1 },
    });
    expect((await ask(standbys[0]!.url, "/readyz")).status).toBe(503);
    expect((await ask(standbys[0]!.url, "/livez")).status).toBe(200);
    expect(await b.done("token", "list")).toContain("members");
    // A browser is told so too, on every view, with the way to the leader.
    const page = await ask(standbys[0]!.url, "/models", { accept: "text/html" });
    expect(page.status).toBe(503);
    expect(page.bytes.toString()).toContain("<h1>b stands by</h1>");
    expect(page.bytes.toString()).toContain(
      `<strong>a</strong> leads, in term 1. Its page is at <a href="${first.url}">`,
    );

    const client = connect({
      endpoints: [first, ...standbys].map(({ url }) => ({ url, token, fingerprint: fingerprint256 })),
      patienceMs: patience(60_000),
    });
    onTestFinished(() => client.close());
    const seen: number[] = [];
    const publish = (games: number) =>
      client.publish("NEW_GAMES_AVAILABLE", { config_key: "hex8_2p", new_games: 1, total_games: games });
    const following = client.subscribe(
      { consumer: "outside", eventTypes: ["NEW_GAMES_AVAILABLE"], start: "earliest" },
      ({ payload }) => void seen.push(payload.total_games),
    );
    const before = await Promise.all([1, 2, 3, 4, 5].map(publish));
    const pythonFolder = own.folder();
    const python = hasProgram("python3") ? startPython() : undefined;
    function startPython(): Started {
      const file = join(pythonFolder, "publisher.py");
      writeFileSync(file, PUBLISHER);
      const addresses = [first, ...standbys].map(({ url }) => url);
      const args = [token, fingerprint256, pythonFolder, ...addresses];
      return own.startNode(file, args, {
        execPath: "python3",
        env: { PYTHONPATH: CLIENTS, PYTHONDONTWRITEBYTECODE: "1" },
      });
    }
    await python?.waitForLine(/^published 101$/);
    const { added } = await client.request<{ added: { work_id: string }[] }>("POST", "/v1/work/jobs", {
      jobs: [{ work_type: "evaluation", config_key: "hex8_2p", payload: { parameters: { ms: 8_000 } } }],
    });
    const jobId = added[0]!.work_id;
    const job = () => client.request<Job>("GET", `/v1/work/jobs/${jobId}`);
    await until(
      async () => (await job()).state === "running",
      () => "the worker of a standby did not take the job",
    );

    // A file is safe once a second coordinator has it: then the leader's disk may be lost with the leader.
    const games = own.folder();
    writeFileSync(join(games, "brought.arena"), gamesFile(3).bytes);
    await a.done("import", games);
    const asOperator = { authorization: `Bearer ${token}` };
    const { artifacts } = await client.request<{ artifacts: { sha256: string }[] }>("GET", "/v1/artifacts?kind=games");
    const { sha256 } = artifacts[0]!;
    const bytesAt = async (url: string): Promise<string> => {
      const { status: code, bytes } = await ask(url, `/v1/artifacts/${sha256}`, asOperator);
      return code === 200 ? createHash("sha256").update(bytes).digest("hex") : `${code}`;
    };
    expect(await bytesAt(first.url)).toBe(sha256);
    let file: unknown;
    await until(
      async () => {
        const found = await client.request<{ safe: boolean }>("GET", `/v1/artifacts/${sha256}/about`);
        file = found;
        return found.safe;
      },
      () => `no second coordinator has the file: ${JSON.stringify(file)}`,
    );
    await first.started.killNow();
    for (const name of readdirSync(a.dataDir))
      if (name !== "engine") rmSync(join(a.dataDir, name), { recursive: true, force: true });
    writeFileSync(join(pythonFolder, "go"), "");
    const second = await Promise.any(
      standbys.map(async (one) => ({ ...one, line: await one.started.waitForLine(/^leads term (\d+) /) })),
    );
    // Whoever publishes meanwhile waits for the new leader; the same events are there, under the same numbers.
    const after = await Promise.all([6, 7].map(publish));
    const numbers = [...before, ...after].map(({ seq }) => Number(seq));
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    await until(
      () => seen.length >= 7 + (python === undefined ? 0 : 2),
      () => `the consumer saw ${seen.join()}`,
    );
    await python?.waitForLine(/^published 102$/);
    // Whoever was not answered says it again under the same id, so that nothing comes twice.
    expect(seen.filter((games) => games < 100)).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(seen.filter((games) => games > 100)).toEqual(python === undefined ? [] : [101, 102]);
    // Also the one of the two that had not fetched it yet gets it from the other.
    await until(
      async () => (await bytesAt(second.url)) === sha256,
      () => "the new leader has not the bytes of the file",
    );
    let ended: Job | undefined;
    await until(
      async () => {
        ended = await job();
        return ended.state === "completed";
      },
      () => `the job is ${JSON.stringify(ended)}`,
    );
    expect(ended).toMatchObject({ attempts: 1 });
    // A file that a job needs comes from whoever leads now: the coordinator that the worker once joined is gone.
    const { added: later } = await client.request<{ added: { work_id: string }[] }>("POST", "/v1/work/jobs", {
      jobs: [
        {
          work_type: "evaluation",
          config_key: "hex8_2p",
          payload: { parameters: { ms: 50 }, inputs: [{ name: "games", sha256 }] },
        },
      ],
    });
    const withInput = () => client.request<Job>("GET", `/v1/work/jobs/${later[0]!.work_id}`);
    await until(
      async () => {
        ended = await withInput();
        return ended.state === "completed";
      },
      () => `the job with an input is ${JSON.stringify(ended)}`,
    );
    expect(ended).toMatchObject({ attempts: 1 });
    const shown = async () => JSON.parse(await second.machine.done("cluster", "status", "--json"));
    let status = await shown();
    expect(status).toMatchObject({ alone: false, role: "leader", leader: { name: second.machine.name } });
    await until(
      async () => {
        status = await shown();
        return status.engine?.servers.every(({ current }: { current: boolean }) => current) ?? false;
      },
      () => `not all servers have the log: ${JSON.stringify(status.engine)}`,
    );
    // The machine that is gone is taken out; it is silent, and so it is listed no more.
    const { left } = JSON.parse(
      await second.machine.done("cluster", "leave", "--member", "a", "--reason", "its disk is gone", "--json"),
    );
    expect(left).toBe("a");
    // All rows are equal, and the lead is handed over in peace.
    const third = standbys.find(({ machine: { name } }) => name !== second.machine.name)!;
    expect(JSON.parse(await second.machine.done("cluster", "verify", "--json"))).toMatchObject({
      members: [{ name: third.machine.name, same_rows: true }],
    });
    await second.machine.done("cluster", "step-down", "--to", third.machine.name, "--reason", "upgrade");
    await third.started.waitForLine(/^leads term (\d+) /);
    expect(JSON.parse(await second.machine.done("cluster", "status", "--json"))).toMatchObject({
      role: "follower",
      terms: [
        { leader: third.machine.name },
        { leader: second.machine.name, ended: "handed over", reason: "upgrade" },
        {},
      ],
    });
    const saved = join(own.folder(), "saved");
    expect(await third.machine.done("cluster", "snapshot", saved)).toMatch(/is in /);
    await following.stop();
    for (const { started } of standbys) expect(await started.stop()).toMatchObject({ code: 0 });
    // The server that a coordinator ran has ended with it; a service runs it until somebody wants it back.
    const engineOfC = c.run("cluster", "engine", "run");
    await engineOfC.waitForLine(/^ready: /);
    const refused = async (machine: Machine, code: string, ...args: string[]) => {
      let told = "";
      // A server that has just come back may be in the middle of an election.
      await until(
        async () => {
          const { code: exit, out, err } = await machine.told("cluster", ...args, "--json");
          expect(exit).not.toBe(0);
          told = out + err;
          return !told.includes("LOG_UNAVAILABLE");
        },
        () => told,
      );
      expect(told).toContain(code);
    };
    await refused(second.machine, "LOG_EXISTS", "recover", "--from-this-replica", "--confirm", status.cluster);
    // The lone survivor begins anew from its own folder; and so does a copy, into an empty one.
    const anewHere = ["--replace-log", "--confirm", status.cluster] as const;
    const recovered = await second.machine.done("cluster", "recover", "--from-this-replica", ...anewHere, "--json");
    expect(JSON.parse(recovered)).toMatchObject({ generation: 2, seq: 0, applied: true });
    await refused(a, "NOT_CONFIRMED", "restore", saved, "--replace-log");
    const bytes = readFileSync(saved);
    const bent = Buffer.from(bytes);
    bent[bent.length >> 1]! ^= 1;
    writeFileSync(saved, bent);
    await refused(a, "SNAPSHOT_DAMAGED", "restore", saved, ...anewHere);
    writeFileSync(saved, bytes);
    await a.done("cluster", "restore", saved, ...anewHere);
    const anew = await a.up();
    await anew.started.waitForLine(/^leads term (\d+) /);
    expect(await json(anew.url, "/v1/cluster", asOperator)).toMatchObject({
      ...{ cluster: status.cluster, generation: 2, role: "leader", name: "a" },
    });
    const done = { state: "completed", attempts: 1 };
    expect(await json(anew.url, `/v1/work/jobs/${jobId}`, asOperator)).toMatchObject(done);
    expect(await anew.started.stop()).toMatchObject({ code: 0 });
    // Back to one: nothing is lost on the way, and the shared log is gone.
    expect(await a.done("cluster", "dissolve")).toMatch(/by itself again/);
    await expect(createStream(log, true)).resolves.toBeUndefined();
    const alone = own.startCli(["up", "--headless"], {
      cwd: a.folder,
      env: { ...env, RINGRIFT_RAFT_ENABLED: "false", RINGRIFT_NODE_ID: "a" },
    });
    const { match } = await alone.waitForLine(/^ready .* port (\d+) /);
    expect(await json(`https://127.0.0.1:${match[1]}`, `/v1/work/jobs/${jobId}`, asOperator)).toMatchObject(done);
    expect(await alone.stop()).toMatchObject({ code: 0 });
    for (const engine of [engines[0]!, engines[1]!, engineOfC]) await engine.stop();
  },
  patience(300_000),
);
