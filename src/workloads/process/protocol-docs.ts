/** The protocol for readers: a table for people, a JSON Schema for programs, both from the one table of messages. */
import { z } from "zod";
import { workloadDeclarationSchema } from "./declaration.ts";
import { MESSAGES, PROTOCOL_VERSION } from "./protocol.ts";

interface SchemaNode {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly SchemaNode[];
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly required?: readonly string[];
  readonly description?: string;
  readonly default?: unknown;
}

const typeOf = (node: SchemaNode): string => {
  if (node.enum !== undefined) return node.enum.map((each) => `\`${String(each)}\``).join(", ");
  if (node.anyOf !== undefined) return node.anyOf.map(typeOf).join(" or ");
  return [node.type ?? "any"].flat().join(" or ");
};

const schemaOf = (schema: z.ZodType) => z.toJSONSchema(schema, { io: "input" }) as Record<string, unknown> & SchemaNode;

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.map(cell).join(" | ")} |\n`).join("");

/** The table of messages for the manual, in Markdown. A field with a question mark may be left out. */
export const printMessages = (): string =>
  table(
    ["Message, field", "Direction, type", "Meaning"],
    Object.entries(MESSAGES).flatMap(([message, { from, about, schema }]) => {
      const { properties = {}, required = [] } = schemaOf(schema());
      const { type: _, ...fields } = properties;
      return [
        [`**\`${message}\`**`, from === "program" ? "program → worker" : "worker → program", `**${about}**`],
        ...Object.entries(fields).map(([field, node]) => [
          `\`${field}${required.includes(field) ? "" : "?"}\``,
          typeOf(node),
          node.description ?? "",
        ]),
      ];
    }),
  );

/** The table of what a declaration may say, limits included. */
export function printDeclaration(): string {
  const { properties = {}, required = [] } = schemaOf(workloadDeclarationSchema());
  const { limits, ...own } = properties;
  const fallback = (node: SchemaNode, name: string) =>
    required.includes(name) ? "" : node.default === undefined ? "none" : `\`${JSON.stringify(node.default)}\``;
  const rowsOf = (prefix: string, nodes: Readonly<Record<string, SchemaNode>> = {}) =>
    Object.entries(nodes).map(([name, node]) => [
      `\`${prefix}${name}\``,
      typeOf(node),
      fallback(node, name),
      node.description ?? "",
    ]);
  return table(["Field", "Type", "Default", "Meaning"], [...rowsOf("", own), ...rowsOf("limits.", limits?.properties)]);
}

export const declarationJsonSchema = (): Record<string, unknown> => schemaOf(workloadDeclarationSchema());

/** One JSON Schema with a definition for each message. */
export const messagesJsonSchema = (): Record<string, unknown> => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: `RingRift workload protocol, version ${PROTOCOL_VERSION}`,
  $defs: Object.fromEntries(
    Object.entries(MESSAGES).map(([type, { from, about, schema }]) => {
      const { $schema: _, ...rest } = schemaOf(schema());
      return [type, { description: about, "x-from": from, ...rest }];
    }),
  ),
});
