/** The real catalog of artifacts and its books, over files that exist on paper only: a test says which of them are sound. */
import { storeModules } from "../../../src/app/store-modules.ts";
import type { Clock } from "../../../src/kernel/index.ts";
import type { Store, StoreModule } from "../../../src/router/index.ts";
import { type ArtifactCatalog, createArtifactCatalog, syncModule } from "../../../src/sync/index.ts";

export const withSync: readonly StoreModule[] = [
  ...storeModules.filter(({ name }) => name !== syncModule.name),
  syncModule,
];

export interface Shelf extends ArtifactCatalog {
  /** Files whose bytes are found to be wrong. */
  readonly damaged: Set<string>;
  /** While false nothing is verified. */
  verifies: boolean;
}

export function createShelf(store: Store, clock: Clock): Shelf {
  const catalog = createArtifactCatalog({ store, clock });
  const shelf: Shelf = {
    ...catalog,
    damaged: new Set(),
    verifies: true,
    get(sha256) {
      const known = catalog.get(sha256);
      if (known === undefined) return undefined;
      if (shelf.damaged.has(sha256))
        return { ...known, state: "quarantined", reason: "damaged: wrong hash", verified_at: null };
      return { ...known, verified_at: shelf.verifies ? clock.now() : null };
    },
  };
  return shelf;
}

/** Games of all configs by where they are, and whether they add up to what was made. */
export function booksOf(store: Store, clock: Clock) {
  const books = createArtifactCatalog({ store, clock }).books();
  const by: Record<string, number> = {};
  const add = (account: string, games: number) => {
    if (games > 0) by[account] = (by[account] ?? 0) + games;
  };
  for (const { durable, in_flight, rejected_by_reason } of books) {
    add("durable", durable);
    add("in_flight", in_flight);
    for (const [reason, games] of Object.entries(rejected_by_reason)) add(`rejected:${reason}`, games);
  }
  return {
    produced: books.reduce((sum, { produced }) => sum + produced, 0),
    by,
    balanced: books.every(({ balanced }) => balanced),
  };
}
