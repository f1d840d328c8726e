import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { ROOT } from "../../../../tools/parts/root.ts";
import { workloadList } from "../../worker/workload-list.ts";
import { type Book, bookKey, borrowRun, openBook } from "./book.ts";
import { armsOf, experimentsOf, seedsOf } from "./definition.ts";
import { evenMatch } from "./play-match.ts";
import { experimentPlot, experimentReport } from "./report.ts";
import { type ExperimentWorld, followsFrom, plansOfArm } from "./run-arm.ts";
import { verdictsOf } from "./verdicts.ts";

const DEFINITION = {
  config_key: "othello6_2p",
  iterations: 3,
  seeds: 4,
  first_seed: 7,
  arms: { plain: {}, "<b>": {}, other: { games_per_iteration: 9 } },
};

function folderWith(experiments: object) {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-experiments-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "ringrift.config.json");
  writeFileSync(file, JSON.stringify({ experiments }));
  return { folder, file };
}

const arms = { plain: {}, better: {}, same: {} };
const one = (name = "trial", changes: object = {}) => {
  const { file } = folderWith({ [name]: { ...DEFINITION, arms, ...changes } });
  return experimentsOf(file, [name])[0]!;
};

/** Blocks by score cell of 100 pairs with so many won. */
const counts = (won: number) => [100 - won, 0, 0, 0, won];
const bookOf = (experiment: ReturnType<typeof one>, won: Readonly<Record<string, readonly number[]>>): Book => ({
  fingerprint: experiment.fingerprint,
  runs: Object.fromEntries(
    armsOf(experiment).flatMap((arm) =>
      seedsOf(experiment).map((seed) => [
        bookKey(arm, seed),
        { champion: "a".repeat(64), iterations: 3, games: 30, promotions: 2, seconds: 61 },
      ]),
    ),
  ),
  matches: Object.fromEntries(
    Object.entries(won).flatMap(([arm, each]) =>
      each.map((n, i) => [bookKey(arm, seedsOf(experiment)[i]!), { counts: counts(n), games: 200 }]),
    ),
  ),
});

describe("an experiment", () => {
  test("is read with its defaults, and arms as they were written", () => {
    const experiment = one();
    expect(seedsOf(experiment)).toEqual([7, 8, 9, 10]);
    expect(armsOf(experiment)).toEqual(["plain", "better", "same"]);
    expect(experiment.arms.better).toEqual({});
    expect(experiment.match).toEqual({ blocks: 200, parameters: { simulations: 48, opening_plies: 8 } });
  });

  test.each([
    ["one arm", { arms: { plain: {} } }],
    ["one seed", { seeds: 1 }],
    ["a name of an arm that is a path", { arms: { plain: {}, "../x": {} } }],
    ["a seed in an arm", { arms: { plain: {}, other: { seed: 4 } } }],
    ["a knob that is held in an arm that there is not", { hold: { other: { share: 1 } } }],
    ["a knob that does not exist", { hold: { plain: { speed: 1 } } }],
    ["a field that no plan has", { arms: { plain: {}, other: { gamez: 4 } } }],
  ])("is refused with %s", (_, changes) => {
    expect(() => one("trial", changes)).toThrow(expect.objectContaining({ code: "INVALID_EXPERIMENT" }));
  });

  test("that nobody wrote down is named with those that somebody did", () => {
    const { file } = folderWith({ trial: DEFINITION });
    expect(() => experimentsOf(file, ["trail"])).toThrow(/no experiment 'trail'.*trial/);
    expect(() => experimentsOf(undefined, ["trial"])).toThrow(
      expect.objectContaining({ code: "EXPERIMENT_NOT_FOUND" }),
    );
  });
});

describe("the book of an experiment", () => {
  test("has what was done when it is opened again, and refuses another definition", () => {
    const { folder } = folderWith({});
    const experiment = one();
    const run = { champion: "b".repeat(64), iterations: 3, games: 30, promotions: 2, seconds: 1.5 };
    openBook(folder, experiment).ran("plain", 7, run);
    openBook(folder, experiment).played("better/7", counts(60), 200);
    expect(openBook(folder, experiment).read()).toMatchObject({
      runs: { "plain/7": run },
      matches: { "better/7": { games: 200 } },
    });
    expect(() => openBook(folder, one("trial", { iterations: 4 }))).toThrow(
      expect.objectContaining({ code: "EXPERIMENT_DIFFERS" }),
    );
  });
});

