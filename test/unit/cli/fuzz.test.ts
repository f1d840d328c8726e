/**
 * Every option and argument of every command, given nonsense: a clear error and a documented exit code, no stack trace,
 * nothing changed, and an end. The commands are read from the program itself, so a new one is fuzzed the day it is written.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command, Option } from "commander";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { createProgram, runCli } from "../../../src/app/cli.ts";
import { seededRandom, systemClock } from "../../../src/kernel/index.ts";
import { EXIT } from "../../../src/surfaces/commands/index.ts";
import { recordedTerminal } from "../../support/terminal.ts";
import { isThorough, rounds } from "../../support/thorough.ts";

const HANG_MS = 20_000;
const CODES: readonly number[] = Object.values(EXIT);

/** No option that reads its value with care takes any of these. */
const NONSENSE = [
  "",
  " ",
  "nonsense",
  "-1",
  "NaN",
  "1e999",
  "0x10",
  "[]",
  "💥",
  "\u001b[2J",
  "a".repeat(5_000),
  "--",
  "1;ls",
];

/** Started with good values they would go on: they are given only what must be refused. */
const GO_ON = new Set(["up", "train", "worker"]);

const root = mkdtempSync(join(tmpdir(), "ringrift-fuzz-"));
const dataDir = join(root, "data");
mkdirSync(join(root, "cwd"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const ports = () => ({ clock: systemClock(), random: seededRandom(1), actor: "fuzzer" });

function recorder(signal: AbortSignal) {
  const { io, said } = recordedTerminal({ cwd: join(root, "cwd"), signal });
  return { io, said };
}

/** All files below a folder with what is in them. */
const snapshot = (folder: string): string =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => {
      const path = join(folder, name);
      return statSync(path).isFile() ? `${name} ${readFileSync(path, "base64")}` : name;
    })
    .join("\n");

async function run(args: readonly string[]) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), HANG_MS);
  const { io, said } = recorder(late.signal);
  try {
    const code = await runCli(["--data-dir", dataDir, ...args], io, ports());
    return { code, hung: late.signal.aborted, ...said };
  } finally {
    clearTimeout(timer);
  }
}

