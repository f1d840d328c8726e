import { spawn } from "node:child_process";
import { once } from "node:events";
import { defined, OperatingError } from "../../../kernel/index.ts";

export interface RsyncPrograms {
  readonly rsync: string;
  readonly ssh: string;
  readonly env?: Readonly<Record<string, string>>;
}

const MAX_SAID = 4_000;

/** rsync and ssh get no settings of whoever started us; but they are found, with their libraries, where that one finds them. */
export const programEnvironment = ({ env }: Pick<RsyncPrograms, "env">): Record<string, string> => ({
  ...{ PATH: process.env.PATH ?? "", HOME: "/nonexistent", LC_ALL: "C" },
  ...defined({ LD_LIBRARY_PATH: process.env.LD_LIBRARY_PATH }),
  ...env,
});

/** What the end of rsync means. Its numbers are in its manual; what ssh says about hosts and keys comes as text. */
function failureOf(place: string, code: number | null, said: string): OperatingError {
  const about = `${place}: rsync ended with ${code}: ${said.trim().split("\n").slice(-3).join("; ").slice(0, 500)}`;
  if (/host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED|no .* host key is known/i.test(said))
    return OperatingError.denied("PLACE_UNTRUSTED", `${about}`, {
      hint: "Its key differs from the known one. Check that it is the right machine before you add the key to known_hosts.",
    });
  if (/permission denied \(/i.test(said))
    return OperatingError.denied("PLACE_REFUSED", about, {
      hint: "Is the public key of this node installed there?",
    });
  if ((code === 23 || code === 3) && /No such file or directory/.test(said))
    return OperatingError.notFound("NOT_FOUND", about);
  if (/No space left on device/.test(said)) return OperatingError.unavailable("PLACE_UNWRITABLE", about);
  return OperatingError.unavailable("PLACE_UNREACHABLE", about);
}

/** Runs rsync to its end; rejects with what its end means. An abort ends it. */
export async function runRsync(
  place: string,
  programs: RsyncPrograms,
  args: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const program = spawn(programs.rsync, args, {
    stdio: ["ignore", "ignore", "pipe"],
    env: programEnvironment(programs),
    // In a group of its own, so that ssh ends with it.
    detached: true,
  });
  let said = "";
  program.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = `${said}${text}`.slice(-MAX_SAID);
  });
  const stop = () => {
    try {
      if (program.pid !== undefined) process.kill(-program.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  };
  signal.addEventListener("abort", stop, { once: true });
  try {
    const [code] = (await once(program, "close").catch((thrown: unknown) => {
      throw OperatingError.unavailable("RSYNC_MISSING", `rsync cannot be started: ${String(thrown)}`, {
        cause: thrown,
        hint: "Install rsync and ssh on this machine.",
      });
    })) as [number | null];
    signal.throwIfAborted();
    if (code !== 0) throw failureOf(place, code, said);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
