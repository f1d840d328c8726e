/**
 * Settings: the one place that reads the environment and the file `ringrift.config.json`.
 *
 * Each setting is one row in the `settings.ts` of the room whose number it is: variable, flag, key, unit, range, default, and
 * a sentence on what it sets. It guarantees that there is one default for each meaning, that a flag beats the environment, the environment the file and the
 * file the default, that every value knows where it came from, that nothing unknown or wrong is passed over in silence, that
 * all problems are told at once, and that a secret is in no message.
 */
export { settingChecks } from "./settings/checks.ts";
export { inspectSettings, readSettings, soundPlaces } from "./settings/read.ts";
export { settingsReport } from "./settings/report.ts";
export { type SettingOverrides, type Settings, settingRows } from "./settings/tree.ts";
