/** What a node says of its copies over the wire. */
import { isOperatingError } from "../../kernel/index.ts";
import { packSeqs } from "../../sync/index.ts";
import { callTo } from "../client/call.ts";
import type { NodeLink } from "../client/node-link.ts";
import {
  type CopiesAnswer,
  type CopiesTold,
  confirmCopies,
  findKnown,
  findSources,
  listCopies,
  MAX_LISTED_COPIES,
  type OfferedBatch,
  tellCopies,
} from "./wire.ts";

/** A node that waits for longer has other trouble, and asks again. */
const TELL_MS = 30_000;
/** Files of one question. */
const MAX_ASKED = 500;

export interface ListedCopy {
  readonly seq: number;
  readonly sha256: string;
  readonly bytes: number;
}

export interface CopiesPort {
  tell(told: Omit<CopiesTold, "node_id" | "incarnation">, signal: AbortSignal): Promise<CopiesAnswer>;
  /** From whom these come. */
  sources(files: readonly string[], signal: AbortSignal): Promise<readonly OfferedBatch[]>;
  /** Those of these files that the main process knows. */
  known(files: readonly string[], signal?: AbortSignal): Promise<ReadonlySet<string>>;
  /** All copies that the main process knows of here. */
  listed(signal: AbortSignal): Promise<ListedCopy[]>;
  confirm(present: readonly number[], upto: number, signal: AbortSignal): Promise<{ believed: boolean; lost: number }>;
}

export function copiesOver(link: NodeLink, node_id: string, incarnation: number): CopiesPort {
  const options = (signal: AbortSignal) => ({ timeoutMs: TELL_MS, signal });
  /** A main process of the version before refuses what it does not know. */
  let isOld = false;
  const tell: CopiesPort["tell"] = async (told, signal) => {
    const { leaving: _, transfers: ____, orders, ...known } = told;
    const plain = { ...known, orders: orders?.map(({ code: __, tries: ___, ...order }) => order) };
    const body = { node_id, incarnation, ...(isOld ? plain : told) };
    try {
      return await callTo(link, tellCopies, { body }, options(signal));
    } catch (thrown) {
      if (isOld || !isOperatingError(thrown, "INVALID_REQUEST")) throw thrown;
      isOld = true;
      return tell(told, signal);
    }
  };
  return {
    tell,
    async sources(files, signal) {
      const body = { node_id, files: [...files] };
      return (await callTo(link, findSources, { body }, options(signal))).batches;
    },
    async known(files, signal = AbortSignal.timeout(TELL_MS)) {
      const all = new Set<string>();
      for (let at = 0; at < files.length; at += MAX_ASKED) {
        const body = { node_id, files: files.slice(at, at + MAX_ASKED) };
        for (const sha256 of (await callTo(link, findKnown, { body }, options(signal))).known) all.add(sha256);
      }
      return all;
    },
    async listed(signal) {
      const all: ListedCopy[] = [];
      for (let after = 0; ; ) {
        const { copies } = await callTo(link, listCopies, { query: { node_id, after } }, options(signal));
        all.push(...copies);
        if (copies.length < MAX_LISTED_COPIES) return all;
        after = copies.at(-1)!.seq;
      }
    },
    confirm: (present, upto, signal) =>
      callTo(
        link,
        confirmCopies,
        { body: { node_id, incarnation, upto, bits: packSeqs(present, upto) } },
        options(signal),
      ),
  };
}
