/** The thread that plays, as the page asks it. */
import { useEffect, useState } from "preact/hooks";
import { arenaWorker } from "../workers.ts";
import { Refused } from "./api.ts";
import type { ArenaAnswer, ArenaAsks } from "./arena-messages.ts";

export interface Arena {
  ask<K extends keyof ArenaAsks>(kind: K, ask: ArenaAsks[K]["ask"]): Promise<ArenaAsks[K]["answer"]>;
  end(): void;
}

function createArena(): Arena {
  const worker = arenaWorker();
  const waiting = new Map<number, { resolve: (answer: never) => void; reject: (refused: Refused) => void }>();
  let last = 0;
  worker.onmessage = ({ data }: MessageEvent<ArenaAnswer>) => {
    const asked = waiting.get(data.id);
    waiting.delete(data.id);
    if ("answer" in data) return asked?.resolve(data.answer as never);
    const { code, message, hint } = data.refused;
    asked?.reject(new Refused({ status: 1, code, detail: message, ...(hint === undefined ? {} : { hint }) }));
  };
  return {
    ask: (kind, ask) =>
      new Promise((resolve, reject) => {
        last += 1;
        waiting.set(last, { resolve: resolve as never, reject });
        worker.postMessage({ id: last, kind, ...ask });
      }),
    end: () => worker.terminate(),
  };
}

/** A thread for as long as a view is looked at. */
export function useArena(): Arena | undefined {
  const [arena, setArena] = useState<Arena>();
  useEffect(() => {
    const made = createArena();
    setArena(made);
    return () => made.end();
  }, []);
  return arena;
}

/** What the thread answers to one question; asked again when the question changes. */
export function useArenaAnswer<K extends keyof ArenaAsks>(
  arena: Arena | undefined,
  kind: K,
  ask: ArenaAsks[K]["ask"] | undefined,
) {
  const [state, setState] = useState<{ key: string; answer?: ArenaAsks[K]["answer"]; refused?: Refused }>({ key: "" });
  const key = JSON.stringify([kind, ask]);
  useEffect(() => {
    if (arena === undefined || ask === undefined) return;
    let isWanted = true;
    arena.ask(kind, ask).then(
      (answer) => isWanted && setState({ key, answer }),
      (refused: Refused) => isWanted && setState({ key, refused }),
    );
    return () => {
      isWanted = false;
    };
  }, [arena, key]);
  const isCurrent = state.key === key;
  return {
    answer: isCurrent ? state.answer : undefined,
    refused: isCurrent ? state.refused : undefined,
    again: () => {},
  };
}
