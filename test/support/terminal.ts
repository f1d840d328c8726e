import { Readable } from "node:stream";
import type { Command } from "commander";
import { systemClock } from "../../src/kernel/index.ts";
import type { CliIo } from "../../src/surfaces/cli/io.ts";
import { createPaint } from "../../src/surfaces/cli/paint.ts";
import type { Shell } from "../../src/surfaces/cli/shell.ts";

/** A terminal of which nothing is known, and that keeps what commands write to it. */
export function recordedTerminal(given: Partial<CliIo> = {}) {
  const said = { out: "", err: "" };
  const io: CliIo = {
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    env: {},
    cwd: "/",
    stdin: Readable.from([]),
    isTerminal: false,
    columns: 100,
    signal: new AbortController().signal,
    ...given,
  };
  return { io, said };
}

/** What a command works with that asks no main process. */
export const shellWithout = (program: Command, io: CliIo): Shell =>
  ({
    io,
    clock: systemClock(),
    paint: createPaint(false),
    get json() {
      return program.opts<{ json?: boolean }>().json === true;
    },
    say: (...lines: string[]) => io.out(lines.map((line) => `${line}\n`).join("")),
    print: (value: unknown) => io.out(`${JSON.stringify(value)}\n`),
  }) as Partial<Shell> as Shell;
