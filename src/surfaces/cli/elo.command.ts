import type { Command } from "commander";
import { configIn, figureWidth, getLoop } from "./loop-asking.ts";
import { ladderLines } from "./loop-ladder.ts";
import { lineOf } from "./loop-pieces.ts";
import { askMain } from "./main-process.ts";
import type { Shell } from "./shell.ts";
import { printable } from "./text.ts";
import { wholeNumber } from "./values.ts";

const show = (configKey: string, limit: number, shell: Shell) =>
  askMain(shell.main, async (main) => {
    const config = configIn(await getLoop(main), configKey);
    if (shell.json) return shell.print({ config_key: config.config_key, ladder: config.ladder });
    const width = figureWidth(shell);
    const label = printable(config.config_key);
    const lines = ladderLines(config, { paint: shell.paint, width, most: limit, indent: 0, label });
    if (lines.length === 0) return shell.say(`nobody has been rated in ${label} yet`);
    for (const line of lines) shell.say(lineOf(line, width).trimEnd());
    const hidden = config.ladder.length - (lines.length - 1);
    if (hidden > 0) shell.say(shell.paint.dim(`and ${hidden} more; --limit shows them`));
    shell.say(shell.paint.dim("Elo with 95 % intervals, from rating games alone; configs cannot be compared."));
  });

/** `ringrift elo`: the ladder of a config. */
export function registerElo(program: Command, shell: Shell): void {
  program
    .command("elo")
    .description("the ladder of a config: champions and named opponents with their intervals, drawn on one scale")
    .argument("<config>", "as in othello6_2p")
    .option("--limit <n>", "at most so many rungs", wholeNumber("--limit", 1, 1_000), 40)
    .action((configKey: string, { limit }: { limit: number }) => show(configKey, limit, shell));
}
