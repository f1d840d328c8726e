/** What one sees of a sync while it runs: on a terminal of 80 columns, and in a file. */
import { expect, test } from "vitest";
import { recordedTerminal } from "../../../test/support/terminal.ts";
import { driver } from "../../../test/support/virtual-time.ts";
import { virtualClock } from "../../kernel/index.ts";
import type { CliIo } from "../cli/io.ts";
import { followSync } from "./command.ts";
import type { SyncView } from "./wire.ts";

const MB = 1_000_000;
const CLEAR = "\u001b[K";

/** A sync of 40 files and 270 MB, at 9 MB a second, as a main process tells of it. */
const viewAt = (seconds: number): SyncView => {
  const [bytes, rate] = [270 * MB, 9 * MB];
  const done = Math.min(bytes, seconds * rate);
  return {
    ...{ sync_id: "s1", backend: "router", requested_by: "me", started_at: 0, ended_at: null, failed: 0 },
    ...{ state: done === bytes ? "completed" : "running", files: 40, arrived: Math.floor((40 * done) / bytes) },
    ...{ bytes, bytes_done: done, bytes_per_second: seconds === 0 ? null : rate },
    seconds_left: seconds === 0 ? null : (bytes - done) / rate,
  } as SyncView;
};

/** What stands on a terminal after all that was written: `\r` goes to the first column, `ESC [K` clears from there on. */
function screenOf(written: string): string[] {
  const lines = [""];
  let column = 0;
  for (const part of written.split(CLEAR).flatMap((text, i) => [...(i === 0 ? [] : [CLEAR]), ...text])) {
    const at = lines.length - 1;
    if (part === CLEAR) lines[at] = lines[at]!.slice(0, column);
    else if (part === "\r") column = 0;
    else if (part === "\n") {
      lines.push("");
      column = 0;
    } else {
      lines[at] = `${lines[at]!.slice(0, column)}${part}${lines[at]!.slice(column + 1)}`;
      column += 1;
    }
  }
  return lines;
}

/** Follows a sync; `seen` is told what stands there at every look. */
async function follow(io: Partial<CliIo>, seen: (screen: string[], seconds: number) => void = () => {}) {
  const clock = virtualClock();
  const { io: terminal, said } = recordedTerminal({ columns: 80, ...io });
  const begun = clock.monotonic();
  const shell = { io: terminal, clock, note: (line: string) => terminal.err(`${line}\n`) };
  const ended = await driver(clock)(
    followSync(shell, async () => {
      const seconds = (clock.monotonic() - begun) / 1_000;
      seen(screenOf(said.err), seconds);
      return viewAt(seconds);
    }),
  );
  return { ended, said };
}

test("on a terminal one line tells bytes, rate and time left, is drawn in its place, and goes when it has ended", async () => {
  const screens = new Map<number, string[]>();
  const { ended, said } = await follow({ errIsTerminal: true }, (screen, seconds) => screens.set(seconds, screen));
  expect(ended).toBe("completed");
  for (const screen of screens.values()) {
    expect(screen).toHaveLength(1);
    expect(screen[0]!.length).toBeLessThan(80);
  }
  expect(screens.get(10.5)).toEqual(["███░░░░░░░ 13 of 40 files, 90.0 MB of 270.0 MB, 9.0 MB/s, 20.0 s left"]);
  expect(screenOf(said.err)).toEqual([""]);
});

test("a narrow terminal gets the figures without the bar, and never more than its line", async () => {
  const widths = new Set<number>();
  await follow({ errIsTerminal: true, columns: 40 }, ([line = ""]) => widths.add(line.length));
  expect(Math.max(...widths)).toBe(39);
});

test("in a file it is a line now and then", async () => {
  const { said } = await follow({ errIsTerminal: false });
  const lines = said.err.trimEnd().split("\n");
  expect([...said.err].filter((letter) => letter === "\r" || letter === CLEAR[0])).toEqual([]);
  expect(lines).toHaveLength(6);
  expect(lines[2]).toBe("13 of 40 files, 90.0 MB of 270.0 MB, 9.0 MB/s, 20.0 s left");
});

test("who does not wait any longer gets the line taken away", async () => {
  const stop = new AbortController();
  const { ended, said } = await follow({ errIsTerminal: true, signal: stop.signal }, (_, seconds) => {
    if (seconds >= 3) stop.abort();
  });
  expect([ended, screenOf(said.err)]).toEqual([undefined, [""]]);
});
