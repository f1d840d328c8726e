import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { connect } from "../../src/surfaces/index.ts";
import { begin, commandsOn, mainOn } from "../support/commands.ts";
import { PATIENT } from "../support/patience.ts";
import { owned, type Started } from "../support/process.ts";

function world() {
  const own = owned(onTestFinished);
  const dataDir = join(own.folder(), "data");
  /** Starts `ringrift` on the world's folder, as a process of its own. */
  const start = (...args: string[]): Started => own.startCli(["--data-dir", dataDir, ...args]);
  return {
    own,
    dataDir,
    start,
    /** Runs it to its end, in this process. */
    run: commandsOn(dataDir),
    /** The main process in this process. */
    async inside() {
      const { stop } = await mainOn(dataDir);
      onTestFinished(stop);
      return { stop };
    },
    async up() {
      const main = start("up", "--port", "0");
      await main.waitForLine(/^ready pid \d+ port \d+ socket /);
      return main;
    },
  };
}

interface Wire {
  readonly id: string;
  readonly type: string;
  readonly data: Record<string, unknown>;
}

const eventsOf = (text: string) => (JSON.parse(text) as { events: Wire[] }).events;

describe("ringrift up", () => {
  test("says when it is ready, and ends cleanly on SIGINT", async () => {
    const { start, run } = world();
    const main = start("up", "--port", "0", "--json");
    const ready = JSON.parse((await main.waitForLine(/"ready"/)).text);
    expect(ready).toMatchObject({ status: "ready", pid: main.pid, socket_path: expect.any(String) });
    expect(ready.port).toBeGreaterThan(0);
    // Under npm one Ctrl-C arrives twice.
    main.kill("SIGINT");
    main.kill("SIGINT");
    expect(await main.exited).toEqual({ code: 0, signal: null });
    expect(JSON.parse(main.stdout().trimEnd().split("\n").at(-1)!)).toMatchObject({
      status: "stopped",
      events: expect.any(Number),
      dead_letters: 0,
      hung: [],
      forced: false,
    });
    expect((await run("events", "publish", "SELFPLAY_RATE_CHANGED", "{}")).code).toBe(4);
  });

  test("is refused on a folder that is in use", async () => {
    const { inside, start } = world();
    await inside();
    const second = start("up", "--port", "0");
    expect((await second.exited).code).toBe(5);
    expect(second.stdout()).toBe("");
    expect(second.stderr()).toMatch(new RegExp(`is in use by process ${process.pid}`));
  });

  test("under npm, it ends when its parent has died", async () => {
    const { own, dataDir } = world();
    const script = join(own.folder(), "npm.mjs");
    const program = new URL("../../bin/ringrift.js", import.meta.url).pathname;
    writeFileSync(
      script,
      `import { spawn } from "node:child_process";
       const args = [${JSON.stringify(program)}, "--data-dir", ${JSON.stringify(dataDir)}, "up", "--port", "0"];
       spawn(process.execPath, args, { stdio: "inherit", env: { ...process.env, npm_execpath: "npm" } });`,
    );
    const parent = own.startNode(script);
    const { match } = await parent.waitForLine(/^ready pid (\d+)/);
    expect(Number(match[1])).not.toBe(parent.pid);
    parent.kill("SIGKILL");
    await parent.waitForLine(/^stopped after .*: \d+ events, 0 dead letters left$/);
  });
});

