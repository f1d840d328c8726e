import { connect } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { PATIENT } from "../../../test/support/patience.ts";
import { runSurface } from "../../../test/support/surface.ts";
import { type Clock, systemClock } from "../../kernel/index.ts";
import { backlogLimits, createBacklog } from "./backlog.ts";

const MB = 1_024 ** 2;

test("waits for one reader up to its bound, and one thing in any case", () => {
  const backlog = createBacklog();
  const slow = backlog.open("a");
  expect(slow.take(5 * MB)).toBe(true);
  expect(slow.take(1)).toBe(false);
  slow.give(3 * MB);
  expect(slow.take(2 * MB)).toBe(true);
  expect(slow.take(1)).toBe(false);
  slow.close();
  expect([backlog.bytes, slow.take(1)]).toEqual([0, false]);
});

test("never holds more for one caller or for all than the bounds: the slowest of the greediest go, and one that keeps up never", () => {
  const backlog = createBacklog();
  const cut: string[] = [];
  const readerOf = (caller: string, name: string) => {
    const share = backlog.open(caller);
    share.onCut(() => cut.push(name));
    return share;
  };
  const greedy = [3, 4, 2, 3].map((megabytes, i) => {
    const share = readerOf("greedy", `greedy ${i}`);
    expect(share.take(megabytes * MB)).toBe(true);
    return share;
  });
  expect(readerOf("greedy", "greedy 4").take(4 * MB)).toBe(true);
  expect(readerOf("greedy", "greedy 5").take(4 * MB)).toBe(true);
  expect(cut).toEqual(["greedy 1"]);
  expect(greedy[1]!.bytes).toBe(0);
  const others = ["b", "c", "d"].flatMap((caller) => [1, 2, 3, 4].map((i) => readerOf(caller, `${caller} ${i}`)));
  for (const share of others) expect(share.take(4 * MB)).toBe(true);
  expect(backlog.bytes).toBe(backlogLimits.all);
  const honest = readerOf("honest", "honest");
  for (let i = 0; i < 100; i += 1) {
    expect(honest.take(MB)).toBe(true);
    expect(backlog.bytes).toBeLessThanOrEqual(backlogLimits.all);
    honest.give(MB);
  }
  expect(cut).toHaveLength(2);
  expect(cut).not.toContain("honest");
  expect(honest.take(5 * MB)).toBe(true);
});

test("many readers that never read hold no more than the bound, are told why they were ended, and stop nobody else", async () => {
  const system = systemClock();
  // On a slow machine this takes longer than such a reader is waited for: here it is waited for until the end.
  const clock: Clock = { ...system, after: (ms, run, hold) => system.after(ms < 5_000 ? ms : 100 * ms, run, hold) };
  const surface = await runSurface({ RINGRIFT_RATE_FACTOR: "100" }, { clock });
  onTestFinished(() => surface.end());
  const { router, api } = surface.coordination;
  const pad = "x".repeat(900_000);
  for (let i = 1; i <= 12; i += 1)
    await router.publish("NEW_GAMES_AVAILABLE", { config_key: "hex8_2p", new_games: 1, total_games: i, pad });
  const readers = Array.from({ length: 24 }, () => {
    const socket = connect(api.port, "127.0.0.1", () => {
      socket.write("GET /events?after=0 HTTP/1.1\r\nhost: localhost\r\n\r\n");
    });
    onTestFinished(() => void socket.destroy());
    // It takes the head of the answer and then nothing more.
    socket.once("data", () => socket.pause());
    return socket.on("error", () => undefined);
  });
  await expect.poll(() => readers.filter((socket) => socket.bytesRead > 0).length, PATIENT).toBe(readers.length);
  const read = await surface.ask("port", "/events?after=0&event_type=NEW_GAMES_AVAILABLE", {
    cutAfterBytes: 10_000_000,
  });
  expect(read.text.match(/"total_games":\d+/g)).toContain('"total_games":11');
  const ends = readers.map(
    (socket) =>
      new Promise<string>((resolve) => {
        let text = "";
        socket.on("data", (part) => {
          text = (text + part.toString()).slice(-2_000);
          if (text.includes("event: ended")) resolve(text);
        });
        socket.once("close", () => resolve(text));
      }),
  );
  for (const socket of readers) socket.resume();
  expect(await Promise.race(ends)).toContain("STREAM_TOO_SLOW");
});
