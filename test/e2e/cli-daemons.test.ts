import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { declaredRegistry } from "../../src/app/registry.ts";
import { daemonTypes } from "../../src/daemons/legacy.ts";
import { canonicalDaemonName } from "../../src/daemons/supervisor/daemon-names.ts";
import { commandsOn, mainOn } from "../support/commands.ts";
import { owned } from "../support/process.ts";

/** A main process in this process, and its commands. */
async function world() {
  const own = owned(onTestFinished);
  const dataDir = join(own.folder(), "data");
  const { main, stop } = await mainOn(dataDir);
  onTestFinished(stop);
  const run = commandsOn(dataDir);
  const runAs = (columns: number, args: readonly string[]) =>
    commandsOn(dataDir, { isTerminal: true, columns })(...args);
  const json = async (...args: string[]) => JSON.parse((await run(...args, "--json")).out);
  return { dataDir, main, run, runAs, json, stop };
}

describe("ringrift daemons", () => {
  test("lists them, shows one under any of its names, and reads the books when nothing runs", async () => {
    const { dataDir, main, run, json, runAs, stop } = await world();
    const listed = await run("daemons", "list");
    expect(listed).toMatchObject({ code: 0, err: "" });
    expect(listed.out).toMatch(/^DAEMON +STATE +UP +RESTARTS +NOTE\n/);
    expect(listed.out).toMatch(/\nevent_router \* +running +\d/);
    const { daemons } = await json("daemons", "list");
    expect(daemons.map(({ name }: { name: string }) => name).sort()).toEqual(
      Object.keys(main.daemons.getStatus()).sort(),
    );
    const shown = (await run("daemons", "show", "EVENT_ROUTER")).out;
    expect(shown).toMatch(/^event_router\n/);
    expect(shown).toMatch(/needed by .*dlq_retry \(running\)/);
    expect(shown).toMatch(/✓ Ready +for/);
    expect(shown).toMatch(/what was done\n.* started +/);
    for (const line of (await runAs(80, ["daemons", "show", "dlq_retry"])).out.split("\n"))
      expect(line.length, line).toBeLessThanOrEqual(80);
    expect(await run("daemons", "show", "evnt_router")).toMatchObject({
      code: 3,
      err: expect.stringMatching(/Did you mean .*event_router\?\n {2}'ringrift daemons list'/),
    });
    await stop();
    const left = await run("daemons", "list");
    expect(left).toMatchObject({ code: 4, err: "" });
    expect(left.out).toMatch(
      new RegExp(`^nothing is running on ${dataDir}\nDAEMON +RESTARTS .*\n(.*\n)*event_router +0\n`),
    );
    expect(await run("daemons", "stop", "event_router")).toMatchObject({ code: 4 });
  });

  test("starts every daemon type of the Python system by that name, and runs the unit that does its work", async () => {
    const { main } = await world();
    const { units } = declaredRegistry();
    const layerOf = (name: string) => units.find((unit) => unit.name === name)?.layer ?? 0;
    const types = Object.keys(daemonTypes).map((type) => ({ type, unit: canonicalDaemonName(type, units) }));
    expect(types).toHaveLength(89);
    expect(types.filter(({ unit }) => main.daemons.getStatus()[unit] === undefined)).toEqual([]);
    // From the top: what is stopped below takes nothing with it that is still to be looked at.
    for (const { type, unit } of types.sort((a, b) => layerOf(b.unit) - layerOf(a.unit))) {
      await main.daemons.stop(unit);
      expect(main.daemons.isRunning(unit), `${type} while it is stopped`).toBe(false);
      expect(await main.daemons.start(type), type).toBe(true);
      expect(main.daemons.isRunning(unit), type).toBe(true);
    }
  });

  test("stops one with those that need it, starts it again, and restarts it; all of it on record", async () => {
    const { main, run, json } = await world();
    expect(await run("daemons", "stop", "event_router")).toMatchObject({ code: 0, out: "✓ event_router is stopped\n" });
    expect(main.daemons.isRunning("dlq_retry")).toBe(false);
    const troubled = await run("status");
    expect(troubled.code).toBe(1);
    expect(troubled.out).toMatch(/! event_router was stopped\n +Start it: 'ringrift daemons start event_router'/);
    expect(troubled.out).toMatch(/daemons? waits? for event_router: .*daemon_control/);
    expect(await run("daemons", "start", "event_router")).toMatchObject({ code: 0 });
    expect(await json("daemons", "restart", "DLQ_RETRY")).toMatchObject({ name: "dlq_retry", ok: true });
    const { actions } = await json("daemons", "show", "event_router");
    expect(actions.map(({ action }: { action: string }) => action)).toEqual(["started", "stopped", "started"]);
  });

  test("pauses one with a reason that shows everywhere, until it is resumed", async () => {
    const { main, run, json } = await world();
    expect(await run("daemons", "pause", "dlq_retry")).toMatchObject({
      code: 2,
      err: expect.stringMatching(/--reason/),
    });
    expect(await run("daemons", "pause", "dlq_retry", "--reason", " ")).toMatchObject({ code: 2 });
    expect(await run("daemons", "pause", "dlq_retry", "--reason", "the disk is moved")).toMatchObject({ code: 0 });
    while (main.daemons.getStatus().dlq_retry?.state !== "stopped") await new Promise((resume) => setImmediate(resume));
    expect((await run("daemons", "list")).out).toMatch(/dlq_retry +stopped .*the disk is moved/);
    expect((await json("status")).troubles).toMatchObject([
      { level: "warn", what: expect.stringMatching(/the disk is moved/) },
    ]);
    expect(await run("daemons", "resume", "dlq_retry")).toMatchObject({ code: 0 });
    while (!main.daemons.isRunning("dlq_retry")) await new Promise((resume) => setImmediate(resume));
    expect((await run("status")).code).toBe(0);
  });

  test("resets one that was given up: exit code 1 where there is nothing to reset", async () => {
    const { main, run } = await world();
    main.daemons.registerFactory({
      daemonType: "broken",
      factory: () => Promise.reject(new Error("no such table")),
      maxRestarts: 0,
    });
    await main.daemons.start("broken");
    while (!main.daemons.isPermanentlyFailed("broken")) await new Promise((resume) => setImmediate(resume));
    const status = await run("status");
    expect(status).toMatchObject({ code: 1 });
    // The alert that tells of it may be open by now, too.
    expect(status.out).toMatch(/✗ in trouble: (1 thing needs|2 things need) you now/);
    expect(status.out).toMatch(
      /✗ broken is given up: .*no such table\n +Fix the cause, then reset it: 'ringrift daemons reset broken'/,
    );
    expect(await run("daemons", "start", "broken")).toMatchObject({
      code: 5,
      err: expect.stringMatching(/permanently failed/),
    });
    expect(await run("daemons", "reset", "broken")).toMatchObject({ code: 0 });
    expect(await run("daemons", "reset", "event_router")).toMatchObject({ code: 1, out: expect.stringMatching(/^✗/) });
  });
});

