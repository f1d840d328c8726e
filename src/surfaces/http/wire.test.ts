import { expect, test } from "vitest";
import { z } from "zod";
import { isOperatingError } from "../../kernel/index.ts";
import { time } from "./fields.ts";
import { handle } from "./route.ts";
import { answerOf, defineRoute, usualStatus } from "./wire.ts";

const getThing = defineRoute("getThing", "GET /v1/things", {
  tag: "things",
  summary: "A thing.",
  about: "The thing.",
  answer: () => z.object({ things: z.array(z.object({ state: z.enum(["new", "old"]), seen_at: time.nullable() })) }),
});

test("an answer is checked, and its instants are milliseconds", () => {
  expect(answerOf(getThing, { things: [{ state: "new", seen_at: 1.5, more: true }] })).toEqual({
    things: [{ state: "new", seen_at: 1_500 }],
  });
});

test("a word that only a newer version knows does not spoil the rest of an answer", () => {
  const { things } = answerOf(getThing, {
    things: [
      { state: "antique", seen_at: 1.5 },
      { state: "old", seen_at: null },
    ],
  });
  expect(things).toEqual([
    { state: "antique", seen_at: 1_500 },
    { state: "old", seen_at: null },
  ]);
});

test("an answer of another shape is refused, with where it differs", () => {
  for (const raw of ["ok", {}, { things: [{ state: "old" }] }, { things: [{ state: "antique", seen_at: "soon" }] }])
    expect(() => answerOf(getThing, raw)).toThrow(
      expect.toSatisfy((thrown) => isOperatingError(thrown, "UNEXPECTED_ANSWER")),
    );
});

test("a schema is built when it is first read, and once", () => {
  const built: string[] = [];
  const schema = (part: string) => () => {
    built.push(part);
    return z.strictObject({ part: z.literal(part) });
  };
  const changeThing = defineRoute("changeThing", "POST /v1/things/{part}", {
    tag: "things",
    summary: "Changes a thing.",
    params: schema("params"),
    body: schema("body"),
    about: "The thing.",
    answer: schema("answer"),
    status: 201,
    otherAnswers: { 202: { about: "Later.", schema: schema("other") } },
  });
  const route = handle(changeThing, () => ({ part: "answer" as const }));
  expect([route.method, route.path, route.scope, usualStatus(route)]).toEqual([
    "POST",
    "/v1/things/{part}",
    "operator",
    201,
  ]);
  expect(built).toEqual([]);
  expect(answerOf(changeThing, { part: "answer" })).toEqual({ part: "answer" });
  expect(route.answers[201]?.schema).toBe(changeThing.answer);
  expect(route.answer).toBe(changeThing.answer);
  expect(built).toEqual(["answer"]);
});
