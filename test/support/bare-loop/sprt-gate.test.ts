import { describe, expect, it } from "vitest";
import { sprtGate } from "./sprt-gate.ts";

describe("the gate of the bare loop", () => {
  it("promotes a clearly better player, rejects an equal one, and waits between", () => {
    const gate = sprtGate(2, 20);
    expect(gate([0, 0, 2, 1, 17], 0)).toBe("promote");
    expect(gate([40, 10, 180, 10, 40], 0)).toBe("reject");
    expect(gate([3, 1, 10, 1, 5], 0)).toBe("continue");
  });

  it("looks at whole batches only, and has no verdict on a match that repeats itself", () => {
    const gate = sprtGate(2, 20);
    expect(gate([0, 0, 2, 1, 16], 0)).toBe("continue");
    expect(gate([0, 0, 2, 1, 17], 0.6)).toBe("continue");
  });

  it("ends undecided at 400 blocks", () => {
    expect(sprtGate(2, 20)([51, 10, 252, 14, 73], 0)).toBe("inconclusive");
  });

  it("takes the blocks of three and four players as the tally counts them", () => {
    const three = new Array<number>(10).fill(0);
    three[9] = 30;
    three[6] = 10;
    expect(sprtGate(3, 20)(three, 0)).toBe("promote");
    const four = new Array<number>(17).fill(0);
    four[0] = 200;
    expect(sprtGate(4, 20)(four, 0)).toBe("reject");
  });
});
