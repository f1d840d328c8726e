import { z } from "zod";
import { defined } from "../../kernel/index.ts";
import { problem } from "./fields.ts";
import { inSlices } from "./in-slices.ts";
import { PROBLEM_TYPE } from "./problem.ts";
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
  JSON.parse(JSON.stringify(value).replaceAll('"#/$defs/', '"#/components/schemas/'), (_key, each) =>
    withKeys(each),
  ) as Json;

/** A record of known keys requires them; here they are properties too, as readers of the document expect. */
function withKeys(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { required, properties, additionalProperties } = value as Json;
  if (!Array.isArray(required) || properties !== undefined || typeof additionalProperties !== "object") return value;
  return { ...value, properties: Object.fromEntries(required.map((key: string) => [key, additionalProperties])) };
}

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

const TAGS: Readonly<Record<string, string>> = {
  probes: "Whether the process lives, is ready, and has started.",
  system: "The process as a whole: status, health, figures, why, shutdown.",
  daemons: "Look at daemons, and start, stop, restart, reset, pause and resume them.",
  alerts: "What needs a person.",
  recovery: "What is done for nodes that are ill.",
  events: "Publish events, look back at them, and follow them.",
  consumers: "Sessions of processes that are owed events.",
  "dead letters": "Deliveries whose tries are spent.",
  access: "Tokens, and the record of writes.",
  work: "The queue: add, claim, renew, finish, cancel and retry jobs.",
  nodes: "The machines of the cluster.",
  cluster: "The coordinators, where there are several: who leads, and how far each has come.",
  fleet: "Machines that are rented: plan, rent, return, and what they cost.",
  locks: "Names that one holder has at a time.",
  artifacts: "Files by their SHA-256.",
  copies: "What nodes hold of the files, and what they may let go.",
  backups: "Backups of what was trained: run, list, check, practise.",
  sync: "Bring files to nodes, and see why each was chosen.",
  loop: "The training loop: configs, models, ratings, books.",
};

/** Every refusal is a problem document; the code in it says which one of its status. */
const REFUSALS = {
  401: "No token, or one that opens nothing here.",
  403: "The caller may not do this, or came under a name that is not ours.",
  404: "What the path names does not exist.",
  411: "The request does not say how many bytes come.",
  413: "More bytes than are taken.",
  415: "The body is not declared as JSON.",
  416: "The range lies beyond the end.",
  422: "A parameter or the body is not as the schema says.",
  429: "Too often: ask again after `Retry-After` seconds.",
  503: "The process starts or stops, or has too much to do: ask again after `Retry-After` seconds.",
} as const;

/** Which refusals a route may answer with, beside those of its own. */
const refusalsOf = ({ scope, params, body, bytes, method }: Route): (keyof typeof REFUSALS)[] => [
  ...(scope === "probe" ? [] : ([401] as const)),
  403,
  ...(Object.keys(params.shape).length === 0 ? [] : ([404] as const)),
  ...(bytes ? ([411] as const) : []),
  ...(body === null && !bytes ? [] : ([413] as const)),
  ...(body === null ? [] : ([415] as const)),
  ...(method === "GET" && "sha256" in params.shape ? ([416] as const) : []),
  422,
  429,
  ...(scope === "probe" ? [] : ([503] as const)),
];

const problemAnswer = (description: string): Json => ({
  description,
  content: { [PROBLEM_TYPE]: { schema: { $ref: "#/components/schemas/Problem" } } },
});

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
      ...Object.fromEntries(refusalsOf(route).map((status) => [status, { $ref: `#/components/responses/${status}` }])),
      ...Object.fromEntries(answers),
      default: problemAnswer("Another problem; its code says which."),
    },
  };
}

/** The surface as an OpenAPI 3.1 document, printed from the table that is mounted: a route at a time, since each has schemas to make. */
export async function openApiDocument(routes: readonly Route[], version: string): Promise<Json> {
  const named = new Map<string, Json>();
  schemaOf(problem, "output", named);
  const paths: Record<string, Json> = {};
  const print = (route: Route) => {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operationOf(route, named);
  };
  await inSlices(routes, print, 1);
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
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name, ...defined({ description: TAGS[name] }) })),
    paths,
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "A token, or the text of the file `token`." },
      },
      responses: Object.fromEntries(
        Object.entries(REFUSALS).map(([status, description]) => [status, problemAnswer(description)]),
      ),
      schemas: Object.fromEntries([...named].sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
}
