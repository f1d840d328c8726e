/** A main process and joined nodes as real processes: files reach their number of copies, and get it back after a loss. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { readSettings } from "../../src/app/settings.ts";
import { silentLog } from "../../src/kernel/index.ts";
import { judgeArtifacts, recordArtifacts } from "../../src/sync/artifact-operations.ts";
import { commandsIn } from "../support/commands.ts";
import { PATIENT, patience } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { ask } from "../support/surface.ts";
import { declareTiny } from "./parts/worker-world.ts";

const soon = <T>(look: () => T | Promise<T>) => vi.waitFor(look, PATIENT);
const NODE = { RINGRIFT_WORKER_BEAT_INTERVAL: "0.3", RINGRIFT_WORKER_CLAIM_WAIT: "1", RINGRIFT_JOB_GRACE_PERIOD: "1" };
const sha256Of = (text: string) => createHash("sha256").update(text).digest("hex");

interface Artifact {
  readonly state: string;
  readonly copies: number;
  readonly required: number;
  readonly safe: boolean;
  readonly nodes: readonly string[];
}

/** `quickDeath`: a node that is gone is soon known to be. Where none dies, a moment in which the machine is slow is no death either. */
async function world({ tags = "", quickDeath = false } = {}) {
  const own = owned(onTestFinished);
  const folder = own.folder();
  const dataDir = join(folder, ".ringrift");
  const environment = {
    RINGRIFT_DATA_DIR: dataDir,
    RINGRIFT_PORT: "0",
    RINGRIFT_NODE_ID: "home",
    RINGRIFT_WORKER_TAGS: tags,
    RINGRIFT_P2P_STARTUP_GRACE_PERIOD: "0",
    RINGRIFT_NODE_BEAT: "0.3",
    ...(quickDeath && {
      RINGRIFT_NODE_SUSPECT: String(patience(1_500) / 1_000),
      RINGRIFT_NODE_DEAD: String(patience(3_000) / 1_000),
    }),
  };
  const coordination = await bootstrapCoordination({ settings: readSettings(environment, folder), log: silentLog() });
  onTestFinished(() => coordination.shutdown());
  const at = { socketPath: coordination.api.socketPath };
  const post = async (path: string, body: unknown) => {
    const { status, json } = await ask(at, path, { method: "POST", body });
    if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(json)}`);
    return json;
  };
  const placeOf = (sha256: string) => join(dataDir, "artifacts", sha256.slice(0, 2), sha256);
  /** Files as jobs would have brought them, judged good. */
  const bring = async (kind: string, ...texts: string[]) => {
    const hashes = texts.map(sha256Of);
    const entries = texts.map((text, i) => ({
      sha256: hashes[i]!,
      kind,
      bytes: text.length,
      rows: 0,
      games: kind === "games" ? 20 : 0,
      config_key: "hex8_2p" as const,
      producer: "home",
      rules_version: null,
      parents: [],
      work_id: null,
      part: null,
      iteration: null,
    }));
    for (const [i, text] of texts.entries()) {
      mkdirSync(join(dataDir, "artifacts", hashes[i]!.slice(0, 2)), { recursive: true });
      writeFileSync(placeOf(hashes[i]!), text);
    }
    await coordination.router.store.commit([
      recordArtifacts({ entries, at: Date.now() }),
      judgeArtifacts({ sha256s: hashes, action: "accept", reason: null, at: Date.now() }),
    ]);
    for (const sha256 of hashes) await post(`/v1/artifacts/${sha256}/verify`, {});
    return hashes;
  };
  const token = String((await post("/v1/tokens", { label: "node", scope: "worker" })).token);
  const node = (label: string, env: Record<string, string> = {}) => {
    const place = own.folder();
    declareTiny(place);
    const options = { cwd: place, env: { ...NODE, ...env } };
    const url = `http://127.0.0.1:${coordination.api.port}`;
    const started = own.startCli(["join", url, token, "--label", label, "--slots", "1"], options);
    const pathOf = (sha256: string) => join(place, ".ringrift", "worker", "inputs", sha256);
    return { started, pathOf, again: () => own.startCli(["worker"], options) };
  };
  const about = async (sha256: string) => (await ask(at, `/v1/artifacts/${sha256}/about`)).json as unknown as Artifact;
  const cli = commandsIn(folder, { env: { NO_COLOR: "1", ...environment } });
  return { at, coordination, bring, node, about, cli, placeOf, post };
}

