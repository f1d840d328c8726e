/** Settings are in seconds, as people think of them; the parts count milliseconds where they set timers. */
import type { SettingKey, SettingValues } from "./values.ts";

export interface Field {
  readonly key: SettingKey;
  /** Of the part's unit, so many are one of the setting's. */
  readonly times?: 1_000;
}

/** The setting behind each field of a part's own settings, both ways. */
export function settingFields<T extends object>(fields: { readonly [F in keyof T]: Field }) {
  const rows = Object.entries(fields) as [keyof T & string, Field][];
  return {
    /** What the part is given. */
    of: (values: SettingValues): T =>
      Object.fromEntries(
        rows.map(([field, { key, times }]) => {
          const value = values[key];
          // 1.001 * 1000 is a little less than 1001: timers count whole milliseconds.
          return [field, typeof value === "number" && times !== undefined ? Math.round(value * times) : value];
        }),
      ) as unknown as T,
    /** The other way round, for what a program gives in the part's own words. */
    from: (given: Partial<T>): Partial<Record<SettingKey, unknown>> =>
      Object.fromEntries(
        rows.map(([field, { key, times }]) => {
          const value = given[field];
          return [key, typeof value === "number" && times !== undefined ? value / times : value];
        }),
      ),
  };
}
