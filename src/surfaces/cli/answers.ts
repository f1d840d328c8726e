/** What most commands are: they ask one route and draw its answer. */
import type { Command } from "commander";
import type { Answer, Input, InputArgs, WireRoute } from "../http/wire.ts";
import { type Answering, askMain } from "./main-process.ts";
import { answer, type Shell } from "./shell.ts";
import { duration } from "./text.ts";

/** Asks for looking alone: where nothing runs, the folder answers, and that is said beside it. */
export async function askEither<T>(shell: Shell, ask: (either: Answering) => Promise<T>): Promise<T> {
  using either = await shell.main.look();
  const { leftAt, replicaOf } = either;
  if (leftAt !== undefined) {
    const when = leftAt === null ? "" : `, as it was ${duration(Math.max(0, shell.clock.now() - leftAt))} ago`;
    shell.note(
      replicaOf === undefined
        ? `nothing is running on ${shell.main.dataDir}; this is what the folder holds${when}`
        : `this folder is a node of ${replicaOf}; this is what it heard from there${when}`,
    );
  }
  return await ask(either);
}

/** With `--json` the answer is printed as it came, under a name where there is one; else the lines that are drawn of it. */
export const showAnswer = <W extends WireRoute>(
  shell: Shell,
  route: W,
  input: Input<W>,
  draw: (answer: Answer<W>) => string | readonly string[],
  name?: string,
): Promise<void> => {
  const show = async (main: Answering) => {
    const raw = await main.raw(route, ...([input] as InputArgs<W>));
    answer(shell, name === undefined ? raw : { [name]: raw }, () => draw(main.read(route, raw)));
  };
  return route.method === "GET" ? askEither(shell, show) : askMain(shell.main, show);
};

/** The list that a group of commands is when no other word is given. */
export const defaultList = (group: Command, description: string): Command =>
  group.command("list", { isDefault: true }).description(description);
