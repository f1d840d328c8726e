/** The commands of the loop against a real server with a loop behind it. */
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { pipelineOf } from "../../../test/fixtures/pipeline-console.ts";
import {
  behindBreaker,
  healthy,
  justStarted,
  sideBySide,
  unbalanced,
  withSuspect,
} from "../../../test/fixtures/pipeline-snapshots.ts";
import { runPipelineSurface } from "../../../test/support/pipeline-surface.ts";
import { virtualClock } from "../../kernel/index.ts";
import type { PipelineSnapshot } from "../../pipeline/snapshot.ts";
import { EXIT } from "../cli/io.ts";
import { createPaint } from "../cli/paint.ts";
import { lineageLines } from "./lineage-view.ts";
import { getPipeline, type Lineage } from "./wire.ts";

const world = async (snapshot: PipelineSnapshot = healthy) => {
  const port = pipelineOf(snapshot);
  const { run } = await runPipelineSurface(onTestFinished, port);
  const json = async (...args: string[]) => JSON.parse((await run(...args, "--json")).out);
  return { port, run, json };
};
const champion = healthy.configs[0]!.champion!.model;

describe("ringrift pipeline", () => {
  it("is a table of the configs", async () => {
    const { run, json } = await world(sideBySide);
    const { code, out } = await run("pipeline");
    expect(code).toBe(EXIT.ok);
    expect(out.trimEnd().split("\n")).toEqual([
      "CONFIG           STATE    ITERATION  STAGE            GAMES  A DAY    DATA  CHAMPION  ELO       TREND      TARGET                 LAST",
      "othello6_2p      running         41  evaluation 35 %  6,400  9,600  30.0 s        25  +419 ±26  too early  100 rounds: in 10 min  #40 rejected, -11 Elo (-66 to +44), LLR -3.05, 120 games",
      "connect4_8x7_3p  running         10  training 62 %    1,080      -       -         6  +116 ±47  too early  none                   #9 promoted, +44 Elo (+5 to +82), LLR +3.01, 360 games",
    ]);
    expect(await json("pipeline")).toEqual(
      JSON.parse(JSON.stringify(z.encode(getPipeline.answer, sideBySide as never))),
    );
  });

  it("says what a config waits for", async () => {
    const { run } = await world(behindBreaker);
    expect((await run("pipeline")).out).toContain("waits for the breaker of training, open after 3 failures in a row");
  });

  it("tells all about one, suspects and all", async () => {
    const { run, json } = await world(withSuspect);
    const { out } = await run("pipeline", "othello6_2p");
    expect(out).toMatch(/^othello6_2p {2}iteration 41/);
    expect(out).toContain("  champion  generation 25  Elo +419 ±26");
    expect(out).toContain("mcts-5000");
    expect(out).toContain("  suspect node-b: 12.5 % of its labels contradict the games");
    expect((await json("pipeline", "othello6_2p")).config.iteration).toBe(41);
  });

  it("tells the history of one, with evidence and failures", async () => {
    const { run, json } = await world();
    const { out } = await run("pipeline", "othello6_2p", "--history", "--stage", "training");
    expect(out).toMatch(/^ITERATION +STAGE +TRY +STATE +TOOK +ENDED +EVIDENCE\n/);
    expect(out).toMatch(/\n +40 +training +2 +done +4\.0 s .* steps=120 policy_loss=1\.537\n/);
    expect(out).toMatch(/\n +40 +training +1 +failed +8\.0 s .* the loss became NaN \(LOSS_NOT_FINITE\)\n/);
    expect((await json("pipeline", "othello6_2p", "--history")).history).toHaveLength(2);
    expect((await run("pipeline", "--history")).code).toBe(EXIT.usage);
  });

  it("asks whether another config was meant", async () => {
    const { run } = await world();
    for (const args of [
      ["pipeline", "otello6_2p"],
      ["elo", "otello6_2p"],
      ["pause", "otello6_2p"],
    ]) {
      const { code, err } = await run(...args);
      expect([args, code]).toEqual([args, EXIT.notFound]);
      expect(err).toContain("Did you mean othello6_2p?");
    }
  });
});