describe("a run of another experiment", () => {
  const world = {
    configFile: undefined,
    workloads: workloadList(undefined, 1),
    workers: 1,
  } as unknown as ExperimentWorld;
  const key = (experiment: ReturnType<typeof one>, arm: string, seed: number) =>
    followsFrom(experiment, arm, plansOfArm(experiment, arm, seed, world))!;

  test("counts where plan and seed are the same, with its model, and nowhere else", () => {
    const { folder } = folderWith({});
    const first = one("first");
    const second = one("second", { about: "other words", arms: { control: {}, other: { games_per_iteration: 9 } } });
    const run = { champion: "b".repeat(64), iterations: 3, games: 30, promotions: 2, seconds: 1.5 };
    const book = openBook(join(folder, "first"), first);
    writeFileSync(book.modelFile(run.champion), "a model");
    book.ran("plain", 7, { ...run, follows_from: key(first, "plain", 7) });
    const { modelFile } = openBook(join(folder, "second"), second);
    expect(borrowRun(folder, key(second, "control", 7), modelFile)).toMatchObject(run);
    expect(readFileSync(modelFile(run.champion), "utf8")).toBe("a model");
    expect(borrowRun(folder, key(second, "control", 8), modelFile)).toBeUndefined();
    expect(borrowRun(folder, key(second, "other", 7), modelFile)).toBeUndefined();
    expect(borrowRun(folder, key(one("longer", { iterations: 4 }), "plain", 7), modelFile)).toBeUndefined();
  });

  test("of a config that begins with another's network is one with that config", () => {
    const from = { start_from: { config_key: "othello8_2p", iteration: 2 } };
    const plans = plansOfArm(one("trial", { arms: { plain: {}, related: from } }), "related", 7, world);
    expect(plans.map(({ plan }) => [plan.config_key, plan.most_iterations, plan.seed])).toEqual([
      ["othello6_2p", 3, 7],
      ["othello8_2p", 2, 7],
    ]);
  });
});

test("a run of a cascade is one with the config of fewer players, which goes on until its gates say so", () => {
  const { file } = folderWith({});
  const world = { configFile: file, workloads: workloadList(undefined, 1), workers: 1 } as unknown as ExperimentWorld;
  const cascade = { config_key: "connect4_7x6_2p", promotions: 2 };
  const experiment = one("trial", { config_key: "connect4_8x7_3p", arms: { plain: {}, passed: { cascade } } });
  const plans = plansOfArm(experiment, "passed", 7, world);
  expect(plans.map(({ plan }) => [plan.config_key, plan.most_iterations, plan.seed])).toEqual([
    ["connect4_8x7_3p", 3, 7],
    ["connect4_7x6_2p", null, 7],
  ]);
});

test("runs that differ in what is held or in what plays are none of each other, and those that end by games follow from nothing", () => {
  const { file } = folderWith({});
  const world = { configFile: file, workloads: workloadList(undefined, 1), workers: 1 } as unknown as ExperimentWorld;
  const key = (changes: object) => {
    const experiment = one("trial", changes);
    return followsFrom(experiment, "better", plansOfArm(experiment, "better", 7, world));
  };
  const keys = [{}, { hold: { better: { share: 1 } } }, { plays: { better: "nnue" } }].map(key);
  expect(new Set(keys).size).toBe(keys.length);
  expect(key({ hold: { same: { share: 1 } } })).toBe(keys[0]);
  expect(key({ games: 100 })).toBeUndefined();
});

test("the experiments of docs/experiments are sound, and every arm has a plan of its own", () => {
  const file = join(ROOT, "docs", "experiments", "ringrift.config.json");
  const names = Object.keys(JSON.parse(readFileSync(file, "utf8")).experiments);
  const world = { configFile: file, workloads: workloadList(file, 1), workers: 1 } as unknown as ExperimentWorld;
  for (const experiment of experimentsOf(file, names)) {
    const timeless = { ...experiment, games: null };
    const plans = armsOf(experiment).map((arm) => followsFrom(timeless, arm, plansOfArm(experiment, arm, 1, world)));
    expect(new Set(plans).size, experiment.name).toBe(plans.length);
  }
});

