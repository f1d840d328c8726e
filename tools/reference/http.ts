import { z } from "zod";
import { allRoutes, limitClasses, type Route } from "../../src/surfaces/index.ts";
import { page, table } from "./markdown.ts";

/** The names of a schema's fields; a question mark after those that may be left out. */
const fieldsOf = (schema: z.ZodType | null): string => {
  if (schema === null) return "";
  const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  return Object.keys(properties)
    .map((name) => `\`${name}\`${required.includes(name) ? "" : "?"}`)
    .join(", ");
};

const givenTo = (route: Route): string =>
  [fieldsOf(route.query), route.id === "publishEvents" ? "one event, or a list of 1 to 1,000" : fieldsOf(route.body)]
    .filter((text) => text !== "")
    .join("; ");

const count = (n: number): string => n.toLocaleString("en-US");

/** The lists that a body may hold, how long each may be, and what each thing in it counts as. */
const listsOf = ({ id, body, itemCosts }: Route): string => {
  if (id === "publishEvents") return "1,000 events";
  if (body === null) return "";
  const { properties = {} } = z.toJSONSchema(body, { io: "input", unrepresentable: "any" });
  return Object.entries(properties)
    .flatMap(([name, schema]) => {
      if (typeof schema === "boolean" || schema.maxItems === undefined) return [];
      const cost = itemCosts[name] ?? 1;
      return [`${count(schema.maxItems)} \`${name}\`${cost === 1 ? "" : ` (each counts as ${cost})`}`];
    })
    .join(", ");
};

const rateOf = ({ limit }: Route): string => {
  const { perSecond, burst } = limitClasses[limit];
  return `${limit}: ${count(perSecond)} (${count(burst)})`;
};

const bodyOf = ({ body, bytes, maxBodyBytes }: Route): string => {
  if (bytes) return "as it comes";
  return body === null ? "none" : `${count(Math.round(maxBodyBytes / 1_024))} KB`;
};

/** The table of routes, printed from the one that is mounted. */
export const printRoutes = (): string =>
  page(
    "# Routes",
    "Printed from the table in `src/surfaces/routes.ts`, as is [openapi.json](openapi.json). " +
      "A scope includes those before it: probe, read, worker, operator. [How to use them](../24-http.md).",
    table(
      ["Route", "What it does", "Query or body", "Scope", "Status"],
      allRoutes.map((route) => [
        `\`${route.method} ${route.path}\``,
        route.summary,
        givenTo(route),
        route.scope,
        Object.keys(route.answers).join(", "),
      ]),
    ),
    "## What bounds a write",
    "Whoever sends pays: its token, its node, or without either its address. A second gives so much of a kind, and so much may " +
      "come at once; a request counts as each thing in its lists, or as each started piece of 4 KB of its body, whichever is more. " +
      "[Limits that hold for all](../24-http.md#limits) come on top.",
    table(
      ["Route", "Scope", "Of its kind, a second (at once)", "Body", "Things in it", "Besides"],
      allRoutes
        .filter(({ method }) => method !== "GET")
        .map((route) => [
          `\`${route.method} ${route.path}\``,
          route.scope,
          rateOf(route),
          bodyOf(route),
          listsOf(route),
          route.bound,
        ]),
    ),
  );
