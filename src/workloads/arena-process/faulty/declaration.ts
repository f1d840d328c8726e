import { fileURLToPath } from "node:url";
import type { WorkloadDeclaration, WorkloadDeclarationInput } from "../../process/index.ts";
import { arenaDeclaration } from "../declaration.ts";

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
  const isSource = import.meta.url.endsWith(".ts");
  const file = new URL(isSource ? "./arena-poisoned.worker.ts" : "./arena-poisoned.worker.js", import.meta.url);
  return arenaDeclaration({ args: [fileURLToPath(file), poison], ...changes });
}
