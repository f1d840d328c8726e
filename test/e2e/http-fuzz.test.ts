/** Bad input to every route, made up from the OpenAPI document that the process itself prints. */
import { afterAll, describe, expect, test, vi } from "vitest";
import { PATIENT } from "../support/patience.ts";
import { type Answer, type Asking, runSurface } from "../support/surface.ts";

type Schema = {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly minItems?: number;
};

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { name: string; in: string; schema: Schema }[];
  readonly requestBody?: { readonly content: { readonly "application/json"?: { readonly schema: Schema } } };
}

interface Case {
  readonly what: string;
  readonly path: string;
  readonly asking?: Asking;
}

const surface = await runSurface({ RINGRIFT_RATE_FACTOR: "10000" });
afterAll(() => surface.end());
// What the start said is being heard; nothing here is about that.
await vi.waitUntil(() => surface.coordination.router.store.read("SELECT 1 FROM deliveries").length === 0, PATIENT);
const { paths } = (await surface.ask("socket", "/openapi.json")).json as {
  paths: Record<string, Record<string, Operation>>;
};
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

/** Values that a schema refuses, each with why. */
function* refused(schema: Schema): Generator<[why: string, value: unknown]> {
  const wrong: Record<string, unknown> = {
    string: 7,
    integer: "x",
    number: "x",
    boolean: "yes",
    array: {},
    object: [],
  };
  if (schema.type !== undefined) {
    yield ["of another type", wrong[schema.type]];
    yield ["null", null];
    yield ["an object", schema.type === "object" ? 1 : { a: 1 }];
  }
  if (schema.enum !== undefined) yield ["none of the choices", "no_such_choice"];
  if (schema.minimum !== undefined) yield ["too small", schema.minimum - 1];
  if (schema.maximum !== undefined && schema.maximum < Number.MAX_SAFE_INTEGER) yield ["too large", schema.maximum + 1];
  if (schema.type === "integer") yield ["a fraction", (schema.minimum ?? 0) + 0.5];
  if (schema.maxLength !== undefined) yield ["too long", "x".repeat(schema.maxLength + 1)];
  if ((schema.minLength ?? 0) > 0) yield ["empty", ""];
  if (schema.maxItems !== undefined) yield ["too many", Array(schema.maxItems + 1).fill(1)];
  if ((schema.minItems ?? 0) > 0) yield ["none", []];
}

/** Something that the schema takes, so that one thing at a time is wrong. */
const taken = (schema: Schema): unknown => {
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.type === "integer" || schema.type === "number") return schema.minimum ?? 1;
  if (schema.type === "array") return (schema.minItems ?? 0) > 0 ? [1] : [];
  if (schema.type === "boolean") return true;
  return "x";
};

const filled = (path: string, name?: string, value?: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, each: string) => (each === name ? value! : "nobody"));

const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

function* badBodies(schema: Schema): Generator<[why: string, sent: Pick<Asking, "raw" | "body">]> {
  yield ["no JSON", { raw: "{" }];
  yield ["no UTF-8", { raw: Buffer.from([0x22, 0xff, 0xfe, 0x22]) }];
  yield ["a byte order mark and nothing", { raw: "\ufeff" }];
  yield ["null", { raw: "null" }];
  yield ["a number", { raw: "7" }];
  yield ["a text", { raw: '"text"' }];
  yield ["a list of lists", { raw: "[[]]" }];
  yield ["an empty list", { raw: "[]" }];
  yield ["nested too deep", { raw: deep(100_000) }];
  yield ["an object nested too deep", { raw: `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}` }];
  yield ["a key of the prototype", { raw: '{"__proto__": {"limit": 1}}' }];
  yield ["a constructor", { raw: '{"constructor": {"prototype": {}}}' }];
  yield ["an unknown key", { body: { no_such_field: 1 } }];
  yield ["an unknown key with NUL", { raw: '{"a\\u0000b": "\\ud800"}' }];
  const { properties = {}, required = [] } = schema;
  const good = Object.fromEntries(required.map((name) => [name, taken(properties[name] ?? {})]));
  for (const name of required) {
    const { [name]: _, ...rest } = good;
    yield [`without ${name}`, { body: rest }];
  }
  for (const [name, field] of Object.entries(properties))
    for (const [why, value] of refused(field)) yield [`${name} ${why}`, { body: { ...good, [name]: value } }];
}

