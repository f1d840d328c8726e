/** Lists that tickets name. Who comes with a ticket for many brings the list once; the ticket says what it must hash to. */

import { OperatingError } from "../../../kernel/index.ts";
import type { Wanted } from "../../../sync/index.ts";
import { listName, PACK_HEAD_BYTES, packHeads, readPackHead, type TicketClaim } from "../../../sync/transfer/index.ts";

/** Bounds of a list and of all that are kept. */
export const MAX_LIST_FILES = 100_000;
const MAX_LISTS = 64;

export interface Lists {
  /** Keeps a list that is what the ticket says. */
  keep(claim: TicketClaim, wanted: readonly Wanted[]): void;
  /** Refuses a list, or artifacts, that the ticket does not name. */
  checkList(claim: TicketClaim, list: string): void;
  check(claim: TicketClaim, sha256s: readonly string[]): void;
}

const another = ({ to }: TicketClaim, what: string) =>
  OperatingError.denied("TICKET_OF_ANOTHER", `the ticket does not name ${what}`, {
    status: 403,
    hint: "Ask the coordinator for a new one.",
    details: { to },
  });

export function createLists(): Lists {
  const kept = new Map<string, ReadonlySet<string>>();
  return {
    keep(claim, wanted) {
      if (wanted.length !== claim.files || listName(wanted) !== claim.list) throw another(claim, "this list");
      kept.delete(claim.list);
      if (kept.size >= MAX_LISTS) kept.delete(kept.keys().next().value!);
      kept.set(claim.list, new Set(wanted.map(({ sha256 }) => sha256)));
    },
    checkList(claim, list) {
      if (list !== claim.list) throw another(claim, `the list ${list}`);
    },
    check(claim, sha256s) {
      const named = claim.files === 1 ? new Set([claim.list]) : kept.get(claim.list);
      if (named === undefined)
        throw OperatingError.conflict("LIST_UNKNOWN", "the list that this ticket is for is not known here", {
          status: 428,
          retryable: true,
          hint: "Send the list first; a node forgets it when it restarts.",
        });
      const other = sha256s.find((sha256) => !named.has(sha256));
      if (other !== undefined) throw another(claim, other);
    },
  };
}

/** A list as it goes over the wire: what stands before each file in a pack. */
export const encodeList = (wanted: readonly Wanted[]): Buffer => packHeads(wanted);

export function decodeList(body: Buffer, max: number): Wanted[] {
  if (body.length % PACK_HEAD_BYTES !== 0 || body.length > max * PACK_HEAD_BYTES)
    throw OperatingError.invalid(
      "INVALID_REQUEST",
      `a list has ${PACK_HEAD_BYTES} bytes for each of up to ${max} files`,
    );
  const wanted: Wanted[] = [];
  for (let at = 0; at < body.length; at += PACK_HEAD_BYTES) wanted.push(readPackHead(body, at));
  return wanted;
}
