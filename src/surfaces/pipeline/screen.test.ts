import { readFileSync } from "node:fs";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { AT, healthy, opened, pipelineSnapshots, threeConfigs } from "../../../test/fixtures/pipeline-snapshots.ts";
import { causeOf } from "../../daemons/index.ts";
import { createPaint } from "../cli/paint.ts";
import { sparkline } from "../cli/sparkline.ts";
import { shorten, spread } from "../cli/text.ts";
import { type PipelineFigures, pipelineLines } from "./screen.ts";

const plain = createPaint(false);
const figures: PipelineFigures = {
  eventsPerSecond: 41.3,
  alerts: 0,
  workers: 2,
  uptimeMs: 301_000,
  remainingMs: 120_000,
};
const draw = (name: keyof typeof pipelineSnapshots, width = 80, height = 24, over: Partial<PipelineFigures> = {}) =>
  pipelineLines(pipelineSnapshots[name], { ...figures, ...over }, { paint: plain, width, height });

describe("the live view of the loop", () => {
  it("shows on a small terminal where the config is, what it learns, and whom it has passed", () => {
    expect(draw("healthy")).toEqual([
      "othello6_2p  iteration 41  evaluation for 9.0 s                         running",
      "  ✓ selfplay  ✓ sync  ✓ export  ✓ training  ● evaluation 35 %  ○ promotion",
      "  games     6,400  21.6/s   rows 192,000   quality 0.94 good",
      "  loss      2.101  policy 1.537  value 0.564  held out 2.240  ███▇▅▅▅▅▄▃▃▃▂▁▁▁▁",
      "  gate      #41 v champion 25  LLR +1.38  ├────────────┼────●──────┤  200 games",
      "  last      #40  rejected      -11 Elo (-66 to +44), LLR -3.05, 120 games",
      "  champion  generation 25  Elo +419 ±26  by the gate, iteration 37, 22.2 s ago",
      "  verdicts  25 promoted, 10 rejected, 5 inconclusive; 1.3 false ones expected",
      "  ladder                   -431                              +578",
      "    mcts-5000    +566 ±12                                      ├●  anchor",
      "    alphabeta-4  +421 ±12                                 ●┤       anchor",
      "    champion 25  +419 ±26                                ├●┤       now",
      "    champion 20  +337 ±32                             ├●┤          145 games",
      "    mcts-1000    +305 ±12                             ●            anchor",
      "    champion 15  +178 ±29                       ├●┤                99 games",
      "    alphabeta-2  +148 ±12                       ●┤                 anchor",
      "    champion 10  +25 ±27                   ├●┤                     203 games",
      "    mcts-100     0                         ●                       anchor",
      "    champion 5   -136 ±27            ├●┤                           170 games",
      "    champion 0   -396 ±35  ├●─┤                                    96 games",
      "    random       -412 ±12  ├●                                      anchor",
      "",
      "41 events/s   no alerts   2 workers   up 5 min   2 min left        Ctrl-C stops",
    ]);
  });

  it("is what the manual shows", () => {
    const page = readFileSync(new URL("../../../docs/51-loop.md", import.meta.url), "utf8");
    expect(page).toContain(`\`\`\`text\n${draw("healthy").join("\n")}\n\`\`\``);
  });

  it("shows little of what has just begun", () => {
    expect(draw("justStarted", 100, 24, { held: "held: machine busy (93 %)" }).at(-1)).toContain(
      "2 workers   held: machine busy (93 %)",
    );
    expect(draw("justStarted", 100, 24, { elsewhere: 3 }).at(-1)).toContain("2 workers here, 3 elsewhere");
    expect(draw("justStarted", 100, 24, { workers: 0, elsewhere: 1 }).at(-1)).toContain("1 worker elsewhere");
    expect(draw("justStarted", 80, 24, { remainingMs: null, alerts: 1, workers: 1 })).toEqual([
      "othello6_2p  iteration 1  selfplay for 1.0 s                            running",
      "  ● selfplay  ○ sync  ○ export  ○ training  ○ evaluation  ○ promotion",
      "  games     0  0.0/s   rows 0",
      "  champion  none yet",
      "",
      "41 events/s   1 alert   1 worker   up 5 min                        Ctrl-C stops",
    ]);
  });

  it("says in words what a config waits for, what failed, and where to ask on", () => {
    const lines = draw("behindBreaker", 120, 40);
    expect(lines[0]).toMatch(/^hex7_2p {2}iteration 7 {2}training, attempt 3 for 1\.6 min +waiting$/);
    expect(lines[1]).toContain("✗ training (breaker open)");
    expect(lines.slice(2, 5)).toEqual([
      "  waits for the breaker of training, open after 3 failures in a row; for 1 min",
      "  waits for rows: 412 of 500; for 1.5 min",
      "  training failed 1 min ago: the job ran into its time limit of 60 s (JOB_TIMEOUT)",
    ]);
    expect(lines.at(-2)).toBe("'ringrift why hex7_2p' shows the actual and the required values");
  });

  it("says of a config that stands still the root of it and what to do, and nothing else of what waits", () => {
    const cause = causeOf("bad", "node_short_of_disk", "box2", "box2 gets no work: its disk is 97 % in use", {
      since: AT - 5_000,
      advice: { action: "free_disk", subject: "box2" },
    });
    const waits = [{ for: "games", actual: 0, required: 32, since: AT }];
    const config = opened("hex7_2p", { cause, waits });
    const lines = pipelineLines({ at: AT, configs: [config] }, figures, { paint: plain, width: 120, height: 24 });
    expect(lines.slice(2, 4)).toEqual([
      "  no progress: box2 gets no work: its disk is 97 % in use; for 5.0 s",
      "  Free some space on the disk of box2; it then continues by itself. 'ringrift doctor' there shows more.",
    ]);
    expect(lines.join()).not.toContain("waits for");
  });

  it("names suspects and books that do not balance", () => {
    expect(draw("withSuspect")).toContain("suspect node-b (othello6_2p): 12.5 % of its labels contradict the games");
    expect(draw("unbalanced")).toContain("  the books do not balance: 'ringrift ledger'");
  });

  it("says that a stage is late", () => {
    const config = opened("hex7_2p", { deadline: AT - 1_000 });
    const [head] = pipelineLines({ at: AT, configs: [config] }, figures, { paint: plain, width: 80, height: 24 });
    expect(head).toContain("selfplay for 1.0 s  late");
  });

  it("gives every config its stages and its champion's standing, also three on a small terminal", () => {
    const lines = draw("threeConfigs");
    for (const { config_key } of threeConfigs.configs)
      expect(lines.filter((line) => line.startsWith(config_key))).toHaveLength(1);
    expect(lines.filter((line) => line.includes("○ promotion"))).toHaveLength(3);
    expect(lines).toContain("  ladder    above mcts-1000 (+305), below alphabeta-4 (+421)");
    expect(lines).toContain("  ladder    above mcts-100 (0), below mcts-1000 (+190)");
  });

  it("says how many configs have no room", () => {
    const many = { at: AT, configs: Array.from({ length: 20 }, (_, i) => opened(`hex${i}_2p`)) };
    const lines = pipelineLines(many, figures, { paint: plain, width: 80, height: 24 });
    expect(lines.length).toBeLessThanOrEqual(23);
    expect(lines).toContain("and 13 more configs: 'ringrift pipeline'");
  });

  const sizes = [
    [20, 5],
    [40, 8],
    [50, 14],
    [80, 24],
    [120, 40],
    [200, 60],
  ] as const;
  it.each(sizes)("never wraps or scrolls at %i x %i, in colours as without", (width, height) => {
    for (const [name, snapshot] of Object.entries(pipelineSnapshots)) {
      const lines = pipelineLines(snapshot, figures, { paint: createPaint(true), width, height });
      const bare = lines.map((line) => stripVTControlCharacters(line));
      expect(bare, name).toEqual(pipelineLines(snapshot, figures, { paint: plain, width, height }));
      expect(lines.length, name).toBeLessThan(height);
      for (const line of bare) expect([...line].length, `${name}: ${line}`).toBeLessThan(width);
    }
  });

  it("lets nothing from outside speak to the terminal", () => {
    const evil = "\u001b[2J\n";
    const config = {
      ...healthy.configs[0]!,
      config_key: `a${evil}_2p`,
      waits: [{ for: evil, actual: evil, required: evil, since: AT }],
      failures: [{ code: evil, message: evil, retryable: true, stage: "training" as const, at: AT }],
      suspects: [{ producer: evil, reason: evil, since: AT }],
      ladder: healthy.configs[0]!.ladder.map((rated) => ({ ...rated, name: evil })),
      quality: { score: 1, band: evil },
    };
    const lines = pipelineLines({ at: AT, configs: [config] }, figures, { paint: plain, width: 120, height: 40 });
    expect(lines.join("")).not.toContain("\u001b");
    expect(lines.join("")).not.toContain("\n");
  });
});

describe("a line", () => {
  const { red } = createPaint(true);
  it("is cut where the terminal ends, with a mark; its colours take no room and end", () => {
    expect(shorten(`abc${red("def")}`, 6)).toBe(`abc${red("def")}`);
    expect(shorten(`abc${red("defgh")}`, 6)).toBe(`abc${red("de…")}`);
    expect(shorten(`${red("abc")}def`, 3)).toBe(red("ab…"));
    expect(spread(red("ab"), "cd", 8)).toBe(`${red("ab")}    cd`);
    expect(spread("abcdef", red("cd"), 8)).toBe("abcdef");
  });

  it("draws values on their own scale or on a given one", () => {
    expect(sparkline([0, 1, 2, 3], 4)).toBe("▁▃▆█");
    expect(sparkline([0, 1, 2, 3], 2)).toBe("▁█");
    expect(sparkline([1, 1], 4)).toBe("▅▅");
    expect(sparkline([-9, 0, 9], 9, { low: -1, high: 1 })).toBe("▁▅█");
    expect(sparkline([], 4)).toBe("");
    expect(sparkline([1], 0)).toBe("");
  });
});
