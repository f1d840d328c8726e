import type { Command } from "commander";
import { KNOBS, type Knob } from "../../pipeline/stage/knob-names.ts";
import { showAnswer } from "../cli/answers.ts";
import type { Shell } from "../cli/shell.ts";
import { right, tableLines } from "../cli/table.ts";
import { duration, number, printable } from "../cli/text.ts";
import { decimal, oneOf } from "../cli/values.ts";
import type { Input } from "../http/wire.ts";
import { decidedLines, withDecision } from "../pipeline/steer.command.ts";
import { shortModel } from "../pipeline/words.ts";
import { getSteering, holdKnob, releaseKnob, type Steering, searchParameters } from "./wire.ts";
import { trendWords } from "./words.ts";

type Config = Steering["configs"][number];
type KnobView = Config["knobs"][number];

const times = (factor: number): string => `x ${Number(factor.toPrecision(3))}`;
const percent = (share: number | null): string => (share === null ? "-" : `${Math.round(100 * share)} %`);

const knobWords = ({ held, signal, author, on }: KnobView, now: number): string => {
  if (held !== null) return printable(`held by ${held.by} for ${duration(Math.max(0, now - held.at))}: ${held.reason}`);
  if (!on) return "off in its plan";
  return signal === null ? `${author} has said nothing yet` : printable(signal.reason);
};

export function steeringLines({ configs }: Steering, shell: Pick<Shell, "paint" | "width" | "clock">): string[] {
  if (configs.length === 0) return ["no config trains here: start one with 'ringrift train'"];
  const now = shell.clock.now();
  const rows = configs.flatMap(({ config_key, share, knobs }) =>
    knobs.map((each) => [
      shell.paint.bold(printable(config_key)),
      each.knob,
      right(times(each.value)),
      right(percent(share)),
      shell.paint.dim(knobWords(each, now)),
    ]),
  );
  return tableLines([["CONFIG", "KNOB", right("FACTOR"), right("SHARE"), "WHY"], ...rows], shell);
}

