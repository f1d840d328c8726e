/**
 * `ringrift` and its main process inside the process of a test: the very functions and parts of the program, without the
 * start of a process for each command. Where a process of its own matters (signals, pipes, kill -9), `process.ts` starts one.
 */
import { bootstrapCoordination } from "../../src/app/bootstrap.ts";
import { runCli } from "../../src/app/cli.ts";
import { readSettings, type SettingOverrides } from "../../src/app/settings.ts";
import { seededRandom, silentLog, systemClock } from "../../src/kernel/index.ts";
import type { CliIo } from "../../src/surfaces/cli/io.ts";
import { recordedTerminal } from "./terminal.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const ports = { clock: systemClock(), random: seededRandom(1), actor: "tester" };

type Words = readonly string[];

const atTerminal =
  (before: Words, terminal: Partial<CliIo>) =>
  async (...args: Words): Promise<Ran> => {
    const { io, said } = recordedTerminal({ env: { NO_COLOR: "1" }, ...terminal });
    const code = await runCli([...before, ...args], io, ports);
    return { code, ...said };
  };

/** Runs command lines on a data folder to their end, each at a terminal like this. */
export const commandsOn = (dataDir: string, terminal: Partial<CliIo> = {}) =>
  atTerminal(["--data-dir", dataDir], terminal);

/** The same for somebody who stands in a folder. */
export const commandsIn = (cwd: string, terminal: Partial<CliIo> = {}) => atTerminal([], { ...terminal, cwd });

export interface Going {
  /** The first time that what was printed so far matches. */
  readonly waitFor: (pattern: RegExp) => Promise<RegExpMatchArray>;
  /** As Ctrl-C does it; gives everything that it printed. */
  readonly stop: () => Promise<Ran>;
  readonly ended: Promise<Ran>;
}

/** Begins a command that goes on until it is told to end. */
export function begin(args: Words, terminal: Partial<CliIo>): Going {
  const ending = new AbortController();
  const said = { out: "", err: "" };
  const waiting = new Set<() => void>();
  const hear = (which: "out" | "err") => (text: string) => {
    said[which] += text;
    for (const look of waiting) look();
  };
  const run = atTerminal(args, { ...terminal, out: hear("out"), err: hear("err"), signal: ending.signal });
  const ended = run().then(({ code }) => ({ code, ...said }));
  return {
    ended,
    waitFor: (pattern) => {
      const { promise, resolve, reject } = Promise.withResolvers<RegExpMatchArray>();
      const look = () => {
        const match = said.out.match(pattern);
        if (match) resolve(match);
      };
      waiting.add(look);
      look();
      void ended.then(() => reject(new Error(`'${args.join(" ")}' ended without ${pattern}:\n${said.out}${said.err}`)));
      return promise.finally(() => waiting.delete(look));
    },
    stop: () => {
      ending.abort();
      return ended;
    },
  };
}

/** A main process on a folder, in this process, on any free port. Its end may be asked for more than once. */
export async function mainOn(dataDir: string, overrides: SettingOverrides = {}) {
  const settings = readSettings({}, "/", { dataDir, port: 0, ...overrides });
  const main = await bootstrapCoordination({ settings, log: silentLog() });
  let ending: Promise<void> | undefined;
  const stop = () => {
    ending ??= main.shutdown();
    return ending;
  };
  return { main, stop };
}
