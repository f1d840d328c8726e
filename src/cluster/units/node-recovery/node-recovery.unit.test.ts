import { afterEach, describe, expect, test } from "vitest";
import { type NodeWorld, nodeWorld } from "../../../../test/fixtures/node-world.ts";
import type { NodePower } from "../../recovery/node-power.port.ts";
import { RecoveryBook } from "../../recovery/recovery-book.ts";
import { listActs } from "../../recovery/recovery-rows.ts";
import { createRecoveryConsole } from "../../recovery-console.ts";
import { membershipDaemon } from "../membership/membership.unit.ts";
import { nodeHealthDaemon } from "../node-health/node-health.unit.ts";
import { nodeRecoveryDaemon } from "./node-recovery.unit.ts";

const worlds: NodeWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

/** Five nodes that work, and the units that look after them; `asked` is what was asked of who has power over machines. */
async function start(
  able: readonly string[] = [],
  refuses = false,
  environment: Readonly<Record<string, string>> = {},
) {
  const asked: string[] = [];
  const power: NodePower = {
    ableTo: (_nodeId, act) => (able.includes(act) ? "the double" : undefined),
    async carryOut(_nodeId, act, { actId }) {
      asked.push(`${act} ${actId}`);
      if (refuses) throw new Error("no quota");
    },
  };
  const w = await nodeWorld({ environment, more: () => ({ power }) });
  worlds.push(w);
  const all = [];
  for (const label of ["one", "two", "three", "four", "five"]) all.push(await w.join(label));
  const run = async () => {
    const units = [membershipDaemon(w.services), nodeHealthDaemon(w.services), nodeRecoveryDaemon(w.services)];
    const runtime = w.runtime(units);
    await w.driven(runtime.start());
    return runtime;
  };
  const runtime = await run();
  await w.live(15);
  const [one, two, three] = all as [(typeof all)[0], (typeof all)[0], (typeof all)[0]];
  const acts = () =>
    listActs(w.store)
      .map(({ label, rung, state }) => `${label} ${rung} ${state}`)
      .reverse();
  const recovery = () => w.told("RECOVERY_INITIATED", "RECOVERY_COMPLETED", "RECOVERY_FAILED", "NODE_RECOVERED");
  const events = () => recovery().map(({ eventType, recovery_action }) => `${eventType} ${recovery_action}`);
  return {
    w,
    all,
    one,
    two,
    three,
    run,
    runtime,
    acts,
    events,
    recovery,
    asked,
    console: createRecoveryConsole(w.services),
  };
}

/** More than there are looks in the time that they are silent. */
const FLEET = 60;
const SILENT_SECONDS = 60;
const stand = (w: NodeWorld, node: { stuckAt: number[] }) => node.stuckAt.push(w.clock.now(), w.clock.now());

