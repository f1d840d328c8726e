import { fileURLToPath } from "node:url";
import { parseDeclaration, type WorkloadDeclaration, type WorkloadDeclarationInput } from "../process/index.ts";

/** What the built-in games do: every kind of job that the closed loop asks for. */
export const ARENA_KINDS = ["selfplay", "validation", "export", "training", "evaluation"] as const;

/** How a worker starts the built-in games. */
export function arenaDeclaration(changes: Partial<WorkloadDeclarationInput> = {}): WorkloadDeclaration {
  const isSource = import.meta.url.endsWith(".ts");
  const file = new URL(isSource ? "./arena-workload.worker.ts" : "./arena-workload.worker.js", import.meta.url);
  return parseDeclaration({
    command: process.execPath,
    args: [fileURLToPath(file)],
    kinds: [...ARENA_KINDS],
    ...changes,
  });
}
