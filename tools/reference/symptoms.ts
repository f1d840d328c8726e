/** The causes that `why`, `status` and `health` know, found in the sources: what one sees, and what cures it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { ADVICE_ACTIONS } from "../../src/daemons/cause.ts";
import { CAUSE_LEVELS } from "../../src/daemons/cause-levels.ts";
import { adviceWords } from "../../src/surfaces/commands/index.ts";
import { propertyOf, textsOf } from "./literals.ts";
import { page, table } from "./markdown.ts";

export interface CauseUse {
  readonly level: string;
  readonly code: string;
  readonly says: readonly string[];
  readonly actions: readonly string[];
  /** What to do is said where it is shown, and is in no literal. */
  readonly hasOtherAdvice: boolean;
}

const LEVELS: readonly string[] = CAUSE_LEVELS;
const ACTIONS: readonly string[] = ADVICE_ACTIONS;

/** What a name stands for in the functions around it. */
function meaningOf(name: string, from: ts.Node): ts.Expression | undefined {
  let found: ts.Expression | undefined;
  for (let at: ts.Node | undefined = from.parent; at !== undefined && found === undefined; at = at.parent) {
    if (!ts.isBlock(at) && !ts.isSourceFile(at)) continue;
    for (const statement of at.statements.filter(ts.isVariableStatement))
      for (const each of statement.declarationList.declarations)
        if (each.name.getText() === name) found = each.initializer;
  }
  return found;
}

const bare = (node: ts.Expression): ts.Expression =>
  ts.isAsExpression(node) || ts.isParenthesizedExpression(node) ? bare(node.expression) : node;

const resolved = (node: ts.Expression): ts.Expression => {
  const plain = bare(node);
  return ts.isIdentifier(plain) ? bare(meaningOf(plain.text, plain) ?? plain) : plain;
};

/** What a function of the same file gives back that is nothing but an expression. */
const givenBy = (node: ts.Expression): ts.Expression => {
  if (!ts.isCallExpression(node) || !ts.isIdentifier(node.expression)) return node;
  const meaning = meaningOf(node.expression.text, node);
  return meaning !== undefined && ts.isArrowFunction(meaning) && !ts.isBlock(meaning.body) ? bare(meaning.body) : node;
};

/** All that a cause may say: the choices of its words, and the rows of a table that they are looked up in. */
function saysOf(node: ts.Expression): string[] {
  const given = givenBy(resolved(node));
  if (ts.isBinaryExpression(given) && given.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken)
    return [...saysOf(given.left), ...saysOf(given.right)];
  const called = ts.isCallExpression(given) ? given.expression : given;
  if (!ts.isElementAccessExpression(called)) return textsOf(given, placeholder);
  const rows = resolved(called.expression);
  if (!ts.isObjectLiteralExpression(rows)) return [];
  return rows.properties
    .filter(ts.isPropertyAssignment)
    .flatMap(({ initializer: row }) =>
      ts.isArrowFunction(row) && !ts.isBlock(row.body) ? textsOf(row.body, placeholder) : [],
    );
}

/** Every action that is named in what a cause is given, also by a name for it. */
function actionsIn(node: ts.Node, depth = 0): string[] {
  if (depth > 4) return [];
  const found: string[] = [];
  const visit = (each: ts.Node): void => {
    if (ts.isObjectLiteralExpression(each)) {
      const action = propertyOf(each, "action");
      if (action !== undefined) found.push(...textsOf(resolved(action)));
      for (const property of each.properties)
        if (ts.isShorthandPropertyAssignment(property)) {
          const meaning = meaningOf(property.name.text, property);
          if (property.name.text === "action" && meaning !== undefined) found.push(...textsOf(meaning));
          if (property.name.text === "advice" && meaning !== undefined) found.push(...actionsIn(meaning, depth + 1));
        } else if (ts.isSpreadAssignment(property)) found.push(...actionsIn(resolved(property.expression), depth + 1));
    }
    ts.forEachChild(each, visit);
  };
  const start = ts.isIdentifier(node) ? resolved(node) : node;
  visit(start);
  return found;
}

