import { fileURLToPath } from "node:url";
import { moduleBeside } from "../../../kernel/index.ts";
import { parseDeclaration, type WorkloadDeclaration, type WorkloadDeclarationInput } from "../../process/index.ts";

/** What the built-in games do: every kind of job that the closed loop asks for. */
const ARENA_KINDS = ["selfplay", "validation", "export", "training", "evaluation"] as const;

/** How a worker starts the built-in games. */
export function arenaDeclaration(changes: Partial<WorkloadDeclarationInput> = {}): WorkloadDeclaration {
  const file = moduleBeside(import.meta.url, "./arena-workload.worker");
  return parseDeclaration({
    command: process.execPath,
    args: [fileURLToPath(file)],
    kinds: [...ARENA_KINDS],
    ...changes,
  });
}
