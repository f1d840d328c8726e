import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createNotifier } from "../../src/app/commands/up/sd-notify.ts";
import { silentLog, virtualClock } from "../../src/kernel/index.ts";
import { begin, commandsOn, mainOn } from "../support/commands.ts";
import { type Owned, owned, type Started, type StartOptions } from "../support/process.ts";

const has = (program: string) => spawnSync(program, ["--version"], { stdio: "ignore" }).error === undefined;
const canNotify = has("python3") && has("systemd-notify");
if (!canNotify) process.stderr.write("SKIPPED: python3 or systemd-notify is missing, sd_notify is not tested\n");
if (!has("systemd-analyze")) process.stderr.write("SKIPPED: systemd-analyze is missing, the unit is not verified\n");
const hasPty = has("python3");
if (!hasPty) process.stderr.write("SKIPPED: python3 is missing, the terminal is not tested\n");

function world() {
  const own = owned(onTestFinished);
  const dataDir = join(own.folder(), "data");
  return {
    own,
    dataDir,
    /** Runs a command to its end, in this process. */
    run: commandsOn(dataDir),
    async up(options?: StartOptions): Promise<Started> {
      const main = own.startCli(["--data-dir", dataDir, "up", "--port", "0"], options);
      await main.waitForLine(/^ready pid \d+ port \d+ socket /);
      return main;
    },
  };
}

/** A program in Python, which has what Node lacks: datagrams of Unix sockets, and terminals. */
function python(own: Owned, program: string, args: readonly string[] = [], options: StartOptions = {}): Started {
  const file = join(own.folder(), "program.py");
  writeFileSync(file, program);
  return own.startNode(file, args, { execPath: "python3", ...options });
}

/** Prints what systemd would read; a barrier is let go by closing what came with it. */
const SYSTEMD = `
import array, os, socket, sys
listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
listening.bind(sys.argv[1])
print("listening", flush=True)
while True:
    data, ancillary, _, _ = listening.recvmsg(65536, 4096)
    for _, _, rights in ancillary:
        for fd in array.array("i", rights): os.close(fd)
    print("|".join(data.decode().split("\\n")), flush=True)
`;

/** Runs a program at a terminal of so many columns; each line of input is typed, "^C" as the key. */
const TERMINAL = `
import fcntl, os, pty, select, struct, sys, termios
pid, fd = pty.fork()
if pid == 0: os.execvp(sys.argv[2], sys.argv[2:])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
def show(data):
    for part in data.decode("utf8", "replace").split("\\n"): print(repr(part), flush=True)
while True:
    ready, _, _ = select.select([fd, 0], [], [])
    if 0 in ready:
        typed = os.read(0, 4096)
        for line in typed.decode().split("\\n"):
            if line == "^C": os.write(fd, b"\\x03")
    if fd in ready:
        try: data = os.read(fd, 65536)
        except OSError: break
        if not data: break
        show(data)
print("exit", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
`;

