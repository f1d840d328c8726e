import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { type Owned, owned } from "../test/support/process.ts";

let own: Owned;

beforeEach(() => {
  own = owned(onTestFinished);
});

/** Checks a page as the tool does; gives its exit code and what it said. */
async function check(...lines: readonly string[]) {
  const page = join(own.folder(), "page.md");
  writeFileSync(page, lines.join("\n"));
  const child = own.startNode(new URL("./check-docs.ts", import.meta.url), [page], { env: { CI: undefined } });
  const { code } = await child.exited;
  return { code, said: child.stdout().replaceAll(/\S*page\.md/g, "page.md") };
}

const SERVER = `require("node:http").createServer((_, answer) => answer.end("hello")).listen(process.env.RINGRIFT_PORT, () => console.log("Ready."))`;

test("the blocks of a page run in order in one place, beside what runs in the background", async () => {
  const { code, said } = await check(
    "```sh run",
    "export GREETING=hello; mkdir inner && cd inner && echo one > file",
    "```",
    "```sh run background",
    `node -e '${SERVER}'`,
    "```",
    "```sh run",
    'test "$(cat file)" = one && test "$GREETING" = hello',
    `node -e 'fetch("http://127.0.0.1:8770").then((a) => a.text()).then((text) => process.exit(text === "hello" ? 0 : 1))'`,
    "```",
    "```sh run fails",
    "node -e 'process.exit(4)'",
    "```",
    "```ts run",
    'import { z } from "zod";',
    'import { builtinRows, OperatingError } from "ringrift-coordination";',
    'if (!(OperatingError.internal("CODE", "text") instanceof Error)) throw new Error("not one");',
    "z.string().parse(builtinRows.MODEL_PROMOTED.wire satisfies string);",
    "```",
  );
  expect(said).toContain("5 blocks run in 1 pages, 0 problems");
  expect(code).toBe(0);
});

test("a block that fails is shown with its line and output, and ends the page", async () => {
  const { code, said } = await check(
    "# Page",
    "```sh run background",
    "echo almost ready; sleep 100",
    "```",
    "```sh run",
    "echo the reason; node -e 'process.exit(4)'",
    "```",
    "```sh run",
    "echo never",
    "```",
  );
  expect(code).toBe(1);
  expect(said).toContain("page.md:6: exit code 4\n    the reason\n");
  expect(said).not.toContain("never");
});

test("what should fail and does not, and what ends in the background, are problems", async () => {
  expect((await check("```sh run fails", "node --version", "```")).said).toMatch(
    /page\.md:2: it should fail, and did not/,
  );
  expect((await check("```sh run background", "echo gone", "```")).said).toMatch(
    /page\.md:2: it ended before it was ready/,
  );
});

test("a type error is led back to the page, and an unmarked command and a broken link are told", async () => {
  const { code, said } = await check(
    "[gone](gone.md)",
    "",
    "```ts run",
    "const text: string = process.version;",
    "const count: number = text;",
    "```",
    "```sh",
    "npm start",
    "```",
  );
  expect(code).toBe(1);
  expect(said).toMatch(/page\.md:5:7: error TS2322/);
  expect(said).toMatch(/page\.md:8: mark it 'run'/);
  expect(said).toMatch(/page\.md:1: gone\.md leads/);
});

test("a page in which nothing runs proves nothing", async () => {
  expect(await check("# Empty")).toMatchObject({ code: 1 });
});
