/** Flags over environment over file over default, and everything that is wrong with any of them. */
import { dirname } from "node:path";
import { didYouMean, type Environment, suggest } from "../../kernel/index.ts";
import { type Reading, rowsWith, type Setting, settingValues, type World } from "../../kernel/settings/index.ts";
import { settingChecks } from "./checks.ts";
import type { ConfigFile } from "./config-file.ts";
import { type SettingOverrides, settingRows, settingTree } from "./tree.ts";

/** Where a value came from. */
export type SettingOrigin =
  | { readonly kind: "flag"; readonly name: string }
  | { readonly kind: "environment"; readonly name: string }
  | { readonly kind: "file"; readonly file: string; readonly line: number }
  | { readonly kind: "default" };

/** The place in words: `--port`, `RINGRIFT_PORT`, `/etc/ringrift.config.json:3`, `default`. */
export function placeOf(origin: SettingOrigin): string {
  if (origin.kind === "default") return "default";
  return origin.kind === "file" ? `${origin.file}:${origin.line}` : origin.name;
}

export interface Problem {
  /** The settings that it is about; none when the name itself is unknown or the file cannot be read. */
  readonly keys: readonly string[];
  /** Variable, flag or file and line. */
  readonly place: string;
  readonly message: string;
}

/** What stands where: a value as it was written, not yet read. */
export interface Candidate {
  readonly row: Setting<unknown>;
  readonly origin: Exclude<SettingOrigin, { kind: "default" }>;
  readonly written: unknown;
  /** What relative paths in it are meant from. */
  readonly base: string;
}

export interface Resolved {
  /** In the unit of its row. */
  readonly value: unknown;
  readonly origin: SettingOrigin;
  /** Whether the value may be used; what was written may be wrong. */
  readonly sound: boolean;
}

export interface Inspection {
  readonly settings: ReadonlyMap<string, Resolved>;
  readonly problems: readonly Problem[];
  readonly notices: readonly string[];
  readonly file: string | undefined;
}

const byKey = new Map(settingRows.map((row) => [row.key, row]));
const byVariable = new Map<string, Setting<unknown>>(settingRows.map((row) => [row.variable, row]));
const groups = new Set(settingRows.flatMap(({ key }) => (key.includes(".") ? [key.split(".")[0]!] : [])));

const MAX_SHOWN = 80;
const quote = (written: unknown): string => {
  const text = JSON.stringify(written) ?? String(written);
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
};

interface Collected {
  readonly candidates: readonly Candidate[];
  readonly problems: readonly Problem[];
}

const PREFIX = "RINGRIFT_";

/** All variables begin alike; what they share must not make strangers look near. */
function meantVariable(name: string): string {
  const bare = [...byVariable.keys()].map((variable) => variable.slice(PREFIX.length));
  const near = suggest(name.slice(PREFIX.length), bare).map((rest) => PREFIX + rest);
  return near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
}

/** A value is never repeated here: whoever misspelt the name of a secret finds it in no log. */
function unknownVariable(name: string): Problem {
  const byFile = byVariable.has(`${name}_FILE`)
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
    const row = byVariable.get(name);
    if (row === undefined) problems.push(unknownVariable(name));
    else candidates.push({ row, origin: { kind: "environment", name }, written, base: cwd });
  }
  return { candidates, problems };
}

/** What a program gives is in the units of the parts; each row knows how people would write it. */
export function fromFlags(given: SettingOverrides, cwd: string): Collected {
  const candidates = rowsWith(settingTree, given).flatMap(([row, value]): Candidate[] => {
    if (value === undefined) return [];
    const origin = { kind: "flag", name: row.flag ?? `argument ${row.key}` } as const;
    return [{ row, origin, written: row.kind.outside(value), base: cwd }];
  });
  return { candidates, problems: [] };
}

function unknownKey(key: string, place: string): Problem {
  const named = byVariable.get(key);
  const meant = named === undefined ? didYouMean(key, byKey.keys()) : ` Did you mean ${named.key}?`;
  return { keys: [], place, message: `${place}: there is no setting ${quote(key)}.${meant}` };
}