describe("ringrift up", () => {
  test("in a pipe it says when it is ready, what the end waits for, and sums up", async () => {
    const { up } = world();
    const main = await up();
    // Under npm one signal arrives twice.
    main.kill("SIGTERM");
    expect(await main.stop()).toEqual({ code: 0, signal: null });
    const [, ...rest] = main.stdout().trimEnd().split("\n");
    expect(rest[0]).toMatch(/^stopping: waits for .*event_router/);
    expect(rest.at(-1)).toMatch(/^stopped after .*: \d+ events, 0 dead letters left$/);
    expect(main.stdout()).not.toContain("\u001b");
  });

  test.skipIf(!hasPty)("at a terminal it draws two lines over themselves", async () => {
    const { own, dataDir } = world();
    const program = new URL("../../bin/ringrift.js", import.meta.url).pathname;
    const args = ["80", process.execPath, program, "--data-dir", dataDir, "up", "--port", "0"];
    const terminal = python(own, TERMINAL, args, { env: { TERM: "xterm", NO_COLOR: "1" } });
    await terminal.waitForLine(/ready pid/);
    const { text } = await terminal.waitForLine(/● running {2}units \d+\/\d+ {2}\d+ events\/s {2}lag \d+/);
    expect(text.slice(text.indexOf("●")).replace(/\\r'$/, "").length).toBeLessThan(80);
    await terminal.waitForLine(/Ctrl-C stops/);
    terminal.write("^C\n");
    await terminal.waitForLine(/stopped after .* dead letters left/);
    await terminal.waitForLine(/^exit 0$/);
    terminal.endInput();
  });

  test.skipIf(!hasPty)("headless it draws nothing, also at a terminal", async () => {
    const { own, dataDir } = world();
    const program = new URL("../../bin/ringrift.js", import.meta.url).pathname;
    const args = ["80", process.execPath, program, "--data-dir", dataDir, "up", "--port", "0", "--headless"];
    const terminal = python(own, TERMINAL, args, { env: { TERM: "xterm", NO_COLOR: "1" } });
    await terminal.waitForLine(/ready pid/);
    terminal.write("^C\n");
    await terminal.waitForLine(/^exit 0$/);
    expect(terminal.stdout()).not.toMatch(/events\/s|x1b/);
  });
});

describe.skipIf(!canNotify)("sd_notify", () => {
  test("says READY with a status, feeds the watchdog, and says STOPPING", async () => {
    const { own, up } = world();
    const socket = join(own.folder(), "notify");
    const systemd = python(own, SYSTEMD, [socket]);
    await systemd.waitForLine(/^listening$/);
    const main = await up({ env: { NOTIFY_SOCKET: socket, WATCHDOG_USEC: "600000" } });
    await systemd.waitForLine(/(^|\|)READY=1(\||$)/);
    await systemd.waitForLine(/STATUS=running, units \d+\/\d+/);
    const first = await systemd.waitForLine(/(^|\|)WATCHDOG=1(\||$)/);
    await systemd.waitForLine(/(^|\|)WATCHDOG=1(\||$)/, { after: first.index });
    expect(await main.stop()).toEqual({ code: 0, signal: null });
    const { index } = await systemd.waitForLine(/STOPPING=1/);
    expect(systemd.lines.slice(index + 1).join("\n")).not.toMatch(/READY/);
    // Its programs are told where to speak, and nobody else's watchdog is fed.
    expect(main.stderr()).not.toMatch(/could not be notified/);
  });

  test("feeds no watchdog while the process is not worth keeping", async () => {
    const own = owned(onTestFinished);
    const socket = join(own.folder(), "notify");
    const systemd = python(own, SYSTEMD, [socket]);
    await systemd.waitForLine(/^listening$/);
    const clock = virtualClock();
    let alive = false;
    const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: "30000000", PATH: process.env.PATH };
    const notifier = createNotifier({ env, pid: 1, ppid: 1, clock, log: silentLog(), isAlive: () => alive });
    notifier.ready("a\nb");
    for (let beats = 0; beats < 5; beats += 1) clock.step();
    notifier.status("five beats later");
    await systemd.waitForLine(/five beats later/);
    expect(systemd.stdout()).not.toMatch(/WATCHDOG/);
    // A status is one line, whatever it is made of.
    expect(systemd.stdout()).toMatch(/STATUS=(a b|five beats later)/);
    alive = true;
    clock.step();
    await systemd.waitForLine(/WATCHDOG=1/);
    await notifier.close();
    expect(clock.pending()).toBe(0);
  });

  test("goes on without systemd-notify, and says so once", async () => {
    const { own, up } = world();
    const bin = join(own.folder(), "bin");
    mkdirSync(bin);
    symlinkSync(process.execPath, join(bin, "node"));
    const main = await up({ env: { NOTIFY_SOCKET: join(own.folder(), "nobody"), PATH: bin } });
    await main.waitForLine(/systemd could not be notified/);
    expect(await main.stop()).toEqual({ code: 0, signal: null });
    expect(main.stderr().match(/systemd could not be notified/g)).toHaveLength(1);
  });
});

describe("ringrift down", () => {
  test("ends the main process and comes back when it is gone; doing it twice is doing it once", async () => {
    const { dataDir, up, run } = world();
    const main = await up();
    const first = await run("down", "--json");
    expect(first).toMatchObject({ code: 0, err: "" });
    expect(JSON.parse(first.out)).toMatchObject({ pid: main.pid, stopped: true, killed: false });
    expect(await main.exited).toEqual({ code: 0, signal: null });
    expect(existsSync(join(dataDir, "endpoint.json"))).toBe(false);
    expect(await run("down")).toMatchObject({ code: 0, out: `nothing is running on ${dataDir}: nothing to stop\n` });
  });

  test("finds a main process that does not answer by its lock, and kills it only when forced", async () => {
    const { dataDir, up, run } = world();
    const main = await up();
    // Frozen, it neither answers nor ends; nor does its address help when it is damaged.
    main.kill("SIGSTOP");
    writeFileSync(join(dataDir, "endpoint.json"), "{");
    const patient = await run("down", "--timeout", "200ms");
    expect(patient).toMatchObject({ code: 1, out: expect.stringMatching(/still runs after .*\n.*--force/) });
    const forced = await run("down", "--timeout", "0s", "--force", "--json");
    expect(forced.code).toBe(0);
    expect(JSON.parse(forced.out)).toMatchObject({ pid: main.pid, stopped: true, asked: "signal", killed: true });
    expect(await main.exited).toEqual({ code: null, signal: "SIGKILL" });
    const again = await mainOn(dataDir);
    await again.stop();
  });

  test("leaves a stranger alone whose number stands in the folder", async () => {
    const { own, dataDir, run } = world();
    const stranger = own.startNode(join(own.folder(), "none.js"), [], {
      execArgv: ["-e", "setInterval(() => {}, 1000); console.log('here')"],
    });
    await stranger.waitForLine(/^here$/);
    mkdirSync(dataDir);
    const endpoint = { pid: stranger.pid, socket_path: "/none", port: 1, node_id: "n", version: "0", started_at: 1 };
    writeFileSync(join(dataDir, "endpoint.json"), JSON.stringify(endpoint));
    expect(await run("down", "--force", "--timeout", "0s")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^nothing is running/),
    });
    expect(await run("status")).toMatchObject({ code: 4 });
    stranger.kill("SIGTERM");
    expect(await stranger.exited).toEqual({ code: null, signal: "SIGTERM" });
  });
});