describe("a node whose worker hangs", () => {
  test("is watched, drained, restarted by an order that it hears with its beats, and comes back slowly", async () => {
    const { w, one, acts, events } = await start();
    one.held = { jobs: 2, moving: 0 };
    stand(w, one);
    await w.live(20);
    expect(acts()).toEqual(["one observe acting"]);
    await w.live(60);
    expect(acts()).toEqual(["one observe failed", "one drain acting"]);
    expect(w.done.at(-1)).toBe("release one");
    expect(w.services.recovery.orderFor(one.nodeId, 1)).toBeNull();
    one.held = { jobs: 0, moving: 0 };
    await w.live(10);
    expect(acts().at(-1)).toBe("one restart acting");
    expect(w.done.at(-1)).toBe("fence one");
    expect(w.services.recovery.orderFor(one.nodeId, 1)).toMatchObject({ reason: expect.stringMatching(/stand still/) });
    expect(w.may(one)).toBe(0);
    // The order outlives the process that gave it.
    expect(new RecoveryBook(w.store).orderFor(one.nodeId, 1)).not.toBeNull();
    one.incarnation = 2;
    await w.live(10);
    expect(w.services.recovery.orderFor(one.nodeId, 2)).toBeNull();
    expect(w.may(one)).toBe(1);
    w.end(one, true);
    await w.live(30);
    expect(acts().at(-1)).toBe("one restart worked");
    expect(events()).toEqual([
      "RECOVERY_INITIATED failover",
      "RECOVERY_FAILED failover",
      "RECOVERY_INITIATED soft_restart",
      "RECOVERY_COMPLETED soft_restart",
      "NODE_RECOVERED soft_restart",
    ]);
    expect(w.may(one)).toBe(1);
    for (const [jobs, leaves] of [
      [1, 2],
      [2, 4],
      [4, 8],
      [8, 16],
      [16, "all"],
    ] as const) {
      w.end(one, true, jobs);
      await w.live(10);
      expect(w.may(one)).toBe(leaves);
    }
  });

  test("is handed to a person when nothing helps and nobody can reboot it", async () => {
    const { w, one, acts, recovery } = await start();
    stand(w, one);
    await w.live(100);
    one.incarnation = 2;
    await w.live(30);
    stand(w, one);
    await w.live(330);
    expect(acts().slice(-2)).toEqual(["one restart failed", "one person acting"]);
    expect(recovery().at(-1)).toMatchObject({ eventType: "RECOVERY_FAILED", needs_operator: true });
    const [act] = listActs(w.store);
    expect(act?.evidence.skipped).toEqual(["reboot: nobody here can reboot it", "replace: nobody here can replace it"]);
  });

  test("is rebooted by who can, once, and then replaced", async () => {
    const { w, one, acts, asked } = await start(["reboot", "replace"]);
    stand(w, one);
    await w.live(420);
    expect(acts().at(-1)).toBe("one reboot acting");
    expect(asked).toHaveLength(1);
    await w.live(310);
    expect(acts().at(-1)).toBe("one replace acting");
    expect(asked.map((text) => text.split(" ")[0])).toEqual(["reboot", "replace"]);
  });

  test("is not waited for where whoever has the power refuses", async () => {
    const { w, one, acts } = await start(["reboot"], true);
    stand(w, one);
    await w.live(430);
    expect(acts().slice(-2)).toEqual(["one reboot failed", "one person acting"]);
  });
});

test("no hard rung while a job there makes progress, or while files lie nowhere else; a person hears of it after two hours", async () => {
  const { w, one, acts, console, recovery } = await start();
  one.held = { jobs: 1, moving: 1 };
  one.alone = 3;
  stand(w, one);
  await w.live(500);
  expect(acts().at(-1)).toBe("one drain acting");
  expect((await console.plan()).repairs).toMatchObject([
    { label: "one", rung: "drain", next: null, waits: "1 of its jobs make progress, and nobody stops them" },
  ]);
  one.held = { jobs: 0, moving: 0 };
  await w.live(20);
  expect((await console.plan()).repairs[0]?.waits).toBe("3 files lie nowhere else yet");
  expect(acts().at(-1)).toBe("one drain acting");
  one.stuckAt.splice(0);
  for (let hour = 0; hour < 3; hour += 1) {
    stand(w, one);
    await w.live(2_700, 15);
  }
  expect(w.done).not.toContain("fence one");
  expect(recovery().filter(({ needs_operator }) => needs_operator === true)).toHaveLength(1);
  one.alone = 0;
  await w.live(10);
  expect(acts().at(-1)).toBe("one restart acting");
});

test("a host is repaired as far as its operators allow, and gets what they allow", async () => {
  const { w, one, two, acts, console } = await start(["reboot"]);
  const said = { reason: "borrowed", by: "ann" };
  await w.driven(w.services.nodes.allow("one", { except_kinds: [], max_jobs: null, repair: "none", ...said }));
  await w.driven(
    w.services.nodes.allow("two", { except_kinds: ["training"], max_jobs: 2, repair: "replace", ...said }),
  );
  const { availability } = w.services;
  expect(availability.limited(two.nodeId)).toEqual({ reason: "its policy allows 2 at a time", leaves: 2 });
  expect([availability.excludedKinds(two.nodeId), availability.excludedKinds(one.nodeId)]).toEqual([["training"], []]);
  one.isBeating = false;
  await w.live(600);
  expect(acts().at(-1)).toBe("one person acting");
  expect(w.done).not.toContain("fence one");
  expect(listActs(w.store)[0]).toMatchObject({
    evidence: { skipped: ["reboot: its policy allows no repair", "replace: its policy allows no repair"] },
  });
  expect((await console.plan()).repairs).toMatchObject([{ label: "one", rung: "person" }]);
  await w.driven(w.services.nodes.allow("two", null));
  expect(availability.limited(two.nodeId)).toBeUndefined();
});

