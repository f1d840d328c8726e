/** Publishes one event after another under its own token, remembers what was acknowledged, and how long each took. */
import { setTimeout as wait } from "node:timers/promises";
import type { AttackedMain } from "./attacked-main.ts";

const EVERY_MS = 25;
const SOURCE = "honest";

export interface Watched {
  /** The longest that a publish took, in milliseconds; one that was refused or cut off counts until it is through. */
  readonly worstMs: number;
  readonly published: number;
}

export function honestCaller(attacked: AttackedMain, token: string) {
  const acked: string[] = [];
  const publish = async (): Promise<void> => {
    const id = crypto.randomUUID();
    const data = { config_key: "hex8_2p", new_games: 1, total_games: acked.length };
    const body = { specversion: "1.0", id, type: "NEW_GAMES_AVAILABLE", source: SOURCE, data };
    // Again under the same id, as every client does, until it is through.
    for (;;) {
      const answer = await attacked.from(token, "/v1/events", { method: "POST", body }).catch(() => undefined);
      if (answer?.status === 200) break;
      await wait(EVERY_MS);
    }
    acked.push(id);
  };
  return {
    /** What it met while the attack ran. */
    async during(attack: () => Promise<void>): Promise<Watched> {
      const ended = new AbortController();
      const before = acked.length;
      let worstMs = 0;
      const calls = (async () => {
        do {
          const began = performance.now();
          await publish();
          worstMs = Math.max(worstMs, performance.now() - began);
          await wait(EVERY_MS);
        } while (!ended.signal.aborted);
      })();
      await attack().finally(() => ended.abort());
      await calls;
      return { worstMs, published: acked.length - before };
    },
    acked: (): readonly string[] => acked,
  };
}