describe("ringrift events, with a running process", () => {
  test("publishes JSON, words, a file and its input, under any spelling", async () => {
    const { own, inside, run, start } = world();
    await inside();
    const json = await run("events", "publish", "selfplay_rate_changed", '{"config_key":"hex8_2p"}', "--json");
    expect(json).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(json.out)).toEqual({
      event_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      event_type: "SELFPLAY_RATE_CHANGED",
      seq: expect.any(Number),
      suppressed: null,
    });
    const { seq } = JSON.parse(json.out);
    const file = join(own.folder(), "payload.json");
    writeFileSync(file, '{"config_key":"hex9_2p"}');
    const fromFile = await run("events", "publish", "SELFPLAY_RATE_CHANGED", "--file", file);
    // The process publishes events of its own in between.
    const place = /^published SELFPLAY_RATE_CHANGED .* journal (\d+)\n$/.exec(fromFile.out)?.[1];
    expect(Number(place)).toBeGreaterThan(seq);
    const piped = start("events", "publish", "SELFPLAY_RATE_CHANGED", "--file", "-", "--source", "me");
    piped.write('{"config_key":');
    piped.write('"hex10_2p"}');
    piped.endInput();
    expect(await piped.exited).toEqual({ code: 0, signal: null });
    await run("events", "publish", "SELFPLAY_RATE_CHANGED", "config_key=hex11_2p", "rate_multiplier=3", "reason=007");
    const found = eventsOf((await run("events", "history", "--type", "SELFPLAY_RATE_CHANGED", "--json")).out);
    expect(found.map(({ data }) => data)).toEqual([
      { config_key: "hex8_2p" },
      { config_key: "hex9_2p" },
      { config_key: "hex10_2p" },
      { config_key: "hex11_2p", rate_multiplier: 3, reason: "007" },
    ]);
    expect(eventsOf((await run("events", "history", "--source", "me", "--json")).out)).toHaveLength(1);
    expect(eventsOf((await run("events", "history", "--order-key", "hex9_2p", "--json")).out)).toHaveLength(1);
    expect((await run("events", "history", "--until", "10m")).out).toBe("no events\n");
    const table = (await run("events", "history", "--type", "selfplay.rate.changed", "--limit", "2")).out.split("\n");
    expect(table[0]).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} {2}[0-9a-f]{8} {2}SELFPLAY_RATE_CHANGED +me +config_key=hex10_2p$/,
    );
    expect(table).toHaveLength(3);
  });

  test("refuses a bad payload and warns of an unknown name, with what was perhaps meant", async () => {
    const { inside, run } = world();
    await inside();
    const bad = await run("events", "publish", "SELFPLAY_RATE_CHANGED", "config_key=no");
    expect(bad).toMatchObject({ code: 2, out: "" });
    expect(bad.err).toMatch(/SELFPLAY_RATE_CHANGED: config_key: .*\n.*ringrift events show SELFPLAY_RATE_CHANGED/);
    const unknown = await run("events", "publish", "SELFPLAY_RATE_CHANGD", "a=1");
    expect(unknown).toMatchObject({ code: 0, out: expect.stringMatching(/^published SELFPLAY_RATE_CHANGD/) });
    expect(unknown.err).toMatch(/warning: .* Did you mean SELFPLAY_RATE_CHANGED/);
    const lost = await run("events", "trace", "01a1e1ad-7e4b-726b-9958-c8627e42757b", "--json");
    expect(lost.code).toBe(3);
    expect(JSON.parse(lost.err).error.code).toBe("EVENT_NOT_FOUND");
  });

  test("tails over a kill -9 of the main process without a gap", async () => {
    const { up, run, start } = world();
    const first = await up();
    const tail = start("events", "tail", "--json", "CURRICULUM_REBALANCED", "selfplay-rate-changed");
    await tail.waitForLine(/^following CURRICULUM_REBALANCED, SELFPLAY_RATE_CHANGED/);
    await run("events", "publish", "SELFPLAY_RATE_CHANGED", "config_key=hex8_2p");
    await run("events", "publish", "CURRICULUM_UPDATED", "config_key=hex8_2p");
    const before = await tail.waitForLine(/"SELFPLAY_RATE_CHANGED"/);
    await first.killNow();
    await tail.waitForLine(/^the main process went away/);
    await up();
    // Published at once: whether the tail is back already or not, it has to come.
    await run("events", "publish", "SELFPLAY_RATE_CHANGED", "config_key=hex9_2p");
    await tail.waitForLine(/hex9_2p/, { after: before.index });
    expect(
      tail
        .stdout()
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).type),
    ).toEqual(["SELFPLAY_RATE_CHANGED", "SELFPLAY_RATE_CHANGED"]);
    tail.kill("SIGINT");
    expect(await tail.exited).toEqual({ code: 0, signal: null });
  });

  test("tails from the start of the process, one line each, and ends after so many", async () => {
    const { dataDir, inside, run } = world();
    await inside();
    for (const key of ["hex8_2p", "hex9_2p"])
      await run("events", "publish", "SELFPLAY_RATE_CHANGED", `config_key=${key}`);
    const words = ["--data-dir", dataDir, "events", "tail", "SELFPLAY_RATE_CHANGED", "--since-start", "--count", "3"];
    const tail = begin(words, {});
    await tail.waitFor(/config_key=hex9_2p$/m);
    await run("events", "publish", "SELFPLAY_RATE_CHANGED", "config_key=hex10_2p");
    const { code, out } = await tail.ended;
    expect(code).toBe(0);
    expect(out.match(/config_key=\S+/g)).toEqual(["hex8_2p", "hex9_2p", "hex10_2p"].map((k) => `config_key=${k}`));
  });

  test("replays what a consumer has had: a dry run only tells, the other delivers it again", async () => {
    const { dataDir, inside, run } = world();
    await inside();
    const heard: unknown[] = [];
    const client = connect({ dataDir });
    onTestFinished(() => client.close());
    const wanted = { consumer: "exporter", eventTypes: ["SELFPLAY_RATE_CHANGED"], start: "earliest" } as const;
    const subscription = client.subscribe(wanted, ({ payload }) => void heard.push(payload.config_key));
    const once = ["hex8_2p", "hex9_2p"];
    for (const key of once) await run("events", "publish", "SELFPLAY_RATE_CHANGED", `config_key=${key}`);
    await vi.waitFor(() => expect(heard).toEqual(once), PATIENT);
    const replay = (...more: string[]) => run("events", "replay", "exporter", "--since", "10m", ...more);
    const lines = /2 events to exporter\n {2}SELFPLAY_RATE_CHANGED +2 +journal \d+ to \d+\n$/;
    const tried = await replay("--dry-run");
    expect(tried).toMatchObject({ code: 0, err: "", out: expect.stringMatching(lines) });
    expect(tried.out).toMatch(/^would deliver /);
    const done = await replay("--reason", "the export was lost");
    expect(done).toMatchObject({ code: 0, err: "", out: expect.stringMatching(lines) });
    expect(done.out).toMatch(/^delivering /);
    // Once each: had the dry run delivered too, there would be six.
    await run("events", "publish", "SELFPLAY_RATE_CHANGED", "config_key=hex10_2p");
    await vi.waitFor(() => expect(heard).toContain("hex10_2p"), PATIENT);
    await vi.waitFor(() => expect(heard.toSorted()).toEqual([...once, ...once, "hex10_2p"].toSorted()), PATIENT);
    await subscription.stop();
    const one = await replay("--type", "selfplay_rate_changed", "--max", "1", "--json");
    expect(one.code).toBe(0);
    expect(JSON.parse(one.out)).toMatchObject({ dry_run: false, events: 1, more: true, connected: false });
    expect((await run("logs", "--writes")).out).toMatch(/POST \/v1\/consumers\/exporter\/replay +the export was lost/);
    expect(await run("events", "replay", "nobody", "--since", "10m")).toMatchObject({ code: 3, out: "" });
  });

  test("is quiet when its reader goes away", async () => {
    const { own, inside, run, dataDir } = world();
    await inside();
    const script = join(own.folder(), "head.mjs");
    const program = new URL("../../bin/ringrift.js", import.meta.url).pathname;
    writeFileSync(
      script,
      `import { spawn } from "node:child_process";
       const args = [${JSON.stringify(program)}, "--data-dir", ${JSON.stringify(dataDir)}, "events", "tail"];
       const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
       child.stderr.pipe(process.stderr);
       child.stdout.once("data", () => { child.stdout.destroy(); console.log("closed"); });
       child.on("exit", (code, signal) => console.log("ended", code, signal));`,
    );
    const head = own.startNode(script);
    await head.waitForLine(/^following/);
    await run("events", "publish", "SELFPLAY_RATE_CHANGED", "config_key=hex8_2p");
    await head.waitForLine(/^closed$/);
    await run("events", "publish", "SELFPLAY_RATE_CHANGED", "config_key=hex9_2p");
    await head.waitForLine(/^ended 0 null$/);
    expect(head.stderr()).toBe("following all events; Ctrl-C ends it\n");
  });

  test("traces causes and effects across processes, also when nothing runs any more", async () => {
    const { inside, run, dataDir } = world();
    const main = await inside();
    const client = connect({ dataDir, source: "trainer" });
    onTestFinished(() => client.close());
    const done = Promise.withResolvers<void>();
    const evaluator = client.subscribe(
      { consumer: "evaluator", eventTypes: ["SELFPLAY_RATE_CHANGED"], start: "earliest" },
      (_, { emit }) =>
        emit("CURRICULUM_ADVANCED", { config_key: "hex8_2p", reason: "stronger", tier: "2", previous_tier: "1" }),
    );
    const board = client.subscribe({ consumer: "board", eventTypes: ["CURRICULUM_ADVANCED"], start: "earliest" }, () =>
      done.resolve(),
    );
    const { event_id: cause } = await client.publish("SELFPLAY_RATE_CHANGED", { config_key: "hex8_2p" } as never);
    await done.promise;
    await evaluator.stop();
    await board.stop();
    // Units of the main process hear these events as well, in their own time.
    const traced = async () => (await run("events", "trace", cause.slice(-8))).out;
    await expect.poll(traced, PATIENT).toMatch(/^│( {2}✓ \w+ done)+\n.*\n {4}( {2}✓ \w+ done)+$/m);
    const lines = (await traced()).split("\n");
    expect(lines[0]).toMatch(/^trace [0-9a-f]{32}$/);
    expect(lines[1]).toMatch(/^2 events from 2 sources, /);
    expect(lines[3]).toBe(`SELFPLAY_RATE_CHANGED  trainer  +0 ms  ${cause.slice(-8)}  ◀ asked for`);
    expect(lines[4]).toMatch(/ {2}✓ evaluator done\b/);
    expect(lines[5]).toMatch(/^└─ CURRICULUM_ADVANCED {2}evaluator {2}\+\d+(\.\d+)? m?s {2}[0-9a-f]{8}$/);
    expect(lines[6]).toMatch(/ {2}✓ board done\b/);

    const online = JSON.parse((await run("events", "trace", cause, "--json")).out);
    await main.stop();
    const offline = JSON.parse((await run("events", "trace", cause, "--json")).out);
    expect(online).toMatchObject({ from: "process", asked: cause });
    expect(offline).toEqual({ ...online, from: "folder" });
    expect(offline.events.map(({ depth }: { depth: number }) => depth)).toEqual([0, 1]);
  });
});

