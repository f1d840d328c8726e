import { writeFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { ROOT } from "../parts/root.ts";
import { typeErrors } from "../parts/type-errors.ts";
import type { Block } from "./blocks.ts";

export interface Program {
  /** Where it is written and compiled. */
  readonly file: string;
  readonly page: string;
  readonly block: Block;
}

/** Compiles all programs of all pages in one go, and leads each message back to its page. */
export function programErrors(programs: readonly Program[]): string[] {
  for (const { file, block } of programs) writeFileSync(file, block.code);
  const byFile = new Map(programs.map((program) => [program.file, program]));
  const changes = {
    typeRoots: [join(ROOT, "node_modules", "@types")],
    moduleDetection: ts.ModuleDetectionKind.Force,
    noUnusedLocals: false,
    noUnusedParameters: false,
  };
  return typeErrors([...byFile.keys()], { changes }).map(({ file, line, column, text }) => {
    const found = byFile.get(file);
    const place = found === undefined ? `${file}:${line}` : `${found.page}:${found.block.line + line - 1}`;
    return `${place}:${column}: ${text}`;
  });
}
