/** Events of a machine that joined: kept on it, and once and in order in the journal, whatever happens in between. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { seededRandom } from "../../src/kernel/index.ts";
import { type Fault, faultProxy } from "../chaos/parts/fault-proxy.ts";
import { commandsIn } from "../support/commands.ts";
import { PATIENT } from "../support/patience.ts";
import { owned } from "../support/process.ts";
import { ask } from "../support/surface.ts";
import { declareTiny, mainProcess } from "./parts/worker-world.ts";

const soon = <T>(look: () => T | Promise<T>) => vi.waitFor(look, PATIENT);
/** Whatever the machine has, more than a hundredth of its memory is in use: its node is short of it at once. */
const SHORT_OF_MEMORY = { RINGRIFT_MEMORY_WARN: "1", RINGRIFT_MEMORY_CRITICAL: "1" };

interface Wire {
  readonly type: string;
  readonly source: string;
  readonly data: Readonly<Record<string, unknown>>;
}

async function world({ ends = false } = {}) {
  const own = owned(onTestFinished);
  const main = mainProcess(own, { RINGRIFT_NODE_BEAT: "0.5", RINGRIFT_NODE_SUSPECT: "1.5", RINGRIFT_NODE_DEAD: "60" });
  // One that ends within the test is a process of its own.
  const { port } = await (ends ? main.start() : main.startInside(onTestFinished));
  const line = await faultProxy({ target: port, random: seededRandom(1) });
  onTestFinished(() => line.close());
  const folder = own.folder();
  declareTiny(folder);
  const dataDir = join(folder, ".ringrift");
  const run = (args: readonly string[], env = {}) => own.startCli(args, { cwd: folder, env });
  const command = async (...args: string[]) => {
    const { code, out, err } = await commandsIn(folder)(...args, "--json");
    expect(code, err).toBe(0);
    return JSON.parse(out) as Record<string, unknown>;
  };
  const words = ["join", `http://127.0.0.1:${line.port}`, await main.token(), "--label", "box", "--no-run"];
  const joined = await commandsIn(folder)(...words);
  expect(joined.code, joined.err).toBe(0);
  const { node_id: nodeId } = JSON.parse(readFileSync(join(dataDir, "node", "node.json"), "utf8"));
  let n = 0;
  return {
    main,
    line,
    run,
    command,
    nodeId: nodeId as string,
    outboxPath: join(dataDir, "node", "outbox.db"),
    async worker(env = {}) {
      const started = run(["worker", "--slots", "1"], env);
      await started.waitForLine(/worker ready/);
      return started;
    },
    /** Says the next number on the node. */
    async say() {
      n += 1;
      const payload = ["node_id=".concat(nodeId), `bytes_freed=${n}`, "artifacts=0", "reason=test"];
      return await command("events", "publish", "DISK_CLEANUP_TRIGGERED", ...payload);
    },
    spoil(fault: Fault) {
      line.fault = fault;
      // Those that are open would go on as they are.
      if (fault === "refuse") line.cutAll();
    },
    async journal(type = "DISK_CLEANUP_TRIGGERED"): Promise<Wire[]> {
      const { socket_path: socketPath } = JSON.parse(readFileSync(join(main.dataDir, "endpoint.json"), "utf8"));
      return (await ask({ socketPath }, `/v1/events?limit=1000&event_type=${type}`)).json.events as unknown as Wire[];
    },
    async node() {
      const { socket_path: socketPath } = JSON.parse(readFileSync(join(main.dataDir, "endpoint.json"), "utf8"));
      return (await ask({ socketPath }, "/v1/nodes/box")).json;
    },
  };
}
const numbers = (events: readonly Wire[]) => events.map(({ data }) => data.bytes_freed);
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

/** The units of the node speak too when its line is cut; what is said here is numbered. */
const atLeast = (count: number) => expect.toSatisfy((found: unknown) => Number(found) >= count);

