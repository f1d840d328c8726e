import { describe, expect, test } from "vitest";
import { workloadList } from "../worker/workload-list.ts";
import { plansFor } from "./plans.ts";

const world = { configFile: undefined, workloads: workloadList(undefined, 1) };
const planOf = (given: Parameters<typeof plansFor>[1]) => plansFor(["othello6_2p"], given, world)[0]!.plan;

describe("knobs in a plan", () => {
  test("are off, and then say nothing of what the games do by themselves", () => {
    const { steering, selfplay, training } = planOf({});
    expect(new Set(Object.values(steering))).toEqual(new Set([false]));
    expect(selfplay).not.toHaveProperty("temperature");
    expect(training).not.toHaveProperty("rate");
  });

  test("have a number to multiply where the games are built in, and the plan's own where it gives one", () => {
    const drawn = { opponents: true, positions: true, window: true };
    const all = { learning_rate: true, games: true, exploration: true, search: true, ...drawn };
    expect(planOf({ steering: all })).toMatchObject({
      steering: all,
      selfplay: { temperature: 1, noise_weight: 0.25, simulations: 96, opponent_share: 0.2, archive_share: 0.2 },
      training: { rate: 0.002 },
    });
    const own = planOf({ steering: all, selfplay: { simulations: 16, temperature: 2 }, training: { rate: 0.01 } });
    expect(own).toMatchObject({ selfplay: { temperature: 2, simulations: 16 }, training: { rate: 0.01 } });
  });

  test("without a number to multiply are refused with a code, and so is a knob that does not exist", () => {
    expect(() => planOf({ steering: { search: true }, selfplay: { temperature: 1 } })).toThrow(
      expect.objectContaining({ code: "KNOB_WITHOUT_PARAMETER" }),
    );
    expect(() => planOf({ steering: { luck: true } as never })).toThrow(
      expect.objectContaining({ code: "INVALID_PLAN" }),
    );
  });
});

describe("a cascade in a plan", () => {
  const cascade = { config_key: "connect4_7x6_2p", promotions: 2 } as const;
  const refused = (key: string, given: Parameters<typeof plansFor>[1]) =>
    expect(() => plansFor([key], given, world)).toThrow(expect.objectContaining({ code: "INVALID_PLAN" }));

  test("leads from few players to many, and nowhere else", () => {
    expect(plansFor(["connect4_8x7_3p"], { cascade }, world)[0]!.plan.cascade).toEqual(cascade);
    refused("othello6_2p", { cascade });
    refused("connect4_8x7_3p", { cascade, start_from: { config_key: "connect4_7x6_2p", iteration: 1 } });
  });
});
