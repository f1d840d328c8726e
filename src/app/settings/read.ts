import { hostname } from "node:os";
import { type Environment, lazy, OperatingError } from "../../kernel/index.ts";
import { settingDefaults, settingValues } from "../../kernel/settings/index.ts";
import { readConfigFile } from "./config-file.ts";
import { findConfigFile, findDataDir } from "./places.ts";
import { settingsReport } from "./report.ts";
import { fromEnvironment, fromFile, fromFlags, type Inspection, resolveSettings, valueSaid } from "./resolve.ts";
import { type SettingOverrides, type Settings, settingTree } from "./tree.ts";

/** Every setting with its value and origin, and all that is wrong; never throws. */
export function inspectSettings(environment: Environment, cwd: string, given: SettingOverrides = {}): Inspection {
  const world = { hostName: hostname(), dataDir: findDataDir(cwd), configFile: findConfigFile(cwd) };
  const said = [fromFlags(given, cwd), fromEnvironment(environment, cwd)];
  // Where the file is must be known before it is read; what else is wrong is found once, below.
  const path = valueSaid("config", said, world) as string | undefined;
  const file = path === undefined ? undefined : readConfigFile(path);
  return resolveSettings([...said, fromFile(file)], world, file?.path);
}

/** Throws what names every problem. */
function requireSound({ problems }: Inspection): void {
  if (problems.length === 0) return;
  const messages = problems.map(({ message }) => message);
  throw OperatingError.invalid(
    "INVALID_SETTING",
    messages.length === 1 ? messages[0]! : `${messages.length} problems with the settings:\n  ${messages.join("\n  ")}`,
    {
      hint: "'ringrift config check' lists every problem; docs/reference/settings.md lists all settings.",
      details: { problems },
    },
  );
}

/** Arguments over environment over file over defaults. Throws when anything that was set is wrong. */
export function readSettings(environment: Environment, cwd: string, given: SettingOverrides = {}): Settings {
  const inspection = inspectSettings(environment, cwd, given);
  requireSound(inspection);
  const { settings, notices } = inspection;
  const report = lazy(() => settingsReport(inspection));
  return {
    ...settingValues(settingTree, ({ key }) => settings.get(key)!.value),
    notices,
    // Few commands show where settings come from.
    get report() {
      return report();
    },
  };
}

/** Where the process of these settings is to be found, also where others of them are wrong. */
export function soundPlaces(
  { settings }: Inspection,
  cwd: string,
): { readonly dataDir: string; readonly port: number; readonly host: string; readonly secure: boolean } {
  const [folder, port, host] = [settings.get("data_dir")!, settings.get("api.port")!, settings.get("api.host")!];
  const defaults = settingDefaults(settingTree);
  return {
    dataDir: folder.sound ? (folder.value as string) : findDataDir(cwd),
    port: port.sound ? (port.value as number) : defaults.port,
    host: host.sound ? (host.value as string) : defaults.api.host,
    secure: settings.get("api.tls_cert_file")?.value !== undefined,
  };
}
