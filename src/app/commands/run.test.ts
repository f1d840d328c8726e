import { Help } from "commander";
import { describe, expect, it } from "vitest";
import { recordedTerminal } from "../../../test/support/terminal.ts";
import { builtinRows } from "../../events/index.ts";
import { seededRandom, virtualClock } from "../../kernel/index.ts";
import type { CliIo } from "../../surfaces/commands/index.ts";
import { createProgram } from "./program.ts";
import { runCli } from "./run.ts";

const ports = { clock: virtualClock(), random: seededRandom(1), actor: "tester" };

async function run(args: readonly string[], given: Partial<CliIo> = {}) {
  const { io, said } = recordedTerminal({ cwd: "/nonexistent", ...given });
  const code = await runCli(args, io, ports);
  return { code, ...said, lines: said.out.trimEnd().split("\n") };
}

const ESCAPE = "\u001b[";

describe("the command line", () => {
  it("answers an unknown command with what was perhaps meant, and exit code 2", async () => {
    expect(await run(["evnts"])).toMatchObject({
      code: 2,
      out: "",
      err: expect.stringMatching(/Did you mean events\?/),
    });
    expect(await run(["events", "lst"])).toMatchObject({ code: 2, err: expect.stringMatching(/Did you mean list\?/) });
    // Also where a group has a command that it does by default.
    for (const group of ["queue", "nodes", "dlq", "alerts"])
      expect(await run([group, "shwo"])).toMatchObject({
        code: 2,
        err: expect.stringMatching(/unknown command 'shwo'\n.*Did you mean show\?/),
      });
    expect(await run(["queue", "--state", "failed", "lits"])).toMatchObject({
      err: expect.stringMatching(/'lits'\n.*list/),
    });
    expect(await run(["events", "list", "--clas"])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/unknown option '--clas'\n.*Did you mean --class\?/),
    });
  });

  it("says in a sentence that the data folder cannot be used, without a stack", async () => {
    const said = await run(["up", "--headless", "--port", "0", "--data-dir", "/dev/null/here"]);
    expect(said).toMatchObject({
      code: 4,
      err: expect.stringMatching(/^error: the data folder cannot be used \(.*\/dev\/null/),
    });
    expect(said.err).not.toMatch(/^ +at /m);
  });

  it("names the command whose help is the one to read", async () => {
    expect((await run(["daemons", "pause", "maintenance"])).err).toMatch(
      /Type 'ringrift daemons pause --reason <text> <name>'; 'ringrift daemons pause --help' explains it/,
    );
    expect((await run(["--data-dir"])).err).toMatch(/'ringrift --help' lists/);
  });

  it("says the same in JSON to a program", async () => {
    const { code, err } = await run(["evnts", "--json"]);
    expect(code).toBe(2);
    expect(JSON.parse(err)).toEqual({
      error: { code: "USAGE", message: "unknown command 'evnts'", hint: "Did you mean events?" },
    });
  });

  it("prints help when asked, as an answer, and when a group has no command, as an error", async () => {
    expect(await run(["--help"])).toMatchObject({ code: 0, err: "", out: expect.stringMatching(/^Usage: ringrift/) });
    expect(await run(["events"])).toMatchObject({ code: 2, out: "", err: expect.stringMatching(/tail/) });
    expect(await run(["--version"])).toMatchObject({ code: 0, out: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  });

  it("has a description and help for every command, and lists those that are not loaded as they are", async () => {
    const quiet = { out: () => {}, err: () => {}, env: {}, columns: 100, isTerminal: false } as Partial<CliIo> as CliIo;
    const program = await createProgram(quiet, ports);
    for (const command of program.commands)
      expect(program.helpInformation()).toContain(`\n  ${new Help().subcommandTerm(command)} `);
    expect((await createProgram(quiet, ports, [])).helpInformation()).toBe(program.helpInformation());
    const all = [program];
    for (const command of all) {
      expect(command.description(), command.name()).not.toBe("");
      for (const option of command.options)
        expect(option.description, `${command.name()} ${option.flags}`).not.toBe("");
      for (const line of command.helpInformation().split("\n")) expect(line.length).toBeLessThanOrEqual(100);
      all.push(...command.commands);
    }
    expect(all.map((command) => command.name())).toEqual(expect.arrayContaining(["up", "history", "retry"]));
  });

  it("takes global options before and after the command", async () => {
    const before = await run(["--json", "events", "list"]);
    const after = await run(["events", "list", "--json"]);
    expect(before.out).toBe(after.out);
    expect(JSON.parse(after.out).events.length).toBe(Object.keys(builtinRows).length);
  });

  it("needs a running process to change something, and says so with exit code 4", async () => {
    const { code, err } = await run(["events", "publish", "TRAINING_COMPLETED", "{}"]);
    expect(code).toBe(4);
    expect(err).toMatch(/no main process is running on the data folder .*\n.*ringrift up/);
    expect(await run(["dlq", "--retry"])).toMatchObject({ code: 4 });
    expect(await run(["dlq"])).toMatchObject({ code: 4, err: expect.stringMatching(/it has no journal/) });
  });

  it("refuses what does not go together, with exit code 2", async () => {
    for (const args of [
      ["dlq", "--retry", "--purge"],
      ["dlq", "--retry", "--watch"],
      ["dlq", "--discard", "--yes"],
      ["dlq", "--discard", "--id", "3"],
      ["dlq", "--limit", "many"],
      ["dlq", "show", "x"],
      ["events", "history", "--since", "yesterday"],
      ["events", "publish", "TRAINING_COMPLETED", "{", "--file", "x"],
      ["events", "publish", "TRAINING_COMPLETED", '{"games":'],
      ["events", "publish", "TRAINING_COMPLETED", "games"],
    ])
      expect(await run(args), args.join(" ")).toMatchObject({ code: 2, out: "" });
  });
});

describe("ringrift events list and show", () => {
  it("lists every event on one line, in columns", async () => {
    const { lines } = await run(["events", "list"]);
    expect(lines[0]).toMatch(/^EVENT +CLASS +CATEGORY +NOTE +MEANING$/);
    expect(lines.length).toBe(1 + Object.keys(builtinRows).length);
  });

  it("filters by category, class and provisional", async () => {
    const names = async (...args: string[]) =>
      (JSON.parse((await run(["events", "list", "--json", ...args])).out).events as { name: string }[]).map(
        ({ name }) => name,
      );
    const rows = Object.values(builtinRows);
    const expected = (test: (row: (typeof rows)[number]) => boolean) => rows.filter(test).map(({ name }) => name);
    expect(await names("--category", "training")).toEqual(expected((row) => row.category === "training"));
    expect(await names("--class", "volatile")).toEqual(expected((row) => row.class === "volatile"));
    expect(await names("--provisional")).toEqual(expected((row) => row.provisional));
  });

  it("has colours on a terminal alone, and none when told so", async () => {
    const terminal = { isTerminal: true };
    expect((await run(["events", "list"], terminal)).out).toContain(ESCAPE);
    for (const plain of [
      run(["events", "list"]),
      run(["events", "list", "--no-color"], terminal),
      run(["events", "list"], { ...terminal, env: { NO_COLOR: "1" } }),
      run(["events", "list"], { ...terminal, env: { TERM: "dumb" } }),
    ])
      expect((await plain).out).not.toContain(ESCAPE);
  });

  it("keeps within the columns of the terminal", async () => {
    const terminal = { isTerminal: true, columns: 80, env: { NO_COLOR: "1" } };
    for (const { lines } of [
      await run(["events", "list"], terminal),
      await run(["events", "show", "RECOVERY_INITIATED"], terminal),
    ])
      for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  it.each(["SELFPLAY_COMPLETE", "selfplay_complete", "selfplay-complete", "CANONICAL_SELFPLAY_COMPLETE"])(
    "shows an event by the spelling %s",
    async (spelling) => {
      const { code, out } = await run(["events", "show", spelling]);
      expect(code).toBe(0);
      expect(out).toMatch(/^SELFPLAY_COMPLETE\n/);
      expect(out).toMatch(/config_key +config key +yes +board and number of players/);
      expect(out).toMatch(/order +kept for each config_key/);
      expect(out).toMatch(/ringrift events publish SELFPLAY_COMPLETE \\\n {4}config_key=hex8_2p/);
    },
  );

  it("answers an unknown name with suggestions and exit code 3", async () => {
    const { code, err } = await run(["events", "show", "TRAINING_COMPLETD"]);
    expect(code).toBe(3);
    expect(err).toMatch(/Did you mean TRAINING_COMPLETED/);
  });
});