describe("ringrift, when nothing runs", () => {
  test("reads what a killed process left, and changes nothing", async () => {
    const { up, run } = world();
    const main = await up();
    await run("events", "publish", "SELFPLAY_RATE_CHANGED", "config_key=hex8_2p");
    await main.killNow();
    const history = await run("events", "history", "--type", "SELFPLAY_RATE_CHANGED", "--json");
    expect(history.code).toBe(0);
    expect(JSON.parse(history.out)).toMatchObject({ from: "folder", events: [{ type: "SELFPLAY_RATE_CHANGED" }] });
    expect((await run("dlq")).out).toMatch(/^no dead letters\nhealth {2}ok/);
    for (const args of [
      ["events", "publish", "X", "{}"],
      ["events", "tail"],
      ["dlq", "--retry"],
      ["dlq", "--purge"],
    ])
      expect(await run(...args), args.join(" ")).toMatchObject({ code: 4, err: expect.stringMatching(/ringrift up/) });
  });

  test("says what to do with a journal of another version, and with a file that is none", async () => {
    const { inside, run, dataDir } = world();
    await (await inside()).stop();
    const { DatabaseSync } = await import("node:sqlite");
    const db = new DatabaseSync(join(dataDir, "coordination.db"));
    db.exec("INSERT INTO migrations (module, id, name) VALUES ('journal', 999, 'from the future')");
    db.close();
    expect(await run("events", "history")).toMatchObject({ code: 5, err: expect.stringMatching(/newer version/) });
    writeFileSync(
      join(dataDir, "coordination.db"),
      "this is no database, but it is long enough to look like one\n".repeat(20),
    );
    expect(await run("events", "history")).toMatchObject({ code: 5, err: expect.stringMatching(/not a database/) });
  });
});
