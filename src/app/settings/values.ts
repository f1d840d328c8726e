import { type Setting, settingsSchema } from "./schema.ts";

export type SettingKey = keyof typeof settingsSchema;

/** A value for every setting, in the unit of its row. */
export type SettingValues = {
  readonly [K in SettingKey]: (typeof settingsSchema)[K] extends Setting<infer T> ? T : never;
};

/** Every row with its key, in the order of the schema. */
export const settingRows: readonly (readonly [SettingKey, Setting<unknown>])[] = Object.entries(
  settingsSchema,
) as unknown as readonly (readonly [SettingKey, Setting<unknown>])[];

/** Where a value came from. */
export type SettingOrigin =
  | { readonly kind: "flag"; readonly name: string }
  | { readonly kind: "environment"; readonly name: string }
  | { readonly kind: "file"; readonly file: string; readonly line: number }
  | { readonly kind: "default" };

/** The place in words: `--port`, `RINGRIFT_PORT`, `/etc/ringrift.config.json:3`, `default`. */
export function placeOf(origin: SettingOrigin): string {
  switch (origin.kind) {
    case "flag":
    case "environment":
      return origin.name;
    case "file":
      return `${origin.file}:${origin.line}`;
    case "default":
      return "default";
  }
}