test("files reach their copies, get them back when a host is gone for good, and come home when home lost them", async () => {
  const w = await world({ quickDeath: true });
  const [games, second, model] = [
    ...(await w.bring("games", "the first games", "the second games")),
    ...(await w.bring("model", "a model")),
  ] as [string, string, string];
  // Alone, one copy is all that can be had, and is no trouble.
  expect(await w.about(games)).toMatchObject({ copies: 1, required: 1, safe: true, nodes: ["home"] });
  // The first name of this node leads nowhere; a further one does, as that of a VPN would.
  const one = w.node("one", {
    RINGRIFT_TRANSFERS_SERVE_NAME: "127.0.0.9",
    RINGRIFT_TRANSFERS_FURTHER_NAMES: "127.0.0.1",
  });
  await soon(async () => expect(await w.about(model)).toMatchObject({ copies: 2, required: 2, safe: true }));
  const two = w.node("two");
  await soon(async () => expect(await w.about(model)).toMatchObject({ copies: 3, required: 3, safe: true }));
  const link = /127\.0\.0\.9, 127\.0\.0\.1 \(used by two\)/;
  await soon(async () => expect((await w.cli("nodes", "show", "one")).out).toMatch(link));
  expect((await w.cli("why", "one")).out).toMatch(link);
  for (const sha256 of [games, second])
    await soon(async () => expect(await w.about(sha256)).toMatchObject({ copies: 2, required: 2, safe: true }));
  const shown = await w.cli("artifacts", "show", games.slice(0, 10));
  expect(shown.out).toMatch(/copies\s+2 of 2/);
  expect(shown.out).toMatch(/home\s+counts/);
  expect(shown.out).toMatch(/(one|two)\s+counts/);
  expect(shown.out).not.toMatch(/n[0-9a-f]{16}/);

  // A host that held games is gone for good.
  const held = (await w.about(games)).nodes;
  const [gone, left] = held.includes("one") ? [one, "two"] : [two, "one"];
  await gone.started.killNow();
  await soon(async () => {
    const now = await w.about(games);
    expect(now).toMatchObject({ copies: 2, required: 2, safe: true });
    expect(now.nodes).toContain(left);
  });
  await soon(() => expect(w.coordination.router.history({ eventType: "REPAIR_COMPLETED" })).not.toHaveLength(0));

  // Home loses its own.
  writeFileSync(w.placeOf(games), "something else");
  await w.post(`/v1/artifacts/${games}/verify`, {});
  await soon(async () => {
    const now = await w.about(games);
    expect(now).toMatchObject({ state: "durable", safe: true });
    expect(now.nodes).toContain("home");
  });
  expect(readFileSync(w.placeOf(games), "utf8")).toBe("the first games");
});

test("what is given up goes from all nodes, and a node that is started again still holds the rest", async () => {
  const w = await world();
  const [games, kept] = (await w.bring("games", "some games", "other games")) as [string, string];
  const node = w.node("box");
  for (const sha256 of [games, kept])
    await soon(async () => expect(await w.about(sha256)).toMatchObject({ copies: 2 }));
  await node.started.stop();
  const again = node.again();
  await again.waitForLine(/worker ready/);
  await soon(async () => expect(await w.about(kept)).toMatchObject({ copies: 2, nodes: ["home", "box"] }));
  const tried = await w.cli("artifacts", "free", games, "--dry-run");
  expect(tried.out).toMatch(/on home, box \(2 copies\) would go; nothing was changed/);
  expect((await w.cli("artifacts", "pin", games)).out).toMatch(/needed by hand:/);
  expect((await w.cli("artifacts", "free", games)).code).not.toBe(0);
  await w.cli("artifacts", "pin", games, "--release");
  expect((await w.cli("artifacts", "free", games)).code).toBe(0);
  await soon(() => expect(() => readFileSync(node.pathOf(games))).toThrow("ENOENT"));
  expect(readFileSync(node.pathOf(kept), "utf8")).toBe("other games");
});

test("small files stay together on a node, are its copies after kill -9, come home from there, and go one by one", async () => {
  const w = await world();
  const texts = Array.from({ length: 40 }, (_, i) => `small games ${i}`);
  const all = await w.bring("games", ...texts);
  const [lost, freed] = all as [string, string];
  const node = w.node("box");
  const areCopied = () =>
    soon(async () => {
      for (const sha256 of all) expect(await w.about(sha256)).toMatchObject({ copies: 2, nodes: ["home", "box"] });
    });
  await areCopied();
  const packs = join(node.pathOf(lost), "..", "..", "packs");
  expect(readdirSync(packs).filter((name) => name.endsWith(".pack"))).not.toEqual([]);
  for (const sha256 of all) expect(existsSync(node.pathOf(sha256))).toBe(false);
  await node.started.killNow();
  await node.again().waitForLine(/worker ready/);
  await areCopied();

  // Home loses one: it comes back out of the pack.
  writeFileSync(w.placeOf(lost), "something else");
  await w.post(`/v1/artifacts/${lost}/verify`, {});
  await soon(() => expect(readFileSync(w.placeOf(lost), "utf8")).toBe(texts[0]));
  expect(readFileSync(node.pathOf(lost), "utf8")).toBe(texts[0]);

  // One is given up: it alone goes.
  expect((await w.cli("artifacts", "free", freed)).code).toBe(0);
  await soon(async () => expect((await w.about(freed)).nodes).toEqual([]));
  for (const sha256 of all.slice(2)) expect((await w.about(sha256)).nodes).toContain("box");
});

