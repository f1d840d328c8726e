import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { readSettings } from "../../src/app/settings.ts";
import { silentLog } from "../../src/kernel/index.ts";
import type { AnyEvent, Store } from "../../src/router/index.ts";
import { countPairs } from "../../src/router/journal/queries.ts";
import { type Owned, owned, type Started } from "../support/process.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const CLIENT = join(ROOT, "clients/python/ringrift.py");

/** Short waits between tries, so that a delivery can die within a test. */
const QUICK = { retryFirstMs: 20, retryMostMs: 100 };

const python = spawnSync("python3", ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"], { encoding: "utf8" });
const hasPython = python.status === 0;
if (!hasPython) process.stderr.write("SKIPPED: python3 is missing, the Python client is not tested\n");

const environment = (dataDir: string) => ({
  RINGRIFT_DATA_DIR: dataDir,
  PYTHONPATH: join(ROOT, "clients/python"),
  PYTHONDONTWRITEBYTECODE: "1",
  PYTHONWARNINGS: "error",
});

/** Python programs of one data folder. */
function pythonIn(own: Owned, dataDir: string) {
  const start = (source: string, ...args: string[]): Started => {
    const file = join(own.folder(), "program.py");
    writeFileSync(file, `import ringrift, sys, time\n${source}`);
    return own.startNode(file, args, { execPath: "python3", env: environment(dataDir) });
  };
  return {
    start,
    async run(source: string, ...args: string[]): Promise<string> {
      const started = start(source, ...args);
      const { code } = await started.exited;
      expect(code, started.lines.join("\n")).toBe(0);
      return started.stdout();
    },
  };
}

/** A coordination within the test, on a folder of its own. */
async function coordination() {
  const own = owned(onTestFinished);
  const dataDir = own.folder();
  const running = await bootstrapCoordination({
    settings: readSettings({}, ROOT, { dataDir, port: 0, nodeId: "test", router: QUICK }),
    log: silentLog(),
  });
  onTestFinished(() => running.shutdown());
  return { ...running, own, dataDir, ...pythonIn(own, dataDir) };
}

/** A main process of its own, which can be killed. */
function mainProcesses(own: Owned, dataDir: string) {
  return async (): Promise<Started> => {
    const main = own.startCli(["--data-dir", dataDir, "up", "--port", "0"], { env: { RINGRIFT_LOG_LEVEL: "ERROR" } });
    await main.waitForLine(/^ready pid/);
    return main;
  };
}

const games = (key: string, n: number) => ({ config_key: key, new_games: n + 1, total_games: n });

/** What a consumer printed as `key n`, by key. */
const byKey = (lines: readonly string[]): Map<string, number[]> => {
  const seen = new Map<string, number[]>();
  for (const line of lines) {
    const [, key, n] = /^(\w+_2p) (\d+)$/.exec(line) ?? [];
    if (key !== undefined) seen.set(key, [...(seen.get(key) ?? []), Number(n)]);
  }
  return seen;
};

const pairsOfPython = (store: Store) => countPairs(store).filter(({ consumer }) => consumer === "py");

/** At least once and in order: without what came again, each number follows its predecessor. */
const withoutRepeats = (list: readonly number[]) => list.filter((n, i) => i === 0 || n > Math.max(...list.slice(0, i)));

const CONSUMER = `
def handle(event):
    print(event.payload["config_key"], event.payload["total_games"], flush=True)
client = ringrift.connect()
client.subscribe("py", ["NEW_GAMES_AVAILABLE"], handle, start="earliest").wait()
`;

const EMITTING_CONSUMER = CONSUMER.replace(
  "def handle(event):",
  `def handle(event):
    event.emit("CONSOLIDATION_STARTED", {"config_key": event.payload["config_key"]})`,
);

describe.skipIf(!hasPython)("the Python client", () => {
  test("is one file that Python 3.9 can read and that needs the standard library alone", () => {
    const check = `
import ast, sys
tree = ast.parse(open(sys.argv[1]).read(), feature_version=(3, 9))
used = {name.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
used |= {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
foreign = used - set(getattr(sys, "stdlib_module_names", used))
sys.exit(", ".join(foreign) or 0)
`;
    const { status, stderr } = spawnSync("python3", ["-c", check, CLIENT], { encoding: "utf8" });
    expect(stderr).toBe("");
    expect(status).toBe(0);
  });

  test("publishes what a TypeScript consumer hears, with its source, trace and parent", async () => {
    const { router, run } = await coordination();
    const heard: AnyEvent[] = [];
    await router.consume({ consumer: "ts", handlers: { NEW_GAMES_AVAILABLE: (event) => void heard.push(event) } });
    const printed = await run(`
client = ringrift.connect(source="selfplay")
first = client.publish("new_games", ${JSON.stringify(games("hex8_2p", 7))})
same = client.publish("NEW_GAMES_AVAILABLE", ${JSON.stringify(games("hex8_2p", 7))}, event_id=first.event_id)
parent = client.history("NEW_GAMES_AVAILABLE")[0]
client.publish("NEW_GAMES_AVAILABLE", ${JSON.stringify(games("hex8_2p", 8))}, "other", parent=parent)
print(first.event_type, first.seq, first.suppressed, same.suppressed, same.seq, parent.payload["total_games"])
`);
    const [, seq] = /^NEW_GAMES_AVAILABLE (\d+) None event_id \1 7\n$/.exec(printed) ?? [];
    expect(seq, printed).toBeDefined();
    await router.settled({ eventId: "", seq: Number(seq) + 1 });
    expect(heard).toMatchObject([
      { eventType: "NEW_GAMES_AVAILABLE", source: "selfplay", orderKey: "hex8_2p", origin: "cross_process" },
      { source: "other", parentEventId: heard[0]!.eventId, traceId: heard[0]!.traceId },
    ]);
  });

  test("says what was wrong, with a code and a hint", async () => {
    const { run, dataDir } = await coordination();
    const printed = await run(
      `
def tell(call):
    try:
        call()
    except ringrift.RingRiftError as error:
        print(error.code, error.retryable, bool(error.hint))
client = ringrift.connect()
tell(lambda: client.publish("NEW_GAMES_AVAILABLE", {"config_key": "hex8", "new_games": 1, "total_games": 1}))
tell(lambda: client.publish("NEW_GAMES_AVAILABLE", {"loss": float("nan")}))
tell(lambda: client.publish("ANY", {"when": object()}))
tell(lambda: client.open_queue("no such name!"))
tell(lambda: client.dead_letters.retry_event(99))
tell(lambda: ringrift.connect(sys.argv[1], patience_seconds=0).publish("ANY", {}))
tell(lambda: ringrift.connect(port=1, token="x", patience_seconds=0).publish("ANY", {}))
`,
      join(dataDir, "nothing"),
    );
    expect(printed.trim().split("\n")).toEqual([
      "INVALID_PAYLOAD False True",
      "INVALID_PAYLOAD False True",
      "INVALID_PAYLOAD False True",
      "INVALID_CONSUMER False True",
      "DEAD_LETTER_NOT_FOUND False True",
      "NOT_RUNNING True True",
      "UNREACHABLE True True",
    ]);
  });

  test("reaches the main process over its port with the token of the data folder, and not without", async () => {
    const { api, run } = await coordination();
    const printed = await run(
      `
port = int(sys.argv[1])
print(ringrift.connect(port=port).publish("ANY", {"n": 1}).seq)
try:
    ringrift.connect(port=port, token="wrong").publish("ANY", {"n": 1})
except ringrift.RingRiftError as error:
    print(error.code, error.status)
`,
      String(api.port),
    );
    expect(printed).toMatch(/^\d+\nUNAUTHORIZED 401\n$/);
  });

  test("hears all of 1,000 events, those of one key in order, and what it emits has them as parents", async () => {
    const { router, own: _, start } = await coordination();
    const consumer = start(`
def handle(event):
    print(event.payload["config_key"], event.payload["total_games"], flush=True)
    if event.payload["total_games"] % 100 == 0:
        event.emit("CONSOLIDATION_STARTED", {"config_key": event.payload["config_key"]})
client = ringrift.connect()
with client.subscribe("py", ["NEW_GAMES_AVAILABLE"], handle, start="earliest") as subscription:
    while subscription.handled < 1000:
        time.sleep(0.01)
print("stopped", subscription.handled, flush=True)
`);
    const published = await Promise.all(
      Array.from({ length: 1_000 }, (_each, n) =>
        router.publish("NEW_GAMES_AVAILABLE", games(`c${n % 7}_2p`, n) as never),
      ),
    );
    await consumer.waitForLine(/^stopped 1000$/);
    expect((await consumer.exited).code).toBe(0);
    const seen = byKey(consumer.lines);
    expect([...seen.values()].flat()).toHaveLength(1_000);
    for (const list of seen.values()) expect(list).toEqual([...list].sort((a, b) => a - b));
    const said = router.history({ eventType: "CONSOLIDATION_STARTED", fromJournal: true });
    expect(said).toHaveLength(10);
    const parents = new Set(published.map(({ eventId }) => eventId));
    for (const { parentEventId, source } of said) {
      expect(parents).toContain(parentEventId);
      expect(source).toBe("py");
    }
    expect(pairsOfPython(router.store)).toEqual([{ consumer: "py", state: "done", pairs: 1_000 }]);
  });

  test("an async handler works, and an emission that is refused fails its event and nobody else", async () => {
    const { router, run } = await coordination();
    for (let n = 0; n < 3; n += 1)
      await router.publish("NEW_GAMES_AVAILABLE", games(n === 1 ? "bad_2p" : "good_2p", n) as never);
    const printed = await run(`
import asyncio
async def handle(event):
    await asyncio.sleep(0)
    key = "no config" if event.payload["config_key"] == "bad_2p" else "good_2p"
    event.emit("CONSOLIDATION_STARTED", {"config_key": key})
client = ringrift.connect()
with client.subscribe("py", "new_games", handle, start="earliest") as subscription:
    while subscription.handled < 2 or client.dead_letters.get_pending_count() < 1:
        time.sleep(0.01)
print(subscription.handled, client.dead_letters.get_pending_events()[0].error.split("\\n")[0])
`);
    expect(printed).toMatch(/^2 .*INVALID_PAYLOAD: CONSOLIDATION_STARTED: config_key/);
    expect(router.history({ eventType: "CONSOLIDATION_STARTED" })).toHaveLength(2);
  });

  test("a handler that always raises leaves one dead letter; the key goes on; a retry recovers it", async () => {
    const { router, dataDir, start, run } = await coordination();
    const flag = join(dataDir, "mended");
    for (let n = 0; n < 6; n += 1)
      await router.publish("NEW_GAMES_AVAILABLE", games(n % 2 === 0 ? "a_2p" : "b_2p", n) as never);
    const consumer = start(
      `
import os
def handle(event):
    if event.payload["total_games"] == 2 and not os.path.exists(sys.argv[1]):
        raise ValueError("cannot read segment 17 of 'a'")
    print(event.payload["config_key"], event.payload["total_games"], flush=True)
ringrift.connect().subscribe("py", ["NEW_GAMES_AVAILABLE"], handle, "earliest", version="2.1").wait()
`,
      flag,
    );
    await consumer.waitForLine(/^a_2p 4$/);
    const letters = router.deadLetters.getPendingEvents();
    expect(letters).toMatchObject([
      { consumer: "py", event_type: "NEW_GAMES_AVAILABLE", attempts: 5, handler_version: "2.1" },
    ]);
    expect(letters[0]!.error).toMatch(/^ValueError: cannot read segment 17 of 'a'\nTraceback/);
    expect([...byKey(consumer.lines)].sort()).toEqual([
      ["a_2p", [0, 4]],
      ["b_2p", [1, 3, 5]],
    ]);

    writeFileSync(flag, "");
    const after = consumer.lines.length - 1;
    const printed = await run(`
letters = ringrift.connect(source="operator").dead_letters
group = letters.get_error_summary()[0]
letter = letters.get_pending_events(limit=100)[0]
print(letters.get_pending_count(), group.letters, group.fingerprint == letter.fingerprint)
print(abs(letter.last_failed_at - time.time()) < 600, len(letters.retry_all(dry_run=True)))
print(len(letters.retry_event(letter.id)))
while letters.counts()["recovered"] < 1:
    time.sleep(0.01)
print(letters.get_pending_count(), letters.cleanup(older_than_hours=0))
`);
    expect(printed.split("\n")).toEqual(["1 1 True", "True 1", "1", "0 1", ""]);
    await consumer.waitForLine(/^a_2p 2$/, { after });
    await consumer.stop();
    expect(pairsOfPython(router.store)).toEqual([{ consumer: "py", state: "done", pairs: 6 }]);
  });

  test("a dead letter that is sent back while a later event of its key is tried again is handled before it", async () => {
    const { router, run } = await coordination();
    for (let n = 1; n <= 2; n += 1) await router.publish("NEW_GAMES_AVAILABLE", games("a_2p", n) as never);
    const printed = await run(`
letters, mended = ringrift.connect(source="operator").dead_letters, []
def handle(event):
    n = event.payload["total_games"]
    if n == 1 and not mended:
        raise ValueError("cannot read it")
    if n == 2 and not mended:
        mended.append(letters.retry_event(letters.get_pending_events()[0].id))
        raise ValueError("not yet")
    print(n)
client = ringrift.connect()
with client.subscribe("py", "NEW_GAMES_AVAILABLE", handle, start="earliest") as subscription:
    while subscription.handled < 2 or letters.counts()["recovered"] < 1:
        time.sleep(0.01)
`);
    expect(printed).toBe("1\n2\n");
  });

  test("polls, acks with an emission, nacks, and gets back what it did not ack", async () => {
    const { router, run } = await coordination();
    const printed = await run(`
client = ringrift.connect()
queue = client.open_queue("poller", ["NEW_GAMES_AVAILABLE"])
for n in range(3):
    queue.publish("NEW_GAMES_AVAILABLE", {"config_key": "abc"[n] + "_2p", "new_games": 1, "total_games": n})
first, second, third = queue.get_pending_events()
print(first.source, first.attempt, queue.poll())
print(len(queue.ack(first, emit=[("CONSOLIDATION_STARTED", {"config_key": "a_2p"})]).acked))
print(queue.nack(second, ValueError("not now")))
again = queue.poll(wait_seconds=10)[0]
print(again.event_id == second.event_id, again.attempt)
queue.ack([again])
queue.close()
print(queue.ack(third).refused == [third.seq])
print([event.event_id for event in queue.poll()] == [third.event_id])
`);
    expect(printed.split("\n")).toEqual(["poller 1 []", "1", "retrying", "True 2", "True", "True", ""]);
    expect(router.history({ eventType: "CONSOLIDATION_STARTED" })).toMatchObject([{ source: "poller" }]);
  });

  test("a consumer that stops cleanly spends no try and keeps its place", async () => {
    const { router, dataDir, start } = await coordination();
    const go = join(dataDir, "go");
    const program = `
import os, threading
def handle(event):
    print(event.payload["config_key"], event.payload["total_games"], event.attempt, flush=True)
    while not os.path.exists(sys.argv[1]):
        time.sleep(0.01)
client = ringrift.connect()
subscription = client.subscribe("py", "NEW_GAMES_AVAILABLE", handle, "earliest")
sys.stdin.readline()
stopping = threading.Thread(target=subscription.stop)
stopping.start()
open(sys.argv[1], "w").close()
stopping.join()
print("stopped", subscription.handled, flush=True)
`;
    for (let n = 0; n < 3; n += 1) await router.publish("NEW_GAMES_AVAILABLE", games("a_2p", n) as never);
    const first = start(program, go);
    await first.waitForLine(/^a_2p 0 1$/);
    first.write("\n");
    await first.waitForLine(/^stopped \d$/);
    const stopped = Number(first.lines.at(-1)!.split(" ")[1]);
    expect(first.lines.slice(0, -1)).toEqual(Array.from({ length: stopped }, (_, n) => `a_2p ${n} 1`));
    const second = start(program, join(dataDir, "never"));
    if (stopped < 3) await second.waitForLine(new RegExp(`^a_2p ${stopped} 1$`));
  });
});

describe.skipIf(!hasPython)("kill -9", () => {
  test("of the consumer: who comes back under the name reads on; nothing is missed, no emission counts twice", async () => {
    const { router, start } = await coordination();
    const total = 600;
    const lines: string[] = [];
    const published: AnyEvent[] = [];
    for (let until = 150; until <= total; until += 150) {
      const consumer = start(EMITTING_CONSUMER);
      while (published.length < until) {
        const n = published.length;
        published.push(await router.publish("NEW_GAMES_AVAILABLE", games(`c${n % 3}_2p`, n) as never));
      }
      if (until < total) {
        await consumer.waitForLine(new RegExp(`^c\\d_2p ${until - 50}$`));
        await consumer.killNow();
      } else for (const event of published) await router.settled(event);
      lines.push(...consumer.lines);
    }
    for (const [key, list] of byKey(lines))
      expect(withoutRepeats(list)).toEqual(
        Array.from({ length: total / 3 }, (_, i) => 3 * i + Number(key.slice(1, 2))),
      );
    expect(pairsOfPython(router.store)).toEqual([{ consumer: "py", state: "done", pairs: total }]);
    const said = router.history({ eventType: "CONSOLIDATION_STARTED", fromJournal: true, limit: 2 * total });
    expect(said.map(({ parentEventId }) => parentEventId).sort()).toEqual(
      published.map(({ eventId }) => eventId).sort(),
    );
  });

  test("of the main process: a publisher and a consumer go on by themselves, nothing is lost or doubled", async () => {
    const own = owned(onTestFinished);
    const dataDir = own.folder();
    const startMain = mainProcesses(own, dataDir);
    const { start } = pythonIn(own, dataDir);
    let main = await startMain();
    const consumer = start(CONSUMER);
    const publisher = start(`
client = ringrift.connect()
for n in range(400):
    receipt = client.publish("NEW_GAMES_AVAILABLE", {"config_key": "c%d_2p" % (n % 2), "new_games": 1, "total_games": n})
    print("published", n, flush=True)
`);
    for (const at of [50, 150, 250]) {
      await publisher.waitForLine(new RegExp(`^published ${at}$`));
      await main.killNow();
      main = await startMain();
    }
    expect((await publisher.exited).code, publisher.lines.slice(-5).join("\n")).toBe(0);
    for (const key of [0, 1]) await consumer.waitForLine(new RegExp(`^c${key}_2p ${398 + key}$`));
    for (const [key, list] of byKey(consumer.lines))
      expect(withoutRepeats(list)).toEqual(Array.from({ length: 200 }, (_, i) => 2 * i + Number(key.slice(1, 2))));
    const { stdout } = spawnSync("python3", [CLIENT, "history", "NEW_GAMES_AVAILABLE", "--limit", "1000"], {
      encoding: "utf8",
      env: { ...process.env, ...environment(dataDir) },
    });
    const stored = stdout
      .trim()
      .split("\n")
      .map((line) => (JSON.parse(line) as { payload: { total_games: number } }).payload.total_games);
    expect(stored).toEqual(Array.from({ length: 400 }, (_, n) => n));
    await main.stop();
  });
});

describe.skipIf(!hasPython)("the client as a command", () => {
  const command = (dataDir: string, ...args: string[]) =>
    spawnSync("python3", [CLIENT, ...args], {
      encoding: "utf8",
      env: { ...process.env, ...environment(dataDir) },
    });

  test("publishes, prints the history, and follows what happens", async () => {
    const own = owned(onTestFinished);
    const dataDir = own.folder();
    await mainProcesses(own, dataDir)();
    const tail = own.startNode(CLIENT, ["tail", "MY_EVENT"], { execPath: "python3", env: environment(dataDir) });
    const consume = own.startNode(CLIENT, ["consume", "shell", "--start", "earliest"], {
      execPath: "python3",
      env: environment(dataDir),
    });
    const published = command(dataDir, "publish", "MY_EVENT", '{"n": 1}', "--source", "shell");
    expect(JSON.parse(published.stdout)).toMatchObject({
      event_type: "MY_EVENT",
      seq: expect.any(Number),
      suppressed: null,
    });
    await consume.waitForLine(/"payload": \{"n": 1\}/);
    const history = JSON.parse(command(dataDir, "history", "MY_EVENT").stdout) as { source: string };
    expect(history.source).toBe("shell");
    // The tail may have begun to listen after the first event.
    for (let n = 2; tail.lines.length === 0 && n < 100; n += 1) command(dataDir, "publish", "MY_EVENT", `{"n":${n}}`);
    await tail.waitForLine(/"event_type": "MY_EVENT"/);
    consume.kill("SIGINT");
    expect((await consume.exited).code).toBe(130);
  });

  test("explains itself when nothing runs and when the payload is wrong", () => {
    const own = owned(onTestFinished);
    const wrong = command(own.folder(), "publish", "X", "[1]");
    expect([wrong.status, wrong.stderr]).toEqual([2, expect.stringContaining("is not a JSON object")]);
    const away = command(own.folder(), "history");
    expect([away.status, away.stderr]).toEqual([4, expect.stringContaining("Start it with 'ringrift up'")]);
  });
});

test("the version of the Python client is that of the package", () => {
  expect(existsSync(CLIENT)).toBe(true);
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };
  expect(readFileSync(CLIENT, "utf8")).toContain(`__version__ = "${version}"`);
});
