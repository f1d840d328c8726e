/** Flags over environment over file over default, and everything that is wrong with any of them. */
import { dirname } from "node:path";
import { didYouMean, suggest } from "../../kernel/index.ts";
import { settingChecks } from "./checks.ts";
import type { ConfigFile } from "./config-file.ts";
import type { Reading } from "./kinds.ts";
import type { World } from "./schema.ts";
import { placeOf, type SettingKey, type SettingOrigin, type SettingValues, settingRows } from "./values.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Problem {
  /** The settings that it is about; none when the name itself is unknown or the file cannot be read. */
  readonly keys: readonly SettingKey[];
  /** Variable, flag or file and line. */
  readonly place: string;
  readonly message: string;
}

/** What stands where: a value as it was written, not yet read. */
export interface Candidate {
  readonly key: SettingKey;
  readonly origin: Exclude<SettingOrigin, { kind: "default" }>;
  readonly written: unknown;
  /** What relative paths in it are meant from. */
  readonly base: string;
}

export interface Resolved {
  readonly value: unknown;
  readonly origin: SettingOrigin;
  /** Whether the value may be used; what was written may be wrong. */
  readonly sound: boolean;
}

export interface Inspection {
  readonly settings: ReadonlyMap<SettingKey, Resolved>;
  readonly problems: readonly Problem[];
  readonly notices: readonly string[];
  readonly file: string | undefined;
}

const rowOf = new Map(settingRows);
const keyOfVariable = new Map<string, SettingKey>(settingRows.map(([key, { variable }]) => [variable, key]));
const groups = new Set(settingRows.flatMap(([key]) => (key.includes(".") ? [key.split(".")[0]!] : [])));

