const MEGABYTE = 1_024 ** 2;

/** Bodies that are read and worked on, and answers that nobody has taken yet: of one caller, and of all. */
export const bodyLimits = { one: 32 * MEGABYTE, all: 128 * MEGABYTE };
export const answerLimits = { one: 32 * MEGABYTE, all: 128 * MEGABYTE };

/** Less than this is not worth counting. */
const COUNTED_BYTES = 16 * 1_024;

export type Budget = ReturnType<typeof createBudget>;

/** How much is held for callers. One that holds nothing may hold something in any case: nobody is shut out by the others. */
export function createBudget({ one, all }: { readonly one: number; readonly all: number }) {
  const held = new Map<string, number>();
  let sum = 0;
  const grow = (caller: string, bytes: number) => {
    const left = (held.get(caller) ?? 0) + bytes;
    sum += bytes;
    if (left > 0) held.set(caller, left);
    else held.delete(caller);
  };
  return {
    get bytes() {
      return sum;
    },
    hasRoom(caller: string, bytes = 0): boolean {
      const own = held.get(caller) ?? 0;
      return own === 0 || (own + bytes <= one && sum + bytes <= all);
    },
    /** Counts them; gives how to let go of them. */
    hold(caller: string, bytes: number): () => void {
      if (bytes < COUNTED_BYTES) return () => undefined;
      grow(caller, bytes);
      let isHeld = true;
      return () => {
        if (isHeld) grow(caller, -bytes);
        isHeld = false;
      };
    },
  };
}
