import type { Command } from "commander";
import type { Shell } from "../cli/shell.ts";
import { moment, number, printable, shorten } from "../cli/text.ts";
import { wholeNumber } from "../cli/values.ts";
import { shortModel, signed, stabilityWords } from "./words.ts";

/** Figures need an edge: where lines may be as long as they like, this is it. */
const MAX_WIDTH = 120;

const show = async (configKey: string, limit: number, shell: Shell) => {
  const { dim } = shell.paint;
  // Whoever only reads the help needs no schemas.
  const [{ showAnswer }, { ladderLines }, { getLadder }] = await Promise.all([
    import("../cli/answers.ts"),
    import("./ladder.ts"),
    import("./wire.ts"),
  ]);
  return showAnswer(shell, getLadder, { params: { config: configKey } }, (config) => {
    const label = printable(config.config_key);
    const width = Math.min(shell.width, MAX_WIDTH);
    const lines = ladderLines(config, { paint: shell.paint, width }, { max: limit, indent: 0, label });
    if (lines.length === 0) return [`no player of ${label} has a rating yet`];
    const hidden = config.ladder.length - (lines.length - 1);
    return [
      ...lines.map((line) => shorten(line, width)),
      ...(hidden > 0 ? [dim(`and ${hidden} more; --limit shows them`)] : []),
      ...(config.stability === undefined ? [] : [dim(stabilityWords(config.stability))]),
      dim("Elo with 95 % intervals, only from rating games. Do not compare configs."),
    ];
  });
};

/** How strong each champion was, oldest first. */
const showHistory = async (configKey: string, shell: Shell) => {
  const [{ showAnswer }, { right, tableLines }, { getRatings }] = await Promise.all([
    import("../cli/answers.ts"),
    import("../cli/table.ts"),
    import("./wire.ts"),
  ]);
  return showAnswer(shell, getRatings, { params: { config: configKey } }, ({ ratings }) => {
    if (ratings.length === 0) return [`no champion of ${printable(configKey)} has a rating yet`];
    const rows = ratings.map(({ generation, iteration, since, elo, low, high, games, model }) => [
      right(String(generation)),
      right(String(iteration)),
      right(signed(elo)),
      low === null || high === null ? "by its gate" : `${signed(low)} to ${signed(high)}`,
      right(number(games)),
      moment(since, shell.clock.now()),
      shortModel(model),
    ]);
    const head = [right("CHAMPION"), right("ITERATION"), right("ELO"), "INTERVAL", right("GAMES"), "SINCE", "MODEL"];
    return tableLines([head, ...rows], shell);
  });
};

/** `ringrift elo`: the ladder of a config. */
export function registerElo(command: Command, shell: Shell): void {
  command
    .argument("<config>", "the config, for example othello6_2p")
    .option("--limit <n>", "show at most this many players", wholeNumber("--limit", 1, 1_000), 40)
    .option("--history", "show how strong each champion was, oldest first")
    .action((configKey: string, { limit, history = false }: { limit: number; history?: boolean }) =>
      history ? showHistory(configKey, shell) : show(configKey, limit, shell),
    );
}
