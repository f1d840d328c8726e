import { z } from "zod";
import { defined } from "../../kernel/index.ts";
import { problem } from "./fields.ts";
import type { Route } from "./route.ts";

type Json = Record<string, unknown>;

/** Schemas with an id of their own stand once, under components. */
const schemaOf = (schema: z.ZodType, io: "input" | "output", named: Map<string, Json>): Json => {
  const {
    $schema: _,
    $defs,
    ...printed
  } = z.toJSONSchema(schema, { io, unrepresentable: "any" }) as Json & {
    $defs?: Record<string, Json>;
  };
  for (const [name, { id: _id, $schema: _s, ...definition }] of Object.entries($defs ?? {}))
    named.set(name, relocated(definition));
  const { id, ...rest } = relocated(printed);
  if (typeof id !== "string") return rest;
  named.set(id, rest);
  return { $ref: `#/components/schemas/${id}` };
};

/** Points from a schema's own definitions to those of the document. */
const relocated = (value: Json): Json =>
  JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/')) as Json;

const parametersOf = (schema: z.ZodObject, where: "path" | "query", named: Map<string, Json>): Json[] => {
  const { properties = {}, required = [] } = schemaOf(schema, "input", named) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...shape }]) => ({
    name,
    in: where,
    required: where === "path" || required.includes(name),
    ...defined({ description }),
    schema: shape,
  }));
};

const SCOPE_SAYS: Readonly<Record<Route["scope"], string>> = {
  probe: "Everybody may call it.",
  read: "Scope: read.",
  worker: "Scope: worker.",
  operator: "Scope: operator.",
};

function operationOf(route: Route, named: Map<string, Json>): Json {
  const parameters = [
    ...parametersOf(route.params, "path", named),
    ...parametersOf(route.query, "query", named),
    ...(route.id === "followEvents"
      ? [{ name: "Last-Event-ID", in: "header", required: false, schema: { type: "integer", minimum: 0 } }]
      : []),
  ];
  const answers = Object.entries(route.answers).map(([status, { about, schema, type }]) => [
    status,
    { description: about, content: { [type]: { schema: schemaOf(schema, "output", named) } } },
  ]);
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    description: SCOPE_SAYS[route.scope],
    ...(route.scope === "probe" ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.bytes ? { requestBody: { required: true, content: { "application/octet-stream": {} } } } : {}),
    ...(route.body === null
      ? {}
      : {
          requestBody: {
            required: !route.body.safeParse({}).success,
            content: { "application/json": { schema: schemaOf(route.body, "input", named) } },
          },
        }),
    responses: {
      ...Object.fromEntries(answers),
      default: {
        description: "A problem.",
        content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
  };
}

/** The surface as an OpenAPI 3.1 document, printed from the table that is mounted. */
export function openApiDocument(routes: readonly Route[], version: string): Json {
  const named = new Map<string, Json>();
  schemaOf(problem, "output", named);
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operationOf(route, named);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "RingRift Coordination",
      version,
      description:
        "The control surface. Times are Unix seconds, except those of events, which are RFC 3339 as CloudEvents asks. " +
        "Errors are problem documents (RFC 9457).",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: "http://127.0.0.1:8770", description: "Loopback; reading needs no token." }],
    security: [{ token: [] }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "A token, or the text of the file `token`." },
      },
      schemas: Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}