describe("ringrift token", () => {
  test("makes one whose secret stands alone on standard output, lists it without, and revokes it", async () => {
    const { main, run, json } = await world();
    const made = await run("token", "create", "grafana", "--expires", "90d");
    expect(made.code).toBe(0);
    expect(made.out).toMatch(/^rrt_[0-9a-f]{16}_[\w-]{43}\n$/);
    expect(made.err).toMatch(/for 'grafana' may read; it expires .*shown this once/);
    const ask = (token: string) =>
      fetch(`http://127.0.0.1:${main.api.port}/v1/daemons`, { headers: { authorization: `Bearer ${token}` } });
    expect((await ask(made.out.trim())).status).toBe(200);
    const listed = await run("token", "list");
    expect(listed.out).toMatch(/read +active +in 90 d +.* grafana\n$/);
    expect(listed.out).not.toContain(made.out.trim());
    const { tokens } = await json("token", "list");
    expect(await run("token", "revoke", tokens[0].id)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/is revoked/),
    });
    expect((await ask(made.out.trim())).status).toBe(401);
    expect((await json("token", "list")).tokens).toMatchObject([{ status: "revoked" }]);
    expect(await json("token", "create", "box-7", "--scope", "worker")).toMatchObject({
      scope: "worker",
      expires_at: null,
    });
    expect(await run("token", "revoke", "nope")).toMatchObject({ code: 3 });
    expect(await run("token", "create", "x", "--scope", "root")).toMatchObject({
      code: 2,
      err: expect.stringMatching(/read, worker, operator/),
    });
    expect(await run("token", "create", " ")).toMatchObject({ code: 2 });
  });
});

