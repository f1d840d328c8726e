/** What lies in a bucket behind its prefix. */
import { hash } from "node:crypto";
import { isOperatingError, OperatingError } from "../../../kernel/index.ts";
import type { Shelf, Shelved } from "../../../sync/index.ts";
import { textOf } from "../answer-text.ts";
import {
  isDocumentName,
  isShelfName,
  MAX_SHELVED,
  nameTaken,
  noDocument,
  notAName,
  tooLarge,
  tooMany,
} from "../shelf-names.ts";
import { elementOf, type s3Client } from "./s3-client.ts";

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
const decoded = (text: string): string =>
  text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name]!);

/** The objects of one page of a listing. */
function objectsIn(xml: string): Shelved[] {
  return [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, one = ""]) => ({
    name: decoded(elementOf(one, "Key") ?? ""),
    bytes: Number(elementOf(one, "Size") ?? Number.NaN),
  }));
}

const notFound = (thrown: unknown): boolean => isOperatingError(thrown, "NOT_FOUND");

export function s3Shelf(
  { place, ask }: ReturnType<typeof s3Client>,
  prefix: string,
  checkMarker: (signal: AbortSignal) => Promise<void>,
): Shelf {
  /** The content of a document; undefined if there is none. */
  const read = async (name: string, maxBytes: number, signal: AbortSignal): Promise<Buffer | undefined> => {
    try {
      const answer = await ask({ method: "GET", key: name, signal });
      const pieces: Buffer[] = [];
      let bytes = 0;
      for await (const piece of answer) {
        bytes += (piece as Buffer).length;
        if (bytes > maxBytes) throw tooLarge(place, name, maxBytes);
        pieces.push(piece as Buffer);
      }
      return Buffer.concat(pieces);
    } catch (thrown) {
      signal.throwIfAborted();
      if (notFound(thrown)) return undefined;
      if (isOperatingError(thrown)) throw thrown;
      throw OperatingError.unavailable("PLACE_UNREACHABLE", `${place} broke off`, { cause: thrown });
    }
  };
  return {
    async list(signal) {
      await checkMarker(signal);
      const all: Shelved[] = [];
      for (let next: string | undefined = ""; next !== undefined; ) {
        const query: Record<string, string> = { "list-type": "2", prefix };
        if (next !== "") query["continuation-token"] = next;
        const xml = await textOf(await ask({ method: "GET", query, signal }));
        if (!xml.includes("<ListBucketResult"))
          throw OperatingError.invalid("UNEXPECTED_ANSWER", `${place} answers no list`);
        for (const { name, bytes } of objectsIn(xml)) {
          const shelved = name.slice(prefix.length);
          if (name.startsWith(prefix) && isShelfName(shelved)) all.push({ name: shelved, bytes });
        }
        if (all.length > MAX_SHELVED) throw tooMany(place);
        const isMore: boolean = elementOf(xml, "IsTruncated") === "true";
        next = isMore ? decoded(elementOf(xml, "NextContinuationToken") ?? "") : undefined;
        if (next === "") throw OperatingError.invalid("UNEXPECTED_ANSWER", `${place} breaks its list off`);
      }
      return all;
    },
    async put(name, content, signal) {
      if (!isDocumentName(name)) throw notAName(name);
      await checkMarker(signal);
      const there = await read(name, content.length, signal).catch((thrown: unknown) => {
        throw isOperatingError(thrown, "DOCUMENT_TOO_LARGE") ? nameTaken(place, name) : thrown;
      });
      if (there?.equals(content)) return;
      if (there !== undefined) throw nameTaken(place, name);
      const body = { bytes: content.length, sha256: hash("sha256", content, "hex"), open: () => content };
      (await ask({ method: "PUT", key: name, body, signal })).resume();
    },
    async get(name, maxBytes, signal) {
      if (!isDocumentName(name)) throw notAName(name);
      const found = await read(name, maxBytes, signal);
      if (found !== undefined) return found;
      await checkMarker(signal);
      throw noDocument(place, name);
    },
    async remove(name, signal) {
      if (!isShelfName(name)) throw notAName(name);
      await checkMarker(signal);
      await ask({ method: "DELETE", key: name, signal }).then(
        (answer) => answer.resume(),
        (thrown: unknown) => {
          if (!notFound(thrown)) throw thrown;
        },
      );
    },
  };
}
