import { expect, test } from "vitest";
import { blocksOf } from "./blocks.ts";

const page = (...fences: string[]) => fences.map((fence) => `Some text.\n\n${fence}\n`).join("\n");
const problems = (markdown: string) => blocksOf(markdown).map(({ problem }) => problem);

test("the words of a block say what is done with it", () => {
  const [run, fails, background, here, typed, plain] = blocksOf(
    page(
      "```sh run\nringrift --version\n```",
      "```sh run fails needs=python3\nringrift events show NOTHING\n```",
      "```sh run background\nringrift up\n```",
      "```sh run repository\nnode tools/check.ts --list\n```",
      "```ts run\nconsole.log(1);\n```",
      "```json\n{}\n```",
    ),
  );
  expect(run).toMatchObject({ line: 4, language: "shell", code: "ringrift --version\n", run: true, fails: false });
  expect(fails).toMatchObject({ run: true, fails: true, needs: "python3" });
  expect(background).toMatchObject({ run: true, background: true, fails: false });
  expect(here).toMatchObject({ run: true, repository: true });
  expect(typed).toMatchObject({ language: "ts", run: true });
  expect(plain).toMatchObject({ language: "other", run: false, problem: undefined });
});

test("a command that nobody marked is a problem, unless it says why it does not run", () => {
  const forgotten = expect.stringContaining("mark it 'run'");
  expect(
    problems(page("```sh\nringrift dlq\n```", "```bash\nCI=true npm test\n```", "```console\n$ npx ringrift up\n```")),
  ).toEqual([forgotten, forgotten, forgotten]);
  expect(problems(page(`\`\`\`ts\nimport { connect } from "ringrift-coordination/client";\n\`\`\``))).toEqual([
    forgotten,
  ]);
  expect(problems(page("```sh norun it takes an hour\nnpm run soak\n```"))).toEqual([undefined]);
  expect(problems(page("```sh norun\nnpm run soak\n```"))).toEqual(["'norun' wants a reason"]);
  expect(problems(page("```sh\nls -l\n```", "```ts\nrouter.publish(event);\n```"))).toEqual([undefined, undefined]);
});

test("wrong words and blocks that never end are problems", () => {
  expect(problems(page("```sh run quickly\nls\n```"))).toEqual([expect.stringContaining("'quickly' is no word")]);
  expect(problems(page("```json run\n{}\n```"))).toEqual(["only sh and ts blocks can be run"]);
  expect(problems(page("```ts run background\n1;\n```"))).toEqual([
    expect.stringContaining("cannot run in the background"),
  ]);
  expect(problems("```sh run\nls\n")).toEqual(["it is never closed"]);
});

test("a block in a list loses the list's indent, and a longer fence holds a shorter one", () => {
  expect(blocksOf("1. First\n\n   ```sh run\n   ls\n     -l\n   ```\n").map(({ code }) => code)).toEqual([
    "ls\n  -l\n",
  ]);
  expect(blocksOf("````md\n```sh\nringrift\n```\n````\n")).toMatchObject([
    { language: "other", code: "```sh\nringrift\n```\n" },
  ]);
});
