import type { z } from "zod";
import { assert } from "../../kernel/index.ts";

type Convert = (value: unknown) => unknown;
type Way = "encode" | "decode";
type Schema = z.core.$ZodType;
interface Def {
  readonly type: string;
  readonly innerType?: Schema;
  readonly element?: Schema;
  readonly valueType?: Schema;
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly options?: readonly Schema[];
  readonly transform?: (value: unknown, payload: object) => unknown;
  readonly reverseTransform?: (value: unknown, payload: object) => unknown;
}

/**
 * How what a handler gives becomes what the wire has, or undefined where it is that already. Only what differs is touched:
 * what the program says of itself is not checked again, nothing is left out, and a route without times costs nothing.
 */
export const encoderOf = (schema: Schema): Convert | undefined => converter(schema, "encode");

/** The way back, unchecked: for an answer whose other values were looked at already. */
export const decoderOf = (schema: Schema): Convert | undefined => converter(schema, "decode");

function converter(schema: Schema, way: Way): Convert | undefined {
  const def = schema._zod.def as unknown as Def;
  switch (def.type) {
    case "pipe": {
      const convert = way === "encode" ? def.reverseTransform : def.transform;
      return convert && ((value) => convert(value, {}));
    }
    case "array": {
      const each = converter(def.element!, way);
      return each && ((value) => (value as readonly unknown[]).map(each));
    }
    case "record": {
      const each = converter(def.valueType!, way);
      return (
        each &&
        ((value) => Object.fromEntries(Object.entries(value as object).map(([key, one]) => [key, each(one)] as const)))
      );
    }
    case "object":
      return objectConverter(def.shape!, way);
    case "union": {
      const [one, ...more] = def.options!.flatMap((option) => converter(option, way) ?? []);
      assert(more.length === 0, "of the alternatives of an answer only one may hold times");
      return one;
    }
    default: {
      // Optional, nullable, read-only, with a default.
      const inner = def.innerType && converter(def.innerType, way);
      return inner && ((value) => (value === null || value === undefined ? value : inner(value)));
    }
  }
}

function objectConverter(shape: Readonly<Record<string, Schema>>, way: Way): Convert | undefined {
  const fields = Object.entries(shape).flatMap(([name, schema]) => {
    const convert = converter(schema, way);
    return convert === undefined ? [] : [{ name, convert }];
  });
  if (fields.length === 0) return undefined;
  return (value) => {
    const converted: Record<string, unknown> = { ...(value as object) };
    for (const { name, convert } of fields)
      if (converted[name] !== undefined) converted[name] = convert(converted[name]);
    return converted;
  };
}

/** The same for a value at hand: what `--json` prints of something that did not come over the wire. */
export const encoded = <T>(schema: z.ZodType<T>, value: unknown): unknown => encoderOf(schema)?.(value) ?? value;
