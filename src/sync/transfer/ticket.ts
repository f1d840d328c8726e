/**
 * What lets one node fetch from another: the coordinator's word, signed, that this node may have these artifacts from that one until
 * then. The node that serves checks it by the coordinator's public key alone and asks nobody.
 */
import { createHash, type KeyObject, sign, verify } from "node:crypto";
import { OperatingError } from "../../kernel/index.ts";
import type { Wanted } from "../transport.port.ts";

export interface TicketClaim {
  /** What it is for, as `listName` names it. */
  readonly list: string;
  /** How many artifacts that is. */
  readonly files: number;
  /** The node that serves, and the one that fetches. */
  readonly from: string;
  readonly to: string;
  /** Unix seconds, by the coordinator's clock. */
  readonly issuedAt: number;
  readonly expiresAt: number;
}

/** What a ticket is for, as its claim says it. */
export const listClaim = (wanted: readonly Wanted[]): Pick<TicketClaim, "list" | "files"> => ({
  list: listName(wanted),
  files: wanted.length,
});

/** The name of what is allowed: an artifact's own, or that of a list of them. */
export function listName(wanted: readonly Wanted[]): string {
  if (wanted.length === 1) return wanted[0]!.sha256;
  const hash = createHash("sha256");
  for (const { sha256, bytes } of wanted) hash.update(`${sha256} ${bytes}\n`);
  return hash.digest("hex");
}

const signedText = ({ list, files, from, to, issuedAt, expiresAt }: TicketClaim): Buffer =>
  Buffer.from(["ringrift ticket v1", list, files, from, to, issuedAt, expiresAt].join("\n"));

export function signTicket(claim: TicketClaim, privateKey: KeyObject): string {
  const { list, files, from, to, issuedAt, expiresAt } = claim;
  const sig = sign(null, signedText(claim), privateKey).toString("base64");
  return `v1 list=${list}, files=${files}, from=${from}, to=${to}, issued_at=${issuedAt}, expires_at=${expiresAt}, sig=${sig}`;
}

const SHAPE =
  /^v1 list=([0-9a-f]{64}), ?files=(\d{1,9}), ?from=([\w.-]{1,200}), ?to=([\w.-]{1,200}), ?issued_at=(\d{1,12}), ?expires_at=(\d{1,12}), ?sig=([A-Za-z0-9+/]{86}={0,2})$/;

/** Who it was is said with it: the one that the ticket was made out to. */
const refusal = (to: string | undefined, status = 401) => ({
  status,
  hint: "Ask the coordinator for a new one.",
  details: to === undefined ? {} : { to },
});

const MAX_SKEW_MS = 300_000;

export interface TicketCheck {
  /** The coordinator's. */
  readonly key: KeyObject;
  /** The node that serves. */
  readonly from: string;
  /** The coordinator's time, as far as this node knows it. */
  readonly nowMs: number;
  readonly maxSkewMs?: number;
}

/** The claim of a ticket that is genuine, for this node and of this time. What is asked for and by whom is for the caller. */
export function checkTicket(text: string | undefined, check: TicketCheck): TicketClaim {
  const { key, from: us, nowMs, maxSkewMs = MAX_SKEW_MS } = check;
  const found = SHAPE.exec(text ?? "");
  if (found === null)
    throw OperatingError.denied(
      "BAD_TICKET",
      `the ticket is ${text === undefined ? "missing" : "malformed"}`,
      refusal(undefined),
    );
  const [, list = "", files = "", from = "", to = "", issuedAt = "", expiresAt = "", sig = ""] = found;
  const claim = { list, files: Number(files), from, to, issuedAt: Number(issuedAt), expiresAt: Number(expiresAt) };
  if (!verify(null, signedText(claim), key, Buffer.from(sig, "base64")))
    throw OperatingError.denied("BAD_TICKET", "the ticket was not signed by our coordinator", refusal(to));
  if (from !== us)
    throw OperatingError.denied("TICKET_OF_ANOTHER", `the ticket is for node ${from}, this is ${us}`, refusal(to, 403));
  const aheadSeconds = Math.round(claim.issuedAt - nowMs / 1_000);
  if (claim.issuedAt * 1_000 > nowMs + maxSkewMs)
    throw OperatingError.denied("CLOCK_SKEW", `the ticket is from the future: ${aheadSeconds} s ahead`, refusal(to));
  const lateSeconds = Math.round(nowMs / 1_000 - claim.expiresAt);
  if (claim.expiresAt * 1_000 <= nowMs)
    throw OperatingError.denied("TICKET_EXPIRED", `the ticket ended ${lateSeconds} s ago`, refusal(to));
  return claim;
}