function* badCases(path: string, method: string, { parameters = [], requestBody }: Operation): Generator<Case> {
  const good = filled(path);
  const safe: Asking = requestBody === undefined ? { method } : { method, raw: '{"no_such_field": 1}' };
  for (const { name, in: where } of parameters.filter((each) => each.in === "path"))
    for (const [why, value] of [
      ["NUL", "a%00b"],
      ["a line end", "a%0d%0ab"],
      ["much too long", "x".repeat(5_000)],
    ] as const)
      yield { what: `${where} ${name}: ${why}`, path: filled(path, name, value), asking: { method } };
  for (const [why, query] of [
    ["an unknown name", "no_such_field=1"],
    ["a name of the prototype", "__proto__=1"],
    ["a constructor", "constructor=1"],
    ["a nested one", "limit[x]=1"],
  ] as const)
    yield { what: `query: ${why}`, path: `${good}?${query}`, asking: safe };
  for (const { name, schema } of parameters.filter((each) => each.in === "query")) {
    const texts = [...refused(schema)]
      .filter(([why, value]) => !(schema.type === "string" && typeof value !== "string") && why !== "null")
      .map(([why, value]) => [why, typeof value === "object" ? "%7B%7D" : encodeURIComponent(String(value))]);
    if (schema.type === "array") texts.splice(0, texts.length, ["NUL", "a%00b"], ["too long", "x".repeat(500)]);
    if (schema.type === "string" && schema.enum === undefined) texts.push(["NUL", "a%00b"]);
    if (schema.type !== "array") texts.push(["said twice", `1&${name}=2`]);
    for (const [why, text] of texts)
      yield { what: `query ${name}: ${why}`, path: `${good}?${name}=${text}`, asking: safe };
  }
  const json = requestBody?.content["application/json"];
  if (json === undefined) return;
  for (const [why, sent] of badBodies(json.schema))
    yield { what: `body: ${why}`, path: good, asking: { method, ...sent } };
  yield {
    what: "body: not said to be JSON",
    path: good,
    asking: { method, raw: "{}", headers: { "content-type": "text/plain" } },
  };
  yield { what: "body: too large", path: good, asking: { method, raw: `"${"x".repeat(17 * 1024 * 1024)}"` } };
}

/** All that is kept, without marks and signs of life that move by themselves, and the record of who asked. */
const ownWords = new Set<string>(surface.coordination.units.status().map(({ name }) => name));
const kept = () => {
  const { store } = surface.coordination.router;
  const rows = (sql: string) => store.read(sql);
  return {
    // Units say by themselves what they measure, and that somebody is turned away again and again.
    events: store
      .read<{ source: string }>("SELECT event_type, event_id, source FROM events WHERE event_type <> 'ERROR'")
      .filter(({ source }) => !ownWords.has(source)),
    consumers: rows("SELECT consumer, expired_at FROM consumers"),
    subscriptions: rows("SELECT * FROM subscriptions"),
    // What is done goes into the mark sooner or later.
    deliveries: store
      .read<{ source: string }>(
        `SELECT d.*, e.source FROM deliveries d JOIN events e ON e.seq = d.seq
         WHERE e.event_type <> 'ERROR' AND d.state <> 'done'`,
      )
      .filter(({ source }) => !ownWords.has(source)),
    letters: rows("SELECT * FROM dead_letters"),
    actions: rows("SELECT * FROM dead_letter_actions"),
    tokens: rows("SELECT id, scope, revoked_at FROM api_tokens"),
    // Units that measure and tidy write by themselves, and would be mistaken for what a request did.
    // How long a daemon has been well is a sign of life, too.
    state: rows(`SELECT table_name, key,
      CASE table_name WHEN 'daemon_books' THEN json_remove(value, '$.conditions') ELSE value END AS value
      FROM state_rows WHERE table_name NOT IN
      ('maintenance_chores', 'health_verdict', 'resource_levels', 'cluster_capacity', 'cluster_offers', 'cluster_supply',
       'cluster_verdict', 'node_health', 'node_outages', 'recovery_cases', 'work_load_forecast', 'work_node_idle',
       'work_node_paces', 'work_node_slots', 'pipeline_idle_nodes')`),
    jobs: rows("SELECT * FROM work_jobs"),
    nodes: rows("SELECT node_id, label, state, cordon_reason FROM cluster_nodes"),
    daemons: surface.coordination.daemons.report().map(({ name, state, wanted, paused, restarts }) => ({
      name,
      state,
      wanted,
      paused,
      restarts,
    })),
    subscribers: surface.coordination.router.listSubscribers(),
  };
};

