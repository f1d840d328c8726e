import { isGuest, type NodeRow } from "./node-rows.ts";

type Named = Pick<NodeRow, "token_id" | "node_id">;

/** The names under which the workers of each token came: a token brings no more than it may. */
export class TokenPlaces {
  readonly #names = new Map<string, Set<string>>();

  /** All names of a token. */
  names(tokenId: string): ReadonlySet<string> {
    return this.#names.get(tokenId) ?? new Set();
  }

  enter({ token_id: tokenId, node_id, forgotten_at }: Named & Pick<NodeRow, "forgotten_at">): void {
    if (tokenId === null || forgotten_at !== null) return;
    const names = this.#names.get(tokenId) ?? new Set();
    this.#names.set(tokenId, names.add(node_id));
  }

  leave(row: Named | undefined): void {
    if (row === undefined || row.token_id === null) return;
    const names = this.#names.get(row.token_id);
    names?.delete(row.node_id);
    if (names?.size === 0) this.#names.delete(row.token_id);
  }
}

/** Of the workers of a token the one that left first: it makes room for the next. */
export const firstToHaveLeft = <N extends { readonly row: NodeRow }>(nodes: readonly N[]): N | undefined =>
  nodes
    .filter(({ row }) => isGuest(row) && row.state === "left")
    .toSorted((a, b) => a.row.state_since - b.row.state_since)[0];
