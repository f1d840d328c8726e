/**
 * Settings as rows: `seconds({ key, variable, min, max, default, about })` in the `settings.ts` of the room whose numbers they
 * are. The types, the units inside, the variable, the key in the file, `ringrift config` and the reference all follow.
 */
export type { Reading } from "./kind.ts";
export {
  addressList,
  choice,
  decimal,
  gigabytes,
  host,
  line,
  megabytes,
  name,
  path,
  percent,
  seconds,
  tagList,
  url,
  whole,
  yesNo,
} from "./kinds.ts";
export {
  rowsWith,
  type Setting,
  type SettingValues,
  type SomeValues,
  settingDefaults,
  settingValues,
  type World,
} from "./rows.ts";
export { type Secret, secretFile } from "./secret.ts";
