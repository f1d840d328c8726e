import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  commonVersion,
  MESSAGES,
  type MessageType,
  parseProgramLine,
  parseWorkerLine,
  writeMessage,
} from "./protocol.ts";
import { messagesJsonSchema } from "./protocol-docs.ts";

const sha256 = "a".repeat(64);
/** One message of each type; a new type does not compile until it has one. */
const ONE: { readonly [T in MessageType]: Record<string, unknown> } = {
  hello: { protocol: 1, name: "mine", version: "1.0", kinds: ["selfplay"] },
  welcome: { protocol: 1, limits: { line_bytes: 1, messages_per_second: 1 } },
  job: {
    job_id: "j",
    kind: "selfplay",
    config_key: "hex8_2p",
    attempt: 1,
    fence: 3,
    seed: 2 ** 53 - 1,
    deadline: null,
    parameters: { games: 1 },
    inputs: [{ name: "model", path: "/a", sha256 }],
    output_folder: "/o",
    scratch_folder: "/s",
  },
  progress: { job_id: "j", done: 1.5, total: 3, metrics: { loss: 0.1 } },
  artifact: { job_id: "j", path: "a/b.bin", sha256, bytes: 1, kind: "model", meta: { a: [1] } },
  pairs: { job_id: "j", candidate: "c", opponent: "o", blocks: [{ opening: 17, scores: [1, 0.5] }] },
  cancel: { job_id: "j", reason: "preempted", grace_seconds: 3 },
  done: { job_id: "j", status: "error", error: { code: "x", message: "y", retryable: true } },
  shutdown: {},
};

const parserOf = (type: MessageType) => (MESSAGES[type].from === "program" ? parseProgramLine : parseWorkerLine);

describe("the messages", () => {
  for (const [type, fields] of Object.entries(ONE)) {
    const parse = parserOf(type as MessageType);
    it(`${type} is read, with fields that nobody knows, and without none that is needed`, () => {
      const message = { type, ...fields };
      expect(parse(JSON.stringify({ ...message, unknown_field: 1 }))).toEqual({ ok: true, message });
      expect(parse(writeMessage(message as never).trim())).toEqual({ ok: true, message });
      const { required } = (messagesJsonSchema().$defs as Record<string, { required: string[] }>)[type]!;
      for (const field of required) {
        const { [field]: _, ...rest } = message as Record<string, unknown>;
        expect(parse(JSON.stringify(rest)), `without ${field}`).toMatchObject({ ok: false });
      }
    });
  }

  it("a side that speaks the other's part is refused", () => {
    for (const type of Object.keys(ONE) as MessageType[]) {
      const other = MESSAGES[type].from === "program" ? parseWorkerLine : parseProgramLine;
      expect(other(JSON.stringify({ type, ...ONE[type] })).ok).toBe(false);
    }
  });

  it("whatever a line holds, it is a message or a reason of bounded length, never an exception", () => {
    const lines = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .constantFrom(...Object.entries(ONE))
        .chain(([type, fields]) =>
          fc
            .dictionary(fc.constantFrom(...Object.keys(fields), "type"), fc.jsonValue())
            .map((changed) => JSON.stringify({ type, ...fields, ...changed })),
        ),
    );
    fc.assert(
      fc.property(lines, (line) => {
        const parsed = parseProgramLine(line);
        if (!parsed.ok) expect(parsed.reason.length).toBeLessThan(600);
        expect(typeof parseWorkerLine(line).ok).toBe("boolean");
      }),
    );
  });

  it("numbers that are none do not come through", () => {
    expect(parseProgramLine('{"type":"done","job_id":"j","status":"ok","metrics":{"loss":NaN}}').ok).toBe(false);
    expect(parseProgramLine('{"type":"done","job_id":"j","status":"ok","metrics":{"loss":null}}').ok).toBe(false);
    expect(parseProgramLine('{"type":"progress","job_id":"j","done":1e999}').ok).toBe(false);
  });
});

it("both sides meet at the newest version that they share", () => {
  expect(commonVersion({ protocol: 1 })).toBe(1);
  expect(commonVersion({ protocol: 9, protocol_least: 1 })).toBe(1);
  expect(commonVersion({ protocol: 9, protocol_least: 2 })).toBeUndefined();
  expect(commonVersion({ protocol: 9 })).toBeUndefined();
});