test("on a rented machine all is at risk, and a node that stays takes it from there", async () => {
  const w = await world({ tags: "rented" });
  const [games] = (await w.bring("games", "games at risk")) as [string];
  expect(await w.about(games)).toMatchObject({ copies: 0, at_risk: true, safe: false });
  const { out } = await w.cli("artifacts", "copies");
  expect(out).toMatch(/1 file is only on nodes that are rented or being drained/);
  w.node("steady");
  await soon(async () => expect(await w.about(games)).toMatchObject({ copies: 1, at_risk: false, safe: true }));
  // Nothing runs: the folder still knows.
  await w.coordination.shutdown();
  const left = await w.cli("artifacts", "show", games);
  expect(left.out).toMatch(/home\s+its node is rented/);
});

test("a rented node that is told to end sends home what it alone has and what its jobs have made, and nothing is lost", async () => {
  const w = await world();
  const [games] = (await w.bring("games", "games that box alone will have")) as [string];
  const node = w.node("box", { RINGRIFT_WORKER_TAGS: "rented", RINGRIFT_JOB_GRACE_PERIOD: "60" });
  await node.started.waitForLine(/worker ready/);
  await soon(async () => expect((await w.cli("sync", "run", "games", "--to", "box")).code).toBe(0));
  const parameters = { ms: 1_000, stubborn: true };
  const job = { work_type: "selfplay", config_key: "hex8_2p", payload: { parameters } };
  const { added } = (await w.post("/v1/work/jobs", { jobs: [job] })) as { added: [{ work_id: string }] };
  const work = async () => (await ask(w.at, `/v1/work/jobs/${added[0].work_id}`)).json;
  await soon(async () => expect(await work()).toMatchObject({ state: "running" }));
  // Home loses its copy, and the machine is taken away at that very moment.
  rmSync(w.placeOf(games));
  await w.post(`/v1/artifacts/${games}/verify`, {});
  await soon(async () => expect((await w.about(games)).nodes).toEqual(["box"]));
  await node.started.stop();
  await soon(async () => expect(await work()).toMatchObject({ state: "completed" }));
  expect(readFileSync(w.placeOf(games), "utf8")).toBe("games that box alone will have");
  await soon(async () => expect(await w.about(games)).toMatchObject({ state: "durable", copies: 1, at_risk: false }));
});

test("a sync is run, explained and told by the command, and by the program", async () => {
  const w = await world();
  const [model] = (await w.bring("model", "a model to bring")) as [string];
  expect((await w.cli("sync", "run", "models")).out).toMatch(/completed/);
  const node = w.node("box");
  await node.started.waitForLine(/worker ready/);
  await soon(async () => expect((await w.cli("sync", "explain", "models")).out).toMatch(/box\s+\d/));
  const { code, out } = await w.cli("sync", "run", "models", "--to", "box", "--json");
  expect([code, JSON.parse(out)]).toMatchObject([
    0,
    // Whatever another backend had to do for it would be told with its reason.
    {
      sync: { state: "completed", response: { success: true, errors: [], backend_used: "router", nodes_synced: 1 } },
    },
  ]);
  expect((await w.about(model)).nodes).toContain("box");
  expect((await w.cli("sync")).out).toMatch(/completed\s+router/);
  expect(await w.coordination.sync.sync("models")).toMatchObject({ success: true, bytesTransferred: 0 });

  // Who does not wait has ordered all the same: it runs until the node has answered, and can be cancelled.
  node.started.kill("SIGSTOP");
  await w.bring("model", "a model that box does not fetch");
  const ordered = await w.cli("sync", "run", "models", "--to", "box", "--no-wait");
  expect([ordered.code, ordered.out]).toEqual([0, expect.stringMatching(/sync \S+ goes on: 'ringrift sync status/)]);
  const [, id = ""] = /sync (\S+) goes on/.exec(ordered.out) ?? [];
  expect((await w.cli("sync", "status", id)).out).toMatch(/running/);
  expect((await w.cli("sync", "cancel", id)).code).toBe(0);
  expect((await w.cli("sync", "status", id)).out).toMatch(/cancelled/);
});
