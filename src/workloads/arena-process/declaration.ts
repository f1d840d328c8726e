import { fileURLToPath } from "node:url";
import { parseDeclaration, type WorkloadDeclaration, type WorkloadDeclarationInput } from "../process/index.ts";

/** How a worker starts the built-in games. */
export function arenaDeclaration(changes: Partial<WorkloadDeclarationInput> = {}): WorkloadDeclaration {
  const isSource = import.meta.url.endsWith(".ts");
  const file = new URL(isSource ? "./arena-workload.worker.ts" : "./arena-workload.worker.js", import.meta.url);
  return parseDeclaration({
    command: process.execPath,
    args: [fileURLToPath(file)],
    kinds: ["selfplay", "training", "evaluation"],
    ...changes,
  });
}