describe("verdicts", () => {
  test("say nothing of arms that came to one and the same champion", () => {
    const experiment = one("trial", { arms: { plain: {}, better: {} } });
    const { counts: even, games } = evenMatch(100, 2);
    const matches = Object.fromEntries(
      seedsOf(experiment).map((seed) => [bookKey("better", seed), { counts: even, games }]),
    );
    const book = { ...bookOf(experiment, {}), matches };
    expect(verdictsOf([{ experiment, book }], () => 2, 0.05)).toMatchObject([{ rate: 1, verdict: "not shown" }]);
  });

  test("believe what holds over seeds, and nothing else", () => {
    const experiment = one();
    const book = bookOf(experiment, { better: [70, 72, 71, 73], same: [80, 20, 55, 45] });
    const results = verdictsOf([{ experiment, book }], () => 2, 0.05);
    expect(results).toMatchObject([
      { arm: "better", control: "plain", verdict: "better" },
      { arm: "same", verdict: "not shown" },
    ]);
    expect(results[0]!.difference.low).toBeGreaterThan(100);
    const worse = bookOf(experiment, { better: [30, 28, 29, 27], same: [50, 50, 51, 49] });
    expect(verdictsOf([{ experiment, book: worse }], () => 2, 0.05)[0]).toMatchObject({ verdict: "worse" });
  });

  test("take the mean of all configs that train beside each other", () => {
    const experiment = one("trial", { arms: { plain: {}, better: {} }, beside: ["connect4_7x6_2p"] });
    const book = bookOf(experiment, { better: [70, 70, 70, 70] });
    const beside = seedsOf(experiment).map((seed) => [
      `${bookKey("better", seed)}/connect4_7x6_2p`,
      { counts: counts(30), games: 200 },
    ]);
    const both = { ...book, matches: { ...book.matches, ...Object.fromEntries(beside) } };
    const [result] = verdictsOf([{ experiment, book: both }], () => 2, 0.05);
    expect(result!.difference.estimate).toBeCloseTo(0);
    expect(result!.differences[0]!.games).toBe(400);
  });

  test("ask for more where more is tried at once", () => {
    const experiment = one("trial", { arms: { plain: {}, better: {} } });
    const book = bookOf(experiment, { better: [55, 62, 58, 66] });
    const alone = verdictsOf([{ experiment, book }], () => 2, 0.05);
    expect(alone[0]!.verdict).toBe("better");
    const nothing = Array.from({ length: 9 }, (_, i) => {
      const other = one(`other-${i}`, { arms: { plain: {}, better: {} } });
      return { experiment: other, book: bookOf(other, { better: [60, 40, 55, 45] }) };
    });
    const among = verdictsOf([{ experiment, book }, ...nothing], () => 2, 0.05);
    expect(among[0]!.rate).toBeGreaterThan(alone[0]!.rate);
    expect(among[0]!.verdict).toBe("not shown");
  });

  test("stand in the report with every run, and in the picture", () => {
    const experiment = one();
    const book = bookOf(experiment, { better: [70, 72, 71, 73], same: [80, 20, 55, 45] });
    const results = verdictsOf([{ experiment, book }], () => 2, 0.05);
    const about = { rate: 0.05, compared: 2, version: "1.2.3", workers: 2 };
    const text = experimentReport(experiment, book, results, about);
    expect(text).toMatch(/\| `better` \| \+1\d\d \| .* \| better \|/);
    expect(text).toMatch(/\| `same` \| .* \| no difference shown \|/);
    expect(text.match(/^\| `(plain|better|same)` \| \d+ \| `a{12}`/gm)).toHaveLength(12);
    const picture = experimentPlot(results);
    expect(picture.match(/<circle/g)).toHaveLength(2 * 4 + 2);
    expect(picture).not.toMatch(/NaN|undefined/);
  });
});
