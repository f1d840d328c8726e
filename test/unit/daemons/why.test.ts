import { afterEach, describe, expect, test } from "vitest";
import {
  DaemonManager,
  defineCoordinator,
  defineDaemon,
  type Unit,
  why,
  whyFacts,
} from "../../../src/daemons/index.ts";
import type { Why, WhyFacts } from "../../../src/daemons/why.ts";
import { type BuiltinRows, builtinRows } from "../../../src/events/index.ts";
import { defined, seededRandom, silentLog } from "../../../src/kernel/index.ts";
import { type UnitWorld, unitWorld } from "../../fixtures/unit-world.ts";

const worlds: UnitWorld<BuiltinRows>[] = [];
afterEach(async () => {
  for (const opened of worlds.splice(0)) await opened.close();
});

const daemon = (name: string, dependsOn: readonly string[] = [], tick: () => void = () => {}) =>
  defineDaemon({
    name,
    layer: 1 + dependsOn.length,
    placement: "leader",
    alsoKnownAs: [name.toUpperCase()],
    dependsOn,
    emits: [],
    loop: { everyMs: 1_000, tick },
  });

/** Units that run under a supervisor, and the question. */
const running = async (units: readonly Unit[], profile?: WhyFacts["profile"], names?: readonly string[]) => {
  const w = unitWorld(builtinRows, { settings: { maxAttempts: 1 } });
  worlds.push(w);
  const { clock, router, store } = w;
  const manager = new DaemonManager({ clock, random: seededRandom(4), log: silentLog(), nodeId: "n1", pid: 1 });
  const runtime = w.runtime(units, { manager });
  await w.driven(runtime.start(names));
  await w.pass(1_000);
  const ask = (subject: string, change: (facts: WhyFacts) => WhyFacts = (facts) => facts): Why =>
    why(
      subject,
      change(
        whyFacts({
          now: clock.now(),
          registry: { units },
          manager,
          runtime,
          router: router as never,
          store,
          ...defined({ profile }),
        }),
      ),
    );
  return { w, manager, ask };
};
const failing = ({ gates }: Why) =>
  gates.filter(({ passed }) => !passed).map(({ gate, actual }) => `${gate}: ${actual}`);

