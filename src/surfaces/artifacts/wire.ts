import { z } from "zod";
import { defineRoute } from "../http/wire.ts";

const TYPE = "application/octet-stream";
const shared = {
  tag: "artifacts",
  limit: "upload",
  params: z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lower-case hex") }),
} as const;
const bringing = { ...shared, scope: "worker", record: "no" } as const;

const stat = z.object({
  sha256: z.string(),
  size: z.int().nullable().describe("Null while only a part is there."),
  received: z.int().describe("Bytes that need not be sent again."),
});
const whole = { about: "It is whole, and in its place.", answer: stat, status: 201 } as const;

export const putArtifact = defineRoute("putArtifact", "PUT /v1/artifacts/{sha256}", {
  ...bringing,
  ...whole,
  summary: "Brings a file under its hash, whole or from where it stopped (Content-Range). Twice is once.",
  bytes: true,
  otherAnswers: { 202: { about: "A part of it is there; go on after what was received.", schema: stat } },
});

export const adoptArtifact = defineRoute("adoptArtifact", "POST /v1/artifacts/{sha256}/adopt", {
  ...bringing,
  ...whole,
  summary:
    "Takes a file of this machine under its hash without sending it; only through the socket of the data folder.",
  body: z.strictObject({
    file: z.string().min(1).max(4_096).describe("Where it lies, inside the folder of the worker's jobs."),
    bytes: z.int().min(0),
  }),
});

export const getArtifact = defineRoute("getArtifact", "GET /v1/artifacts/{sha256}", {
  ...shared,
  summary: "The bytes of a file, or a range of them; to HEAD how much of it is there.",
  about: "All bytes.",
  answer: z.string(),
  type: TYPE,
  otherAnswers: { 206: { about: "The range.", schema: z.string(), type: TYPE } },
});