describe("ringrift status", () => {
  test("is one screen and an exit code, with and without a main process", async () => {
    const { dataDir, up, run } = world();
    expect(await run("status")).toMatchObject({ code: 4, out: expect.stringMatching(/nothing has run there yet/) });
    const main = await up();
    const well = await run("status");
    expect(well).toMatchObject({ code: 0, err: "" });
    expect(well.out).toMatch(new RegExp(`^RingRift .*pid ${main.pid} .*\n\n✓ well: nothing needs you\n`));
    const json = JSON.parse((await run("status", "--json")).out);
    expect(json).toMatchObject({
      running: true,
      well: true,
      data_dir: dataDir,
      troubles: [],
      status: { pid: main.pid },
    });
    const watch = begin(["--data-dir", dataDir, "status", "--watch", "--interval", "0.1"], {});
    // A machine that is busy enough is no longer well by then.
    await watch.waitFor(/(^\w.* {2}daemons \d+\/\d+ {2}events \d+.*\n){2}/m);
    expect(await watch.stop()).toMatchObject({ code: 0 });
    await main.killNow();
    const left = await run("status", "--json");
    expect(left.code).toBe(4);
    expect(JSON.parse(left.out)).toMatchObject({ running: false, last_event_at: expect.any(Number) });
  });
});

test.skipIf(!has("systemd-analyze"))("the systemd unit is sound, and asks for what the program does", () => {
  const unit = new URL("../../deploy/ringrift.service", import.meta.url).pathname;
  const done = spawnSync("systemd-analyze", ["verify", unit], { encoding: "utf8" });
  expect(`${done.stdout}${done.stderr}`).not.toMatch(/ringrift\.service/);
  expect(done.status).toBe(0);
  const text = readFileSync(unit, "utf8");
  for (const line of [
    "Type=notify",
    "NotifyAccess=all",
    "WatchdogSec=30",
    "DynamicUser=yes",
    "StateDirectory=ringrift",
  ])
    expect(text).toContain(`\n${line}\n`);
  expect(text).toMatch(/\nExecStart=.*ringrift\.js up --headless\n/);
});
