/** The flow of repair with real processes: two nodes become ill, each is found, treated by its rung, and comes back; the others are left alone. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { commandsIn } from "../support/commands.ts";
import { PATIENT, patience } from "../support/patience.ts";
import { freePort, owned } from "../support/process.ts";
import { ask } from "../support/surface.ts";
import { declareTiny, mainProcess } from "./parts/worker-world.ts";

const soon = <T>(look: () => T | Promise<T>) => vi.waitFor(look, PATIENT);
const TINY = fileURLToPath(new URL("./parts/tiny-workload.ts", import.meta.url));
/** Long enough that a worker which only waits for a processor is not taken for a dead one. */
const DEAD_SECONDS = patience(8_000) / 1_000;
const MAIN = {
  RINGRIFT_WORK_LEASE_SILENCE: String(DEAD_SECONDS),
  RINGRIFT_NODE_BEAT: "0.3",
  RINGRIFT_NODE_SUSPECT: String(DEAD_SECONDS / 2),
  RINGRIFT_NODE_DEAD: String(DEAD_SECONDS),
  RINGRIFT_P2P_STARTUP_GRACE_PERIOD: "0",
  RINGRIFT_NODE_HEALTH_CHECK: "0.3",
  RINGRIFT_RECOVERY_OBSERVE: "0.5",
  RINGRIFT_RECOVERY_PATIENCE: "600",
};
const NODE = { RINGRIFT_WORKER_BEAT_INTERVAL: "0.3", RINGRIFT_WORKER_CLAIM_WAIT: "1", RINGRIFT_JOB_GRACE_PERIOD: "1" };

test("a node whose jobs fail is drained, restarted and taken back; one that hangs is handed to a person, and comes back", async () => {
  const own = owned(onTestFinished);
  const port = await freePort();
  const main = mainProcess(own, { ...MAIN, RINGRIFT_PORT: String(port) });
  await main.startInside(onTestFinished);
  const token = await main.token();
  const join_ = async (label: string, more: object = {}) => {
    const folder = own.folder();
    declareTiny(folder, more);
    const args = ["join", `http://localhost:${port}`, token, "--label", label, "--slots", "1"];
    const worker = own.startCli(args, { cwd: folder, env: NODE });
    await worker.waitForLine(/worker ready/);
    return worker;
  };
  const mended = join(own.folder(), "mended");
  const broken = `if [ -e "${mended}" ]; then exec "${process.execPath}" "${TINY}"; else echo "no device" >&2; exit 3; fi`;
  const ill = await join_("ill", { command: "/bin/sh", args: ["-c", broken] });
  await join_("good");
  await join_("better");
  const frozen = await join_("frozen");
  const { socket_path: socketPath } = JSON.parse(readFileSync(join(main.dataDir, "endpoint.json"), "utf8"));
  const get = async (path: string) => (await ask({ socketPath }, path)).json as Readonly<Record<string, unknown>>;
  const nodes = async () =>
    (await get("/v1/nodes")).nodes as {
      node_id: string;
      label: string;
      health: { condition: string };
      incarnation: number;
    }[];
  const node = async (label: string) => (await nodes()).find((each) => each.label === label)!;
  const acts = async (label: string) =>
    ((await get("/v1/recovery/history?limit=100")).acts as { label: string; rung: string; state: string }[])
      .filter((act) => act.label === label)
      .map(({ rung, state }) => `${rung} ${state}`)
      .reverse();
  const told = async (label: string) => {
    const { node_id } = await node(label);
    const { events } = (await get("/v1/events?limit=10000")) as {
      events: { type: string; data: { node_id?: string; recovery_action?: string; node_state?: string } }[];
    };
    return events
      .filter(({ data }) => data.node_id === node_id)
      .map(({ type, data }) =>
        [type.split(".").at(-1)!.toUpperCase(), data.node_state ?? data.recovery_action ?? ""].join(" ").trim(),
      );
  };
  const work = (jobs: number) =>
    main.add(Array.from({ length: jobs }, () => ({ parameters: { ms: 100 }, max_attempts: 50 })));

  // Its program fails, and others do the same jobs.
  await work(30);
  await soon(async () => expect((await node("ill")).health.condition).toBe("unhealthy"));
  const shown = await commandsIn(main.folder)("nodes", "health", "ill");
  expect(shown.out).toMatch(/unhealthy[\s\S]*may get work +no: [\s\S]*jobs +fail/);
  const why = await commandsIn(main.folder)("why", "ill");
  expect(why.out).toMatch(/health[\s\S]*its jobs fail, and others do them/);
  expect((await commandsIn(main.folder)("status")).out).toMatch(/ill is unhealthy/);

  // Beside it another one hangs: two of five nodes are no reason to stop repairs.
  frozen.kill("SIGSTOP");
  // From now on it gets no job until it has started anew: what cures it is there before it does.
  await soon(async () => expect(await acts("ill")).toContain("observe failed"));
  writeFileSync(mended, "");
  await ill.waitForLine(/restarting: its jobs fail/);
  await soon(async () => expect((await node("ill")).incarnation).toBe(2));
  await soon(async () => {
    // It needs a job to show that it is well, and others are quick.
    const { pending = 0 } = await main.states();
    if (pending < 6) await work(6);
    expect(await acts("ill")).toEqual(["observe failed", "drain failed", "restart worked"]);
  });
  expect((await node("ill")).health.condition).not.toBe("unhealthy");

  // Nobody here can reboot it: after its jobs went to others a person is asked.
  await soon(async () => expect((await acts("frozen")).at(-1)).toBe("person acting"));
  expect((await node("frozen")).health.condition).toBe("evicted");
  const plan = await commandsIn(main.folder)("recovery", "plan");
  expect(plan.out).toMatch(/frozen +evicted +person/);
  frozen.kill("SIGCONT");
  await soon(async () => expect((await acts("frozen")).at(-1)).toBe("person worked"));

  const [ofIll, ofFrozen] = [await told("ill"), await told("frozen")];
  expect(ofIll).toContain("NODE_UNHEALTHY unhealthy");
  expect(ofIll.filter((text) => /RECOVERY|NODE_RECOVERED/.test(text))).toEqual([
    "RECOVERY_INITIATED failover",
    "RECOVERY_FAILED failover",
    "RECOVERY_INITIATED soft_restart",
    "RECOVERY_COMPLETED soft_restart",
    "NODE_RECOVERED soft_restart",
  ]);
  expect(ofFrozen).toContain("HOST_OFFLINE");
  expect(ofFrozen.filter((text) => text === "NODE_UNHEALTHY evicted")).toHaveLength(1);
  expect(ofFrozen.filter((text) => /RECOVERY|NODE_RECOVERED/.test(text)).slice(-4)).toEqual([
    "RECOVERY_INITIATED failover",
    "RECOVERY_FAILED failover",
    "RECOVERY_COMPLETED notify",
    "NODE_RECOVERED notify",
  ]);
  // Nobody healthy was touched, and every job was done once.
  expect([...(await acts("good")), ...(await acts("better"))]).toEqual([]);
  await soon(async () => expect(Object.keys(await main.states())).toEqual(["completed"]));
});
