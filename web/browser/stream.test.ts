import { expect, test } from "vitest";
import { virtualClock } from "../../src/kernel/index.ts";
import { createStream, type StreamNews } from "./stream.ts";

/** A line to the process, in the hands of the test. */
class Line extends EventTarget {
  onopen?: () => void;
  onmessage?: (message: { data: string }) => void;
  onerror?: () => void;
  readonly CLOSED = 2;
  readyState = 0;
  readonly url: string;
  constructor(url: string) {
    super();
    this.url = url;
  }
  close(): void {
    this.readyState = 2;
  }
  comeUp(): void {
    this.readyState = 1;
    this.onopen?.();
  }
  say(...places: (number | null)[]): void {
    for (const place of places)
      if (this.readyState === 1)
        this.onmessage?.({
          data: JSON.stringify({
            id: `e${place}`,
            type: "T",
            source: "/s",
            ...(place !== null && { sequence: place }),
          }),
        });
  }
}

function startStream() {
  const clock = virtualClock();
  const lines: Line[] = [];
  const told: StreamNews[] = [];
  const stream = createStream((news) => told.push(news), {
    listen: (url) => {
      lines.push(new Line(url));
      return lines.at(-1) as unknown as EventSource;
    },
    after: (ms, run) => {
      const timer = clock.after(ms, run);
      return () => timer.cancel();
    },
  });
  stream.open();
  lines[0]!.comeUp();
  return {
    stream,
    lines,
    pass(ms: number) {
      let isOver = false;
      clock.after(ms, () => {
        isOver = true;
      });
      while (!isOver) clock.step();
    },
    /** What was told since the last look: places of events, states, gaps. */
    news: () =>
      told
        .splice(0)
        .map((news) =>
          news.kind === "events"
            ? news.events.map(({ seq }) => seq)
            : news.kind === "state"
              ? news.state
              : ("gap" as const),
        ),
  };
}
const from = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);

test("events that come together are told together, each once, and more of them less often", () => {
  const { lines, news, pass } = startStream();
  expect(news()).toEqual(["connecting", "live", "gap"]);
  lines[0]!.say(1, 2, 2, 1, null);
  pass(149);
  expect(news()).toEqual([]);
  pass(1);
  expect(news()).toEqual([[1, 2, null]]);
  lines[0]!.say(...from(3, 30));
  pass(150);
  expect(news()).toEqual([from(3, 30)]);
  lines[0]!.say(33);
  pass(999);
  expect(news()).toEqual([]);
  pass(1);
  expect(news()).toEqual([[33]]);
  lines[0]!.say(34);
  pass(150);
  expect(news()).toEqual([[34]]);
});

test("in a flood the line is left for a second: nothing of it is told, then that views must ask anew", () => {
  const { stream, lines, news, pass } = startStream();
  news();
  lines[0]!.say(...from(1, 300));
  pass(150);
  expect(news()).toEqual([from(1, 300)]);
  lines[0]!.say(...from(301, 400));
  expect(lines[0]!.readyState).toBe(2);
  pass(999);
  // It is no line that is gone: the page goes on saying that it is live.
  expect([news(), stream.state, lines.length]).toEqual([[], "live", 1]);
  pass(1);
  expect(lines.map(({ url }) => url)).toEqual(["/events", "/events"]);
  expect(news()).toEqual([]);
  lines[1]!.comeUp();
  expect(news()).toEqual(["gap"]);
  lines[1]!.say(900);
  pass(1_000);
  expect(news()).toEqual([[900]]);
});

test("who looks away in a flood is not called back by it, and is told that more came when looking again", () => {
  const { stream, lines, news, pass } = startStream();
  news();
  lines[0]!.say(...from(1, 301));
  stream.close();
  pass(60_000);
  expect([news(), lines.length]).toEqual([["off"], 1]);
  stream.open();
  lines[1]!.comeUp();
  expect(news()).toEqual(["connecting", "live", "gap"]);
});

test("it goes on from its place; a line on which nothing came has none, and says so when it is back", () => {
  const { stream, lines, news, pass } = startStream();
  news();
  // The browser brings back a broken line by itself.
  lines[0]!.onerror?.();
  lines[0]!.comeUp();
  expect(news()).toEqual(["connecting", "live", "gap"]);
  lines[0]!.say(7);
  pass(150);
  stream.close();
  stream.open();
  lines[1]!.comeUp();
  expect(lines[1]!.url).toBe("/events?after=7");
  expect(news()).toEqual([[7], "off", "connecting", "live"]);
  // The journal no longer holds what came meanwhile.
  lines[1]!.dispatchEvent(new Event("gap"));
  expect(news()).toEqual(["gap"]);
});

test("one who is refused comes back later and later, and at once the next time it was let in", () => {
  const { lines, pass } = startStream();
  const refuse = () => {
    lines.at(-1)!.readyState = 2;
    lines.at(-1)!.onerror?.();
  };
  for (const [i, seconds] of [1, 2, 4, 8, 16, 30, 30].entries()) {
    refuse();
    pass(seconds * 1_000 - 1);
    expect(lines).toHaveLength(i + 1);
    pass(1);
    expect(lines).toHaveLength(i + 2);
  }
  lines.at(-1)!.comeUp();
  refuse();
  const before = lines.length;
  pass(1_000);
  expect(lines).toHaveLength(before + 1);
});
