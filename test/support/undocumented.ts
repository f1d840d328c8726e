/** What an answer holds and its OpenAPI schema does not name, and what the schema promises and the answer lacks. */
type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The schema of what a route answers when all is well. */
export const answerSchemaOf = (document: Json, method: string, path: string): unknown =>
  ["paths", path, method, "responses", "200", "content", "application/json", "schema"].reduce<unknown>(
    (at, key) => (at as Json)[key],
    document,
  );

export function undocumented(document: Json, schema: unknown, value: unknown, at = ""): string[] {
  if (!isObject(schema)) return [];
  if (typeof schema.$ref === "string") {
    const name = schema.$ref.split("/").at(-1)!;
    const { schemas } = document.components as { schemas: Readonly<Record<string, Json>> };
    return undocumented(document, schemas[name], value, at);
  }
  if (Array.isArray(value))
    return value.flatMap((item, i) => undocumented(document, schema.items, item, `${at}[${i}]`));
  // Where any of several will do, it must be told wholly by one of them.
  const choices = (schema.anyOf ?? schema.oneOf) as unknown[] | undefined;
  if (choices !== undefined) {
    const faults = choices.map((choice) => undocumented(document, choice, value, at));
    return faults.toSorted((a, b) => a.length - b.length)[0]!;
  }
  if (!isObject(value) || schema.properties === undefined) return [];
  const properties = schema.properties as Json;
  // What takes anything says so; what says nothing has told all that it has.
  const isOpen = (schema.additionalProperties ?? false) !== false;
  const strange = isOpen ? [] : Object.keys(value).filter((key) => !(key in properties));
  const lacking = ((schema.required ?? []) as string[]).filter((key) => !(key in value));
  return [
    ...strange.map((key) => `${at}.${key} is not in the schema`),
    ...lacking.map((key) => `${at}.${key} is promised and not there`),
    ...Object.keys(value)
      .filter((key) => key in properties)
      .flatMap((key) => undocumented(document, properties[key], value[key], `${at}.${key}`)),
  ];
}
