/** What a file is, as its own bytes say: it parses to its end, or it is set aside. */
export type Structure =
  | {
      readonly sound: true;
      /** `other` is a file of somebody else's program: nothing is known of it but its bytes. */
      readonly format: string;
      /** As the workload calls it: games, samples, model, checkpoint; null where the file does not say. */
      readonly kind: string | null;
      readonly config_key: string | null;
      readonly games: number;
      readonly rows: number;
    }
  | { readonly sound: false; readonly code: string; readonly message: string };

/**
 * Reads a file on a thread, within bounds; with `replay` its games are played through by the rules. It rejects where the file could
 * not be looked at, which says nothing of the file. The games are the workloads' to know: `app` gives it.
 */
export type ReadStructure = (
  path: string,
  options?: { readonly replay?: boolean; readonly signal?: AbortSignal },
) => Promise<Structure>;

/** Where nobody knows any format. */
export const readNothing: ReadStructure = async () => ({
  sound: true,
  format: "other",
  kind: null,
  config_key: null,
  games: 0,
  rows: 0,
});

/** A part of a file that can be an artifact: of a file in our own format it is the file itself. */
export interface BroughtSegment {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly kind: "games" | "samples";
  readonly config_key: string;
  readonly games: number;
  readonly rows: number;
  readonly rules_version: string | null;
}

/** What a file of others becomes: segments, written into the scratch folder where they are not the file itself; or why it becomes none. */
export type ReadSegments = (
  path: string,
  scratch: string,
  signal?: AbortSignal,
) => Promise<readonly BroughtSegment[] | (Structure & { readonly sound: false })>;
