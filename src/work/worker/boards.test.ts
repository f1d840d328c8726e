import { describe, expect, test } from "vitest";
import { breathe } from "../../../test/support/virtual-time.ts";
import { silentLog, virtualClock } from "../../kernel/index.ts";
import type { LiveBoard } from "../live-boards.ts";
import { createBoards } from "./boards.ts";
import { createHeldLeases } from "./held-leases.ts";
import type { QueuePort } from "./ports.ts";

const board: LiveBoard = { lines: ["X.", ".O"], note: "move 2" };

/** A worker with one running job that shows a board, and a queue that answers as the test says. */
function telling(answer: () => Promise<boolean>) {
  const clock = virtualClock();
  const told: (readonly LiveBoard[])[] = [];
  const queue = {
    boards(all: readonly { readonly board: LiveBoard }[]) {
      told.push(all.map((each) => each.board));
      return answer();
    },
  } as unknown as QueuePort;
  const leases = createHeldLeases({ hold: async () => {}, drop: async () => {} }, silentLog());
  const one = leases.hold({ work_id: "w1", node_id: "n", fence: 1 }, "selfplay", "running");
  one.board = board;
  return { clock, told, one, boards: createBoards({ queue, clock, log: silentLog() }, leases) };
}

describe("boards of a worker", () => {
  test("are told by nobody until somebody looks", async () => {
    const { clock, told, boards } = telling(async () => true);
    expect(clock.pending()).toBe(0);
    boards.wanted();
    clock.step();
    await breathe();
    expect(told).toEqual([[board]]);
  });

  test("are told once a second, and no more once nobody looks", async () => {
    let looks = true;
    const { clock, told, boards } = telling(async () => looks);
    const began = clock.monotonic();
    for (let i = 0; i < 5; i += 1) {
      // Every heartbeat says it again.
      boards.wanted();
      expect(clock.pending()).toBe(1);
      clock.step();
      boards.wanted();
      await breathe();
    }
    expect(told).toHaveLength(5);
    expect(clock.monotonic() - began).toBe(5_000);
    looks = false;
    clock.step();
    await breathe();
    expect(clock.pending()).toBe(0);
  });

  test("end with their job", async () => {
    const { clock, told, one, boards } = telling(async () => true);
    boards.wanted();
    one.phase = "ending";
    clock.step();
    await breathe();
    expect(told).toEqual([[]]);
  });

  test("are not told to a queue that is away until a heartbeat has come through, nor by a worker that stops", async () => {
    const { clock, boards } = telling(() => Promise.reject(new Error("away")));
    boards.wanted();
    clock.step();
    await breathe();
    expect(clock.pending()).toBe(0);
    boards.wanted();
    boards.stop();
    expect(clock.pending()).toBe(0);
    boards.wanted();
    expect(clock.pending()).toBe(0);
  });
});
