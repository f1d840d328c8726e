import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { childEnvironment, parseDeclaration, resolvePaths } from "./declaration.ts";

it("a short declaration has every limit", () => {
  const { limits, ...rest } = parseDeclaration({ command: "python3", kinds: ["training"] });
  expect(rest).toEqual({
    command: "python3",
    args: [],
    env_allow: [],
    env: {},
    kinds: ["training"],
    one_child_per_job: false,
  });
  expect(limits).toMatchObject({ hello_seconds: 30, silence_seconds: 120, line_bytes: 1_048_576, processes: 64 });
});

it("a wrong declaration is refused with the place where it is wrong", () => {
  const wrong = (change: object) => () => parseDeclaration({ command: "x", kinds: ["a"], ...change });
  expect(wrong({ limits: { hello_seconds: 0 } })).toThrow(/limits\.hello_seconds/);
  expect(wrong({ limit: {} })).toThrow(/"limit"/);
  expect(wrong({ kinds: [] })).toThrow(/kinds/);
  expect(wrong({ env_allow: ["A=B"] })).toThrow(/env_allow/);
});

it("a child sees usual and allowed variables; what is set for it wins", () => {
  const ours = { PATH: "/bin", HOME: "/root", RINGRIFT_TOKEN: "secret", GPU: "0", LANG: undefined };
  expect(childEnvironment({ env: { GPU: "1" }, env_allow: ["GPU", "NONE"] }, ours)).toEqual({
    PATH: "/bin",
    HOME: "/root",
    GPU: "1",
  });
});

it("paths of a declaration hold wherever the program runs; words stay words", () => {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-declaration-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "trainer.py"), "");
  const args = ["trainer.py", "--device", "cpu", "none.py", ""];
  expect(resolvePaths({ command: "python3", args }, folder)).toEqual({
    command: "python3",
    args: [join(folder, "trainer.py"), "--device", "cpu", "none.py", ""],
  });
  expect(resolvePaths({ command: "./play", args: [] }, folder).command).toBe(join(folder, "play"));
});
