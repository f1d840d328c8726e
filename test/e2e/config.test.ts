/** Settings as a person gives them: a real file, and a real environment where the process has to be one too. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { settingRows } from "../../src/app/settings.ts";
import { begin, commandsIn } from "../support/commands.ts";
import { PATIENT } from "../support/patience.ts";
import { freePort, owned, type Started } from "../support/process.ts";

/** The developer's own settings are not part of the test. */
const unset = Object.fromEntries(settingRows.map(({ variable }) => [variable, undefined]));

function world(settings?: unknown) {
  const own = owned(onTestFinished);
  const cwd = own.folder();
  if (settings !== undefined) writeFileSync(join(cwd, "ringrift.config.json"), JSON.stringify(settings, null, 2));
  const cli = (args: readonly string[], env: Record<string, string> = {}): Started =>
    own.startCli(args, { cwd, env: { ...unset, ...env } });
  const placeOf = (port: string | undefined) => ({ port: Number(port), api: `http://127.0.0.1:${port}` });
  /** A process of its own, where its log is looked at. */
  const up = async (env: Record<string, string> = {}) => {
    const main = cli(["up"], env);
    const { match } = await main.waitForLine(/^ready pid \d+ port (\d+)/);
    return { main, ...placeOf(match[1]) };
  };
  /** The command in this process, at a terminal in this folder with just this environment. */
  const inside = async (env: Record<string, string> = {}, ...args: string[]) => {
    const main = begin([...args, "up"], { cwd, env: { NO_COLOR: "1", RINGRIFT_LOG_LEVEL: "ERROR", ...env } });
    onTestFinished(async () => void (await main.stop()));
    const [, port] = await main.waitFor(/^ready pid \d+ port (\d+)/);
    return { main, ...placeOf(port) };
  };
  return { own, cwd, cli, up, inside };
}

interface Endpoint {
  readonly port: number;
  readonly node_id: string;
}
const endpoint = (dataDir: string) => JSON.parse(readFileSync(join(dataDir, "endpoint.json"), "utf8")) as Endpoint;

const publish = (api: string, token: string) =>
  fetch(`${api}/v1/events`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify({
      specversion: "1.0",
      id: crypto.randomUUID(),
      type: "HOST_OFFLINE",
      source: "test",
      data: { node_id: "a", reason: "silent" },
    }),
  });

