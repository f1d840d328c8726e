/** From another node, over HTTP: ranges and packs, against a ticket of the coordinator's. This node only ever pulls. */

import type { Agent, IncomingMessage } from "node:http";
import { isOperatingError, OperatingError } from "../../../kernel/index.ts";
import type { Transport, TransportName, Wanted } from "../../../sync/index.ts";
import { listName, MAX_PACK_BYTES } from "../../../sync/transfer/index.ts";
import { createAsker, rangeFrom, textOf } from "./asker.ts";
import { encodeList } from "./lists.ts";
import { type Bearer, COMING, PROOF_HEADER, proofOf, TICKET_HEADER } from "./proof.ts";

export interface HttpTransportOptions {
  readonly url: string;
  readonly nodeId: string;
  readonly ticket: string;
  /** What the ticket is for, all of it. */
  readonly list: readonly Wanted[];
  readonly bearer: Bearer;
  readonly fingerprint?: string | undefined;
  readonly isComing?: boolean | undefined;
  readonly name?: TransportName;
  readonly agent?: Agent;
}

export function httpTransport(options: HttpTransportOptions): Transport {
  const { nodeId, ticket, list, bearer, isComing = false, name = "http" } = options;
  const place = `node ${nodeId}`;
  const prove = (method: string, path: string) => ({
    [TICKET_HEADER]: ticket,
    [PROOF_HEADER]: proofOf(bearer, ticket, method, path),
  });
  const { ask, bytesOf, close } = createAsker({ ...options, place, prove });
  const listId = listName(list);

  let brought: Promise<void> | undefined;
  /** Who serves must know the list that the ticket names; it is brought once, and again to a node that has forgotten it. */
  const bring = (signal: AbortSignal): Promise<void> => {
    brought ??= ask("PUT", `/v1/lists/${listId}`, signal, { body: encodeList(list) }).then(
      (answer) => void answer.resume(),
      (thrown: unknown) => {
        brought = undefined;
        throw thrown;
      },
    );
    return brought;
  };
  const askFor = async (...given: Parameters<typeof ask>): Promise<IncomingMessage> => {
    if (list.length === 1) return ask(...given);
    const [, , signal] = given;
    await bring(signal);
    try {
      return await ask(...given);
    } catch (thrown) {
      if (!isOperatingError(thrown, "LIST_UNKNOWN")) throw thrown;
      brought = undefined;
      await bring(signal);
      return ask(...given);
    }
  };

  return {
    name,
    place,
    isComing,
    async probe(signal) {
      const [first] = list;
      if (first === undefined) return;
      try {
        (await askFor("GET", `/v1/artifacts/${first.sha256}`, signal, { headers: rangeFrom(first.bytes) })).destroy();
      } catch (thrown) {
        // It is there and says no: that is an answer.
        const isAnswer =
          isOperatingError(thrown, "ARTIFACT_NOT_FOUND") || isOperatingError(thrown, "RANGE_NOT_SATISFIABLE");
        if (!isAnswer) throw thrown;
      }
    },
    async *read(wanted, { start, signal }) {
      const path = `/v1/artifacts/${wanted.sha256}${isComing ? `?${COMING}` : ""}`;
      yield* bytesOf(await askFor("GET", path, signal, { headers: rangeFrom(start) }), wanted, start);
    },
    async *readPack(wanted, signal) {
      const answer = await askFor("POST", `/v1/packs/${listId}`, signal, { body: encodeList(wanted) });
      // What a pack may hold at most is for who unpacks it: it knows what was asked for.
      yield* bytesOf(answer, { sha256: listId, bytes: 2 * MAX_PACK_BYTES }, 0);
    },
    async digests({ sha256 }, chunkBytes, signal) {
      const answer = await askFor("GET", `/v1/digests/${sha256}?chunk_bytes=${chunkBytes}`, signal);
      const { digests } = JSON.parse(await textOf(answer)) as { digests?: unknown };
      if (!Array.isArray(digests) || !digests.every((digest) => typeof digest === "string"))
        throw OperatingError.invalid("UNEXPECTED_ANSWER", `${place} gives no digests`);
      return digests;
    },
    ...(isComing && {
      async stillComing({ sha256 }: Wanted, signal: AbortSignal) {
        (await askFor("GET", `/v1/coming/${sha256}`, signal)).destroy();
        return true;
      },
    }),
    close,
  };
}
