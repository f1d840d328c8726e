import { describe, expect, it } from "vitest";
import {
  AT,
  behindBreaker,
  healthy,
  justStarted,
  opened,
  withSuspect,
} from "../../../test/fixtures/pipeline-snapshots.ts";
import type { ConfigSnapshot, PipelineSnapshot } from "../../pipeline/snapshot.ts";
import { changesBetween, createPipelineTeller, pipelineStatusLine } from "./changes.ts";

const figures = { eventsPerSecond: 41.3, alerts: 0, workers: 2, uptimeMs: 0, remainingMs: null };
const of = (config: ConfigSnapshot): PipelineSnapshot => ({ at: AT, configs: [config] });
const told = (before: ConfigSnapshot | undefined, after: ConfigSnapshot) =>
  changesBetween(before === undefined ? undefined : of(before), of(after)).map(({ text }) => text);
const [config] = healthy.configs as [ConfigSnapshot];

describe("what is worth a line", () => {
  it("is nothing while nothing has happened", () => {
    expect(told(config, config)).toEqual([]);
    expect(told(config, { ...config, games: config.games + 5, stage: "promotion", iteration: 42 })).toEqual([]);
  });

  it("is a config that begins, but not what lay behind it then", () => {
    expect(told(undefined, config)).toEqual(["othello6_2p: begins at iteration 41, seed 7"]);
    expect(changesBetween(undefined, justStarted)).toHaveLength(1);
  });

  it.each([
    ["promote", "promoted"],
    ["reject", "rejected"],
    ["inconclusive", "inconclusive"],
  ] as const)("is the verdict %s, with its numbers", (verdict, word) => {
    const running = config.gates.at(-1)!;
    const ended = {
      ...running,
      verdict,
      llr: [...running.llr, 3.014],
      games: 240,
      elo: { estimate: 61.7, low: 20.9, high: 104.2 },
      ended_at: AT,
    };
    const after = { ...config, gates: [...config.gates.slice(0, -1), ended] };
    expect(told(config, after)).toEqual([
      `othello6_2p: iteration 41 ${word} against champion 25: +62 Elo (+21 to +104), LLR +3.01, 240 games`,
    ]);
    expect(told(after, after)).toEqual([]);
  });

  it("is an opponent that the champion passes: the lower end of its interval lies above", () => {
    const champion = config.champion!.model;
    const rate = (elo: number): ConfigSnapshot => ({
      ...config,
      ladder: config.ladder.map((rated) =>
        rated.player === champion ? { ...rated, elo, low: elo - 30, high: elo + 30 } : rated,
      ),
    });
    expect(told(rate(300), rate(440))).toEqual([
      "othello6_2p: champion 25 passes mcts-1000: Elo +440 ±30 against +305",
    ]);
    expect(told(rate(440), rate(455))).toEqual([
      "othello6_2p: champion 25 passes alphabeta-4: Elo +455 ±30 against +421",
    ]);
    expect(told(rate(455), rate(440))).toEqual([]);
  });

  it("is a failure of a stage, once, and what the config waits for then", () => {
    const [stuck] = behindBreaker.configs as [ConfigSnapshot];
    const before = { ...stuck, state: "running" as const, waits: [], failures: stuck.failures.slice(0, 2) };
    expect(told(before, stuck)).toEqual([
      "hex7_2p: training failed: the job ran into its time limit of 60 s (JOB_TIMEOUT)",
      "hex7_2p: waiting at training: waits for the breaker of training, open after 3 failures in a row: " +
        "the job ran into its time limit of 60 s; for 1 min",
    ]);
    expect(told(stuck, { ...stuck, state: "running" })).toEqual(["hex7_2p: continues with training"]);
  });

  it("is a producer that becomes suspect, or ceases to be", () => {
    const [suspected] = withSuspect.configs as [ConfigSnapshot];
    expect(told({ ...suspected, suspects: suspected.suspects.slice(1) }, suspected)).toEqual([
      "othello6_2p: node-b is suspect: 12.5 % of its labels contradict the games",
    ]);
    expect(told(suspected, { ...suspected, suspects: suspected.suspects.slice(1) })).toEqual([
      "othello6_2p: node-b is no longer suspect",
    ]);
  });

  it("is a champion that no gate has made", () => {
    const first = { model: "ab".repeat(32), generation: 0, iteration: 0, since: AT, by: "first" };
    const fresh = opened("hex7_2p");
    expect(told(fresh, { ...fresh, champion: first, champions: [first] })).toEqual([
      "hex7_2p: champion 0 is ababababab, the first, untrained",
    ]);
    const back = { ...config.champions[3]!, generation: 26, since: AT, by: "rollback" };
    expect(told(config, { ...config, champion: back, champions: [...config.champions, back] })).toEqual([
      expect.stringMatching(/^othello6_2p: champion 26 is [0-9a-f]{10}, by a rollback$/),
    ]);
  });

  it("is books that do not come out even", () => {
    const off = { ...config, books: { ...config.books, produced: config.books.produced + 3, balanced: false } };
    expect(told(config, off)).toEqual(["othello6_2p: the books do not balance: off by 3 games"]);
    expect(told(off, config)).toEqual(["othello6_2p: the books balance again"]);
  });

  it("is the end", () => {
    expect(told(config, { ...config, state: "complete", iteration: 41 })).toEqual([
      "othello6_2p: complete after 41 iterations",
    ]);
  });
});

describe("the loop in a pipe", () => {
  it("has a line for how everything stands", () => {
    expect(pipelineStatusLine(healthy, { ...figures, uptimeMs: 301_000, remainingMs: 60_000, alerts: 2 })).toBe(
      "othello6_2p iteration 41 evaluation 35 %, 6,400 games (21.6/s), champion 25, Elo +419 ±26; " +
        "41 events/s, 2 alerts, up 5 min, 1 min left",
    );
  });

  it("says that every 15 seconds, and changes at once", () => {
    const teller = createPipelineTeller();
    const at = (seconds: number, snapshot: PipelineSnapshot) =>
      teller.look(snapshot, { ...figures, uptimeMs: seconds * 1_000 }).length;
    expect(at(1, healthy)).toBe(1);
    expect(at(14, healthy)).toBe(0);
    expect(at(15, healthy)).toBe(1);
    expect(at(16, withSuspect)).toBe(2);
    expect(at(29, withSuspect)).toBe(0);
    expect(at(31, withSuspect)).toBe(1);
  });

  it("says once that an opponent was passed, however often the estimate crosses it", () => {
    const teller = createPipelineTeller();
    const champion = config.champion!.model;
    const rate = (elo: number) =>
      of({
        ...config,
        ladder: config.ladder.map((rated) =>
          rated.player === champion ? { ...rated, elo, low: elo, high: elo } : rated,
        ),
      });
    const lines = [310, 300, 310, 300, 310].map((elo) => teller.look(rate(elo), figures).length);
    // The first line is that of the config that begins; it had passed the opponent by then.
    expect(lines).toEqual([1, 0, 1, 0, 0]);
  });
});