/** Groups may be written as objects or with dots: `{"api": {"port": 1}}` is `{"api.port": 1}`. */
export function fromFile(file: ConfigFile | undefined): Collected {
  if (file === undefined) return { candidates: [], problems: [] };
  if ("refused" in file) return { candidates: [], problems: [{ keys: [], place: file.path, message: file.refused }] };
  const candidates = new Map<string, Candidate>();
  const problems: Problem[] = [];
  for (const { path, value, line } of file.entries) {
    // Programs that do jobs, and plans of what they shall learn: no settings, and read by those who run them.
    if (path[0] === "workloads" || path[0] === "plans" || path[0] === "experiments") continue;
    // It tells editors what may stand here.
    if (path.length === 1 && path[0] === "$schema") continue;
    const key = path.join(".");
    const place = `${file.path}:${line}`;
    const row = byKey.get(key);
    const first = candidates.get(key);
    if (row === undefined) {
      const isEmptyGroup = groups.has(key) && quote(value) === "{}";
      if (!isEmptyGroup) problems.push(unknownKey(key, place));
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
      candidates.set(key, { row, origin, written: value, base: dirname(file.path) });
    }
  }
  return { candidates: [...candidates.values()], problems };
}

function read({ row: { kind }, origin, written, base }: Candidate): Reading {
  return origin.kind === "environment" ? kind.fromText(String(written), base) : kind.fromJson(written, base);
}

function refusal({ row: { key, kind }, origin, written }: Candidate, refused: string): Problem {
  const place = placeOf(origin);
  const what = kind.secret ? "" : `=${quote(written)}`;
  const subject = origin.kind === "file" ? `${place}: ${key}${what}` : `${place}${what}`;
  return { keys: [key], place, message: `${subject} ${refused}` };
}

function crossProblems(settings: ReadonlyMap<string, Resolved>): Problem[] {
  const values = settingValues(settingTree, ({ key }) => settings.get(key)!.value);
  return settingChecks.flatMap(({ keys, holds, rule }) => {
    const found = keys.map((key) => settings.get(key)!);
    if (!found.every(({ sound }) => sound) || holds(values)) return [];
    const said = found.map(({ value, origin }, i) => `${keys[i]}=${quote(value)} (${placeOf(origin)})`);
    const culprit = found.map(({ origin }) => origin).find(({ kind }) => kind !== "default");
    const place = placeOf(culprit ?? { kind: "default" });
    return [{ keys, place, message: `${said.join(" and ")} do not fit together. ${rule}` }];
  });
}

/** What one setting is by what was said of it so far; undefined where that is wrong. */
export function valueSaid(key: string, sources: readonly Collected[], world: World): unknown {
  const written = sources.flatMap(({ candidates }) => candidates).find(({ row }) => row.key === key);
  if (written === undefined) return byKey.get(key)?.fallback(world);
  const reading = read(written);
  return "value" in reading ? reading.value : undefined;
}

/**
 * Everything that was written is read, also where something stronger hides it: a wrong line in the file is a trap for the
 * day on which the variable over it goes away. `sources` stand in the order of their strength.
 */
export function resolveSettings(sources: readonly Collected[], world: World, file: string | undefined): Inspection {
  const settings = new Map<string, Resolved>();
  const problems = sources.flatMap((source) => source.problems);
  const notices: string[] = [];
  const writtenOf = Map.groupBy(
    sources.flatMap(({ candidates }) => candidates),
    ({ row }) => row,
  );
  for (const row of settingRows) {
    const { key } = row;
    const readings = (writtenOf.get(row) ?? []).map((candidate) => ({ candidate, reading: read(candidate) }));
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
  }
  for (const { key, onlyWith } of settingRows) {
    const { origin } = settings.get(key)!;
    if (onlyWith !== undefined && origin.kind !== "default" && settings.get(onlyWith)?.value === false)
      notices.push(`${key} (${placeOf(origin)}) has no effect: ${onlyWith} is off`);
  }
  problems.push(...crossProblems(settings));
  return { settings, problems, notices, file };
}
