import { describe, expect, test } from "vitest";
import { ratingsOf, strengthsOf } from "./strength.ts";

type Given = Parameters<typeof strengthsOf>[0];

const champion = (model: string, generation: number) => ({
  model,
  generation,
  iteration: generation,
  since: 0,
  cause: "gate",
});
const rated = (player: string, elo: number) => ({
  player,
  name: player,
  elo,
  low: elo - 50,
  high: elo + 50,
  games: 16,
  is_anchor: false,
});
const gate = (candidate: string, opponent: string, estimate: number, verdict: "promote" | "reject" = "promote") => ({
  candidate,
  opponent,
  verdict,
  elo: { estimate, low: estimate - 90, high: estimate + 90 },
});
const given = (parts: object): Given => parts as unknown as Given;

describe("how strong champions were", () => {
  test("is what the ladder says, and until then what their gates add to the one that they beat", () => {
    const strengths = strengthsOf(
      given({
        champions: [champion("a", 0), champion("b", 1), champion("c", 2), champion("d", 3)],
        ladder: [rated("a", -300), rated("c", 150)],
        gates: [gate("b", "a", 400), gate("c", "b", 200), gate("d", "c", 120)],
      }),
    );
    expect(strengths.map(({ elo, rated: known }) => [elo, known !== null])).toEqual([
      [-300, true],
      [100, false],
      [150, true],
      [270, false],
    ]);
  });

  test("is not told where nothing is known of the one that was beaten, nor by a gate that was lost", () => {
    const strengths = strengthsOf(
      given({
        champions: [champion("a", 0), champion("b", 1), champion("c", 2)],
        ladder: [rated("b", 10)],
        gates: [gate("b", "a", 400), gate("c", "b", -20, "reject")],
      }),
    );
    expect(strengths.map(({ model, elo }) => [model, elo])).toEqual([["b", 10]]);
  });

  test("stays what it was for one that comes back", () => {
    const strengths = strengthsOf(
      given({
        champions: [champion("a", 0), champion("b", 1), champion("a", 2)],
        ladder: [rated("a", 0)],
        gates: [gate("b", "a", 50)],
      }),
    );
    expect(strengths.map(({ elo }) => elo)).toEqual([0, 50, 0]);
  });
});

test("the rating history has a row for each champion, with its interval where the ladder has rated it", () => {
  const { ratings } = ratingsOf({
    config_key: "othello6_2p",
    ...given({
      champions: [
        { ...champion("a", 0), since: 10 },
        { ...champion("b", 1), since: 20 },
      ],
      ladder: [rated("a", -300)],
      gates: [gate("b", "a", 400)],
    }),
  } as unknown as Parameters<typeof ratingsOf>[0]);
  expect(ratings).toEqual([
    { model: "a", generation: 0, iteration: 0, since: 10, elo: -300, low: -350, high: -250, games: 16 },
    { model: "b", generation: 1, iteration: 1, since: 20, elo: 100, low: null, high: null, games: 0 },
  ]);
});
