import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { Command, type CommanderError } from "commander";
import { describe, expect, it, onTestFinished } from "vitest";
import type { DaemonContext } from "../../daemons/index.ts";
import { type Clock, silentLog, systemClock, virtualClock } from "../../kernel/index.ts";
import { type CliIo, createPaint, type Shell } from "../../surfaces/commands/index.ts";
import { bootstrapCoordination } from "../bootstrap.ts";
import { readSettings } from "../settings.ts";
import { openTerminal } from "./terminal.ts";
import { registerUp } from "./up.command.ts";

/** `ringrift up` in this process, with one daemon more, and hands on what signals would do. */
function world(
  stubborn: (context: DaemonContext) => Promise<void>,
  { lastStep = async () => {}, clock = systemClock() }: { lastStep?: () => Promise<void>; clock?: Clock } = {},
) {
  const dataDir = mkdtempSync(join(tmpdir(), "ringrift-up-"));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const said: string[] = [];
  const waiting = new Set<() => void>();
  const interrupt = new AbortController();
  let force = () => {};
  const io: CliIo = {
    out: (text) => {
      said.push(...text.trimEnd().split("\n"));
      for (const look of waiting) look();
    },
    err: () => {},
    env: {},
    cwd: dataDir,
    stdin: Readable.from([]),
    isTerminal: false,
    columns: 100,
    signal: interrupt.signal,
    onForce(run) {
      force = run;
      return () => {};
    },
  };
  const shell = {
    io,
    clock,
    paint: createPaint(false),
    width: 100,
    json: false,
    say: (...lines: string[]) => io.out(lines.map((line) => `${line}\n`).join("")),
    print: (value: unknown) => io.out(`${JSON.stringify(value)}\n`),
    note: () => {},
  } as unknown as Shell;
  const program = new Command().exitOverride();
  registerUp(
    program.command("up"),
    shell,
    () => readSettings({}, dataDir, { dataDir, port: 0 }),
    { isSet: () => false, guestFor: async () => ({}) },
    async (options) => {
      const main = await bootstrapCoordination({ ...options, clock: systemClock(), log: silentLog() });
      main.daemons.registerFactory({ daemonType: "stubborn", factory: stubborn, readyAfterMs: null });
      await main.daemons.start("stubborn");
      const shutdown = () => main.shutdown().then(lastStep);
      return { ...main, shutdown } as never;
    },
  );
  const heard = (pattern: RegExp) =>
    new Promise<string>((resolve) => {
      const look = () => {
        const found = said.find((line) => pattern.test(line));
        if (found === undefined) return;
        waiting.delete(look);
        resolve(found);
      };
      waiting.add(look);
      look();
    });
  const code = program.parseAsync(["up"], { from: "user" }).then(
    () => 0,
    (thrown: CommanderError) => thrown.exitCode,
  );
  return { heard, code, said, interrupt: () => interrupt.abort(), force: () => force() };
}

const aborted = (signal: AbortSignal) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));

describe("the end of ringrift up", () => {
  it("waits for a daemon that takes its time, and says so", async () => {
    const { promise: done, resolve: finish } = Promise.withResolvers<void>();
    const { heard, code, interrupt } = world(async ({ ready, signal }) => {
      ready();
      await aborted(signal);
      await done;
    });
    await heard(/^ready/);
    interrupt();
    await heard(/^stopping: waits for .*stubborn/);
    finish();
    expect(await heard(/^stopped after/)).toMatch(/0 dead letters left$/);
    expect(await code).toBe(0);
  });

  it("is forced by the second signal: exit code 130", async () => {
    const { heard, code, interrupt, force } = world(async ({ ready, forced }) => {
      ready();
      await aborted(forced);
    });
    await heard(/^ready/);
    interrupt();
    await heard(/^stopping: waits for .*stubborn/);
    force();
    await heard(/^stopped by force after/);
    expect(await code).toBe(130);
  });

  it("is not waited for any longer when even a forced one does not come", async () => {
    const clock = systemClock();
    // Its long waits are short, so that the test is.
    const hasty: Clock = { ...clock, after: (ms, run, hold) => clock.after(Math.min(ms, 200), run, hold) };
    const { heard, code, interrupt, force } = world(
      async ({ ready, signal }) => {
        ready();
        await aborted(signal);
      },
      { lastStep: () => new Promise(() => {}), clock: hasty },
    );
    await heard(/^ready/);
    interrupt();
    await heard(/^stopping/);
    force();
    expect(await code).toBe(130);
  });
});

describe("signals", () => {
  const open = () => {
    const exits: number[] = [];
    const stream = () => Object.assign(new PassThrough(), { isTTY: false });
    const process = Object.assign(new EventEmitter(), {
      stdin: stream(),
      stdout: stream(),
      stderr: stream(),
      env: {},
      ppid: 1,
      cwd: () => "/",
      exit: (code: number) => void exits.push(code),
    });
    const clock = virtualClock();
    const terminal = openTerminal(process as unknown as NodeJS.Process, clock);
    onTestFinished(() => terminal.release());
    const pass = (ms: number) => {
      clock.after(ms, () => {});
      clock.step();
    };
    return { process, terminal, exits, pass };
  };

  it("ask first, force then, and end the process at last; one Ctrl-C that arrives twice is one", () => {
    const { process, terminal, exits, pass } = open();
    let forced = 0;
    terminal.io.onForce?.(() => {
      forced += 1;
    });
    process.emit("SIGINT");
    process.emit("SIGINT");
    expect(terminal.io.signal.aborted).toBe(true);
    expect([forced, terminal.forced, exits]).toEqual([0, false, []]);
    pass(1_500);
    process.emit("SIGINT");
    expect([forced, terminal.forced, exits]).toEqual([1, true, []]);
    pass(1_500);
    process.emit("SIGINT");
    expect([forced, exits]).toEqual([1, [130]]);
  });

  it("end a command that knows no force at the second one", () => {
    const { process, exits, pass } = open();
    process.emit("SIGTERM");
    pass(1_500);
    process.emit("SIGTERM");
    expect(exits).toEqual([130]);
  });
});
