/** From the coordinator, by the routes that workers have used all along: the last resort, since it serves everybody. */
import { isOperatingError, type OperatingError } from "../../../kernel/index.ts";
import type { CoordinatorPlace, Transport } from "../../../sync/index.ts";
import { createAsker, rangeFrom } from "../http/asker.ts";

/** How this node speaks to its coordinator. */
export interface CoordinatorLine extends CoordinatorPlace {
  /**
   * Headers that prove a request, each good for one. After a refusal it is told what was said: a coordinator that was started again,
   * or whose clock differs, says what it would take.
   */
  readonly prove: (
    method: string,
    path: string,
    refused?: { readonly code: string; readonly details: Readonly<Record<string, unknown>> },
  ) => Promise<Readonly<Record<string, string>>>;
}

/** Refusals that tell how to ask again. */
const TEACHES: ReadonlySet<string> = new Set(["NODE_SESSION_STALE", "CLOCK_SKEW"]);
const TRIES = 3;

/** `place`: what it is called, where there are several. */
export function coordinatorTransport(line: CoordinatorLine, place = "the coordinator"): Transport {
  const { ask, bytesOf, close } = createAsker({ ...line, place, prove: () => ({}) });
  const get = async (path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal) => {
    const method = "GET";
    let refused: OperatingError | undefined;
    for (let tries = 1; ; tries += 1)
      try {
        return await ask(method, path, signal, { headers, proof: await line.prove(method, path, refused) });
      } catch (thrown) {
        if (tries >= TRIES || !isOperatingError(thrown) || !TEACHES.has(thrown.code)) throw thrown;
        refused = thrown;
      }
  };
  return {
    name: "coordinator",
    place,
    async probe(signal) {
      // Nothing has the hash of zeros: that it is told so shows that it answers, and to us.
      try {
        (await get(`/v1/artifacts/${"0".repeat(64)}`, {}, signal)).destroy();
      } catch (thrown) {
        if (!isOperatingError(thrown, "ARTIFACT_NOT_FOUND")) throw thrown;
      }
    },
    async *read(wanted, { start, signal }) {
      const path = `/v1/artifacts/${wanted.sha256}`;
      yield* bytesOf(await get(path, rangeFrom(start), signal), wanted, start);
    },
    close,
  };
}