const send = (path: string, asking: Asking = {}): Promise<Answer> =>
  surface.ask("port", path, { token: surface.token, cutAfterBytes: 1, ...asking });

describe("bad input", () => {
  test.each(operations.map((each) => ({ name: `${each.method} ${each.path}`, ...each })))(
    "to $name is a problem in the 400s and changes nothing",
    async ({ path, method, operation }) => {
      const before = kept();
      let tried = 0;
      for (const { what, path: where, asking = {} } of badCases(path, method, operation)) {
        tried += 1;
        const answer = await send(where, asking).catch((error: NodeJS.ErrnoException) => error);
        // Whoever goes on sending what is refused may find the door shut before it reads the answer.
        if (answer instanceof Error) {
          expect([what, answer.code]).toEqual([
            expect.stringContaining("too large"),
            expect.stringMatching(/^E(PIPE|CONNRESET)$/),
          ]);
          continue;
        }
        expect(answer.status, `${what}: ${answer.text.slice(0, 300)}`).toBeGreaterThanOrEqual(400);
        expect(answer.status, `${what}: ${answer.text.slice(0, 300)}`).toBeLessThan(500);
        expect(answer.type, what).toContain("application/problem+json");
        expect(answer.json, what).toMatchObject({
          type: expect.stringMatching(/^urn:ringrift:problem:/),
          title: expect.any(String),
          status: answer.status,
          detail: expect.stringMatching(/./),
          code: expect.stringMatching(/^[A-Z_]+$/),
        });
      }
      expect(tried).toBeGreaterThan(3);
      expect(kept()).toEqual(before);
      expect((await surface.ask("port", "/livez")).status).toBe(200);
    },
  );

  test("names that other programs trip over are names that nobody has", async () => {
    const strange = [
      "__proto__",
      "constructor",
      "toString",
      "..%2f..%2fetc",
      "%F0%9F%92%A5",
      "%27%20OR%201%3D1",
      "%25",
      "%E0%A4%A",
    ];
    const readable = operations.filter(({ method, path }) => method === "GET" && path.includes("{"));
    expect(readable.length).toBeGreaterThan(3);
    for (const { path } of readable)
      for (const name of strange) {
        const { status, type } = await send(filled(path, /\{(\w+)\}/.exec(path)![1], name));
        expect([path, name, [404, 422].includes(status)]).toEqual([path, name, true]);
        expect(type).toContain("application/problem+json");
      }
  });

  test("what is not even HTTP is answered in the same words", async () => {
    const { connect } = await import("node:net");
    const talk = (text: string): Promise<string> =>
      new Promise((resolve) => {
        const socket = connect(surface.coordination.api.port, "127.0.0.1", () => void socket.write(text));
        let heard = "";
        socket.on("data", (part) => {
          heard += part.toString();
        });
        socket.once("close", () => resolve(heard));
      });
    const nonsense = await talk("HELLO\r\n\r\n");
    expect(nonsense).toMatch(/^HTTP\/1.1 400 /);
    expect(nonsense).toContain("application/problem+json");
    expect(await talk(`GET /livez HTTP/1.1\r\nhost: localhost\r\nx: ${"y".repeat(20_000)}\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 431 /,
    );
  });
});
