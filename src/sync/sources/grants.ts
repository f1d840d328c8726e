/** Who was told to fetch what from whom, for as long as it may be under way: by it the next ones are spread over those that can give. */
import type { Clock } from "../../kernel/index.ts";

export interface Grant {
  readonly to: string;
  readonly sha256: string;
  /** Who is asked first. */
  readonly from: string;
  readonly untilMs: number;
}

export interface Grants {
  give(grants: readonly Omit<Grant, "untilMs">[]): void;
  /** It has come, or will not: nobody sends it any more. */
  settle(to: string, sha256s: readonly string[]): void;
  /** How many are open, and how many may be. */
  open(): { readonly open: number; readonly max: number };
  /** Nodes that one sends to now. */
  feeding(from: string): number;
  /** Who is fetching a file, and how many nodes are between it and one that has the whole. */
  coming(sha256: string): ReadonlyMap<string, number>;
  /** Whether what `node` gets of a file comes through `through`. */
  comesThrough(node: string, through: string, sha256: string): boolean;
}

const keyOf = (to: string, sha256: string) => `${to} ${sha256}`;
/** Longer than any chain that is worth having. */
const MAX_DEPTH = 512;

export function createGrants(clock: Pick<Clock, "monotonic">, forMs: number, max: number): Grants {
  const open = new Map<string, Grant>();
  const byFile = new Map<string, Map<string, Grant>>();
  const byGiver = new Map<string, Map<string, number>>();

  const feed = ({ from, to }: Grant, by: 1 | -1): void => {
    const fed = byGiver.get(from) ?? new Map<string, number>();
    const files = (fed.get(to) ?? 0) + by;
    if (files > 0) fed.set(to, files);
    else fed.delete(to);
    if (fed.size > 0) byGiver.set(from, fed);
    else byGiver.delete(from);
  };
  const end = (grant: Grant): void => {
    const { to, sha256 } = grant;
    open.delete(keyOf(to, sha256));
    feed(grant, -1);
    const ofFile = byFile.get(sha256);
    ofFile?.delete(to);
    if (ofFile?.size === 0) byFile.delete(sha256);
  };
  const begin = (grant: Grant): void => {
    const { to, sha256 } = grant;
    open.set(keyOf(to, sha256), grant);
    feed(grant, 1);
    byFile.set(sha256, (byFile.get(sha256) ?? new Map()).set(to, grant));
  };
  /** They are in the order in which they end. */
  const tidy = (): void => {
    const now = clock.monotonic();
    for (const grant of open.values()) {
      if (grant.untilMs > now && open.size <= max) return;
      end(grant);
    }
  };
  const depthOf = (node: string, ofFile: ReadonlyMap<string, Grant>): number => {
    let depth = 0;
    for (let at = ofFile.get(node); at !== undefined && depth < MAX_DEPTH; at = ofFile.get(at.from)) depth += 1;
    return depth;
  };

  return {
    give(grants) {
      const untilMs = clock.monotonic() + forMs;
      for (const grant of grants) {
        const known = open.get(keyOf(grant.to, grant.sha256));
        if (known !== undefined) end(known);
        begin({ ...grant, untilMs });
      }
      tidy();
    },
    settle(to, sha256s) {
      for (const sha256 of sha256s) {
        const known = open.get(keyOf(to, sha256));
        if (known !== undefined) end(known);
      }
    },
    open() {
      tidy();
      return { open: open.size, max };
    },
    feeding(from) {
      tidy();
      return byGiver.get(from)?.size ?? 0;
    },
    coming(sha256) {
      tidy();
      const ofFile = byFile.get(sha256) ?? new Map<string, Grant>();
      return new Map([...ofFile.keys()].map((node) => [node, depthOf(node, ofFile)]));
    },
    comesThrough(node, through, sha256) {
      const ofFile = byFile.get(sha256);
      for (let at = ofFile?.get(node), steps = 0; at !== undefined && steps < MAX_DEPTH; at = ofFile?.get(at.from)) {
        if (at.from === through) return true;
        steps += 1;
      }
      return false;
    },
  };
}
