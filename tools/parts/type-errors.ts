import { dirname, resolve } from "node:path";
import ts from "typescript";
import { ROOT } from "./root.ts";

export interface TypeError {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  readonly column: number;
  readonly text: string;
}

/**
 * What the compiler says about these files alone, under the options of the repository and `changes`. What they import is
 * read as far as they need it and not judged: the step `types` has done that.
 */
export function typeErrors(
  files: readonly string[],
  { root = ROOT, changes = {} }: { readonly root?: string; readonly changes?: ts.CompilerOptions } = {},
): TypeError[] {
  const read = ts.readConfigFile(resolve(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...read.config, include: [], files: [] }, ts.sys, root);
  const program = ts.createProgram([...files], { ...options, ...changes });
  return files.flatMap((file) =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(file)).map((found) => {
      const at = found.file?.getLineAndCharacterOfPosition(found.start ?? 0) ?? { line: 0, character: 0 };
      return {
        file: found.file === undefined ? dirname(file) : resolve(found.file.fileName),
        line: at.line + 1,
        column: at.character + 1,
        text: `error TS${found.code}: ${ts.flattenDiagnosticMessageText(found.messageText, "\n")}`,
      };
    }),
  );
}
