/** Three coordinators as an operator runs them, over three real nats-servers: the leader is killed, and everything goes on. */
import { createHash } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { connect } from "../../src/client.ts";
import { commandsIn } from "../support/commands.ts";
import { findNatsServer, natsServers } from "../support/nats-servers.ts";
import { patience, until } from "../support/patience.ts";
import { gamesFile } from "../support/played-games.ts";
import { owned, type Started } from "../support/process.ts";
import { declareTiny } from "./parts/worker-world.ts";

const LEASE_SECONDS = patience(3_000) / 1_000;
const NODE = { RINGRIFT_WORKER_BEAT_INTERVAL: "0.3", RINGRIFT_WORKER_CLAIM_WAIT: "1" };

interface Job {
  readonly state: string;
  readonly attempts: number;
}

test(
  "a leader that is killed is followed by another: events are there, clients and nodes follow, and a job completes once",
  async ({ skip }) => {
    const program = findNatsServer();
    if (program === undefined) return skip();
    const own = owned(onTestFinished);
    const servers = await natsServers(own, program);
    const env = {
      RINGRIFT_RAFT_ENABLED: "true",
      RINGRIFT_COORDINATORS_SERVERS: servers.map(({ url }) => url).join(","),
      RINGRIFT_COORDINATORS_MONITORS: servers.map(({ monitor }) => monitor).join(","),
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
        const { code, out, err } = await told(...args);
        expect(code, err).toBe(0);
        return out.trim();
      };
      const up = async () => {
        const started = run("up", "--headless");
        const { match } = await started.waitForLine(/^standby .* port (\d+) /);
        return { started, url: `http://127.0.0.1:${match[1]}` };
      };
      return { name, told, done, up, dataDir: join(folder, ".ringrift") };
    };
    const [a, b, c] = ["a", "b", "c"].map(machine) as [Machine, Machine, Machine];
    type Machine = ReturnType<typeof machine>;
    expect(await a.done("cluster", "init")).toMatch(/first coordinator/);
    const first = await a.up();
    await first.started.waitForLine(/^leads term 1 /);
    const token = await a.done("token", "create", "members", "--scope", "operator");
    const tokenFile = join(own.folder(), "token");
    writeFileSync(tokenFile, token, { mode: 0o600 });
    const standbys: { readonly started: Started; readonly url: string; readonly machine: Machine }[] = [];
    for (const one of [b, c]) {
      await one.done("cluster", "join", first.url, "--token-file", tokenFile);
      standbys.push({ ...(await one.up()), machine: one });
    }
    // A standby says who leads, and its command line asks the leader.
    const answer = await fetch(`${standbys[0]!.url}/v1/status`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toMatchObject({
      code: "NOT_LEADER",
      retryable: true,
      details: { leader: { name: "a", url: first.url }, term: 1 },
    });
    expect((await fetch(`${standbys[0]!.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${standbys[0]!.url}/livez`)).status).toBe(200);
    expect(await b.done("token", "list")).toContain("members");

    const client = connect({
      endpoints: [first, ...standbys].map(({ url }) => ({ url, token })),
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
    const nodeFolder = own.folder();
    declareTiny(nodeFolder);
    const workerToken = await a.done("token", "create", "node", "--scope", "worker");
    const node = own.startCli(["join", first.url, workerToken, "--label", "box", "--slots", "1"], {
      cwd: nodeFolder,
      env: NODE,
    });
    await node.waitForLine(/worker ready/);
    const { added } = await client.request<{ added: { work_id: string }[] }>("POST", "/v1/work/jobs", {
      jobs: [{ work_type: "evaluation", config_key: "hex8_2p", payload: { parameters: { ms: 8_000 } } }],
    });
    const jobId = added[0]!.work_id;
    const job = () => client.request<Job>("GET", `/v1/work/jobs/${jobId}`);
    await until(
      async () => (await job()).state === "running",
      () => "the node did not take the job",
    );

    // A file is safe once a second coordinator has it: then the leader's disk may be lost with the leader.
    const games = own.folder();
    writeFileSync(join(games, "brought.arena"), gamesFile(3).bytes);
    await a.done("import", games);
    const asOperator = { authorization: `Bearer ${token}` };
    const { artifacts } = await client.request<{ artifacts: { sha256: string }[] }>("GET", "/v1/artifacts?kind=games");
    const { sha256 } = artifacts[0]!;
    const bytesAt = async (url: string): Promise<string> => {
      const got = await fetch(`${url}/v1/artifacts/${sha256}`, { headers: asOperator });
      return got.ok
        ? createHash("sha256")
            .update(Buffer.from(await got.arrayBuffer()))
            .digest("hex")
        : `${got.status}`;
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
    rmSync(a.dataDir, { recursive: true, force: true });
    const second = await Promise.any(
      standbys.map(async (one) => ({ ...one, line: await one.started.waitForLine(/^leads term (\d+) /) })),
    );
    // Whoever publishes meanwhile waits for the new leader; the same events are there, under the same numbers.
    const after = await Promise.all([6, 7].map(publish));
    const numbers = [...before, ...after].map(({ seq }) => Number(seq));
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
    await until(
      () => seen.length >= 7,
      () => `the consumer saw ${seen.join()}`,
    );
    expect([...new Set(seen)]).toEqual([1, 2, 3, 4, 5, 6, 7]);
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
      () => `the job is ${JSON.stringify(ended)}\n${node.stdout().slice(-2_000)}`,
    );
    expect(ended).toMatchObject({ attempts: 1 });
    const status = JSON.parse(await second.machine.done("cluster", "status", "--json"));
    expect(status).toMatchObject({ alone: false, role: "leader", leader: { name: second.machine.name } });
    expect(status.engine.servers.every(({ current }: { current: boolean }) => current)).toBe(true);
    // The machine that is gone is taken out, and what remains is kept in a file.
    const { left } = JSON.parse(
      await second.machine.done("cluster", "leave", "--member", "a", "--reason", "its disk is gone", "--json"),
    );
    expect(left).toBe("a");
    const saved = join(own.folder(), "saved");
    expect(await second.machine.done("cluster", "snapshot", saved)).toMatch(/is in /);
    await following.stop();
    await node.stop();
    for (const { started } of standbys) expect(await started.stop()).toMatchObject({ code: 0 });
    const refused = async (machine: Machine, code: string, ...args: string[]) => {
      const { code: exit, out, err } = await machine.told("cluster", ...args, "--json");
      expect(exit).not.toBe(0);
      expect(out + err).toContain(code);
    };
    const d = machine("d");
    await refused(second.machine, "LOG_EXISTS", "recover", "--from-this-replica", "--confirm", status.cluster);
    await refused(d, "NOT_CONFIRMED", "restore", saved, "--replace-log");
    await d.done("cluster", "restore", saved, "--replace-log", "--confirm", status.cluster);
    const anew = await d.up();
    await anew.started.waitForLine(/^leads term (\d+) /);
    const restored = await fetch(`${anew.url}/v1/cluster`, { headers: asOperator });
    expect(await restored.json()).toMatchObject({ cluster: status.cluster, generation: 2, role: "leader", name: "d" });
    const kept = await fetch(`${anew.url}/v1/work/jobs/${jobId}`, { headers: asOperator });
    expect(await kept.json()).toMatchObject({ state: "completed", attempts: 1 });
    expect(await anew.started.stop()).toMatchObject({ code: 0 });
  },
  patience(120_000),
);
