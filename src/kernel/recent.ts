/** Remembers keys for about a window of time in bounded memory: two generations, the older of which is dropped whole. */
export interface Recent<V> {
  get(key: string, now: number): V | undefined;
  set(key: string, value: V, now: number): void;
  readonly size: number;
}

export function createRecent<V>(windowMs: number, maxEntries: number): Recent<V> {
  let young = new Map<string, { value: V; at: number }>();
  let old = new Map<string, { value: V; at: number }>();
  let turnedAt = Number.NEGATIVE_INFINITY;
  const turn = (now: number) => {
    if (now - turnedAt < windowMs && young.size < maxEntries / 2) return;
    old = now - turnedAt < 2 * windowMs ? young : new Map();
    young = new Map();
    turnedAt = now;
  };
  return {
    get(key, now) {
      const found = young.get(key) ?? old.get(key);
      return found !== undefined && now - found.at < windowMs ? found.value : undefined;
    },
    set(key, value, now) {
      turn(now);
      young.set(key, { value, at: now });
    },
    get size() {
      return young.size + old.size;
    },
  };
}
