import { execFileSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = join(import.meta.dirname, "../../..");

/** Games, training and games again, of two and three players: everything that must not depend on the process. */
const script = `
import { createHash } from "node:crypto";
import { seededRandom } from "./src/kernel/index.js";
import { createBaseline } from "./src/workloads/arena/baselines/catalog.js";
import { encodeGames } from "./src/workloads/arena/files/games-file.js";
import { encodeModel } from "./src/workloads/arena/files/model-file.js";
import { encodeSamples } from "./src/workloads/arena/files/samples-file.js";
import { createGame } from "./src/workloads/arena/games/catalog.js";
import { playGame } from "./src/workloads/arena/play/match.js";
import { DEFAULT_SELF_PLAY, selfPlay } from "./src/workloads/arena/play/self-play.js";
import { shapeOf } from "./src/workloads/arena/net/layout.js";
import { createNetwork } from "./src/workloads/arena/net/network.js";
import { createTrainer, DEFAULT_TRAINER } from "./src/workloads/arena/net/trainer.js";
import { networkEvaluator } from "./src/workloads/arena/search/evaluator.js";
import { createSearch, DEFAULT_SEARCH } from "./src/workloads/arena/search/puct.js";

const digest = createHash("sha256");
for (const configKey of ["othello6_2p", "connect4_8x7_3p"]) {
  const seed = Number(process.argv[2]);
  const game = createGame(configKey);
  const network = createNetwork(shapeOf(game, 8, 8), seededRandom(seed));
  const search = createSearch(game, networkEvaluator(game, network), { ...DEFAULT_SEARCH, simulations: 16 });
  const trainer = createTrainer(network, game.symmetries, { ...DEFAULT_TRAINER, batch: 32 });
  for (let round = 0; round < 2; round += 1) {
    const { games, samples } = selfPlay(game, search, DEFAULT_SELF_PLAY, [seed + round, seed + 10]);
    const random = seededRandom(seed + round);
    for (let i = 0; i < 4; i += 1) trainer.step(samples, () => Math.floor(random.next() * samples.count), random);
    digest.update(encodeGames(configKey, games).hash).update(encodeSamples(samples).hash).update(encodeModel(network).hash);
  }
  const seats = ["mcts-100", "alphabeta-2", "random"].slice(0, game.players).map((name) => createBaseline(name, game));
  digest.update(JSON.stringify(playGame(game, seats, 4, seed)));
}
console.log(digest.digest("hex"));
`;

describe("one seed gives one hash", () => {
  const folder = mkdtempSync(join(tmpdir(), "arena-compiled-"));
  const run = (seed: number, ...flags: string[]) =>
    execFileSync(process.execPath, [...flags, join(folder, "run.js"), String(seed)], { encoding: "utf8" }).trim();

  beforeAll(() => {
    for (const file of globSync(["src/kernel/**/*.ts", "src/workloads/arena/**/*.ts"], { cwd: root })) {
      if (file.endsWith(".test.ts")) continue;
      const { outputText } = ts.transpileModule(readFileSync(join(root, file), "utf8"), {
        compilerOptions: {
          target: ts.ScriptTarget.ES2024,
          module: ts.ModuleKind.ESNext,
          verbatimModuleSyntax: true,
          rewriteRelativeImportExtensions: true,
        },
      });
      const compiled = join(folder, file.replace(/\.ts$/, ".js"));
      mkdirSync(dirname(compiled), { recursive: true });
      writeFileSync(compiled, outputText);
    }
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "run.js"), script);
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("in two processes, and with and without a JIT", () => {
    const first = run(5);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(run(5)).toBe(first);
    expect(run(5, "--jitless")).toBe(first);
    expect(run(6)).not.toBe(first);
  });
});

describe("the code of the arena", () => {
  it("calls no function whose last bits, or whose answer, may differ between two processes", () => {
    const forbidden =
      /Math\.(exp|expm1|log|log2|log10|log1p|tanh|sinh|cosh|pow|sin|cos|tan|cbrt|hypot|random)\b|Date\.now| \*\* |performance\.now/;
    for (const file of globSync("**/*.ts", { cwd: import.meta.dirname })) {
      if (file.endsWith(".test.ts")) continue;
      const lines = readFileSync(join(import.meta.dirname, file), "utf8").split("\n");
      const code = lines.filter((line) => !/^\s*(\*|\/\/|\/\*)/.test(line));
      expect(
        code.filter((line) => forbidden.test(line)),
        file,
      ).toEqual([]);
    }
  });
});
