import { expect, test } from "vitest";
import { z } from "zod";
import { allRoutes } from "../index.ts";
import { limitClasses } from "./limits.ts";

type Schema = z.core.JSONSchema.JSONSchema;

/** Where a schema lets in a list of any length; texts are bounded by the body. */
function unbounded(schema: Schema | boolean, path: string, definitions: Record<string, Schema | boolean>): string[] {
  if (typeof schema === "boolean") return [];
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split("/").at(-1)!;
    const { [name]: found = true, ...rest } = definitions;
    return unbounded(found, path, rest);
  }
  const inside = (each: Schema | boolean, name: string) => unbounded(each, `${path}.${name}`, definitions);
  return [
    ...(schema.type === "array" && schema.maxItems === undefined ? [path] : []),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, each]) => inside(each as Schema, name)),
    ...[schema.items ?? []].flat().flatMap((each) => inside(each as Schema, "[]")),
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])].flatMap((each) =>
      inside(each as Schema, ""),
    ),
  ];
}

const writes = allRoutes.filter(({ method }) => method !== "GET");

test("nobody writes without a rate, and what is not bytes has a largest body", () => {
  expect(writes.length).toBeGreaterThan(20);
  for (const { id, limit, maxBodyBytes } of writes) {
    expect([id, limitClasses[limit].perSecond > 0]).toEqual([id, true]);
    expect([id, maxBodyBytes <= 16 * 1_024 ** 2]).toEqual([id, true]);
  }
});

test.each(writes.filter(({ body }) => body !== null))(
  "every list in the body of $id has a largest length",
  ({ body }) => {
    const schema = z.toJSONSchema(body!, { io: "input", unrepresentable: "any" });
    expect(unbounded(schema, "body", (schema.$defs ?? {}) as Record<string, Schema>)).toEqual([]);
  },
);
