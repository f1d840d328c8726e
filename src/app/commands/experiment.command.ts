import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Command } from "commander";
import { OperatingError, type Random } from "../../kernel/index.ts";
import { playersOf } from "../../pipeline/index.ts";
import { answer, decimal, plural, type Shell, tableLines, wholeNumber } from "../../surfaces/commands/index.ts";
import type { SettingOverrides, Settings } from "../settings.ts";
import { readVersion } from "../version.ts";
import { workloadList } from "../worker/workload-list.ts";
import { bookKey, borrowRun, championIn, matchKey, openBook } from "./experiment/book.ts";
import { armsOf, configsOf, type Experiment, experimentsOf, seedsOf } from "./experiment/definition.ts";
import { evenMatch, playMatch } from "./experiment/play-match.ts";
import { experimentPlot, experimentReport } from "./experiment/report.ts";
import { type ExperimentWorld, followsFrom, plansOfArm, runArm } from "./experiment/run-arm.ts";
import { type ArmResult, verdictsOf } from "./experiment/verdicts.ts";

interface ExperimentOptions {
  readonly workers?: number;
  readonly rate: number;
  readonly out?: string;
}

/** Does what is not in the book yet: every arm with every seed, then the matches. */
async function carryOut(experiment: Experiment, place: string, world: ExperimentWorld, say: (line: string) => void) {
  const folder = join(place, experiment.name);
  const book = openBook(folder, experiment);
  const arms = armsOf(experiment);
  const [control = ""] = arms;
  const total = arms.length * experiment.seeds;
  // All arms of one seed first: what is known early is known of every arm.
  for (const seed of seedsOf(experiment))
    for (const arm of arms) {
      if (book.read().runs[bookKey(arm, seed)] !== undefined) continue;
      const source = followsFrom(experiment, arm, plansOfArm(experiment, arm, seed, world));
      const borrowed = source === undefined ? undefined : borrowRun(place, source, book.modelFile);
      const run = borrowed ?? (await runArm(experiment, arm, seed, folder, book.modelFile, world));
      book.ran(arm, seed, run);
      rmSync(join(folder, "runs", `${arm}-${seed}`), { recursive: true, force: true });
      const done = Object.keys(book.read().runs).length;
      say(`${experiment.name}: ${arm} with seed ${seed} is done (${done} of ${total}), ${run.promotions} promotions`);
    }
  const sideOf = (arm: string, seed: number, config: string) => {
    const sha256 = championIn(book.read().runs[bookKey(arm, seed)]!, config);
    return { sha256, path: book.modelFile(sha256) };
  };
  const open = arms
    .slice(1)
    .flatMap((arm) =>
      seedsOf(experiment).flatMap((seed) => configsOf(experiment).map((config) => ({ arm, seed, config }))),
    );
  for (const { arm, seed, config } of open) {
    const key = matchKey(experiment, arm, seed, config);
    if (book.read().matches[key] !== undefined) continue;
    const sides = { candidate: sideOf(arm, seed, config), opponent: sideOf(control, seed, config) };
    const players = playersOf(config);
    const isSame = sides.candidate.sha256 === sides.opponent.sha256;
    const { counts, games } = isSame
      ? evenMatch(experiment.match.blocks, players)
      : await playMatch({ ...experiment, config_key: config }, seed, players, sides, world);
    book.played(key, counts, games);
    const words = isSame ? "came to the control's champion" : "has played its match";
    say(
      `${experiment.name}: ${arm} with seed ${seed} ${words}${config === experiment.config_key ? "" : ` of ${config}`}`,
    );
  }
  return book.read();
}

const resultLines = (results: readonly ArmResult[], shell: Shell): string[] =>
  tableLines(
    [
      ["EXPERIMENT", "ARM", "ELO", "95 % INTERVAL", "FDR", "VERDICT"],
      ...results.map(({ experiment, arm, control, difference: { estimate, low, high }, rate, verdict }) => [
        experiment,
        `${arm} over ${control}`,
        String(Math.round(estimate)),
        `${Math.round(low)} to ${Math.round(high)}`,
        rate.toPrecision(2),
        verdict,
      ]),
    ],
    shell,
  );

/** `ringrift experiment`: arms and seeds over the real loop, a match apart from all gates, and what to believe of it. */
export function registerExperiment(
  command: Command,
  shell: Shell,
  random: Random,
  settings: (given: SettingOverrides) => Settings,
): void {
  command
    .argument("<names...>", "experiments of the settings file; those of one call share one false discovery rate")
    .option(
      "--workers <n>",
      "jobs at once on this machine; default: one per processor. The results are the same for any number, unless 'games' ends the runs",
      wholeNumber("--workers", 1, 1_024),
    )
    .option(
      "--rate <share>",
      "false discovery rate over all comparisons of this call",
      decimal("--rate", 0.0001, 0.5),
      0.05,
    )
    .option("--out <folder>", "where the reports go; default: 'experiments' in the data folder")
    .action(async (names: readonly string[], options: ExperimentOptions) => {
      const { dataDir, configFile, worker } = settings({});
      const experiments = experimentsOf(configFile, names);
      const workers = options.workers ?? availableParallelism();
      const { signal } = shell.io;
      const world: ExperimentWorld = {
        ...{ settings, configFile, workers, random, env: shell.io.env, clock: shell.clock, signal },
        workloads: workloadList(configFile, worker.graceMs / 1_000),
      };
      const say = (line: string) => answer(shell, { status: "experiment", line }, () => line);
      const place = join(dataDir, "experiments");
      const all = [];
      for (const experiment of experiments) {
        const book = await carryOut(experiment, place, world, say).catch((thrown: unknown) => {
          if (!signal.aborted) throw thrown;
          throw OperatingError.unavailable("EXPERIMENT_STOPPED", `'${experiment.name}' was stopped before its end`, {
            hint: "Run the same command again: what is done counts.",
          });
        });
        all.push({ experiment, book });
      }
      const results = verdictsOf(all, playersOf, options.rate);
      const out = options.out ?? place;
      mkdirSync(out, { recursive: true });
      const about = { rate: options.rate, compared: results.length, version: readVersion(), workers };
      for (const { experiment, book } of all) {
        const own = results.filter((result) => result.experiment === experiment.name);
        writeFileSync(join(out, `${experiment.name}.md`), experimentReport(experiment, book, own, about));
        writeFileSync(join(out, `${experiment.name}.svg`), experimentPlot(own));
      }
      answer(shell, { status: "done", results, reports: out }, () => [
        ...resultLines(results, shell),
        `${plural(all.length, "report")} in ${out}`,
      ]);
    });
}