describe("ringrift elo", () => {
  it("draws the ladder with its intervals", async () => {
    const { run, json } = await world();
    const lines = (await run("elo", "othello6_2p", "--limit", "8")).out.trimEnd().split("\n");
    expect(lines).toHaveLength(11);
    expect(lines[0]).toMatch(/^othello6_2p +-\d+ +\+578$/);
    expect(lines[3]).toMatch(/^champion 25 {2}\+419 ±26 +├─+●─*┤ +now$/);
    expect(lines[9]).toBe("and 24 more; --limit shows them");
    expect((await json("elo", "othello6_2p")).ladder).toHaveLength(32);
  });

  it("says so while nobody is rated", async () => {
    const { run } = await world(justStarted);
    expect(await run("elo", "othello6_2p")).toMatchObject({
      code: 0,
      out: "no player of othello6_2p has a rating yet\n",
    });
  });
});

describe("ringrift ledger", () => {
  it("shows books that balance, with what was rejected and why", async () => {
    const { run } = await world(withSuspect);
    const { code, out } = await run("ledger");
    expect(code).toBe(EXIT.ok);
    expect(out.split("\n")[1]).toBe(
      "othello6_2p     6,480    6,300         20       160  balanced  120 label_errors, 40 parity_failed",
    );
  });

  it("ends with 1 when something does not balance, in words and in JSON", async () => {
    const { run } = await world(unbalanced);
    const { code, out } = await run("ledger");
    expect([code, out.includes("1 game missing")]).toEqual([EXIT.negative, true]);
    const inJson = await run("ledger", "--json");
    expect([inJson.code, JSON.parse(inJson.out).books[0].balanced]).toEqual([EXIT.negative, false]);
  });
});

describe("ringrift models", () => {
  it("lists them and shows one by the start of its id", async () => {
    const { run, json } = await world();
    const { out } = await run("models", "--stage", "production");
    expect(out).toMatch(/^MODEL +CONFIG +ITERATION +STAGE +GENERATION +ELO +MADE\n/);
    expect(out).toContain(champion.slice(0, 10));
    const shown = await run("models", "show", champion.slice(0, 8));
    expect(shown.out.split("\n")[0]).toBe(champion);
    expect(shown.out).toMatch(/gate +promoted: \+26 Elo \(-7 to \+60\), LLR \+2\.97, 320 games/);
    expect(shown.out).toMatch(/learned from\n {2}cdcdcdcdcd {2}training_set {2}4,000 rows/);
    expect((await json("models", "list", "--limit", "3")).models).toHaveLength(3);
    expect((await json("models", "show", champion)).model.model_id).toBe(champion);
  });

  it("knows what it does not know", async () => {
    const { run } = await world();
    expect((await run("models", "show", "0000")).code).toBe(EXIT.notFound);
    expect((await run("models", "--stage", "nowhere")).out).toBe("no models\n");
    const wrong = await run("models", "shwo");
    expect([wrong.code, wrong.err.includes("Did you mean show?")]).toEqual([EXIT.usage, true]);
  });
});

describe("ringrift promote, rollback, pause and resume", () => {
  it("do what they say, with the reason", async () => {
    const { run, port, json } = await world();
    expect((await run("pause", "othello6_2p", "--reason", "the disk is changed")).out).toBe(
      "othello6_2p: state: running -> paused\n",
    );
    expect((await run("resume", "othello6_2p")).out).toBe("othello6_2p: there is nothing to do\n");
    expect((await run("rollback", "othello6_2p")).out).toMatch(
      /^othello6_2p: champion: [0-9a-f]{10} -> [0-9a-f]{10}\n$/,
    );
    expect(await json("promote", champion.slice(0, 9))).toMatchObject({ config_key: "othello6_2p", applied: true });
    expect(port.decisions.map(({ verb, reason }) => [verb, reason.replace(/:.*/, "")])).toEqual([
      ["pause", "the disk is changed"],
      ["resume", "asked for by local"],
      ["rollback", "asked for by local"],
      ["promote", "asked for by local"],
    ]);
  });

  it("only say what they would do in a dry run", async () => {
    const { run, port } = await world();
    const { code, out } = await run("pause", "othello6_2p", "--dry-run");
    expect([code, out]).toEqual([
      EXIT.ok,
      "othello6_2p: state: running -> paused\nnothing was changed: this was a dry run\n",
    ]);
    expect(port.decisions).toMatchObject([{ dryRun: true }]);
  });

  it("fail where the loop refuses or nobody has it", async () => {
    const { run } = await world(justStarted);
    const refused = await run("rollback", "othello6_2p");
    expect([refused.code, refused.err]).toEqual([EXIT.failed, "error: othello6_2p has had no other champion\n"]);
    expect((await run("promote", "0".repeat(64))).code).toBe(EXIT.notFound);
    expect((await run("pause", "othello6_2p", "--reason", " ")).code).toBe(EXIT.usage);
  });
});

