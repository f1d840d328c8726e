import { expect, test } from "vitest";
import { z } from "zod";
import { encoderOf } from "./encode.ts";
import { time } from "./fields.ts";
import { answerText, inSlices } from "./in-slices.ts";

const schema = z.object({
  rows: z.array(z.object({ at: time, note: z.string().optional() })),
  head: time,
  none: z.null(),
});
const encode = encoderOf(schema);
const answer = (rows: number) => ({
  rows: Array.from({ length: rows }, (_, i) => ({ at: i * 1_000, ...(i % 2 ? { note: "x" } : {}) })),
  head: 5_000,
  none: null,
  left: undefined,
});

test.each([0, 1, 64, 65, 1_000])(
  "an answer with a list of %i things has the text that it has in one go",
  async (rows) => {
    expect(await answerText(answer(rows), encode)).toBe(JSON.stringify(encode!(answer(rows))));
    expect(await answerText(answer(rows), undefined)).toBe(JSON.stringify(answer(rows)));
  },
);

test("what is no object is written as it is", async () => {
  expect(await answerText("text", undefined)).toBe('"text"');
  expect(await answerText(null, undefined)).toBe("null");
});

test("others have their turn while a long answer is made and written", async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const made = await inSlices(answer(10_000).rows, (row) => row);
  const whileMade = turns;
  await answerText({ rows: made }, undefined);
  clearImmediate(next);
  expect(made).toEqual(answer(10_000).rows);
  expect(whileMade).toBeGreaterThan(100);
  expect(turns - whileMade).toBeGreaterThan(100);
});

test("a few heavy things are not written in one go either", async () => {
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  const heavy = Array.from({ length: 65 }, () => "x".repeat(200_000));
  await answerText({ heavy }, undefined);
  clearImmediate(next);
  expect(turns).toBeGreaterThan(50);
});

test("a few large things are a slice each, and one thing is done at once", async () => {
  const turnsFor = async (things: number): Promise<number> => {
    let turns = 0;
    const count = () => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    await inSlices(Array.from({ length: things }), (one) => one);
    clearImmediate(next);
    return turns;
  };
  expect(await turnsFor(15)).toBeGreaterThanOrEqual(14);
  expect(await turnsFor(1)).toBe(0);
});
