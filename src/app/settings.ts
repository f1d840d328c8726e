/**
 * Settings: the one place that reads the environment and the file `ringrift.config.json`.
 *
 * Each setting is one row of a schema: variable, flag, key, unit, range, default, and a sentence on what it sets. It
 * guarantees that there is one default for each meaning, that a flag beats the environment, the environment the file and the
 * file the default, that every value knows where it came from, that nothing unknown or wrong is passed over in silence, that
 * all problems are told at once, and that a secret is in no message.
 */
export { settingChecks } from "./settings/checks.ts";
export { findDataDir } from "./settings/places.ts";
export {
  type AlertSettings,
  inspectSettings,
  readSettings,
  type SettingOverrides,
  type Settings,
  type WorkerSettings,
} from "./settings/read.ts";
export { settingsReport } from "./settings/report.ts";
export type { Inspection } from "./settings/resolve.ts";
export { type Setting, settingsSchema } from "./settings/schema.ts";
export type { Secret } from "./settings/secret.ts";
export { placeOf, type SettingKey, type SettingOrigin, type SettingValues, settingRows } from "./settings/values.ts";
