import { z } from "zod";
import { allRoutes, type Route } from "../../src/surfaces/index.ts";
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
  );
