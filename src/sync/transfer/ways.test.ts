import { expect, test } from "vitest";
import { OperatingError, seededRandom, virtualClock } from "../../kernel/index.ts";
import type { Transport } from "../transport.port.ts";
import { createBudget } from "./budget.ts";
import { createFlusher } from "./flush.ts";
import { transferWorld } from "./transfer-world.ts";
import { createWays } from "./ways.ts";

const unreachable = () => OperatingError.unavailable("PLACE_UNREACHABLE", "it does not answer");

function world() {
  const clock = virtualClock();
  const ways = createWays(clock, { threshold: 3, openMs: 60_000 });
  const asked: string[] = [];
  const place = { isUp: true };
  const transport: Transport = {
    name: "http",
    place: "node n1",
    async probe() {
      asked.push("probe");
      if (!place.isUp) throw unreachable();
    },
    async *read() {},
    close() {},
  };
  const shared = {
    clock,
    ways,
    random: seededRandom(1),
    listening: { listened: () => clock.monotonic() },
    budget: createBudget({ bytesPerSecond: Number.POSITIVE_INFINITY, clock }),
    flusher: createFlusher(),
    stallMs: 1_000,
    chunkBytes: 1_000,
  };
  const open = (signal = new AbortController().signal) => transferWorld(shared, { signal, priority: "normal" });
  const use = (thrown?: unknown) =>
    open()
      .by(transport, async () => {
        asked.push("use");
        if (thrown !== undefined) throw thrown;
      })
      .catch((error: { code: string }) => error.code);
  return { clock, ways, asked, place, transport, open, use };
}

test("a way that fails again and again is closed, asked a small question later, and open again when it answers", async () => {
  const { clock, ways, asked, place, use } = world();
  for (let i = 0; i < 3; i += 1) expect(await use(unreachable())).toBe("PLACE_UNREACHABLE");
  expect(ways.states()).toMatchObject([{ transport: "http", place: "node n1", state: "open", waitMs: 60_000 }]);
  expect(await use()).toBe(false);
  expect(asked).toEqual(["use", "use", "use"]);
  place.isUp = false;
  clock.standStill(60_000);
  expect(await use()).toBe("PLACE_UNREACHABLE");
  expect(asked.slice(3)).toEqual(["probe"]);
  expect(await use()).toBe(false);
  place.isUp = true;
  clock.standStill(60_000);
  expect(await use()).toBe(true);
  expect(asked.slice(4)).toEqual(["probe", "use"]);
  expect(ways.states()).toMatchObject([{ state: "closed", waitMs: 0 }]);
});

test("neither a file that is not there, nor our own full disk, nor an abort closes a way", async () => {
  const { ways, use, open, transport } = world();
  for (let i = 0; i < 5; i += 1) {
    await use(OperatingError.notFound("ARTIFACT_NOT_FOUND", "no such file"));
    await use(OperatingError.unavailable("STORE_FULL", "our disk"));
    const ended = new AbortController();
    await open(ended.signal)
      .by(transport, async () => {
        ended.abort(new Error("no more"));
        throw unreachable();
      })
      .catch(() => undefined);
  }
  expect(ways.states()).toMatchObject([{ state: "closed" }]);
});

test("what is known of ways is bounded", async () => {
  const { clock, transport } = world();
  const ways = createWays(clock, undefined, 10);
  const { signal } = new AbortController();
  for (let i = 0; i < 100; i += 1) await ways.open({ ...transport, place: `node ${i}` }, signal);
  expect(ways.states()).toHaveLength(10);
});