describe("ringrift trace", () => {
  it("draws where a job comes from and what it led to", async () => {
    const { run, json } = await world();
    const { out } = await run("trace", "w17");
    expect(
      out
        .replaceAll(/ {2}\d+ d ago| {2}just now/g, "")
        .trimEnd()
        .split("\n"),
    ).toEqual([
      "job w17  training of othello6_2p, iteration 40",
      "comes from",
      "├─ shard cdcdcdcdcd  4,000 rows of iteration 40",
      "│  ├─ segment aaaaaaaaaa  20 games by node-a",
      "│  │  └─ model eeeeeeeeee  champion 24",
      "│  └─ segment bbbbbbbbbb  20 games by node-b",
      "│     └─ model eeeeeeeeee  champion 24",
      "└─ model eeeeeeeeee  champion 24",
      "led to",
      "└─ model efefefefef  candidate 40",
    ]);
    expect((await json("trace", "w17")).edges).toHaveLength(7);
    expect((await run("trace", "w18")).code).toBe(EXIT.notFound);
  });

  const shell = { paint: createPaint(false), width: 80, clock: virtualClock() };
  const node = (id: string) => ({ id, kind: "file", about: "", at: null });

  it("draws what hangs in several places once, and survives a circle", () => {
    const lineage: Lineage = {
      asked: "m1",
      nodes: ["m1", "a1", "b1", "c1"].map(node),
      edges: [
        { from: "a1", to: "m1" },
        { from: "b1", to: "m1" },
        { from: "c1", to: "a1" },
        { from: "c1", to: "b1" },
        { from: "m1", to: "c1" },
      ],
    };
    const lines = lineageLines(lineage, shell);
    expect(lines.filter((line) => line.includes("c1"))).toHaveLength(3);
    expect(lines.filter((line) => line.includes("(drawn above)")).length).toBeGreaterThan(0);
    expect(lines.length).toBeLessThan(20);
  });

  it("is bounded, and says so", () => {
    const many = Array.from({ length: 1_000 }, (_, i) => `f${i}`);
    const lines = lineageLines(
      { asked: "m1", nodes: [...many, "m1"].map(node), edges: many.map((from) => ({ from, to: "m1" })) },
      shell,
    );
    expect(lines).toHaveLength(201);
    expect(lines.at(-1)).toBe("and 802 more; --json has all");
  });

  it("says so where nothing is known", () => {
    expect(lineageLines({ asked: "m1", nodes: [node("m1")], edges: [] }, shell)).toEqual([
      "file m1",
      "nothing is known of where it comes from or what came of it",
    ]);
  });
});

const all = [
  ["pipeline"],
  ["pipeline", "othello6_2p"],
  ["models"],
  ["models", "show", champion],
  ["elo", "othello6_2p"],
  ["ledger"],
  ["promote", champion],
  ["rollback", "othello6_2p"],
  ["pause", "othello6_2p"],
  ["resume", "othello6_2p"],
  ["retry", "othello6_2p"],
  ["trace", "w17"],
];

it("every command says that no loop runs, with the exit code for it", async () => {
  const { run } = await runPipelineSurface(onTestFinished, undefined);
  for (const args of all) {
    const { code, out, err } = await run(...args);
    expect([args, code, out]).toEqual([args, EXIT.unavailable, ""]);
    expect(err).toContain("no loop runs in this process");
  }
});

it("every command helps", async () => {
  const { run } = await runPipelineSurface(onTestFinished, undefined);
  for (const [name] of all) {
    const { code, out } = await run(name!, "--help");
    expect([name, code]).toEqual([name, EXIT.ok]);
    expect(out).toMatch(/^Usage: ringrift /);
  }
});