/** A value by the last of its names, in the form of a placeholder: `<label>`. What is counted is said as of several. */
const placeholder = (value: ts.Expression): string => {
  if (ts.isConditionalExpression(value) && ts.isStringLiteralLike(value.whenFalse)) return value.whenFalse.text;
  if (ts.isBinaryExpression(value)) return placeholder(value.left);
  const meaning = resolved(value);
  if (ts.isConditionalExpression(meaning) && textsOf(meaning.whenTrue)[0] === "")
    return textsOf(meaning.whenFalse, placeholder)[0] ?? "...";
  if (ts.isCallExpression(value)) {
    const [first, one, several] = value.arguments;
    const called = value.expression.getText();
    if (first !== undefined && (called === "printable" || called === "listed")) return placeholder(first);
    if (/^why[A-Z]/.test(called)) return "<why>";
    if (called === "plural")
      return `<number> ${textsOf(several, placeholder)[0] ?? `${textsOf(one, placeholder)[0]}s`}`;
  }
  const names =
    value
      .getText()
      .match(/[a-z_]\w*/gi)
      ?.filter((name) => name !== "undefined") ?? [];
  return ts.isPropertyAccessExpression(value) || ts.isIdentifier(value)
    ? `<${names.at(-1)}>`
    : `<${names[0] ?? "..."}>`;
};

function usesIn(source: ts.SourceFile): CauseUse[] {
  const uses: CauseUse[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText() === "causeOf") {
      const [level, code, , what, about] = node.arguments;
      const actions = about === undefined ? [] : actionsIn(about).filter((action) => ACTIONS.includes(action));
      for (const each of textsOf(code))
        uses.push({
          level: LEVELS.find((word) => textsOf(level && resolved(level)).includes(word)) ?? "warn",
          code: each,
          says: what === undefined ? [] : saysOf(what),
          actions,
          hasOtherAdvice: actions.length === 0 && propertyOf(about, "advice") !== undefined,
        });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return uses;
}

export function causesIn(folder: string): CauseUse[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .sort()
    .flatMap((file) => {
      const path = join(folder, file);
      return usesIn(ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true));
    });
}

const distinct = (values: readonly string[]): string[] => [...new Set(values)].filter((value) => value !== "");
/** Text of a program holds no markup. */
const plain = (text: string): string => text.replaceAll(/[<*]/g, "\\$&");

const LEVEL_WORDS: Readonly<Record<string, string>> = {
  bad: "needs you now",
  warn: "needs a look",
  note: "goes on by itself",
};

function cureOf(uses: readonly CauseUse[]): string {
  const actions = distinct(uses.flatMap(({ actions }) => actions));
  if (actions.length > 0) return actions.map((action) => adviceWords({ action, subject: "<name>" })).join(" ");
  if (uses.some(({ hasOtherAdvice }) => hasOtherAdvice)) return "'ringrift why <name>' says it beside what fails.";
  return uses.every(({ level }) => level === "note") ? "Nothing: it goes on by itself." : "";
}

/** A cell without a word helps nobody: where one would be empty, the page is not printed. */
const filled = (cell: string, code: string, column: string): string => {
  if (cell === "") throw new Error(`the cause '${code}' has nothing to say under "${column}"`);
  return plain(cell);
};

/** Of codes that are put together at run time each use is a row of its own: the same pattern means different things there. */
const rowOf = ({ code, says }: CauseUse): string => (code.includes("...") ? `${code} ${says.join()}` : code);

export function printSymptoms(uses: readonly CauseUse[]): string {
  const rows = [...Map.groupBy(uses, rowOf)].sort(([a], [b]) => (a < b ? -1 : 1));
  return page(
    "# Symptoms and cures",
    "Printed from the sources: every cause that `ringrift why`, `ringrift status` and `ringrift health` can name. Words in angle brackets " +
      "stand for values. Ask `ringrift why <config, job, node or daemon>`: it prints the chain from what you asked for down to one of these, with " +
      "what is there, what must be, since when, and the cure below with the right name in it.",
    table(
      ["You see", "How bad", "What to do", "Code"],
      rows.map(([, all]) => [
        filled(distinct(all.flatMap(({ says }) => says)).join(" / "), all[0]!.code, "You see"),
        LEVEL_WORDS[LEVELS.find((level) => all.some((use) => use.level === level)) ?? "warn"] ?? "",
        filled(cureOf(all), all[0]!.code, "What to do"),
        `\`${all[0]!.code.replaceAll("...", "*")}\``,
      ]),
    ),
  );
}
