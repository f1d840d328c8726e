import { describe, expect, test } from "vitest";
import { type Random, seededRandom } from "../../../../kernel/index.ts";
import { type Rejection, suspectsIn } from "../../../selfplay/index.ts";
import type { Segment } from "../../../stage/index.ts";
import type { Figures } from "../../figures.ts";
import { ITERATIONS_KEPT } from "../../limits.ts";
import { afterVerdict, probationOf } from "../../suspects.ts";
import { type Case, gamesByProducer, judgeBatch } from "./decide.ts";
import { accusedIn, type ProducerGames, withBatch } from "./producers.ts";

const segmentOf = (part: string, producer: string): Segment => ({
  part,
  work_id: `w-${part}-${producer}`,
  producer,
  games: 100,
  rows: 1_000,
  games_file: null,
  samples_file: { sha256: `samples of ${part}`, kind: "samples", bytes: 1, rows: 1_000 },
});

/** Games of a kind: how long they are, and how often the first seat wins. */
interface Habits {
  readonly games?: number;
  readonly plies?: number;
  readonly firstSeat?: number;
}

function play(random: Random, { games = 100, plies = 30, firstSeat = 0.5 }: Habits = {}): Figures {
  const outcomes = [0, 0, 0];
  const lengths = { count: games, sum: 0, squares: 0 };
  const surprises = { count: games, sum: 0, squares: 0 };
  for (let game = 0; game < games; game += 1) {
    const won = random.next() < firstSeat ? 0 : 1;
    outcomes[won] = outcomes[won]! + 1;
    const length = Math.round(plies + 8 * (random.next() - 0.5));
    lengths.sum += length;
    lengths.squares += length ** 2;
    const surprise = (won === 0 ? 1 : 0) - 0.5;
    surprises.sum += surprise;
    surprises.squares += surprise ** 2;
  }
  return {
    games,
    rows: games * 10,
    parity_checked: 2,
    parity_failed: 0,
    label_errors: 0,
    illegal_games: 0,
    outcomes,
    plies: lengths,
    positions: { total: games * 30, repeated: games * 3 },
    entropy_sum: games * 8,
    surprises,
  };
}

const caseOf = (part: string, producer: string, figures: Figures | null, more: Partial<Case> = {}): Case => {
  const segment = segmentOf(part, producer);
  const samples = segment.samples_file.sha256;
  const unreadable = figures === null ? "it is cut off" : null;
  return { segment, damage: null, check: { samples, validator: "v", figures, unreadable }, ...more };
};
const verdictOf = (judged: ReturnType<typeof judgeBatch>) =>
  Object.fromEntries(judged.segments.map(({ segment, reason }) => [segment.part, reason]));

describe("a segment", () => {
  const honest = play(seededRandom(1));
  test.each<[string, Case, string | null]>([
    ["whose games and labels are right", caseOf("p0", "a", honest), null],
    ["whose labels contradict its games", caseOf("p0", "a", { ...honest, label_errors: 3 }), "labels"],
    ["with a game that breaks the rules", caseOf("p0", "a", { ...honest, illegal_games: 1, label_errors: 5 }), "rules"],
    ["with a game that comes out otherwise", caseOf("p0", "a", { ...honest, parity_failed: 1 }), "parity"],
    ["that cannot be read", caseOf("p0", "a", null), "unreadable"],
    ["whose file is damaged", caseOf("p0", "a", honest, { damage: "wrong hash" }), "corrupt"],
    ["that nobody could check", caseOf("p0", "a", honest, { check: undefined }), null],
  ])("%s is judged so", (_name, given, reason) => {
    const [judged] = judgeBatch(1, [given], [], []).segments;
    expect(judged?.reason).toBe(reason);
    if (reason !== null) expect(judged?.because).not.toBe("");
  });
});

