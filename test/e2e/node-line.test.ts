/** A node whose line to the coordinator is cut while other nodes reach it, with real processes. */
import { readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { commandsIn } from "../support/commands.ts";
import { PATIENT, patience } from "../support/patience.ts";
import { freePort, owned } from "../support/process.ts";
import { ask } from "../support/surface.ts";
import { declareTiny, mainProcess } from "./parts/worker-world.ts";

const soon = <T>(look: () => T | Promise<T>) => vi.waitFor(look, PATIENT);
const DEAD_SECONDS = patience(3_000) / 1_000;
const MAIN = {
  RINGRIFT_SWIM_ENABLED: "1",
  RINGRIFT_WORK_LEASE_SILENCE: String(DEAD_SECONDS),
  RINGRIFT_NODE_BEAT: "0.3",
  RINGRIFT_NODE_SUSPECT: String(DEAD_SECONDS / 2),
  RINGRIFT_NODE_DEAD: String(DEAD_SECONDS),
  RINGRIFT_P2P_STARTUP_GRACE_PERIOD: "0",
  RINGRIFT_NODE_HEALTH_CHECK: "0.3",
  RINGRIFT_RECOVERY_OBSERVE: "0.5",
  RINGRIFT_RECOVERY_PATIENCE: "600",
};
const NODE = {
  RINGRIFT_SWIM_ENABLED: "1",
  RINGRIFT_WORKER_BEAT_INTERVAL: "0.3",
  RINGRIFT_WORKER_CLAIM_WAIT: "1",
  RINGRIFT_JOB_GRACE_PERIOD: "1",
};
/** A way to the coordinator that can be cut and put together again. */
async function wayTo(port: number) {
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((socket) => {
    if (isCut) return void socket.destroy();
    const on = connect(port, "127.0.0.1");
    for (const [one, other] of [
      [socket, on],
      [on, socket],
    ] as const) {
      open.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => open.delete(one) && other.destroy());
      one.pipe(other);
    }
  });
  server.listen(0, "127.0.0.1");
  await vi.waitFor(() => expect(server.listening).toBe(true));
  onTestFinished(() => void server.close());
  return {
    port: (server.address() as AddressInfo).port,
    cut(is: boolean) {
      isCut = is;
      if (is) for (const socket of open) socket.destroy();
    },
  };
}

test("a node whose line is cut is found, told apart from one that is dead, handed to a person, and comes back; nobody else is touched", async () => {
  const own = owned(onTestFinished);
  const port = await freePort();
  const main = mainProcess(own, { ...MAIN, RINGRIFT_PORT: String(port) });
  await main.startInside(onTestFinished);
  const token = await main.token();
  const way = await wayTo(port);
  const join_ = async (label: string, at = port) => {
    const folder = own.folder();
    declareTiny(folder);
    const args = ["join", `http://127.0.0.1:${at}`, token, "--label", label, "--slots", "1"];
    const worker = own.startCli(args, { cwd: folder, env: NODE });
    await worker.waitForLine(/worker ready/);
    return worker;
  };
  await join_("good");
  await join_("better");
  await join_("best");
  const cut = await join_("cut", way.port);
  const { socket_path: socketPath } = JSON.parse(readFileSync(join(main.dataDir, "endpoint.json"), "utf8"));
  const get = async (path: string) => (await ask({ socketPath }, path)).json as Readonly<Record<string, unknown>>;
  const node = async (label: string) =>
    (
      (await get("/v1/nodes")).nodes as {
        label: string;
        node_id: string;
        reach?: object;
        health: { condition: string };
      }[]
    ).find((each) => each.label === label)!;
  const acts = async (label: string) =>
    ((await get("/v1/recovery/history?limit=100")).acts as { label: string; rung: string; state: string }[])
      .filter((act) => act.label === label)
      .map(({ rung, state }) => `${rung} ${state}`)
      .reverse();
  const told = async (type: string, label: string) => {
    const { node_id } = await node(label);
    const { events } = (await get("/v1/events?limit=10000")) as {
      events: { type: string; data: { node_id?: string; reason?: string } }[];
    };
    return events.filter((event) => event.type.toUpperCase().endsWith(type) && event.data.node_id === node_id);
  };
  const run = commandsIn(main.folder);

  // Its line is cut, and the others reach it all the same: that is told, and a person is asked.
  // It has to know the others first: what a stranger sends is dropped.
  await soon(async () =>
    expect(await node("cut")).toMatchObject({ reach: { by: 3, of: 3 }, reaches: { nodes: 3, of: 3 } }),
  );
  way.cut(true);
  await soon(async () => expect((await acts("cut")).at(-1)).toBe("person acting"));
  expect((await node("cut")).health.condition).toBe("evicted");
  expect((await run("nodes", "health", "cut")).out).toMatch(/it is silent +heard .* ago; 3 of 3 other nodes reach it/);
  await cut.waitForLine(/the line to the coordinator is begun anew/);
  way.cut(false);
  await soon(async () => expect((await acts("cut")).at(-1)).toBe("person worked"));
  await soon(async () => expect(await told("P2P_HEALTH_RECOVERED", "cut")).toHaveLength(1));
  const [begun] = await told("P2P_RESTART_TRIGGERED", "cut");
  expect(begun?.data.reason).toMatch(/the coordinator does not answer; 3 of 3 other nodes do/);

  expect([...(await acts("good")), ...(await acts("better"))]).toEqual([]);
  await main.add(Array.from({ length: 6 }, () => ({ parameters: { ms: 50 } })));
  await soon(async () => expect(await main.states()).toEqual({ completed: 6 }));
});
