import { appendFileSync, cpSync, existsSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { owned } from "../test/support/process.ts";
import { checkDeadCode } from "./check-dead-code.ts";
import { ROOT } from "./parts/root.ts";

/** Folders of `src` with an index.ts, the inner ones too. */
const roomsIn = (root: string, folder = "src"): string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => [join(folder, name), ...roomsIn(root, join(folder, name))])
    .filter((room) => existsSync(join(root, room, "index.ts")));

test("a dead export in any room is found, in its index.ts too, and a file that only its test imports", () => {
  const root = owned(onTestFinished).folder();
  for (const part of ["src", "test", "tools", "examples", "bin", "package.json", "tsconfig.json", "knip.jsonc"])
    cpSync(join(ROOT, part), join(root, part), { recursive: true });
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  const rooms = roomsIn(root);
  for (const room of rooms) {
    const file = readdirSync(join(root, room)).find((name) => /^(?!index)[\w-]+\.ts$/.test(name));
    if (file !== undefined) appendFileSync(join(root, room, file), "\nexport const plantedInFile = 1;\n");
    appendFileSync(join(root, room, "index.ts"), "\nexport const plantedInIndex = 1;\n");
  }
  writeFileSync(join(root, "src/kernel/lonely.ts"), "export const lonely = 1;\n");
  writeFileSync(join(root, "src/kernel/lonely.test.ts"), 'import { lonely } from "./lonely.ts";\nvoid lonely;\n');

  const { problems } = checkDeadCode(root);
  const found = (name: string) => problems.filter((line) => line.includes(name));
  expect(rooms.length).toBeGreaterThan(10);
  for (const room of rooms) {
    expect(found(`${room}/index.ts`).join(), room).toContain("plantedInIndex");
    const hasFile = readdirSync(join(root, room)).some((name) => /^(?!index)[\w-]+\.ts$/.test(name));
    if (hasFile) expect(found(`${room}/`).join(), room).toContain("plantedInFile");
  }
  expect(found("lonely.ts")).not.toEqual([]);
});
