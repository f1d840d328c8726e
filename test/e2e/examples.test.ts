import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { owned } from "../support/process.ts";

const EXAMPLES = fileURLToPath(new URL("../../examples/", import.meta.url));
const hasPython = spawnSync("python3", ["--version"]).status === 0;
if (!hasPython) process.stderr.write("SKIPPED: python3 is missing, the Python example is not run\n");

/** What each example is to show, in this order, somewhere in its output. */
const shows: Readonly<Record<string, readonly RegExp[]>> = {
  "01-publish-and-subscribe.ts": [
    /^listener: 500 new games of hex8_2p$/m,
    /^exporter: handles event \d+ of key square8_2p$/m,
    /and 3 exports follow from them$/m,
  ],
  "02-two-processes.ts": [
    /^trainer \d+: hex8_2p has 300 games$/m,
    /^main: published two more while the trainer was away\ntrainer \d+: hex8_2p has 400 games$/m,
    /^trainer \d+: hex8_2p has 500 games$/m,
  ],
  "03-own-events.ts": [
    /^model-7 won in 41 moves$/m,
    /suppressed by content, still LEAGUE_MATCH_PLAYED$/m,
    /LEAGUE_MATCH_PLAYED: moves: must be number, not string/,
  ],
  "04-dead-letters.ts": [
    /^dead letter 1: NEW_GAMES_AVAILABLE at exporter 1\.4\.0, 5 tries/m,
    /^exporter: hex8_2p done\nnow: \{"pending":0,"retrying":0,"recovered":1,"discarded":0\}$/m,
  ],
  "05-python-consumer.py": [
    /^python: hex8_2p has 200 games \(try 2\)$/m,
    /^python: the export of 100 games follows from NEW_GAMES_AVAILABLE of selfplay$/m,
    /^python: 0 dead letters$/m,
  ],
};

/** Those that have a test file of their own. */
const elsewhere = ["06-killed-consumer.ts"];

test("every program in examples/ is here with what it shows", () => {
  const programs = readdirSync(EXAMPLES).filter((file) => /\.(ts|py)$/.test(file));
  expect(programs.sort()).toEqual([...Object.keys(shows), ...elsewhere].sort());
});

for (const [file, patterns] of Object.entries(shows)) {
  const isPython = file.endsWith(".py");
  test.skipIf(isPython && !hasPython)(`${file} runs to its end and shows what it is for`, async () => {
    const own = owned(onTestFinished);
    const example = own.startNode(join(EXAMPLES, file), [], {
      cwd: own.folder(),
      env: {
        RINGRIFT_DATA_DIR: own.folder(),
        PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      },
      ...(isPython ? { execPath: "python3" } : {}),
    });
    const { code } = await example.exited;
    expect(code, example.lines.join("\n")).toBe(0);
    let rest = example.stdout();
    for (const pattern of patterns) {
      expect(rest).toMatch(pattern);
      rest = rest.slice(rest.search(pattern));
    }
  });
}
