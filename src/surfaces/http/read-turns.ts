import { turn } from "./in-slices.ts";

/**
 * When a read may begin: the first of a caller at once, the others one by one, each on a turn of the loop of its own. Who asks for
 * hundreds of things at once waits for them; what others ask meanwhile comes in between.
 */
export function readTurns() {
  const lasts = new Map<string, Promise<void>>();
  return (caller: string): Promise<void> | undefined => {
    const before = lasts.get(caller);
    const last = before === undefined ? turn() : before.then(turn);
    lasts.set(caller, last);
    void last.then(() => {
      if (lasts.get(caller) === last) lasts.delete(caller);
    });
    return before;
  };
}
