/** Finds every error of operation in the sources: its code, what it says, and what it tells the reader to do. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import ts from "typescript";
import { type ErrorKind, errorKinds } from "../../src/kernel/index.ts";
import { propertyOf, textsOf } from "./literals.ts";
import { page, table } from "./markdown.ts";

export interface ErrorUse {
  readonly code: string;
  /** Its kind; empty where it is that of another error. */
  readonly kind: ErrorKind | "";
  readonly says: string;
  readonly hint: string;
  readonly retryable: boolean;
  readonly room: string;
}

const IS_CODE = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/;

const kindCalled = (name: string): ErrorKind | "" => {
  const kind = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return kind in errorKinds ? (kind as ErrorKind) : "";
};

/** How an error is made, if it is: `OperatingError.notFound(...)`, or by the class itself with the kind in front. */
function madeBy(node: ts.Node): { kind: ErrorKind | ""; rest: readonly ts.Expression[] } | undefined {
  if (ts.isNewExpression(node) && node.expression.getText() === "OperatingError") {
    const [kind, ...rest] = node.arguments ?? [];
    return { kind: kindCalled(textsOf(kind).at(-1) ?? ""), rest };
  }
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined;
  const { expression, name } = node.expression;
  return expression.getText() === "OperatingError" ? { kind: kindCalled(name.text), rest: node.arguments } : undefined;
}

function usesIn(source: ts.SourceFile, room: string): ErrorUse[] {
  const uses: ErrorUse[] = [];
  const add = (kind: ErrorKind | "", codes: string[], says: string[], options: ts.Expression | undefined) => {
    const own = propertyOf(options, "retryable");
    const rest = {
      hint: textsOf(propertyOf(options, "hint"))[0] ?? "",
      retryable: own === undefined ? kind !== "" && errorKinds[kind].retryable : own.getText() === "true",
    };
    for (const code of codes.filter((each) => IS_CODE.test(each)))
      uses.push({ code, kind, says: says.join(" / "), room, ...rest });
  };
  const visit = (node: ts.Node): void => {
    const made = madeBy(node);
    if (made !== undefined) {
      const [code, message, options] = made.rest;
      add(made.kind, textsOf(code), textsOf(message), options);
    }
    // A table of errors: rows with a kind, a code and what it says.
    if (ts.isObjectLiteralExpression(node) && propertyOf(node, "says") !== undefined)
      add(
        kindCalled(textsOf(propertyOf(node, "kind"))[0] ?? ""),
        textsOf(propertyOf(node, "code")),
        textsOf(propertyOf(node, "says")),
        node,
      );
    ts.forEachChild(node, visit);
  };
  visit(source);
  return uses;
}

export function errorsIn(folder: string): ErrorUse[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !/\.(test|contract)\.ts$/.test(file))
    .sort()
    .flatMap((file) => {
      const path = join(folder, file);
      const source = ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
      return usesIn(source, dirname(relative(folder, path)).split("/")[0]!);
    });
}

const distinct = (values: readonly string[]): string[] => [...new Set(values)].filter((value) => value !== "");

/** Text of a program holds no markup. */
const plain = (text: string): string => text.replaceAll(/[<*]/g, "\\$&");

export function printErrors(uses: readonly ErrorUse[]): string {
  const codes = [...Map.groupBy(uses, ({ code }) => code)].sort(([a], [b]) => (a < b ? -1 : 1));
  return page(
    "# Errors",
    "Printed from the sources. An error of operation has a code that never changes its meaning, in a program as `code`, " +
      "over HTTP in the problem document, and from a command with `--json`. Where several places raise it, all that they " +
      "say is listed; `...` stands for a value. The kind decides the HTTP status (a few errors of the protocol have their own), " +
      "the exit code of a command, and whether to try again later:",
    table(
      ["Kind", "HTTP status", "Exit code", "Later again?"],
      Object.entries(errorKinds).map(([kind, { status, exit, retryable }]) => [
        `\`${kind}\``,
        String(status),
        String(exit),
        retryable ? "yes" : "no",
      ]),
    ),
    table(
      ["Code", "Kind", "What it says", "What to do", "Later again?", "Room"],
      codes.map(([code, all]) => [
        `\`${code}\``,
        distinct(all.map(({ kind }) => kind)).join(", "),
        plain(distinct(all.map(({ says }) => says)).join("; ")),
        plain(distinct(all.map(({ hint }) => hint)).join(" ")),
        all.every(({ retryable }) => retryable) ? "yes" : all.some(({ retryable }) => retryable) ? "sometimes" : "no",
        distinct(all.map(({ room }) => room)).join(", "),
      ]),
    ),
  );
}
