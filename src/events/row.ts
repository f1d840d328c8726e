import { z } from "zod";
import { lazy, lazyTable } from "../kernel/index.ts";

/** How far an event travels and what is promised about it; the delivery contract explains each. */
export type EventClass = "durable" | "volatile" | "process";

export type PayloadShape = Readonly<Record<string, z.ZodType>>;

/** Rewrites a payload of version `n` into one of version `n + 1`. Keys are the versions they start from. */
export type Upcasters = Readonly<Record<number, (payload: Record<string, unknown>) => Record<string, unknown>>>;

/** What one writes down for an event. Everything else about it is derived from this. */
export interface RowSpec<S extends PayloadShape> {
  /** What it tells, in one sentence that a user understands. */
  readonly about: string;
  /** Durable unless said. */
  readonly class?: EventClass;
  /** Deliveries to one consumer keep their order among events with the same value of this field. */
  readonly orderKey: NoInfer<keyof S & string> | null;
  /** Suppress a repeat within the window: by the whole content, or by these fields. Absent: never. */
  readonly dedup?: "content" | readonly NoInfer<keyof S & string>[];
  /** Its fields, or a function that makes them when the first such event is read: few of all events are met in one process. */
  readonly payload: S | (() => S);
  /** The value on the wire where it is not the lower-case name. */
  readonly wire?: string;
  /** Older spellings that still resolve, with a deprecation. */
  readonly legacy?: readonly string[];
  /** The name of its twin on the stage bus. */
  readonly stage?: string;
  /** Payload version, 1 unless said. */
  readonly version?: number;
  readonly upcasters?: Upcasters;
  /** The pipeline cannot run without a subscriber of this one. */
  readonly critical?: true;
  /** No part of the system emits it yet: its payload may still change, and outside publishers may leave fields out. */
  readonly provisional?: true;
}

/** A row of the catalog: the spec with its defaults filled in. Its schemas are built when they are first asked for. */
export interface EventRow<S extends PayloadShape = PayloadShape> {
  readonly name: string;
  readonly category: string;
  readonly wire: string;
  readonly about: string;
  readonly class: EventClass;
  readonly orderKey: string | null;
  readonly dedup: "none" | "content" | readonly string[];
  readonly legacy: readonly string[];
  readonly stage: string | null;
  readonly version: number;
  readonly upcasters: Upcasters;
  readonly critical: boolean;
  readonly provisional: boolean;
  /** For what our own units emit: every field known, none missing. */
  readonly payload: z.ZodObject<S, z.core.$strict>;
  /** For what arrives from outside: unknown fields are kept. */
  readonly tolerant: z.ZodType<Record<string, unknown>>;
  /** The same for one that says less than it should: what it says must fit. */
  readonly incomplete: z.ZodType<Record<string, unknown>>;
  /** Fields that whoever handles it may rely on; none of a provisional one. */
  readonly required: readonly string[];
}

export type Rows = Readonly<Record<string, EventRow>>;

const nameShape = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/;
const wireShape = /^[a-z][a-z0-9]*([_.-][a-z0-9]+)*$/;

/**
 * Declares events of one category. A row is data: types, validation, storage, docs and the audit all read it.
 * A wrong row (a bad name, a missing upcaster) is a programmer's error and throws where it is declared; one whose fields are
 * made later says what is wrong with them when they are made.
 */
export function defineEvents<const S extends Record<string, PayloadShape>>(
  category: string,
  rows: { readonly [N in keyof S]: RowSpec<S[N]> },
): { readonly [N in keyof S]: EventRow<S[N]> } {
  const built: Record<string, EventRow> = {};
  for (const name of Object.keys(rows)) built[name] = buildRow(category, name, rows[name as keyof S]!);
  return Object.freeze(built) as { readonly [N in keyof S]: EventRow<S[N]> };
}

function buildRow<S extends PayloadShape>(category: string, name: string, spec: RowSpec<S>): EventRow<S> {
  const fault = (what: string) => new Error(`event ${name}: ${what}`);
  if (!nameShape.test(name)) throw fault("a name is upper snake case, like MODEL_PROMOTED");
  const wire = spec.wire ?? name.toLowerCase();
  if (!wireShape.test(wire)) throw fault(`wire value '${wire}' must be lower case`);
  const version = spec.version ?? 1;
  for (let from = 1; from < version; from += 1)
    if (spec.upcasters?.[from] === undefined) throw fault(`version ${version} needs an upcaster from ${from}`);
  if (Array.isArray(spec.dedup) && spec.dedup.length === 0) throw fault("dedup by no field would drop every repeat");
  const shape = lazy((): PayloadShape => {
    const made = (typeof spec.payload === "function" ? spec.payload() : spec.payload) as PayloadShape;
    for (const field of [spec.orderKey, ...(Array.isArray(spec.dedup) ? spec.dedup : [])]) {
      if (field === null) continue;
      if (!Object.hasOwn(made, field)) throw fault(`'${field}' is no field of its payload`);
      if (made[field]!.safeParse(undefined).success)
        throw fault(`'${field}' keeps order or dedup and must be required`);
    }
    return made;
  });
  if (typeof spec.payload !== "function") shape();
  const build = (isWhole: boolean) => {
    const loose = z.looseObject(shape());
    return (isWhole ? loose : loose.partial()) as z.ZodType<Record<string, unknown>>;
  };
  const schemas = lazyTable({
    payload: () => z.strictObject(shape()) as unknown as z.ZodObject<S, z.core.$strict>,
    tolerant: () => build(spec.provisional !== true),
    incomplete: () => build(false),
    required: () =>
      spec.provisional ? [] : Object.keys(shape()).filter((key) => !shape()[key]!.safeParse(undefined).success),
  });
  return Object.defineProperties(
    {
      name,
      category,
      wire,
      about: spec.about,
      class: spec.class ?? "durable",
      orderKey: spec.orderKey,
      dedup: spec.dedup ?? "none",
      legacy: spec.legacy ?? [],
      stage: spec.stage ?? null,
      version,
      upcasters: spec.upcasters ?? {},
      critical: spec.critical ?? false,
      provisional: spec.provisional ?? false,
    },
    Object.getOwnPropertyDescriptors(schemas),
  ) as EventRow<S>;
}

/** Fields that a payload should have and has not; none of an event that the catalog does not know. */
export const missingFields = (row: EventRow | undefined, payload: Readonly<Record<string, unknown>>): string[] =>
  (row?.required ?? []).filter((key) => payload[key] === undefined);

/** What one hands to an emitter. */
export type PayloadInput<Row> = Row extends EventRow<infer S> ? z.input<z.ZodObject<S, z.core.$strict>> : never;
/** What a handler receives. */
export type PayloadOutput<Row> = Row extends EventRow<infer S> ? z.output<z.ZodObject<S, z.core.$strict>> : never;
