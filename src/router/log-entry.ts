/**
 * What the entries of a replicated log are: who wrote it, in which term, after which entry, and what it changes.
 *
 * An entry names the digest of the one before it, so that the log is a chain: whoever holds one link can tell whether the next belongs to
 * it. Its body has a hash of its own, since a damaged changeset applies without complaint.
 */
import { hash } from "node:crypto";
import { z } from "zod";
import { lazy, OperatingError } from "../kernel/index.ts";

/**
 * `term`: somebody leads from here on. `beat`: it still does. `changes`: rows that its commits changed. `migrate`: steps of the schema.
 * `step-down`: it leads no more, and says who shall. `verify`: every replica writes down what its rows come to here.
 */
export const ENTRY_KINDS = ["term", "beat", "changes", "migrate", "step-down", "verify"] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);

const headerSchema = lazy(() =>
  z.object({
    /** The cluster, and how often it was begun anew from one replica: entries of another are never taken. */
    cluster: z.string().min(1).max(200),
    generation: z.int().min(1),
    term: z.int().min(1),
    /** The process that wrote it. */
    boot: z.string().min(1).max(200),
    /** The node that it runs on. */
    node: z.string().min(1).max(200),
    kind: z.enum(ENTRY_KINDS),
    /** By the clock of whoever wrote it, in milliseconds since the epoch: for people, and to warn of clocks that differ. */
    at: z.number(),
    /** Digest of the schema that the body belongs to. */
    schema: sha256,
    body: sha256,
    /** Digest of the whole entry before this one. */
    chain: sha256,
  }),
);

export type EntryHeader = z.output<ReturnType<typeof headerSchema>>;

export interface DecodedEntry {
  readonly header: EntryHeader;
  readonly body: Uint8Array;
  /** What the next entry must name as its `chain`. */
  readonly digest: string;
}

/** What the first entry of a log names as the one before it. */
export const NO_ENTRY = "0".repeat(64);

const MAGIC = Buffer.from("RRL1");
const LENGTH_BYTES = 4;
const MAX_HEADER_BYTES = 4_096;

const digestOf = (bytes: Uint8Array): string => hash("sha256", bytes, "hex");

/** What the entry after this one names as its `chain`. */
export const entryDigest = (encoded: Uint8Array): string => digestOf(encoded);

export function encodeEntry(header: Omit<EntryHeader, "body">, body: Uint8Array): Uint8Array {
  const head = Buffer.from(JSON.stringify({ ...header, body: digestOf(body) }));
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(head.length);
  return Buffer.concat([MAGIC, length, head, body]);
}

const damaged = (what: string) =>
  OperatingError.internal("LOG_ENTRY_DAMAGED", `an entry of the replicated log ${what}`, {
    hint: "This replica stops here. Compare it with the others: 'ringrift doctor' on each machine.",
  });

/** Throws LOG_ENTRY_DAMAGED for everything that is not exactly what somebody encoded. */
export function decodeEntry(bytes: Uint8Array): DecodedEntry {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const begin = MAGIC.length + LENGTH_BYTES;
  if (all.length < begin || !all.subarray(0, MAGIC.length).equals(MAGIC)) throw damaged("is none of ours");
  const length = all.readUInt32BE(MAGIC.length);
  if (length > MAX_HEADER_BYTES || begin + length > all.length) throw damaged("is cut off");
  let parsed: unknown;
  try {
    parsed = JSON.parse(all.toString("utf8", begin, begin + length));
  } catch {
    throw damaged("has a head that cannot be read");
  }
  const header = headerSchema().safeParse(parsed);
  if (!header.success) throw damaged(`has a head that is not sound (${header.error.issues[0]?.path.join(".")})`);
  const body = all.subarray(begin + length);
  if (digestOf(body) !== header.data.body) throw damaged("has another body than its head says");
  return { header: header.data, body, digest: digestOf(all) };
}

/** Where a replica stands: the last entry whose changes it has. */
export interface LogPosition {
  readonly cluster: string;
  readonly generation: number;
  readonly seq: number;
  readonly term: number;
  /** Digest of that entry. */
  readonly chain: string;
}

/** Why an entry is not the one that comes after this position; undefined when it is. */
export function misfit(entry: DecodedEntry & { readonly seq: number }, at: LogPosition): string | undefined {
  const { header, seq } = entry;
  if (seq !== at.seq + 1) return `entry ${seq} came after entry ${at.seq}`;
  if (header.cluster !== at.cluster) return `entry ${seq} is of cluster ${header.cluster}, not of ${at.cluster}`;
  if (header.generation !== at.generation)
    return `entry ${seq} is of generation ${header.generation}, not of ${at.generation}`;
  if (header.chain !== at.chain) return `entry ${seq} follows another entry ${at.seq} than the one that is here`;
  const isNext = header.kind === "term" ? header.term > at.term : header.term === at.term;
  return isNext ? undefined : `entry ${seq} is of term ${header.term}; the term here is ${at.term}`;
}
