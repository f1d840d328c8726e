import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isOperatingError } from "../kernel/index.ts";
import { PAYLOAD_BYTES_MAX } from "./bounds.ts";
import { builtinRows } from "./catalog.ts";
import { attributes, fromCloudEvent, spanIdOf, toCloudEvent } from "./cloud-event.ts";
import { type AnyRouterEvent, contentHash, EventSource } from "./envelope.ts";

const digits = (length: number) =>
  fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`)).filter((text) => !/^0+$/.test(text));
/** What an id may be: printable, well-formed, not endless. */
const id = fc
  .string({
    unit: fc.oneof(fc.constantFrom("ü", "日", "😀", " ", "/", "%", "#"), fc.string({ minLength: 1, maxLength: 1 })),
  })
  .map((text) => text.replace(/[\p{C}]/gu, "").slice(0, 60))
  .filter((text) => text !== "" && text.isWellFormed());

const event: fc.Arbitrary<AnyRouterEvent> = fc.record({
  eventType: fc.constantFrom(...Object.keys(builtinRows), "MY_EVENT"),
  payload: fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.parse(JSON.stringify(value))),
  timestamp: fc.integer({ min: 0, max: 253_402_300_799_999 }).map((ms) => ms / 1000),
  source: fc.oneof(id, fc.constant("")),
  origin: fc.constantFrom(...Object.values(EventSource)),
  eventId: fc.oneof(fc.uuid({ version: 7 }), id),
  traceId: digits(32),
  correlationId: id,
  parentEventId: fc.option(id),
  contentHash: digits(64),
  seq: fc.option(fc.maxSafeNat()),
  payloadVersion: fc.integer({ min: 1, max: 1_000 }),
  eventClass: fc.constantFrom("durable", "volatile", "process"),
  orderKey: fc.option(id),
  views: fc.record({ dataBus: fc.boolean(), stageBus: fc.boolean(), crossProcess: fc.boolean() }),
  nodeId: id,
});

const sent = {
  specversion: "1.0",
  id: "e-1",
  type: "MODEL_PROMOTED",
  source: "/ringrift/node-1/auto_promotion",
  time: "2026-01-02T03:04:05.678Z",
  data: { model_id: "m1" },
};

const refusal = (change: Record<string, unknown>): { path: unknown; message: string } => {
  try {
    fromCloudEvent({ ...sent, ...change });
  } catch (error) {
    if (!isOperatingError(error, "INVALID_EVENT")) throw error;
    return { path: error.details.path, message: error.message };
  }
  return { path: "accepted", message: "accepted" };
};

describe("an event on the wire", () => {
  test("comes back as the same event", () => {
    fc.assert(
      fc.property(event, (given) => {
        expect(fromCloudEvent(JSON.parse(JSON.stringify(toCloudEvent(given))))).toEqual(given);
      }),
      { numRuns: 500 },
    );
  });

  test("follows the rules of CloudEvents 1.0 for names and values of attributes", () => {
    const printable = /^[^\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]+$/u;
    fc.assert(
      fc.property(event, (given) => {
        const { data, ...context } = toCloudEvent(given);
        expect(data).toBe(given.payload);
        for (const required of ["id", "source", "specversion", "type"]) expect(context).toHaveProperty(required);
        expect(context.specversion).toBe("1.0");
        for (const [name, value] of Object.entries(context)) {
          expect(name).toMatch(/^[a-z0-9]{1,20}$/);
          if (typeof value === "string") expect(value).toMatch(printable);
          else expect(Number.isInteger(value) && Math.abs(value) <= 2_147_483_647, `${name} is an Integer`).toBe(true);
        }
        expect(() => new URL(context.source, "http://localhost")).not.toThrow();
        expect(context.time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        expect(context.traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
      }),
    );
    for (const name of Object.keys(attributes())) expect(name).toMatch(/^[a-z0-9]{1,20}$/);
  });

  test("has sequences that sort as texts like they do as numbers", () => {
    const sequence = (seq: number) => toCloudEvent({ ...fromCloudEvent(sent), seq }).sequence!;
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), (a, b) => {
        expect(sequence(a) < sequence(b)).toBe(a < b);
      }),
    );
  });

  test("can be written whatever its source is called, half a surrogate pair included", () => {
    const { source } = toCloudEvent({ ...fromCloudEvent(sent), source: "a/\ud800 b" });
    expect(source).toBe("/ringrift/node-1/a%2F%EF%BF%BD%20b");
  });

  test("has one span for one event, in every process", () => {
    expect(spanIdOf("e-1")).toBe(spanIdOf("e-1"));
    expect(spanIdOf("e-1")).not.toBe(spanIdOf("e-2"));
    const { traceId, eventId } = fromCloudEvent(sent);
    expect(toCloudEvent(fromCloudEvent(sent)).traceparent).toBe(`00-${traceId}-${spanIdOf(eventId)}-01`);
  });
});

describe("an event of a foreign publisher", () => {
  test("needs only what CloudEvents requires; the rest is filled in, the same each time", () => {
    const { time: _, ...least } = { ...sent, source: "https://example.com/trainer" };
    const arrival = { nowMs: 1_700_000_000_123, nodeId: "node-1" };
    const read = fromCloudEvent(least, arrival);
    expect(read).toEqual({
      eventType: "MODEL_PROMOTED",
      payload: { model_id: "m1" },
      timestamp: 1_700_000_000.123,
      source: "https://example.com/trainer",
      origin: "cross_process",
      eventId: "e-1",
      traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
      correlationId: "e-1",
      parentEventId: null,
      contentHash: contentHash("MODEL_PROMOTED", { model_id: "m1" }),
      seq: null,
      payloadVersion: 1,
      eventClass: "durable",
      orderKey: null,
      views: { dataBus: true, stageBus: true, crossProcess: true },
      nodeId: "node-1",
    });
    expect(fromCloudEvent(least, { ...arrival, nowMs: 9 })).toEqual({ ...read, timestamp: 0.009 });
  });

  test("may have attributes that we do not know, and null for what is unset", () => {
    const nothing = { causationid: null, sequence: null, partitionkey: null, traceparent: null, routing: null };
    expect(fromCloudEvent({ ...sent, ...nothing, subject: "x", comexampleextension1: "y" })).toEqual(
      fromCloudEvent(sent),
    );
  });

  test("may tell its time in any zone", () => {
    expect(fromCloudEvent({ ...sent, time: "2026-01-02T05:04:05.678+02:00" })).toEqual(fromCloudEvent(sent));
  });

  test("may belong to a trace of its own, of this or a later version of the format", () => {
    const trace = "0af7651916cd43dd8448eb211c80319c-b9c7c989f97918e1-01";
    const traceId = trace.slice(0, 32);
    expect(fromCloudEvent({ ...sent, traceparent: `00-${trace}` }).traceId).toBe(traceId);
    expect(fromCloudEvent({ ...sent, traceparent: `cc-${trace}-what-the-future-brings` }).traceId).toBe(traceId);
    for (const traceparent of [`00-${trace}-more`, `ff-${trace}`, `00-${"0".repeat(32)}-b9c7c989f97918e1-01`, "", "00"])
      expect(refusal({ traceparent }).path, traceparent).toBe("traceparent");
  });
});

describe("what is no event", () => {
  test.each([
    ["specversion", "0.3"],
    ["specversion", undefined],
    ["id", ""],
    ["id", "a\nb"],
    ["id", "\ud800"],
    ["id", "x".repeat(201)],
    ["type", 5],
    ["source", "not a uri"],
    ["source", "/ringrift/%zz/x"],
    ["source", "/ringrift/%ff/x"],
    ["source", "https://example.com/no-arrival-known"],
    ["time", "yesterday"],
    ["time", "1969-12-31T23:59:59Z"],
    ["time", undefined],
    ["datacontenttype", "text/xml"],
    ["sequence", "12345678901234567"],
    ["sequence", "9999999999999999"],
    ["sequence", "-1"],
    ["origin", "moon"],
    ["contenthash", "abc"],
    ["payloadversion", 0],
    ["payloadversion", 1.5],
    ["eventclass", "eternal"],
    ["routing", "everywhere"],
    ["data", undefined],
    ["data", null],
    ["data", []],
    ["data", "text"],
    ["data", { text: "x".repeat(PAYLOAD_BYTES_MAX) }],
  ])("a wrong %s (%j) is refused by its path", (path, value) => {
    const { path: found, message } = refusal({ [path]: value });
    expect(found).toBe(path);
    expect(message.startsWith(`${path}: `)).toBe(true);
  });

  test("anything at all is read or refused with a typed error", () => {
    const almost = fc
      .tuple(fc.constantFrom(...Object.keys(attributes()), "data"), fc.anything())
      .map(([name, value]) => ({ ...sent, [name]: value }));
    fc.assert(
      fc.property(fc.oneof(fc.anything(), almost), (value) => {
        try {
          expect(fromCloudEvent(value, { nowMs: 0, nodeId: "n" }).eventId).not.toBe("");
        } catch (error) {
          expect(isOperatingError(error, "INVALID_EVENT")).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