const MOST_SHOWN = 80;
const quote = (written: unknown): string => {
  const text = JSON.stringify(written) ?? String(written);
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}...` : text;
};

interface Collected {
  readonly candidates: readonly Candidate[];
  readonly problems: readonly Problem[];
}

const PREFIX = "RINGRIFT_";

/** All variables begin alike; what they share must not make strangers look near. */
function meantVariable(name: string): string {
  const bare = [...keyOfVariable.keys()].map((variable) => variable.slice(PREFIX.length));
  const near = suggest(name.slice(PREFIX.length), bare).map((rest) => PREFIX + rest);
  return near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
}

/** A value is never repeated here: whoever misspelt the name of a secret finds it in no log. */
function unknownVariable(name: string): Problem {
  const byFile = keyOfVariable.has(`${name}_FILE`)
    ? ` A secret comes by file: set ${name}_FILE to its path.`
    : meantVariable(name);
  return { keys: [], place: name, message: `there is no setting with the variable ${name}.${byFile}` };
}

/** An empty variable counts as not set, as it does for most programs. */
export function fromEnvironment(environment: Environment, cwd: string): Collected {
  const candidates: Candidate[] = [];
  const problems: Problem[] = [];
  for (const [name, written] of Object.entries(environment)) {
    if (!name.startsWith(PREFIX) || written === undefined || written.trim() === "") continue;
    const key = keyOfVariable.get(name);
    if (key === undefined) problems.push(unknownVariable(name));
    else candidates.push({ key, origin: { kind: "environment", name }, written, base: cwd });
  }
  return { candidates, problems };
}

export function fromFlags(given: Readonly<Partial<Record<SettingKey, unknown>>>, cwd: string): Collected {
  const candidates = settingRows.flatMap(([key, row]): Candidate[] => {
    const written = given[key];
    if (written === undefined) return [];
    return [{ key, origin: { kind: "flag", name: row.flag ?? `argument ${key}` }, written, base: cwd }];
  });
  return { candidates, problems: [] };
}

function unknownKey(key: string, place: string): Problem {
  const variable = keyOfVariable.get(key);
  const meant = variable === undefined ? didYouMean(key, rowOf.keys()) : ` Did you mean ${variable}?`;
  return { keys: [], place, message: `${place}: there is no setting ${quote(key)}.${meant}` };
}

/** Groups may be written as objects or with dots: `{"api": {"port": 1}}` is `{"api.port": 1}`. */
export function fromFile(file: ConfigFile | undefined): Collected {
  if (file === undefined) return { candidates: [], problems: [] };
  if ("refused" in file) return { candidates: [], problems: [{ keys: [], place: file.path, message: file.refused }] };
  const candidates = new Map<SettingKey, Candidate>();
  const problems: Problem[] = [];
  for (const { path, value, line } of file.entries) {
    // Programs that do jobs, and plans of what they shall learn: no settings, and read by those who run them.
    if (path[0] === "workloads" || path[0] === "plans") continue;
    const name = path.join(".");
    const place = `${file.path}:${line}`;
    const key = name as SettingKey;
    const row = rowOf.get(key);
    const first = candidates.get(key);
    if (row === undefined) {
      const isEmptyGroup = groups.has(name) && quote(value) === "{}";
      if (!isEmptyGroup) problems.push(unknownKey(name, place));
    } else if (row.notInFile)
      problems.push({
        keys: [key],
        place,
        message: `${place}: ${key} cannot be set in the file; use ${row.flag ?? row.variable}`,
      });
    else if (first !== undefined)
      problems.push({ keys: [key], place, message: `${place}: ${key} is set already at ${placeOf(first.origin)}` });
    else {
      const origin = { kind: "file", file: file.path, line } as const;
      candidates.set(key, { key, origin, written: value, base: dirname(file.path) });
    }
  }
  return { candidates: [...candidates.values()], problems };
}

function read({ key, origin, written, base }: Candidate): Reading<unknown> {
  const { kind } = rowOf.get(key)!;
  return origin.kind === "environment" ? kind.fromText(String(written), base) : kind.fromJson(written, base);
}

function refusal({ key, origin, written }: Candidate, refused: string): Problem {
  const place = placeOf(origin);
  const what = rowOf.get(key)!.kind.secret ? "" : `=${quote(written)}`;
  const subject = origin.kind === "file" ? `${place}: ${key}${what}` : `${place}${what}`;
  return { keys: [key], place, message: `${subject} ${refused}` };
}

function crossProblems(settings: ReadonlyMap<SettingKey, Resolved>): Problem[] {
  const values = Object.fromEntries([...settings].map(([key, { value }]) => [key, value])) as SettingValues;
  return settingChecks.flatMap(({ keys, holds, rule }) => {
    if (!keys.every((key) => settings.get(key)!.sound) || holds(values)) return [];
    const said = keys.map((key) => `${key}=${quote(values[key])} (${placeOf(settings.get(key)!.origin)})`);
    const culprits = keys.map((key) => settings.get(key)!.origin).filter(({ kind }) => kind !== "default");
    const place = placeOf(culprits[0] ?? { kind: "default" });
    return [{ keys, place, message: `${said.join(" and ")} do not go together. ${rule}` }];
  });
}

/**
 * Everything that was written is read, also where something stronger hides it: a wrong line in the file is a trap for the
 * day on which the variable over it goes away. `sources` stand in the order of their strength.
 */
export function resolveSettings(sources: readonly Collected[], world: World, file: string | undefined): Inspection {
  const settings = new Map<SettingKey, Resolved>();
  const problems = sources.flatMap((source) => source.problems);
  const notices: string[] = [];
  for (const [key, row] of settingRows) {
    const written = sources.flatMap(({ candidates }) => candidates.filter((candidate) => candidate.key === key));
    const readings = written.map((candidate) => ({ candidate, reading: read(candidate) }));
    for (const { candidate, reading } of readings)
      if ("refused" in reading) problems.push(refusal(candidate, reading.refused));
    const strongest = readings[0];
    if (strongest === undefined) {
      settings.set(key, { value: row.fallback(world), origin: { kind: "default" }, sound: true });
      continue;
    }
    const { candidate, reading } = strongest;
    const sound = "value" in reading;
    settings.set(key, { value: sound ? reading.value : undefined, origin: candidate.origin, sound });
    if (row.withoutEffect)
      notices.push(`${key} (${placeOf(candidate.origin)}) has no effect yet: its part does not exist`);
  }
  problems.push(...crossProblems(settings));
  return { settings, problems, notices, file };
}
