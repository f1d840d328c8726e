/** An address from `ringrift open` brings a code behind its `#`, which no server and no log sees. It is swapped for a cookie at once. */
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { beginSession } from "../../src/surfaces/session/wire.ts";
import { readTimes } from "../../src/surfaces/web/times.ts";
import { Refused } from "./api.ts";

type Session = Answer<typeof beginSession>;

/** The session that begins here; undefined where the address brings no code. */
export async function beginSessionOf(
  { hash, pathname, search }: Pick<Location, "hash" | "pathname" | "search">,
  history: Pick<History, "replaceState">,
): Promise<Session | Refused | undefined> {
  const code = new URLSearchParams(hash.slice(1)).get("code");
  if (code === null) return undefined;
  // Nobody shall find it in the history of the browser.
  history.replaceState(null, "", pathname + search);
  const { method, path, times } = beginSession as unknown as { method: string; path: string; times: never };
  try {
    const response = await fetch(path, {
      method,
      headers: { authorization: `Bearer ${code}`, "x-ringrift-page": "1", "content-type": "application/json" },
      body: "{}",
    });
    const answer = await response.json();
    return response.ok ? (readTimes(times, answer) as Session) : new Refused(answer);
  } catch {
    return new Refused({ status: 0, code: "UNREACHABLE", detail: "The main process does not answer." });
  }
}
