/** From another node, over HTTP: ranges and packs, against a ticket of the coordinator's. This node only ever pulls. */

import type { Agent, IncomingMessage } from "node:http";
import { isOperatingError, OperatingError } from "../../../kernel/index.ts";
import type { Transport, TransportName, Wanted } from "../../../sync/index.ts";
import { listName } from "../../../sync/transfer/index.ts";
import { textOf } from "../answer-text.ts";
import { createAsker, rangeFrom } from "./asker.ts";
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
  const { ask, bytesOf, lend, close } = createAsker({ ...options, place, prove });
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
  const isForgotten = (thrown: unknown): boolean => list.length > 1 && isOperatingError(thrown, "LIST_UNKNOWN");
  const bringAgain = (signal: AbortSignal): Promise<void> => {
    brought = undefined;
    return bring(signal);
  };
  const askFor = async (...given: Parameters<typeof ask>): Promise<IncomingMessage> => {
    const [, , signal] = given;
    if (list.length > 1) await bring(signal);
    try {
      return await ask(...given);
    } catch (thrown) {
      if (!isForgotten(thrown)) throw thrown;
      await bringAgain(signal);
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
      const pack = () => lend("POST", `/v1/packs/${listId}`, signal, encodeList(wanted));
      if (list.length > 1) await bring(signal);
      try {
        yield* pack();
      } catch (thrown) {
        // Whoever has forgotten the list says so before the first byte.
        if (!isForgotten(thrown)) throw thrown;
        await bringAgain(signal);
        yield* pack();
      }
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
