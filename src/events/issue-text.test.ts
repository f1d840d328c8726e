import { expect, test } from "vitest";
import { z } from "zod";
import { issueText } from "./issue-text.ts";

const wrong = (schema: z.ZodType, value: unknown): string =>
  issueText(schema.safeParse(value).error!.issues[0]!.message);

test.each([
  ["is missing (number)", z.number(), undefined],
  ["must be number, not string", z.number(), "many"],
  ["is not valid", z.union([z.number(), z.boolean()]), "many"],
  ["must be at least 3", z.number().min(3, "must be at least 3"), 1],
])("a wrong field %s", (words, schema, value) => {
  expect(wrong(schema, value)).toBe(words);
});