const numbersWords = (values: Readonly<Record<string, number>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${printable(name)} ${Number(value.toPrecision(4))}`)
    .join(", ");

/** Parameters that a search has tuned, and how the last search went. */
function searchLines({ tuned, trained, search, architectures }: Config): string[] {
  const lines = [
    ...(tuned === null ? [] : [`tuned: ${numbersWords(tuned.values)}, from iteration ${tuned.from_iteration} on`]),
    ...(trained === null
      ? []
      : [`training: ${numbersWords(trained.values)}, from iteration ${trained.from_iteration} on`]),
  ];
  if (Object.keys(architectures).length > 0)
    lines.push(
      `architectures: ${Object.entries(architectures)
        .map(([name, weight]) => `${printable(name)} ${percent(weight)}`)
        .join(", ")}`,
    );
  if (search === null) return lines;
  const { run_id, reason, state, generation, games, ended } = search;
  return [
    ...lines,
    `search ${printable(run_id)}: ${state}, generation ${generation}, ${games} games; begun because: ${printable(reason)}`,
    ...search.members.map(
      ({ name, values, score }) =>
        `  ${printable(name)}: ${numbersWords(values)}${score === null ? "" : `, scored ${percent(score)}`}`,
    ),
    ...(search.best_scores.length === 0
      ? []
      : [`  best of each generation: ${search.best_scores.map((score) => percent(score)).join(", ")}`]),
    ...(ended === null ? [] : [`  ${printable(ended)}`]),
  ];
}

/** What a config's share of self-play is made of, one factor a line, and each knob with its bounds. */
export function explainLines(config: Config, shell: Pick<Shell, "paint" | "width" | "clock">): string[] {
  const now = shell.clock.now();
  const factors = config.factors.map(({ name, actual, factor }) => [
    `  ${name}`,
    right(times(factor)),
    shell.paint.dim(actual === null ? "not known" : printable(String(actual))),
  ]);
  const knobs = config.knobs.flatMap((each) => [
    `${each.knob}: ${times(each.value)}, from ${each.low} to ${each.high}, turned by ${each.author}`,
    `  ${knobWords(each, now)}`,
    ...(each.signal === null || each.held !== null
      ? []
      : [
          `  said in iteration ${each.signal.iteration}; half of it is left after ${each.signal.half_life} iterations without news`,
        ]),
  ]);
  return [
    shell.paint.bold(`${printable(config.config_key)} gets ${percent(config.share)} of self-play`),
    ...tableLines(factors, shell),
    ...knobs,
    ...config.mastered.map(
      ({ opponent, model_id, games, win_rate }) =>
        `mastered ${printable(opponent)}: ${shortModel(model_id)} won ${percent(win_rate)} of ${number(games)} games`,
    ),
    ...(config.asked === null
      ? []
      : [
          `training asks for harder games since iteration ${config.asked.iteration}: ${printable(config.asked.reason)}`,
        ]),
    ...(config.trends.length === 0 ? [] : ["measured, iteration by iteration:"]),
    ...tableLines(
      config.trends.map((each) => [`  ${each.metric}`, shell.paint.dim(trendWords(each))]),
      shell,
    ),
    ...searchLines(config),
  ];
}

const METHODS = ["cmaes", "pbt", "nas"] as const;
type ConfigKey = Input<typeof holdKnob>["params"]["config"];

interface Options {
  readonly reason?: string;
  readonly dryRun?: boolean;
}

/** `ringrift steering`: what steers each config, why, and what a person holds. */
export function registerSteering(group: Command, shell: Shell): void {
  group
    .command("show", { isDefault: true })
    .description("show every knob of every config: its factor now, and why")
    .action(() => showAnswer(shell, getSteering, {}, (steering) => steeringLines(steering, shell)));
  group
    .command("explain")
    .description("show what a config's share of self-play is made of, factor by factor")
    .argument("<config>", "the config, for example othello6_2p")
    .action((config: string) =>
      showAnswer(shell, getSteering, {}, ({ configs }) => {
        const found = configs.find(({ config_key }) => config_key === config);
        return found === undefined
          ? `no config '${printable(config)}' trains here; there are: ${configs.map(({ config_key }) => config_key).join(", ") || "none"}`
          : explainLines(found, shell);
      }),
    );
  withDecision(
    group
      .command("search")
      .description("search for better parameters; they count only if games prove them better")
      .argument("<config>", "the config, for example othello6_2p")
      .option(
        "--method <method>",
        "cmaes: parameters of self-play, pbt: settings of training, nas: shapes of the network",
        oneOf("the method", METHODS),
        "cmaes",
      ),
  ).action((config: ConfigKey, { reason, dryRun, method }: Options & { method: (typeof METHODS)[number] }) =>
    showAnswer(
      shell,
      searchParameters,
      { params: { config }, body: { reason, dry_run: dryRun, method } } as Input<typeof searchParameters>,
      decidedLines,
    ),
  );
  const knobOf = (command: Command) =>
    command
      .argument("<config>", "the config, for example othello6_2p")
      .argument("<knob>", `what to hold: ${KNOBS.join(", ")}`, oneOf("the knob", KNOBS));
  withDecision(
    knobOf(group.command("hold").description("hold a knob at a value until 'release'")).argument(
      "<value>",
      "a factor from 0.5 to 2; 1 changes nothing",
      decimal("the value", 0, 1_000),
    ),
  ).action((config: ConfigKey, knob: Knob, value: number, { reason, dryRun }: Options) =>
    showAnswer(
      shell,
      holdKnob,
      { params: { config, knob }, body: { value, reason, dry_run: dryRun } } as Input<typeof holdKnob>,
      decidedLines,
    ),
  );
  withDecision(knobOf(group.command("release").description("let steering turn a knob again"))).action(
    (config: ConfigKey, knob: Knob, { reason, dryRun }: Options) =>
      showAnswer(
        shell,
        releaseKnob,
        { params: { config, knob }, body: { reason, dry_run: dryRun } } as Input<typeof releaseKnob>,
        decidedLines,
      ),
  );
}