describe("ringrift alerts, health, why and logs", () => {
  test("shows an alert, takes a person's word on it, and counts it in the status", async () => {
    const { main, run, json } = await world();
    expect(await run("alerts")).toMatchObject({ code: 0, out: "no open alerts\n" });
    const told = { component: "disk", severity: "critical", message: "the disk is nearly full" } as const;
    await main.router.settled(await main.router.publish("HEALTH_ALERT", told, { source: "test" }));
    const { alerts } = await json("alerts", "list");
    expect(alerts).toMatchObject([{ severity: "critical", status: "open", count: 1 }]);
    const end = alerts[0].id.slice(-8);
    expect((await run("alerts")).out).toMatch(new RegExp(`\n${end} +critical +open .* 1 `));
    expect((await run("alerts", "show", end)).out).toMatch(/the disk is nearly full\n(.*\n)*.*event +HEALTH_ALERT /);
    expect(await run("status")).toMatchObject({ code: 1, out: expect.stringMatching(/✗ 1 critical alert is open/) });
    expect(await run("alerts", "ack", end, "--note", "I am on it")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/is acknowledged/),
    });
    expect((await run("status")).code).toBe(0);
    expect((await json("alerts", "list", "--all")).alerts).toMatchObject([{ status: "acknowledged" }]);
    expect(await run("alerts", "close", alerts[0].id)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/is closed/),
    });
    expect((await json("alerts", "--status", "closed")).alerts).toHaveLength(1);
    expect(await run("alerts", "--severity", "info")).toMatchObject({ code: 0, out: "no alerts\n" });
    expect(await run("alerts", "show", "nope-nope")).toMatchObject({ code: 3 });
    expect(await run("alerts", "lst")).toMatchObject({ code: 2, err: expect.stringMatching(/Did you mean list\?/) });
    const { writes } = await json("logs", "--writes");
    expect(writes.map(({ path }: { path: string }) => path.split("/").at(-1))).toEqual(["acknowledge", "close"]);
    expect((await run("logs", "--writes")).out).toMatch(/200 +.* POST \/v1\/alerts\/.*\/acknowledge +I am on it\n/);
  });

  test("judges the whole, part by part", async () => {
    const { main, run, json } = await world();
    const judged = async () => (await json("health")).parts.length > 0;
    while (!(await judged())) await new Promise((resume) => setImmediate(resume));
    const { out, code } = await run("health");
    const { status } = await json("health");
    expect(code).toBe(status === "healthy" ? 0 : 1);
    expect(out).toMatch(/^. (healthy|degraded|unhealthy)(, for .*)?\n/);
    expect(out).toMatch(/\nparts: \d+ of 100\n +nodes +[█░]{10} +\d+ +× 0\.4 /);
    await main.shutdown();
    expect(await run("health")).toMatchObject({ code: 4 });
  });

  test("says why a unit runs or does not, by any of its names", async () => {
    const { run, json } = await world();
    expect((await json("why", "DLQ_RETRY")).subject).toBe("dlq_retry");
    await run("daemons", "stop", "event_router");
    const stopped = await run("why", "dlq_retry");
    expect(stopped.code).toBe(1);
    expect(stopped.out).toMatch(
      /✗ dependency:event_router\n.* is +.*\n.* must be +running\n(.*\n)*.* do +.*'ringrift daemons start event_router'/,
    );
    expect(await run("why", "dlq_retri")).toMatchObject({
      code: 3,
      err: expect.stringMatching(/Did you mean .*dlq_retry.*\n.*'ringrift daemons list'/),
    });
  });
});

test("nonsense changes nothing in a process that runs, and is answered in words", async () => {
  const { main, run } = await world();
  const states = () =>
    Object.values(main.daemons.getStatus()).map(({ name, state, wanted, paused }) => [name, state, wanted, paused]);
  const before = states();
  const nonsense = [
    "",
    " ",
    "nonsense",
    "../../status",
    "a/b?c=d#e",
    "%00",
    "💥",
    "\u001b[2J",
    "x".repeat(3_000),
    "-1",
    "[]",
    "toString",
    "__proto__",
  ];
  const commands = [
    ...["show", "start", "stop", "restart", "reset", "resume"].map((verb) => ["daemons", verb]),
    ["daemons", "pause", "--reason", "x"],
    ["why"],
    ...["show", "ack", "close"].map((verb) => ["alerts", verb]),
    ["token", "revoke"],
    ["events", "trace"],
    ["dlq", "show"],
  ];
  for (const command of commands)
    for (const word of nonsense) {
      const { code, out, err } = await run(...command, "--", word);
      const what = `${command.join(" ")} ${JSON.stringify(word.slice(0, 40))}: ${err}`;
      expect([2, 3], what).toContain(code);
      expect(err, what).toMatch(/^error: .+/);
      expect(`${out}${err}`, what).not.toMatch(/\n\s+at .+:\d+:\d+/);
      expect(`${out}${err}`, what).not.toContain("\u001b");
    }
  expect(states()).toEqual(before);
  expect((await main.router.history({ eventType: "DAEMON_STOPPED", fromJournal: true })).length).toBe(0);
});