test("a silent node that other nodes reach is not rebooted: it may work on", async () => {
  const { w, one, all, acts, console } = await start(["reboot"], false, { RINGRIFT_SWIM_ENABLED: "1" });
  for (const node of all) node.swim = { host: null, port: 7_946, known: 4, reached: 4, lost: [] };
  await w.live(10);
  one.isBeating = false;
  await w.live(600);
  expect(w.services.health.get(one.nodeId)?.checks.beats?.actual).toMatch(/; 4 of 4 other nodes reach it$/);
  expect(acts().at(-1)).toBe("one drain acting");
  expect((await console.plan()).repairs[0]?.waits).toMatch(/^4 other nodes reach it: only its line/);
  for (const node of all) node.swim = { host: null, port: 7_946, known: 4, reached: 3, lost: [one.nodeId] };
  await w.live(20);
  expect(acts().at(-1)).toBe("one reboot acting");
});

test("with half of the nodes not ready nothing is done but telling, and when most are back it goes on", async () => {
  const { w, all, acts, console } = await start(["reboot"]);
  for (const node of all.slice(0, 3)) node.isBeating = false;
  await w.live(600);
  expect(acts().every((act) => act.endsWith("observe acting"))).toBe(true);
  expect(await console.plan()).toMatchObject({ nodes: 6, unready: 3, suspended: true });
  expect(w.done).toEqual([]);
  for (const node of all.slice(0, 2)) node.isBeating = true;
  await w.live(60);
  expect(acts()).toContain("three drain failed");
  expect(acts().at(-1)).toBe("three reboot acting");
});

test("a fleet that falls silent is looked at once in a while, not once for each of its nodes", async () => {
  const { w, all, one } = await start();
  for (let n = 0; n < FLEET; n += 1) all.push(await w.join(`node ${n}`));
  await w.live(10);
  let looks = 0;
  Object.defineProperty(one, "alone", {
    get() {
      looks += 1;
      return 0;
    },
  });
  for (const node of all) node.isBeating = false;
  await w.live(SILENT_SECONDS);
  const deaths = w.told("P2P_NODE_DEAD").length;
  expect(deaths).toBe(all.length);
  expect(w.told("NODE_UNHEALTHY").length).toBeGreaterThanOrEqual(deaths);
  expect(looks).toBeGreaterThan(0);
  expect(looks).toBeLessThan(deaths);
});

test("a full disk is a person's, and no restart; a node that comes back by itself is closed without a repair", async () => {
  const { w, one, two, acts, events } = await start(["reboot"]);
  one.disk = "its disk is 97 % in use";
  two.isBeating = false;
  await w.live(60);
  two.isBeating = true;
  await w.live(400);
  expect(acts()).toEqual(["one observe failed", "two observe worked", "one drain failed", "one person acting"]);
  expect(events()).toContain("NODE_RECOVERED none");
  one.disk = undefined;
  await w.live(30);
  expect(acts().at(-1)).toBe("one person worked");
});

test("only one node is repaired at a time, and no more in an hour than allowed", async () => {
  const { w, one, two, acts } = await start();
  stand(w, one);
  stand(w, two);
  await w.live(200);
  expect(acts().filter((act) => act.endsWith("restart acting"))).toHaveLength(1);
});

