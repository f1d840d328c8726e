import { spawnSync } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { owned } from "../../../test/support/process.ts";
import { findFish, findZsh } from "../../../test/support/shells.ts";
import { recordedTerminal } from "../../../test/support/terminal.ts";
import { createProgram, systemPorts } from "../cli.ts";
import { completionScripts } from "./completion/scripts.ts";
import { completionTree, everyCommand } from "./completion/tree.ts";

const tree = completionTree(await createProgram(recordedTerminal().io, systemPorts()));

/** What bash offers for the words of a line, of which the last is still being typed. */
function offered(...words: readonly string[]): string[] {
  const ask = `eval "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ringrift; printf "%s\n" "\${COMPREPLY[@]}"`;
  const args = ["--norc", "-c", ask, "bash", completionScripts.bash(tree), "ringrift", ...words];
  const { status, stdout, stderr } = spawnSync("bash", args, { encoding: "utf8" });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  return stdout.split("\n").filter((word) => word !== "");
}

test("bash completes commands, the commands of a command, its options and the words that it takes", () => {
  expect(offered("stat")).toEqual(
    ["stats", "status"]
      .filter((name) => name.startsWith("stat"))
      .sort()
      .reverse(),
  );
  expect(offered("queue", "")).toEqual(expect.arrayContaining(["list", "show", "cancel", "--json", "--help"]));
  expect(offered("nodes", "drain", "--dry")).toEqual(["--dry-run"]);
  expect(offered("--data-dir", "elsewhere", "nodes", "dr")).toEqual(["drain"]);
  expect(offered("completion", "")).toEqual(expect.arrayContaining(["bash", "fish", "zsh"]));
});

test("after an option that takes a value bash offers no command", () => {
  expect(offered("train", "--for", "")).toEqual([]);
});

const shells = [
  ["zsh", findZsh()],
  ["fish", findFish()],
] as const;
for (const [shell, offers] of shells)
  test.skipIf(offers === undefined)(`${shell} itself completes commands and options`, () => {
    const offeredFor = (line: string) =>
      offers!(owned(onTestFinished).folder(), completionScripts[shell](tree), line).sort();
    expect(offeredFor("ringrift --data-dir elsewhere stat")).toEqual(["stats", "status"]);
    expect(offeredFor("ringrift nodes drain --dry")).toEqual(["--dry-run"]);
  });

test("every command of the program is in every script", () => {
  const places = everyCommand(tree).map(({ place }) => place);
  expect(places).toEqual(expect.arrayContaining(["/up", "/queue/list", "/completion"]));
  for (const [shell, write] of Object.entries(completionScripts)) {
    const script = write(tree);
    expect({ shell, missing: places.filter((place) => !script.includes(place)) }).toEqual({ shell, missing: [] });
  }
});

test("a quote in a description ends no word of a script", () => {
  const odd = { ...tree, commands: [{ ...tree.commands[0]!, about: "it's \\ $(touch /tmp/never)" }] };
  expect(completionScripts.zsh(odd)).toContain("'up:it'\\''s \\ $(touch /tmp/never)'");
  expect(completionScripts.fish(odd)).toContain("'it\\'s \\\\ $(touch /tmp/never)'");
});