describe("a producer", () => {
  /** Four producers with five segments of 100 games each; one of them has other habits. */
  const batchOf = (random: Random, odd: Habits) =>
    ["a", "b", "c", "odd"].flatMap((producer, k) =>
      Array.from({ length: 5 }, (_, n) =>
        caseOf(`p${k * 5 + n}`, producer, play(random, producer === "odd" ? odd : {})),
      ),
    );

  test.each<[string, Habits]>([
    ["whose games are too short", { plies: 27 }],
    ["whose first seat wins too often", { firstSeat: 0.68 }],
  ])("%s has its segments rejected, and nobody else has", (_name, odd) => {
    const judged = judgeBatch(1, batchOf(seededRandom(3), odd), [], []);
    expect(judged.accused.map(({ producer }) => producer)).toEqual(["odd"]);
    for (const { segment, reason } of judged.segments)
      expect(reason).toBe(segment.producer === "odd" ? "producer" : null);
    expect(judged.segments.at(-1)?.because).toMatch(/standard deviations/);
  });

  test("that is honest is accused in hardly any of three hundred batches", () => {
    const random = seededRandom(5);
    let accused = 0;
    for (let batch = 0; batch < 300; batch += 1) accused += judgeBatch(1, batchOf(random, {}), [], []).accused.length;
    expect(accused).toBeLessThanOrEqual(3);
  });

  test("that played early, when games were short, is not accused of it later", () => {
    const random = seededRandom(9);
    const made = (producer: string, iteration: number, habits: Habits): ProducerGames => ({
      producer,
      iteration,
      figures: play(random, habits),
      segments: [],
    });
    // Games become longer as models learn; `early` played most of the short ones, and `late` most of the long ones.
    const history = [1, 2, 3, 4].flatMap((iteration) => [
      made("early", iteration, { plies: 20 + 5 * iteration, games: 1_000 - 200 * iteration }),
      made("late", iteration, { plies: 20 + 5 * iteration, games: 200 * iteration }),
    ]);
    const now = [made("early", 5, { plies: 45 }), made("late", 5, { plies: 45 })];
    expect(accusedIn(now, history)).toEqual([]);
    // One that really differs a little all the time is found by its history, though one batch would not show it.
    const shifted = history.map((one) =>
      one.producer === "late" ? made("late", one.iteration, { plies: 21 + 5 * one.iteration, games: 400 }) : one,
    );
    expect(
      accusedIn([made("early", 5, { plies: 45, games: 30 }), made("late", 5, { plies: 46, games: 30 })], shifted),
    ).not.toEqual([]);
  });

  test("is cleared when somebody else makes the same bytes, which are then accepted", () => {
    const random = seededRandom(3);
    const first = batchOf(random, { plies: 27 });
    const rejected = judgeBatch(1, first, [], []).segments.filter(({ reason }) => reason !== null);
    const earlier: Rejection[] = rejected.map(({ segment, reason }) => ({
      attempt: 1,
      part: segment.part,
      work_id: segment.work_id,
      producer: segment.producer,
      games: segment.games,
      reason: reason!,
      samples: segment.samples_file.sha256,
    }));
    const again = first.map((one) => {
      const entry = earlier.find(({ part }) => part === one.segment.part);
      return entry === undefined ? one : caseOf(one.segment.part, "a", one.check!.figures);
    });
    const judged = judgeBatch(1, again, earlier, []);
    expect(judged.cleared).toEqual(["odd"]);
    for (const { part } of earlier) expect(verdictOf(judged)[part]).toBeNull();
  });

  test("that makes its own rejected bytes again is not cleared by that", () => {
    const random = seededRandom(3);
    const batch = batchOf(random, { plies: 27 });
    const judge = () => judgeBatch(1, batch, [], []);
    const earlier = judge()
      .segments.filter(({ reason }) => reason !== null)
      .map(({ segment, reason }) => ({
        ...segment,
        attempt: 1,
        reason: reason!,
        samples: segment.samples_file.sha256,
      }));
    const judged = judgeBatch(1, batch, earlier, []);
    expect(judged.cleared).toEqual([]);
    expect(verdictOf(judged)).toEqual(verdictOf(judge()));
  });
});

describe("suspects", () => {
  const honest = play(seededRandom(1));
  const guilty = (part: string, figures: Partial<Figures>) =>
    judgeBatch(4, [caseOf(part, "bad", { ...honest, ...figures })], [], []);
  const history: ProducerGames[] = [2, 3].map((iteration) => ({
    producer: "bad",
    iteration,
    figures: honest,
    segments: [{ part: "p7", samples: `s${iteration}` }],
  }));
  const verdict = { iteration: 4, now: 99, history };

  test("stay away for a while that doubles each time, and come back", () => {
    expect([1, 2, 3, 9].map(probationOf)).toEqual([4, 8, 16, 64]);
    const row = afterVerdict(undefined, { ...verdict, judgement: guilty("p0", { label_errors: 1 }) });
    expect(row.bad).toMatchObject({ reasons: ["labels"], times: 1, first_iteration: 4, until_iteration: 9, since: 99 });
    expect(suspectsIn(row, 8)).toEqual(["bad"]);
    expect(suspectsIn(row, 9)).toEqual([]);
    const twice = afterVerdict(row, { ...verdict, judgement: guilty("p1", { illegal_games: 1 }) });
    expect(twice.bad).toMatchObject({ times: 1, reasons: ["labels", "rules"] });
    const later = afterVerdict(twice, { ...verdict, iteration: 12, judgement: guilty("p1", { label_errors: 1 }) });
    expect(later.bad).toMatchObject({ times: 2, first_iteration: 4, last_iteration: 12, until_iteration: 21 });
  });

  test("have what they made before listed where nobody knows since when it is bad", () => {
    const caught = afterVerdict(undefined, { ...verdict, judgement: guilty("p0", { label_errors: 1 }) });
    expect(caught.bad?.accepted).toEqual([]);
    const sampled = afterVerdict(undefined, { ...verdict, judgement: guilty("p0", { parity_failed: 1 }) });
    expect(sampled.bad?.accepted.map(({ samples }) => samples)).toEqual(["s2", "s3"]);
  });

  test("are not those whose files were damaged, nor those who were cleared", () => {
    const damaged = judgeBatch(4, [caseOf("p0", "bad", honest, { damage: "wrong hash" })], [], []);
    expect(afterVerdict(undefined, { ...verdict, judgement: damaged })).toEqual({});
    const known = afterVerdict(undefined, { ...verdict, judgement: guilty("p0", { label_errors: 1 }) });
    expect(afterVerdict(known, { ...verdict, judgement: { segments: [], cleared: ["bad"] } })).toEqual({});
  });
});

describe("the history of producers", () => {
  test("keeps the last iterations, and one batch for each", () => {
    const honest = play(seededRandom(1));
    const made = (iteration: number) =>
      gamesByProducer(iteration, [
        { segment: segmentOf("p0", "a"), figures: honest },
        { segment: segmentOf("p1", "a"), figures: honest },
        { segment: segmentOf("p2", "b"), figures: null },
      ]);
    expect(made(1)).toMatchObject([
      { producer: "a", figures: { games: 200 }, segments: [{ part: "p0" }, { part: "p1" }] },
    ]);
    let history: ProducerGames[] = [];
    for (let iteration = 1; iteration <= 20; iteration += 1) history = withBatch(history, made(iteration), iteration);
    history = withBatch(history, made(20), 20);
    expect(history.map(({ iteration }) => iteration)).toEqual(Array.from({ length: ITERATIONS_KEPT }, (_, n) => 9 + n));
  });
});
