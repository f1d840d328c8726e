/** The one file that reads the environment. Each setting is a row: its variable, its unit, its default, how it is read. */
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join, resolve } from "node:path";
import { LOG_LEVELS, type LogLevel, OperatingError } from "../kernel/index.ts";
import { defaultRouterSettings, type RouterSettings } from "../router/index.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface Settings {
  readonly dataDir: string;
  readonly nodeId: string;
  readonly port: number;
  readonly logLevel: LogLevel;
  readonly router: RouterSettings;
}

export interface SettingRow<T> {
  readonly variable: string;
  readonly about: string;
  readonly shown: string;
  readonly read: (text: string) => T;
}

const wrong = (variable: string, text: string, expected: string) =>
  new OperatingError("INVALID_SETTING", `${variable}='${text}' is not ${expected}`, {
    hint: "docs/reference/settings.md lists all settings.",
  });

const yes = new Set(["1", "true", "yes", "on"]);
const no = new Set(["0", "false", "no", "off", ""]);

const flag = (variable: string) => (text: string) => {
  const word = text.trim().toLowerCase();
  if (yes.has(word)) return true;
  if (no.has(word)) return false;
  throw wrong(variable, text, "true or false");
};

const numberIn = (variable: string, least: number, most: number) => (text: string) => {
  const value = Number(text);
  if (text.trim() === "" || !Number.isFinite(value) || value < least || value > most)
    throw wrong(variable, text, `a number from ${least} to ${most}`);
  return value;
};

const row = <T>(
  variable: string,
  about: string,
  shown: string,
  read: (variable: string) => (text: string) => T,
): SettingRow<T> => ({
  variable,
  about,
  shown,
  read: read(variable),
});

/** Every variable that the program reads; the reference page is printed from this. */
export const settingRows = {
  dataDir: row(
    "RINGRIFT_DATA_DIR",
    "Data folder: journal, socket, token.",
    ".ringrift where one stands",
    () => (text) => resolve(text),
  ),
  nodeId: row("RINGRIFT_NODE_ID", "Name of this node.", "the host name", (variable) => (text) => {
    if (!/^[\w.-]{1,100}$/.test(text)) throw wrong(variable, text, "a name of letters, digits, _ . -");
    return text;
  }),
  port: row("RINGRIFT_PORT", "Loopback port of the API; 0 picks a free one.", "8770", (v) => numberIn(v, 0, 65_535)),
  logLevel: row(
    "RINGRIFT_LOG_LEVEL",
    "DEBUG, INFO, WARN, ERROR or SILENT; DEBUG logs every event.",
    "INFO",
    (variable) => (text) => {
      const level = LOG_LEVELS.find((known) => known === text.toUpperCase());
      if (level === undefined) throw wrong(variable, text, LOG_LEVELS.join(", "));
      return level;
    },
  ),
  handlerTimeout: row("RINGRIFT_EVENT_HANDLER_TIMEOUT", "Time limit of an event handler, in seconds.", "600", (v) =>
    numberIn(v, 0.001, 86_400),
  ),
  strictNames: row("RINGRIFT_EVENT_VALIDATION_STRICT", "Refuse events that the catalog does not know.", "false", flag),
  trace: row("RINGRIFT_EVENT_TRACE", "Log every publish and delivery.", "false", flag),
  dedupWindow: row("RINGRIFT_EVENT_DEDUP_WINDOW", "Window in which repeats are suppressed, in seconds.", "60", (v) =>
    numberIn(v, 0, 86_400),
  ),
} as const;

const fromEnvironment = <T>(environment: Environment, setting: SettingRow<T>): T | undefined => {
  const text = environment[setting.variable];
  return text === undefined ? undefined : setting.read(text);
};

/** `.ringrift` in this folder or the nearest one above that has it, like git does; else here. */
export function findDataDir(cwd: string): string {
  for (let at = resolve(cwd); ; at = dirname(at)) {
    const candidate = join(at, ".ringrift");
    if (existsSync(candidate)) return candidate;
    if (dirname(at) === at) return join(resolve(cwd), ".ringrift");
  }
}

export interface SettingOverrides {
  readonly dataDir?: string | undefined;
  readonly nodeId?: string | undefined;
  readonly port?: number | undefined;
  readonly logLevel?: LogLevel | undefined;
  readonly router?: Partial<RouterSettings> | undefined;
}

/** Arguments over environment over defaults. */
export function readSettings(environment: Environment, cwd: string, given: SettingOverrides = {}): Settings {
  const timeout = fromEnvironment(environment, settingRows.handlerTimeout);
  const strictNames = fromEnvironment(environment, settingRows.strictNames);
  const trace = fromEnvironment(environment, settingRows.trace);
  const dedupWindowSeconds = fromEnvironment(environment, settingRows.dedupWindow);
  return {
    dataDir:
      given.dataDir === undefined
        ? (fromEnvironment(environment, settingRows.dataDir) ?? findDataDir(cwd))
        : resolve(cwd, given.dataDir),
    nodeId:
      given.nodeId ??
      fromEnvironment(environment, settingRows.nodeId) ??
      (hostname().replace(/[^\w.-]/g, "-") || "node"),
    port: given.port ?? fromEnvironment(environment, settingRows.port) ?? 8770,
    logLevel: given.logLevel ?? fromEnvironment(environment, settingRows.logLevel) ?? "INFO",
    router: {
      ...defaultRouterSettings,
      ...(timeout === undefined ? {} : { handlerTimeoutMs: timeout * 1_000 }),
      ...(strictNames === undefined ? {} : { strictNames }),
      ...(trace === undefined ? {} : { trace }),
      ...(dedupWindowSeconds === undefined ? {} : { dedupWindowSeconds }),
      ...given.router,
    },
  };
}