describe("why", () => {
  test("a unit that is well passes every gate, under each of its names", async () => {
    const { ask } = await running([daemon("ground"), daemon("house", ["ground"])]);
    const answer = ask("HOUSE");
    expect(failing(answer)).toEqual([]);
    expect(answer).toMatchObject({ subject: "house", kind: "daemon", verdict: "house runs and is well" });
    expect(answer.gates.map(({ gate }) => gate)).toEqual([
      "registered",
      "in_profile",
      "wanted",
      "not_given_up",
      "not_held",
      "dependency:ground",
      "restart_backoff",
      "running",
      "subscribed",
      "health",
      "heartbeat",
      "dead_letters",
      "lag",
    ]);
    expect(answer.since).toBeGreaterThan(1_600_000_000_000);
    expect(answer.gates.every(({ hint }) => hint === null)).toBe(true);
  });

  test("each hold is a gate with its reason, and what depends on it names it, however deep", async () => {
    const { manager, ask, w } = await running([
      daemon("ground"),
      daemon("house", ["ground"]),
      daemon("roof", ["house"]),
    ]);
    manager.pause("ground", "the queue is full", { hold: "backpressure:queue", actor: "daemon_control" });
    manager.pause("ground", "looking into it");
    await w.pass(1_000);
    expect(failing(ask("ground")).slice(0, 2)).toEqual([
      "held_by:backpressure:queue: the queue is full",
      "held_by:operator: looking into it",
    ]);
    const roof = ask("roof");
    expect(roof.verdict).toBe(
      "roof does not run: it waits for house; house waits for ground; ground is held by backpressure:queue: the queue is full",
    );
    expect(roof.gates.find(({ gate }) => gate === "dependency:house")).toMatchObject({
      hint: "daemon_control lifts it when its reason is over.",
      since: expect.any(Number),
    });
    expect(ask("ground").gates.find(({ gate }) => gate === "held_by:operator")!.hint).toBe(
      "Resume it: POST /v1/daemons/ground/resume.",
    );
  });

  test("one that was stopped, one that restarts and one that was given up say so", async () => {
    const { manager, ask, w } = await running([daemon("d")]);
    await w.driven(manager.stop("d"));
    // That it does not run, hear or feel well follows from it, and is not told again.
    expect(failing(ask("d"))).toEqual(["wanted: not enabled, or stopped"]);
    expect(ask("d").verdict).toBe("d does not run: it was stopped, or is not enabled");
    const info = manager.getStatus().d!;
    const as = (more: object) => (facts: WhyFacts) => ({
      ...facts,
      daemons: { d: { ...info, wanted: true, ...more } },
    });
    const restarting = { state: "restarting", restartAt: w.clock.now() + 9_500, lastError: "no luck" };
    expect(failing(ask("d", as(restarting)))[0]).toBe("restart_backoff: 10 s are left: no luck");
    const permanentFailure = {
      kind: "restarts",
      at: 5_000,
      reason: "5 restarts did not help",
      error: null,
      restarts: 5,
    };
    const given = ask("d", as({ state: "failed", permanentFailure }));
    expect(given).toMatchObject({
      since: 5_000,
      verdict: "d does not run: it was given up: 5 restarts did not help",
    });
  });

  test("one outside the profile that runs says so", async () => {
    const profile = { name: "training_node", members: ["ground"] };
    const { ask, manager, w } = await running([daemon("ground"), daemon("d")], profile, ["ground"]);
    expect(failing(ask("d"))[0]).toBe("in_profile: not in 'training_node'");
    // One that is started all the same runs, gives its signs of life, and is not said to be down.
    await w.driven(manager.start("d"));
    await w.pass(30_000);
    expect(ask("d")).toMatchObject({ verdict: "d runs and is well" });
    expect(ask("d").gates).toContainEqual(
      expect.objectContaining({ gate: "in_profile", actual: "not in 'training_node', started by hand" }),
    );
  });

  test("dead letters, lag, late heartbeats and failures do not keep it down, and are told", async () => {
    const listener = defineCoordinator({
      name: "listener",
      layer: 1,
      placement: "leader",
      emits: [],
      on: {
        HOST_OFFLINE() {
          throw new Error("no luck");
        },
      },
    });
    const { ask, w } = await running([listener]);
    await w.router.publish("HOST_OFFLINE", { node_id: "a", reason: "silent" } as never);
    await w.pass(1_000);
    const answer = ask("listener", (facts) => ({
      ...facts,
      now: facts.now + 100_000,
      lag: { listener: 20_000 },
    }));
    expect(failing(answer)).toEqual([
      "health: stopped: 1 of the last 1 failed",
      expect.stringMatching(/^heartbeat: 10\d s ago$/),
      "dead_letters: 1",
      "lag: 20000",
    ]);
    expect(answer.verdict).toBe("listener runs, but it is not well: stopped: 1 of the last 1 failed");
  });

  test("a daemon type whose unit comes later is answered, and an unknown name offers the nearest", async () => {
    const { ask } = await running([daemon("ground")]);
    expect(ask("AUTO_SYNC")).toMatchObject({
      kind: "not_built",
      gates: [{ gate: "registered", passed: false, hint: "It comes with the stage 'sync'." }],
    });
    const asked = (name: string) => () => ask(name);
    expect(asked("gruond")).toThrow(
      "there is no config, job, node, file, daemon or unit 'gruond'. Did you mean GROUND or ground",
    );
    expect(asked("AUTO_SINC")).toThrow(/Did you mean AUTO_SYNC/);
  });
});
