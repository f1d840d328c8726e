import { Parser } from "@asyncapi/parser";
import { expect, test } from "vitest";
import { asyncApiDocument } from "./asyncapi.ts";
import { builtinRows } from "./catalog.ts";
import type { EventRow } from "./row.ts";

// It compiles the rules of the format once.
const parser = new Parser();
const document = asyncApiDocument(builtinRows, { version: "1.2.3" });

test("the document is valid AsyncAPI 3, down to every message", async () => {
  const { document: parsed, diagnostics } = await parser.parse(JSON.stringify(document));
  // The one remark left is that a newer minor version of the format exists.
  expect(diagnostics.filter(({ code }) => code !== "asyncapi-latest-version")).toEqual([]);
  expect(parsed?.version()).toBe("3.0.0");
  const crossing = (Object.values(builtinRows) as EventRow[]).filter((row) => row.class !== "process");
  const messages = parsed?.allMessages().all() ?? [];
  expect(messages.map((message) => message.name()).sort()).toEqual(crossing.map((row) => row.name).sort());
  for (const message of messages) {
    expect(message.headers()?.properties()).toHaveProperty("traceparent");
    expect(message.payload()?.type()).toBe("object");
  }
});

test("a broken document would be noticed", async () => {
  const { MODEL_PROMOTED } = builtinRows;
  const small = asyncApiDocument({ MODEL_PROMOTED }, { version: "1.2.3" });
  const channels = { MODEL_PROMOTED: { ...small.channels.MODEL_PROMOTED, address: 5 } };
  const diagnostics = await parser.validate(JSON.stringify({ ...small, channels }));
  expect(diagnostics.some(({ severity }) => severity === 0)).toBe(true);
});

test("what stays in its process is not in the document", () => {
  expect(document.channels).not.toHaveProperty("PER_PRIORITIES_UPDATED");
  expect(document.channels).toHaveProperty("TRAINING_COMPLETED");
});

test("a payload tells what is required and lets newer fields pass", () => {
  const { payload } = document.components.messages.TRAINING_COMPLETED!;
  expect(payload.required).toContain("artifact_hash");
  expect(payload.required).not.toContain("architecture");
  expect(payload).not.toHaveProperty("additionalProperties");
});
