import type { Store } from "../../router/index.ts";

const KNOWN = `SELECT f.value AS sha256 FROM json_each(?) f
  WHERE EXISTS (SELECT 1 FROM sync_artifacts a WHERE a.sha256 = f.value)
     OR EXISTS (SELECT 1 FROM sync_pins p WHERE p.sha256 = f.value)`;

/** Those of these files that a manifest or a pin knows, or a job that has not been forgotten. */
export const knownFiles =
  (
    store: Pick<Store, "read">,
    inResults: (sha256s: readonly string[]) => Promise<readonly string[]> = async () => [],
  ) =>
  async (sha256s: readonly string[]): Promise<ReadonlySet<string>> => {
    const known = new Set(store.read<{ sha256: string }>(KNOWN, JSON.stringify(sha256s)).map(({ sha256 }) => sha256));
    const rest = sha256s.filter((sha256) => !known.has(sha256));
    for (const sha256 of rest.length === 0 ? [] : await inResults(rest)) known.add(sha256);
    return known;
  };
