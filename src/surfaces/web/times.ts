/** Where times stand in an answer: here, in each of a list or record, in some fields. */
export type Times = 1 | { readonly each: Times } | { readonly in: Readonly<Record<string, Times>> };

/** Unix seconds of the wire become milliseconds, wherever times stand. */
export function readTimes(times: Times | undefined, value: unknown): unknown {
  if (times === undefined || value === null || value === undefined) return value;
  if (times === 1) return typeof value === "number" ? Math.round(value * 1_000) : value;
  if (typeof value !== "object") return value;
  if ("each" in times)
    return Array.isArray(value)
      ? value.map((each) => readTimes(times.each, each))
      : Object.fromEntries(Object.entries(value).map(([name, each]) => [name, readTimes(times.each, each)]));
  const read: Record<string, unknown> = { ...value };
  for (const [name, inside] of Object.entries(times.in)) if (name in read) read[name] = readTimes(inside, read[name]);
  return read;
}
