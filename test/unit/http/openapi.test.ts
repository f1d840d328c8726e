import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { allRoutes, openApiDocument, type Route } from "../../../src/surfaces/index.ts";

const document = openApiDocument(allRoutes, "1.2.3");
const paths = document.paths as Record<string, Record<string, Record<string, unknown>>>;

describe("the OpenAPI document", () => {
  test("is one in the eyes of a validator that is not ours", async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });

  test("that validator refuses a document that is none", async () => {
    const broken = { ...structuredClone(document), paths: { "/x": { get: { responses: { 200: {} } } } } };
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });

  test("every reference in it leads somewhere", () => {
    const schemas = Object.keys((document.components as { schemas: object }).schemas);
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)];
    expect(refs.map(([, name]) => name)).toContain("Problem");
    for (const [, name] of refs) expect(schemas).toContain(name);
    expect(JSON.stringify(document)).not.toContain("$defs");
  });

  test("holds every route of the table, each under a name of its own", () => {
    expect(new Set(allRoutes.map(({ id }) => id)).size).toBe(allRoutes.length);
    expect(new Set(allRoutes.map(({ method, path }) => `${method} ${path}`)).size).toBe(allRoutes.length);
    for (const { method, path, id } of allRoutes)
      expect(paths[path]?.[method.toLowerCase()]?.operationId, `${method} ${path}`).toBe(id);
  });
});

describe("the table of routes", () => {
  const inBraces = ({ path }: Route) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);

  test.each(allRoutes.map((route) => ({ name: `${route.method} ${route.path}`, route })))(
    "$name says what it takes and what it gives",
    ({ route }) => {
      expect(Object.keys(route.params.shape)).toEqual(inBraces(route));
      expect(Object.keys(route.answers).length).toBeGreaterThan(0);
      expect(route.summary).toMatch(/^[A-Z].*\.$/);
      // Only what changes nothing may be read freely on loopback.
      if (route.scope === "probe") expect(route.method).toBe("GET");
      if (route.method !== "GET") expect(["worker", "operator"]).toContain(route.scope);
      if (route.method !== "GET" && route.scope === "operator") expect(route.record).toBe("before");
    },
  );

  test("every query and body refuses what it does not know", () => {
    for (const { query, body, id } of allRoutes) {
      expect(query.safeParse({ no_such_field: "1" }).success, id).toBe(false);
      if (body !== null && id !== "publishEvents") expect(body.safeParse({ no_such_field: 1 }).success, id).toBe(false);
    }
  });
});
