import {
  type Breaker,
  type BreakerState,
  type Clock,
  createBreaker,
  isOperatingError,
  messageOf,
} from "../../kernel/index.ts";
import type { Transport } from "../transport.port.ts";
import { transferDefaults } from "./limits.ts";

/** Whose fault it was that a try failed; it decides what is done next. */
export type Fault =
  /** The place, or the way to it: the next one is taken, and one that fails again and again is closed for a while. */
  | "place"
  /** The place is sound and does not have this one, or says that it is damaged: the next way is taken for this one alone. */
  | "artifact"
  /** This node: no other way would help. */
  | "here";

const OURS: ReadonlySet<string> = new Set([
  "STORE_FULL",
  "STORE_READ_ONLY",
  "STORE_IO",
  "STORE_CANNOT_OPEN",
  "ARTIFACT_BUSY",
  "UPLOADS_BUSY",
  "ARTIFACT_TOO_LARGE",
]);
const OF_THE_ARTIFACT: ReadonlySet<string> = new Set(["ARTIFACT_NOT_FOUND", "ARTIFACT_DAMAGED", "ARTIFACT_AWAITED"]);

export function faultOf(thrown: unknown): Fault {
  const code = isOperatingError(thrown) ? thrown.code : "";
  return OURS.has(code) ? "here" : OF_THE_ARTIFACT.has(code) ? "artifact" : "place";
}

export const codeOf = (thrown: unknown): { readonly code: string; readonly message: string } => ({
  code: isOperatingError(thrown) ? thrown.code : "TRANSFER_FAILED",
  message: messageOf(thrown),
});

/** One breaker for each way to each place, for as long as the node runs. */
export interface Ways {
  /** Whether this way may be tried now. One that was closed is asked a small question first. */
  open(transport: Transport, signal: AbortSignal): Promise<Breaker | undefined>;
  /** How every way is, for who asks. */
  states(): readonly {
    readonly transport: string;
    readonly place: string;
    readonly state: BreakerState;
    readonly waitMs: number;
  }[];
}

export function createWays(clock: Clock, policy = transferDefaults.breaker, maxKnown = 10_000): Ways {
  const known = new Map<string, { readonly transport: string; readonly place: string; readonly breaker: Breaker }>();
  const breakerOf = ({ name, place }: Transport): Breaker => {
    const key = `${name} ${place}`;
    let found = known.get(key);
    if (found === undefined) {
      // Places come and go: the one that was made first is forgotten.
      if (known.size >= maxKnown) known.delete(known.keys().next().value!);
      found = { transport: name, place, breaker: createBreaker(policy, clock) };
      known.set(key, found);
    }
    return found.breaker;
  };
  return {
    async open(transport, signal) {
      const breaker = breakerOf(transport);
      const isOnTrial = breaker.state !== "closed";
      if (!breaker.admit()) return undefined;
      if (!isOnTrial) return breaker;
      try {
        await transport.probe(signal);
        return breaker;
      } catch (thrown) {
        if (signal.aborted) breaker.abandon();
        else breaker.fail();
        throw thrown;
      }
    },
    states: () =>
      [...known.values()].map(({ transport, place, breaker }) => ({
        transport,
        place,
        state: breaker.state,
        waitMs: breaker.waitMs(),
      })),
  };
}
