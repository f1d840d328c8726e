/** Literals in sources, as far as they can be read without running them. */
import ts from "typescript";

/** The text of a string or template, with `...` where a value is put in unless `put` names it; every literal of a choice between several. */
export function textsOf(
  node: ts.Expression | undefined,
  put: (value: ts.Expression) => string = () => "...",
): string[] {
  if (node === undefined) return [];
  if (ts.isStringLiteralLike(node)) return [node.text];
  if (ts.isTemplateExpression(node))
    return [node.head.text + node.templateSpans.map((span) => `${put(span.expression)}${span.literal.text}`).join("")];
  if (ts.isParenthesizedExpression(node)) return textsOf(node.expression, put);
  if (ts.isConditionalExpression(node)) return [...textsOf(node.whenTrue, put), ...textsOf(node.whenFalse, put)];
  if (ts.isBinaryExpression(node)) {
    const [left, right] = [textsOf(node.left, put), textsOf(node.right, put)];
    if (node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return [...left, ...right];
    return [`${left[0] ?? "..."}${right[0] ?? "..."}`];
  }
  return [];
}

export const propertyOf = (node: ts.Expression | undefined, name: string): ts.Expression | undefined =>
  node !== undefined && ts.isObjectLiteralExpression(node)
    ? node.properties.filter(ts.isPropertyAssignment).find((each) => each.name.getText() === name)?.initializer
    : undefined;
