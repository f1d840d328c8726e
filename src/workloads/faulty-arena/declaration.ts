import { fileURLToPath } from "node:url";
import { moduleBeside } from "../../kernel/index.ts";
import { arenaDeclaration } from "../arena/index.ts";
import type { WorkloadDeclaration, WorkloadDeclarationInput } from "../process/index.ts";

/**
 * The harm that is done: `labels` gives the outcome of each game to the next seat in all its rows, `moves` plays carelessly
 * and says that it did not, `model` turns what a network has learned into its opposite after training.
 */
export const POISONS = ["labels", "moves", "model"] as const;
export type Poison = (typeof POISONS)[number];

/** How a worker is started that does harm. */
export function poisonedArenaDeclaration({
  poison,
  ...changes
}: { readonly poison: Poison } & Partial<WorkloadDeclarationInput>): WorkloadDeclaration {
  const file = moduleBeside(import.meta.url, "./arena-poisoned.worker");
  return arenaDeclaration({ args: [fileURLToPath(file), poison], ...changes });
}
