/** Which of several coordinators is asked: the one that leads, as far as is known here. */
import { isOperatingError } from "../../kernel/index.ts";

export interface NamedLeader {
  readonly url: string;
  readonly fingerprint: string | null;
}

/** Whom a coordinator that stands by names as the leader; undefined for every other failure, null where it knows of none. */
export function leaderNamedIn(thrown: unknown): NamedLeader | null | undefined {
  if (!isOperatingError(thrown, "NOT_LEADER")) return undefined;
  const leader = thrown.details.leader as Partial<NamedLeader> | null | undefined;
  if (typeof leader?.url !== "string") return null;
  return { url: leader.url, fingerprint: typeof leader.fingerprint === "string" ? leader.fingerprint : null };
}

/** The one that was asked does not lead, or is not there: another may. */
export const shouldTurn = (thrown: unknown): boolean =>
  leaderNamedIn(thrown) !== undefined ||
  isOperatingError(thrown, "UNREACHABLE") ||
  isOperatingError(thrown, "STOPPING");

/**
 * Where to ask next among addresses that are known: the leader, if it is one of them, else the next one. An address that somebody names is
 * not enough: what is sent there is a secret, or acts.
 */
export function turnTo(urls: readonly string[], at: number, thrown: unknown): number {
  if (urls.length < 2 || !shouldTurn(thrown)) return at;
  const leader = leaderNamedIn(thrown);
  const origin = (url: string) => URL.parse(url)?.origin;
  const named = leader == null ? -1 : urls.findIndex((url) => origin(url) === origin(leader.url));
  return named >= 0 && named !== at ? named : (at + 1) % urls.length;
}
