/** The term that this process leads, on the side of the thread: begun and ended by the main thread, which writes in it meanwhile. */
import { fromPortable, portable } from "../../adapters/sqlite/portable-error.ts";
import type { Leading } from "../../cluster/leadership/index.ts";
import { isOperatingError, OperatingError } from "../../kernel/index.ts";
import type { FromMember, ToMember } from "./messages.ts";

export interface TermDeskOptions {
  readonly name: string;
  readonly say: (message: FromMember) => void;
  /** What must be done in a term before anything else. */
  readonly prepare: (leading: Leading) => Promise<void>;
  /** A term begins, or is over: whoever looks must see it now. */
  readonly changed: () => void;
}

interface Current extends Leading {
  /** The main thread has begun everything, or could not. */
  readonly begun: PromiseWithResolvers<void>;
  /** The main thread has ended everything. */
  readonly ended: PromiseWithResolvers<void>;
}

type TermMessage = Extract<ToMember, { type: "apply" | "leading" | "ended" }>;

export function createTermDesk({ name, say, prepare, changed }: TermDeskOptions) {
  let current: Current | undefined;
  return {
    /** Until when this process may act as the leader; zero once the term is over. */
    trustedUntil: (): number => current?.trustedUntil() ?? 0,
    need(): Leading {
      if (current === undefined)
        throw OperatingError.unavailable("NOT_LEADER", `${name} does not lead`, { details: { retryAfterSeconds: 1 } });
      return current;
    },
    /** Lets the main thread begin; gives what lets it end. */
    async lead(leading: Leading): Promise<() => Promise<void>> {
      const { term } = leading.term;
      try {
        await prepare(leading);
      } catch (thrown) {
        // The term was over before anything could begin in it.
        if (isOperatingError(thrown, "STORE_FENCED")) return async () => {};
        throw thrown;
      }
      const mine: Current = { ...leading, begun: Promise.withResolvers(), ended: Promise.withResolvers() };
      current = mine;
      void leading.writer.ended.then((error) => {
        changed();
        say({ type: "over", term, error: portable(error) });
      });
      // Whoever begins sees the term that it begins in.
      changed();
      say({ type: "lead", term });
      await mine.begun.promise;
      return async () => {
        say({ type: "end", term });
        await mine.ended.promise;
        current = undefined;
      };
    },
    /** What the main thread says of a term; of one that is not led any more it is too late. */
    async take(message: TermMessage): Promise<void> {
      const { term } = message;
      if (current?.term.term !== term) return;
      if (message.type === "ended") current.ended.resolve();
      else if (message.type === "leading") {
        if (message.error === undefined) current.begun.resolve();
        else current.begun.reject(fromPortable(message.error));
      } else {
        const settled = await current.writer.apply(message.batch);
        const outcomes = settled.map((one) => (one.ok ? one : { ok: false as const, error: portable(one.error) }));
        say({ type: "settled", term, outcomes });
      }
    },
  };
}