test("every event arrives once and in order, over cuts, half answers, 5xx, kill -9 of the worker and of the main process", async () => {
  const { main, line, worker, say, spoil, journal, nodeId, command } = await world({ ends: true });
  let running = await worker();
  expect(await say()).toMatchObject({ durability: "node", event_type: "DISK_CLEANUP_TRIGGERED", seq: null });
  // Not before its answer has come back, or the first one waits as well.
  await soon(async () =>
    expect(await command("events", "outbox")).toMatchObject({ waiting: 0, forwarded: atLeast(1) }),
  );
  expect(numbers(await journal())).toEqual([1]);

  spoil("refuse");
  expect(await say()).toMatchObject({ waiting: atLeast(1) });
  expect(await say()).toMatchObject({ waiting: atLeast(2) });
  // Heard by the main process, and answered by something in between: they still wait, are sent again, and count once.
  spoil("error");
  await say();
  await soon(async () => expect(numbers(await journal())).toEqual(upTo(4)));
  expect(await command("events", "outbox")).toMatchObject({ waiting: atLeast(3) });
  spoil("cut");
  await say();
  await soon(async () => expect(numbers(await journal())).toEqual(upTo(5)));
  expect(await command("events", "outbox")).toMatchObject({ waiting: atLeast(4) });

  // Committed here, forwarded nowhere, and nobody left to do it.
  spoil("refuse");
  await say();
  await running.killNow();
  await say();
  const alone = { node_id: nodeId, worker: "away", waiting: atLeast(6), refused: 0, kept: atLeast(7) };
  expect(await command("events", "outbox")).toMatchObject(alone);
  await main.started().killNow();
  running = await worker();
  await say();
  line.target = (await main.start()).port;
  spoil("none");
  await soon(async () => expect(numbers(await journal())).toEqual(upTo(8)));
  const arrived = await journal();
  expect(new Set(arrived.map(({ source }) => source))).toEqual(new Set([`/ringrift/${nodeId}/cli`]));
  await soon(async () =>
    expect(await command("events", "outbox")).toMatchObject({
      waiting: 0,
      refused: 0,
      kept: atLeast(8),
      forwarded: atLeast(8),
    }),
  );
  expect(numbers(await journal())).toEqual(upTo(8));
  expect((await running.stop()).code).toBe(0);
});

test("an event that the main process refuses is set aside, seen on both sides, and holds up nobody", async () => {
  const { worker, say, journal, node, command, outboxPath, run } = await world();
  const first = run(["events", "publish", "ERROR", "component=trainer", "error=late", "severity=error"]);
  expect((await first.exited).code).toBe(0);
  expect(first.stdout()).toMatch(/kept here ERROR .* forwarded when http:\/\/127\.0\.0\.1:\d+ answers, 1 event waits/);
  expect(first.stderr()).toMatch(/no worker runs on this folder/);
  for (let i = 0; i < 3; i += 1) await say();
  const db = new DatabaseSync(outboxPath, { timeout: 5_000 });
  db.exec(
    `UPDATE outbox SET payload = json_set(payload, '$.node_id', 'n-other') WHERE payload LIKE '%"bytes_freed":2,%'`,
  );
  db.close();
  const running = await worker();
  await soon(async () => expect(numbers(await journal())).toEqual([1, 3]));
  await soon(async () => expect((await node()).outbox).toEqual({ waiting: 0, refused: 1 }));
  const { refused_events } = await command("events", "outbox");
  expect(refused_events).toMatchObject([{ event_type: "DISK_CLEANUP_TRIGGERED", code: "NOT_YOUR_NODE" }]);
  expect(await command("events", "outbox", "--discard")).toEqual({ discarded: 1 });
  await soon(async () => expect((await node()).outbox).toEqual({ waiting: 0, refused: 0 }));
  await running.stop();
});

test("commands that make the file at the same moment keep all they were given", async () => {
  const { command, run, nodeId } = await world();
  const all = upTo(6).map(async (n) => {
    const payload = [`node_id=${nodeId}`, `bytes_freed=${n}`, "artifacts=0", "reason=x"];
    // Each in a process of its own: they meet at the file alone.
    const started = run(["events", "publish", "DISK_CLEANUP_TRIGGERED", ...payload, "--json"]);
    expect((await started.exited).code, started.stderr()).toBe(0);
    return JSON.parse(started.stdout());
  });
  for (const told of await Promise.all(all)) expect(told).toMatchObject({ durability: "node", suppressed: null });
  expect(await command("events", "outbox")).toMatchObject({ kept: 6, waiting: 6 });
});

test("a node measures itself and says so under its own name, also what it noticed while nobody answered", async () => {
  const { worker, spoil, journal, nodeId, main } = await world({ ends: true });
  const away = await worker();
  await soon(async () => expect((await journal("HOST_ONLINE")).map(({ data }) => data.node_id)).toContain(nodeId));
  await away.stop();
  spoil("refuse");
  const running = await worker(SHORT_OF_MEMORY);
  await running.waitForLine(/a resource changed its level/);
  spoil("none");
  const told = await soon(async () => {
    const mine = (await journal("NODE_OVERLOADED")).filter(({ data }) => data.node_id === nodeId);
    expect(mine).toHaveLength(1);
    return mine[0]!;
  });
  expect(told).toMatchObject({
    source: `/ringrift/${nodeId}/resource_monitor%40${nodeId}`,
    data: { resource: "memory", threshold: 0.01 },
  });
  const constraints = (await journal("RESOURCE_CONSTRAINT")).filter(({ data }) => data.node_id === nodeId);
  expect(constraints).toMatchObject([{ data: { resource: "memory", level: "critical" } }]);
  expect((await running.stop()).code).toBe(0);
  expect((await main.started().stop()).code).toBe(0);
});
