import { assert, messageOf, OperatingError } from "../kernel/index.ts";
import type { EventRow } from "./row.ts";

export type Payload = Readonly<Record<string, unknown>>;

export interface Upcast {
  readonly payload: Payload;
  /** The version the payload has now. */
  readonly version: number;
  /** Written by newer code than this: kept as it is, and read as far as this code understands it. */
  readonly newer: boolean;
}

/**
 * Brings a stored payload to the version that this code speaks, one step after the other. It rewrites nothing that it
 * need not: a payload of the current version comes back as the same object, and fields that no upcaster names stay.
 */
export function upcast(row: EventRow, payload: Payload, version: number): Upcast {
  assert(Number.isSafeInteger(version) && version >= 1, `payload version ${version} of ${row.name}`);
  if (version > row.version) return { payload, version, newer: true };
  let current = payload;
  for (let from = version; from < row.version; from += 1) {
    const step = row.upcasters[from];
    assert(step !== undefined, `${row.name} has no upcaster from version ${from}`);
    try {
      current = step({ ...current });
    } catch (cause) {
      throw OperatingError.internal(
        "UPCAST_FAILED",
        `${row.name}: the payload of version ${from} cannot be converted to version ${from + 1}: ${messageOf(cause)}`,
        { cause, hint: "The stored payload does not match that version; see 'ringrift events show'." },
      );
    }
  }
  return { payload: current, version: row.version, newer: false };
}
