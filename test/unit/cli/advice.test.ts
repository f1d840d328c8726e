/** What people are told to type works when it is typed: every command in every hint is read by the real program. */
import { globSync, readFileSync } from "node:fs";
import { type Command, CommanderError } from "commander";
import { expect, test } from "vitest";
import { createProgram } from "../../../src/app/cli.ts";
import { ADVICE_ACTIONS } from "../../../src/daemons/cause.ts";
import { isOperatingError, seededRandom, systemClock } from "../../../src/kernel/index.ts";
import { adviceWords } from "../../../src/surfaces/commands/index.ts";
import { recordedTerminal } from "../../support/terminal.ts";

const ports = { clock: systemClock(), random: seededRandom(1), actor: "reader" };
const quiet = recordedTerminal().io;

/** The program reads its words and does nothing. */
const idle = (command: Command): void => {
  for (const each of command.commands) idle(each);
  if (command.commands.length === 0 || command.name() !== "ringrift") command.action(() => {});
};

/** What is wrong with a command line; undefined if the program takes it. */
async function refusal(words: readonly string[]): Promise<string | undefined> {
  const program = await createProgram(quiet, ports);
  idle(program);
  try {
    await program.parseAsync([...words], { from: "user" });
    return undefined;
  } catch (thrown) {
    if (isOperatingError(thrown)) return thrown.message;
    if (!(thrown instanceof CommanderError)) throw thrown;
    return thrown.exitCode === 0 ? undefined : thrown.code;
  }
}

const commandsIn = (text: string): string[][] =>
  [...text.matchAll(/'ringrift ([^'`]+)'/g)].map(([, words]) => words!.trim().split(/\s+/));

test.each(ADVICE_ACTIONS)("what to do about a cause can be typed: %s", async (action) => {
  const said = adviceWords({ action, subject: "w17" });
  const commands = commandsIn(said);
  expect(commands, said).not.toEqual([]);
  for (const words of commands) expect(await refusal(words), words.join(" ")).toBeUndefined();
});

test("no message names a command or an option that there is none of", async () => {
  const files = globSync("src/**/*.ts").filter((file) => !file.endsWith(".test.ts"));
  const told = files.flatMap((file) =>
    commandsIn(readFileSync(file, "utf8").replaceAll(/\$\{[^}]*\}/g, "w17")).map((words) => ({ file, words })),
  );
  expect(told.length).toBeGreaterThan(50);
  const wrong = [];
  for (const { file, words } of told) {
    const why = await refusal(words);
    // A command may be mentioned without all that it takes, and what stands for a value is none.
    const isPlaceholder = words.some((word) => (word === "w17" || word.startsWith("<")) && why?.includes(word));
    const isMention = why === "commander.missingArgument" || isPlaceholder;
    if (why !== undefined && !isMention) wrong.push(`${file}: ${words.join(" ")} (${why})`);
  }
  expect(wrong).toEqual([]);
});