/** What holds for every command line there is. */
async function behaves(args: readonly string[]): Promise<number> {
  const before = snapshot(root);
  const { code, hung, out, err } = await run(args);
  const what = JSON.stringify(args.map((arg) => arg.slice(0, 40)));
  expect(hung, `${what} hangs`).toBe(false);
  expect(CODES, `${what} ends with ${code}: ${err}`).toContain(code);
  expect(code, `${what} is an accident: ${err}`).not.toBe(EXIT.failed);
  expect(`${out}${err}`, what).not.toMatch(/\n\s+at .+:\d+:\d+/);
  expect(`${out}${err}`, `${what} speaks to the terminal`).not.toContain("\u001b");
  if (code >= EXIT.usage && out === "") expect(err, what).toMatch(/^(error: .+|Usage: |\{"error":\{"code":".+)/m);
  expect(snapshot(root), `${what} changed something`).toBe(before);
  return code;
}

interface Place {
  readonly path: readonly string[];
  readonly command: Command;
}

async function allPlaces(): Promise<Place[]> {
  const program = await createProgram(recorder(new AbortController().signal).io, ports());
  const all: Place[] = [];
  const visit = (command: Command, path: readonly string[]) => {
    all.push({ path, command });
    for (const each of command.commands) visit(each, [...path, each.name()]);
  };
  visit(program, []);
  return all;
}

const places = await allPlaces();
const isGroup = ({ command }: Place) => command.commands.length > 0;
const goesOn = ({ path }: Place) => GO_ON.has(path[0] ?? "");
/** Words for the arguments that a command cannot do without. */
const needed = ({ command }: Place) =>
  command.registeredArguments.filter(({ required }) => required).map(() => "nonsense");
const optionsOf = ({ command }: Place) => command.options.filter(({ flags }) => !/--(help|version)\b/.test(flags));
const flagOf = (option: Option) => option.long ?? option.short ?? "";
const named = (place: Place) => [place.path.join(" ") || "(none)", place] as const;

describe("every command", () => {
  it("is among those that are fuzzed", () => {
    const paths = places.map(({ path }) => path.join(" "));
    for (const path of ["up", "train", "events history", "queue add", "daemons pause", "nodes drain"])
      expect(paths).toContain(path);
    expect(places.filter(goesOn).length).toBe(GO_ON.size);
  });

  it.each(places.map(named))("%s refuses an option and an argument that it does not know", async (_, place) => {
    const { path } = place;
    expect(await behaves([...path, ...needed(place), "--no-such-option"])).toBe(EXIT.usage);
    const isOpen = place.command.registeredArguments.some(({ variadic }) => variadic);
    if (isOpen) return;
    const optional = place.command.registeredArguments.filter(({ required }) => !required).map(() => "nonsense");
    expect(await behaves([...path, ...needed(place), ...optional, "surplus"])).toBe(EXIT.usage);
  });

  it.each(places.filter((place) => needed(place).length > 0).map(named))(
    "%s misses what it needs",
    async (_, place) => {
      expect(await behaves(place.path)).toBe(EXIT.usage);
    },
  );

  it.each(places.filter((place) => optionsOf(place).some(({ required }) => required)).map(named))(
    "%s misses the value of an option",
    async (_, place) => {
      for (const option of optionsOf(place).filter(({ required }) => required))
        expect(await behaves([...place.path, ...needed(place), flagOf(option)]), flagOf(option)).toBe(EXIT.usage);
    },
  );
});

describe("every option that reads its value", () => {
  const careful = places.flatMap((place) =>
    optionsOf(place)
      .filter(({ parseArg, required }) => parseArg !== undefined && required)
      .map((option) => [`${place.path.join(" ")} ${flagOf(option)}`, place, option] as const),
  );
  it("is there", () => expect(careful.map(([name]) => name)).toContain("events history --limit"));

  it.each(careful)("%s refuses nonsense", async (_, place, option) => {
    for (const value of NONSENSE) {
      const args = [...place.path, ...needed(place), `${flagOf(option)}=${value}`];
      const code = await behaves(args);
      // What a free text may be is up to the text; all else is wrong.
      if (!isFreeText(option)) expect(code, `${flagOf(option)}=${JSON.stringify(value)}`).toBe(EXIT.usage);
    }
  });
});

/** Options that read a text with care and still take nearly any. */
const isFreeText = ({ flags }: Option) => /<(text|name|file|folder|words)>/.test(flags);

/** Every command gets some of the nonsense, and all of it goes to some command; the soak tries each with each. */
const SOME = 3;

describe("every other option and argument", () => {
  const rest = places.filter((place) => !goesOn(place) && !isGroup(place));
  it.each(rest.map(named))("%s takes nonsense calmly", async (_, place) => {
    const at = rest.indexOf(place);
    for (const value of NONSENSE.filter((_, n) => isThorough || (n + at) % SOME === 0)) {
      for (const option of optionsOf(place).filter(({ parseArg, required }) => parseArg === undefined && required))
        await behaves([...place.path, ...needed(place), `${flagOf(option)}=${value}`]);
      if (place.command.registeredArguments.length > 0)
        await behaves([...place.path, "--", ...place.command.registeredArguments.map(() => value)]);
    }
  });

  it.each(["--config", "--data-dir"])("%s takes nonsense calmly, on any command", async (flag) => {
    for (const value of NONSENSE)
      for (const path of [["status"], ["daemons", "list"], ["events", "history"], ["config", "show"], ["down"]])
        await behaves([...path, `${flag}=${value}`]);
  });

  it("takes any words at all", async () => {
    const words = fc.array(
      fc.oneof(
        fc.constantFrom(...rest.flatMap(({ path }) => path)),
        fc.constantFrom(...rest.flatMap((place) => optionsOf(place).map(flagOf))),
        fc.string({ maxLength: 20 }),
        fc.integer().map(String),
      ),
      { maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(words, async (args) => {
        const starts = args.some(
          (arg) => GO_ON.has(arg) || /^-{1,2}watch|^--follow/.test(arg) || arg === "tail" || arg === "play",
        );
        if (!starts) await behaves(args);
      }),
      { numRuns: rounds(120, 300) },
    );
  });
});