describe("a person", () => {
  test("may have the next rung done at once, not against the guards, and not for a node that is well", async () => {
    const { w, one, acts, console } = await start();
    const by = { actor: "ann", dryRun: false };
    await expect(console.wish("two", undefined, by)).rejects.toMatchObject({ code: "NODE_NOT_ILL" });
    one.held = { jobs: 1, moving: 1 };
    stand(w, one);
    await w.live(20);
    await expect(console.wish("one", "restart", by)).rejects.toMatchObject({ code: "REPAIR_REFUSED" });
    expect(await console.wish("one", "restart", { ...by, dryRun: true })).toMatchObject({
      applied: false,
      refused: "1 of its jobs make progress, and nobody stops them",
    });
    one.held = { jobs: 1, moving: 0 };
    expect(await w.driven(console.wish("one", "restart", by))).toMatchObject({ applied: true, refused: null });
    await w.live(10);
    expect(acts()).toEqual(["one observe failed", "one restart acting"]);
    expect(listActs(w.store)[0]).toMatchObject({ asked_by: "ann", evidence: { held: 1 } });
  });

  test("may take nodes for well also while repairs are suspended: nobody else could end that", async () => {
    const { w, all, acts, console } = await start();
    const ill = all.slice(0, 3);
    for (const node of ill) node.disk = "its disk is 97 % in use";
    await w.live(60);
    expect(await console.plan()).toMatchObject({ unready: 3, suspended: true });
    const by = { actor: "ann", dryRun: false };
    await expect(console.wish("one", "restart", by)).rejects.toMatchObject({ code: "REPAIR_REFUSED" });
    for (const node of ill) {
      node.disk = undefined;
      await w.driven(console.wish(node.nodeId, "observe", by));
    }
    await w.live(15);
    expect(acts().every((act) => act.endsWith("observe worked"))).toBe(true);
    expect(await console.plan()).toMatchObject({ unready: 0, suspended: false });
  });

  test("may take a node for well again", async () => {
    const { w, one, acts, console } = await start();
    stand(w, one);
    await w.live(20);
    await w.driven(console.wish("one", "observe", { actor: "ann", dryRun: false }));
    await w.live(15);
    expect(acts()).toEqual(["one observe worked"]);
    expect(w.conditionOf(one)).toBe("healthy");
  });
});

test("a process that dies between a decision and its effect goes on where it was", async () => {
  const { w, one, runtime, run, acts, asked } = await start(["reboot"]);
  stand(w, one);
  await w.live(400);
  expect(acts().at(-1)).toBe("one reboot acting");
  await w.driven(runtime.stop());
  await run();
  await w.live(20);
  // Asked again under the same name: it happens once.
  expect(new Set(asked).size).toBe(1);
  expect(acts().filter((act) => act.includes("reboot"))).toHaveLength(1);
});

test("a node that leaves in order, or is forgotten, is nobody's case any more", async () => {
  const { w, one, acts } = await start();
  stand(w, one);
  await w.live(20);
  one.isBeating = false;
  await w.driven(w.services.nodes.leave(one.nodeId, "goodbye"));
  await w.live(10);
  expect(acts()).toEqual(["one observe ended"]);
});

test("a node that left is retired in its time, one that is forgotten at once; each once, and its row goes with it", async () => {
  const { w, one, two } = await start();
  const { nodes: book } = w.services;
  const retired = () => w.told("HOST_OFFLINE", "NODE_RETIRED").map(({ eventType, node_id }) => [eventType, node_id]);
  const rows = () =>
    w.store.read<{ node_id: string }>("SELECT node_id FROM cluster_nodes").map(({ node_id }) => node_id);
  one.isBeating = false;
  await w.driven(book.forget("one"));
  await w.live(20);
  expect(retired()).toEqual([
    ["HOST_OFFLINE", one.nodeId],
    ["NODE_RETIRED", one.nodeId],
  ]);
  expect(rows()).not.toContain(one.nodeId);
  two.isBeating = false;
  await w.driven(book.leave(two.nodeId, "SIGTERM"));
  await w.live(20);
  expect(rows()).toContain(two.nodeId);
  const { state_since } = book.row(two.nodeId)!;
  book.settled(two.nodeId, { state_since: state_since - w.settings.nodes.timing.purgeMs - 1 });
  await w.live(20);
  expect(retired().slice(2)).toEqual([
    ["HOST_OFFLINE", two.nodeId],
    ["NODE_RETIRED", two.nodeId],
  ]);
  expect(rows()).not.toContain(two.nodeId);
});