/** What each setting of the process itself changes; those of its parts are shown at the parts. */
const shown: Record<string, () => Promise<void>> = {
  async config() {
    const { own, inside, cwd } = world({ node_id: "near", "api.port": 0 });
    const named = join(own.folder(), "elsewhere.json");
    writeFileSync(named, JSON.stringify({ node_id: "named", api: { port: 0 } }));
    const { main } = await inside({ RINGRIFT_CONFIG: named });
    expect(endpoint(join(cwd, ".ringrift")).node_id).toBe("named");
    await main.stop();
    await inside({ RINGRIFT_CONFIG: "nowhere" }, "--config", "ringrift.config.json");
    expect(endpoint(join(cwd, ".ringrift")).node_id).toBe("near");
  },

  async data_dir() {
    const { inside, cwd } = world({ data_dir: "from-file", api: { port: 0 } });
    const first = await inside();
    expect(endpoint(join(cwd, "from-file")).port).toBe(first.port);
    const second = await inside({ RINGRIFT_DATA_DIR: "from-environment" });
    expect(endpoint(join(cwd, "from-environment")).port).toBe(second.port);
    const third = await inside({ RINGRIFT_DATA_DIR: "from-environment" }, "--data-dir", "from-flag");
    expect(endpoint(join(cwd, "from-flag")).port).toBe(third.port);
  },

  async node_id() {
    const { inside, cwd } = world();
    await inside({ RINGRIFT_NODE_ID: "node-7", RINGRIFT_PORT: "0" });
    expect(endpoint(join(cwd, ".ringrift")).node_id).toBe("node-7");
  },

  async profile() {
    const { inside, cwd } = world({ api: { port: 0 } });
    const unitsOf = async (api: string) =>
      ((await (await fetch(`${api}/status`)).json()) as { daemons: { name: string; wanted: boolean }[] }).daemons
        .filter(({ wanted }) => wanted)
        .map(({ name }) => name);
    const whole = await inside();
    expect(await unitsOf(whole.api)).toContain("dlq_retry");
    await whole.main.stop();
    const part = await inside({ RINGRIFT_PROFILE: "training_node" });
    expect(await unitsOf(part.api)).not.toContain("dlq_retry");
    expect(await unitsOf(part.api)).toContain("event_router");
    await part.main.stop();
    const refused = await commandsIn(cwd, { env: { RINGRIFT_PROFILE: "trainingnode" } })("up");
    expect(refused.code).toBe(2);
    expect(refused.err).toMatch(/RINGRIFT_PROFILE.*one of coordinator, training_node/);
  },

  async "log.level"() {
    const { up, cwd } = world();
    for (const [level, loud] of [
      ["DEBUG", true],
      ["WARN", false],
    ] as const) {
      const { main, api } = await up({ RINGRIFT_LOG_LEVEL: level, RINGRIFT_PORT: "0" });
      const token = readFileSync(join(cwd, ".ringrift", "token"), "utf8").trim();
      expect((await publish(api, token)).status).toBe(200);
      await main.stop();
      expect(main.stderr().includes("[EventRouter] Published: HOST_OFFLINE"), level).toBe(loud);
    }
  },

  async "workers.local"() {
    const { up } = world({ api: { port: 0 } });
    const { main } = await up({ RINGRIFT_LOCAL_WORKERS: "2" });
    await main.waitForLine(/"slots":2.*the local worker starts/);
    await main.stop();
    const without = await up();
    await without.main.stop();
    expect(without.main.stderr()).not.toContain("the local worker starts");
  },

  async "loop.configs"() {
    const { inside } = world();
    const { api } = await inside({
      RINGRIFT_LOOP_CONFIGS: "hex7_2p,connect4_8x7_3p",
      RINGRIFT_LOCAL_WORKERS: "0",
      RINGRIFT_PORT: "0",
    });
    await vi.waitFor(async () => {
      const { configs } = (await (await fetch(`${api}/v1/loop`)).json()) as { configs: { config_key: string }[] };
      expect(configs.map(({ config_key }) => config_key)).toEqual(["connect4_8x7_3p", "hex7_2p"]);
    }, PATIENT);
  },

  async "api.port"() {
    const { inside } = world();
    const port = await freePort();
    expect((await inside({ RINGRIFT_PORT: String(port) })).port).toBe(port);
  },

  async "api.token_file"() {
    const { up, cwd } = world({ api: { port: 0, token_file: "secrets/token" } });
    mkdirSync(join(cwd, "secrets"));
    writeFileSync(join(cwd, "secrets", "token"), "correct-horse-battery-staple\n", { mode: 0o600 });
    const { api, main } = await up();
    expect((await publish(api, "correct-horse-battery-stable")).status).toBe(401);
    expect((await publish(api, "correct-horse-battery-staple")).status).toBe(200);
    await main.stop();
    expect(main.lines.join("\n")).not.toContain("horse");
  },
};

describe("each setting of the process changes what it names", () => {
  test.each(Object.keys(shown))("%s", (key) => shown[key]!());
});

describe("ringrift up", () => {
  test("takes the settings of the router from the file, and says what was set and has no effect", async () => {
    const { up, cwd } = world({ api: { port: 0 }, router: { trace: true } });
    const { main, api } = await up({ RINGRIFT_SWIM_PORT: "7946" });
    await main.waitForLine(/"level":40.*p2p\.swim_port \(RINGRIFT_SWIM_PORT\) has no effect/);
    const token = readFileSync(join(cwd, ".ringrift", "token"), "utf8").trim();
    expect((await publish(api, token)).status).toBe(200);
    await main.waitForLine(/\[EventRouter\] Published: HOST_OFFLINE/);
  });

  test("does not start with a setting that nobody knows, and leaves nothing behind", async () => {
    const { cli, cwd } = world({ router: { handler_timeot: 5 } });
    const main = cli(["up"], { RINGRIFT_PRT: "1" });
    expect(await main.exited).toEqual({ code: 2, signal: null });
    expect(main.stderr()).toContain("Did you mean RINGRIFT_PORT");
    expect(main.stderr()).toContain(
      `${cwd}/ringrift.config.json:3: there is no setting "router.handler_timeot". Did you mean`,
    );
    expect(() => endpoint(join(cwd, ".ringrift"))).toThrow("ENOENT");
    const check = await commandsIn(cwd, { env: { RINGRIFT_PRT: "1" } })("config", "check");
    expect(check.code).toBe(1);
    expect(check.out).toContain("2 problems");
  });
});
