import { Command } from "commander";
import { describe, expect, it } from "vitest";
import { recordedTerminal, shellWithout } from "../../../test/support/terminal.ts";
import { EXIT } from "../../surfaces/commands/index.ts";
import type { WorkloadConsole } from "../../workloads/process/index.ts";
import { registerWorkload } from "./workload.command.ts";

type Request = Parameters<WorkloadConsole["check"]>[0];

const RESULTS = [
  { name: "hello", status: "passed", detail: "mine 1.0" },
  { name: "job training", status: "failed", detail: "crash \u001b[31mred" },
  { name: "cancel training", status: "skipped", detail: "too quick" },
] as const;

async function run(args: readonly string[], ok: boolean) {
  const asked: Request[] = [];
  const port: WorkloadConsole = {
    async check(request) {
      asked.push(request);
      const results = ok ? RESULTS.slice(0, 1) : RESULTS;
      for (const result of results) request.onResult(result);
      return {
        ok,
        program: null,
        results,
        stderr_tail: "Traceback:\nboom\n",
        ...(request.keep ? { folder: "/kept" } : {}),
      };
    },
    messages: () => "| a table |\n",
    messagesSchema: () => ({ title: "schema" }),
    declaration: () => "| another table |\n",
    declarationSchema: () => ({ title: "another schema" }),
  };
  const program = new Command().exitOverride().option("--json");
  const { io, said } = recordedTerminal({ cwd: ".", columns: 80 });
  const shell = shellWithout(program, io);
  registerWorkload(program.command("workload"), shell, port);
  const thrown = await program.parseAsync(["node", "ringrift", ...args]).then(
    () => undefined,
    (error: { exitCode?: number; code?: string }) => error,
  );
  return { out: said.out, asked, thrown };
}

describe("ringrift workload check", () => {
  it("gives everything after -- to the program, options and all", async () => {
    const { asked, thrown } = await run(
      [
        "workload",
        "check",
        "--env",
        "A",
        "--env",
        "B",
        "--seed",
        "9",
        "--jobs",
        "j.json",
        "--",
        "python3",
        "t.py",
        "--json",
      ],
      true,
    );
    expect(thrown).toBeUndefined();
    expect(asked[0]).toMatchObject({
      command: "python3",
      args: ["t.py", "--json"],
      envAllow: ["A", "B"],
      seed: 9,
      jobsFile: "j.json",
      keep: false,
    });
  });

  it("prints a line for each rule and the end of the log, and ends with 1 when one is broken", async () => {
    const { out, thrown } = await run(["workload", "check", "--keep", "--", "x"], false);
    expect(thrown?.exitCode).toBe(EXIT.negative);
    expect(out).toMatch(/^ok {4}hello +mine 1\.0$/m);
    expect(out).toMatch(/^FAIL {2}job training +crash \\u001b\[31mred$/m);
    expect(out).toMatch(/^skip {2}cancel training/m);
    expect(out).toMatch(/The end of its log:\n {2}Traceback:\n {2}boom\n/);
    expect(out).toContain("1 rule kept, 1 broken, 1 not tried\nThe jobs ran in /kept\n");
  });

  it("prints one object for programs", async () => {
    const { out, thrown } = await run(["--json", "workload", "check", "--", "x"], false);
    expect(thrown?.exitCode).toBe(EXIT.negative);
    expect(JSON.parse(out)).toMatchObject({ ok: false, results: RESULTS });
  });

  it("wants a program, and numbers where numbers are wanted", async () => {
    expect((await run(["workload", "check"], true)).thrown?.code).toBe("commander.missingArgument");
    expect((await run(["workload", "check", "--seed", "x", "--", "y"], true)).thrown?.code).toBe("INVALID_OPTION");
  });
});

it("ringrift workload messages and declaration print the table, or the schema for programs", async () => {
  expect((await run(["workload", "declaration"], true)).out).toBe("| another table |\n");
  expect(JSON.parse((await run(["--json", "workload", "declaration"], true)).out)).toEqual({ title: "another schema" });
  expect((await run(["workload", "messages"], true)).out).toBe("| a table |\n");
  expect(JSON.parse((await run(["--json", "workload", "messages"], true)).out)).toEqual({ title: "schema" });
});
