/**
 * An address brings its secret behind the `#`, which no server and no log sees: a code from `ringrift open`, or a link that was shared.
 * It is swapped for a cookie at once.
 */
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { beginSession, getSession } from "../../src/surfaces/session/wire.ts";
import { readTimes } from "../../src/surfaces/web/times.ts";
import { Refused } from "./api.ts";

type Session = Answer<typeof beginSession>;
type ThinRoute = { readonly method: string; readonly path: string; readonly times: never };

/** Somebody who is logged in here keeps what that lets them do: a link that was shared shows less. */
async function isLoggedIn(): Promise<boolean> {
  const { path } = getSession as unknown as ThinRoute;
  const response = await fetch(path, { headers: { "x-ringrift-page": "1" } });
  if (!response.ok) return false;
  const { is_browser, path: shared } = (await response.json()) as { is_browser: boolean; path: string | null };
  return is_browser && shared === null;
}

/** The session that begins here; undefined where the address brings no secret, or nobody needs it. */
export async function beginSessionOf(
  { hash, pathname, search }: Pick<Location, "hash" | "pathname" | "search">,
  history: Pick<History, "replaceState">,
): Promise<Session | Refused | undefined> {
  const given = new URLSearchParams(hash.slice(1));
  const share = given.get("share");
  const secret = given.get("code") ?? share;
  if (secret === null) return undefined;
  // Nobody shall find it in the history of the browser.
  history.replaceState(null, "", pathname + search);
  const { method, path, times } = beginSession as unknown as ThinRoute;
  try {
    if (share !== null && (await isLoggedIn())) return undefined;
    const response = await fetch(path, {
      method,
      headers: { authorization: `Bearer ${secret}`, "x-ringrift-page": "1", "content-type": "application/json" },
      body: "{}",
    });
    const answer = await response.json();
    return response.ok ? (readTimes(times, answer) as Session) : new Refused(answer);
  } catch {
    return new Refused({ status: 0, code: "UNREACHABLE", detail: "The main process does not answer." });
  }
}
