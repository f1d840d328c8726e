import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { allRoutes, openApiDocument, type Route } from "../../../src/surfaces/index.ts";

const document = await openApiDocument(allRoutes, "1.2.3");
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

  test("says what each tag is about, and names every property that it requires", () => {
    const tags = document.tags as { name: string; description?: string }[];
    expect(tags.filter(({ description }) => description === undefined)).toEqual([]);
    const unnamed: string[] = [];
    JSON.parse(JSON.stringify(document), (key, value) => {
      if (Array.isArray(value?.required) && value.type === "object")
        unnamed.push(...value.required.filter((name: string) => !(name in (value.properties ?? {}))).map(() => key));
      return value;
    });
    expect(unnamed).toEqual([]);
  });

  test("holds every route of the table, each under a name of its own", () => {
    expect(new Set(allRoutes.map(({ id }) => id)).size).toBe(allRoutes.length);
    expect(new Set(allRoutes.map(({ method, path }) => `${method} ${path}`)).size).toBe(allRoutes.length);
    for (const { method, path, id } of allRoutes)
      expect(paths[path]?.[method.toLowerCase()]?.operationId, `${method} ${path}`).toBe(id);
  });
});

describe("the refusals in the OpenAPI document", () => {
  const responsesOf = ({ method, path }: Route) =>
    Object.keys(paths[path]![method.toLowerCase()]!.responses as Record<string, unknown>);
  const lacking = (wanted: readonly string[], routes: readonly Route[]) =>
    routes.flatMap((route) =>
      wanted.filter((status) => !responsesOf(route).includes(status)).map((status) => `${route.id} ${status}`),
    );

  test("every route lists what it answers to who asks too often, from elsewhere, or wrongly", () => {
    expect(lacking(["403", "422", "429"], allRoutes)).toEqual([]);
  });

  test("all but probes list that a token is needed, and that the process may be starting", () => {
    const guarded = allRoutes.filter(({ scope }) => scope !== "probe");
    expect(lacking(["401", "503"], guarded)).toEqual([]);
    const probes = allRoutes.filter(({ scope }) => scope === "probe");
    expect(probes.filter((route) => responsesOf(route).includes("401"))).toEqual([]);
  });

  test("who names something may be told that there is none, and who sends a body that it is too large or no JSON", () => {
    expect(
      lacking(
        ["404"],
        allRoutes.filter((route) => route.path.includes("{")),
      ),
    ).toEqual([]);
    expect(
      lacking(
        ["413", "415"],
        allRoutes.filter(({ body }) => body !== null),
      ),
    ).toEqual([]);
    expect(
      lacking(
        ["411", "413"],
        allRoutes.filter(({ bytes }) => bytes),
      ),
    ).toEqual([]);
  });

  test("each of them is a problem document that stands once", () => {
    const { responses } = document.components as { responses: Record<string, { content: object }> };
    for (const { content } of Object.values(responses))
      expect(Object.keys(content)).toEqual(["application/problem+json"]);
    const refs = [...JSON.stringify(document).matchAll(/"#\/components\/responses\/(\d+)"/g)].map(
      ([, status]) => status!,
    );
    expect(refs.filter((status) => responses[status] === undefined)).toEqual([]);
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
      // Whoever may look may begin and end a session: that changes nothing but who looks.
      const isSession = route.path === "/v1/session";
      if (route.method !== "GET" && !isSession) expect(["worker", "operator"]).toContain(route.scope);
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
