/** The kinds of values that a setting can have: how each is read from text and from JSON, checked, and shown. */
import { isIP } from "node:net";
import { resolve } from "node:path";

/** What a value looks like to people and programs; never a secret. */
export type Shown = string | number | boolean | null;

export type Reading<T> = { readonly value: T } | { readonly refused: string };

export interface Kind<T> {
  /** Ends the sentence "... is not": `a whole number from 1 to 100`. */
  readonly expects: string;
  /** What one of it is, where it is counted: `seconds`. */
  readonly unit?: string;
  /** The range or the choices, for the reference. */
  readonly range: string;
  /** A secret is named by a file; its text is in no message and in no answer. */
  readonly secret?: true;
  /** Relative paths are meant from `base`. */
  fromText(text: string, base: string): Reading<T>;
  fromJson(value: unknown, base: string): Reading<T>;
  show(value: T): Shown;
}

/** A number as people write it; `Number` alone would also take 0x10 and the empty text. */
const NUMBER = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;

export interface Range {
  readonly least: number;
  readonly most: number;
  readonly unit?: string;
}

const numberKind = (what: string, { least, most, unit }: Range, fits: (value: number) => boolean): Kind<number> => {
  const expects = `${what}${unit === undefined ? "" : ` of ${unit}`} from ${least} to ${most}`;
  const read = (value: unknown): Reading<number> =>
    typeof value === "number" && value >= least && value <= most && fits(value)
      ? { value }
      : { refused: `is not ${expects}` };
  return {
    expects,
    ...(unit === undefined ? {} : { unit }),
    range: `${least} to ${most}`,
    fromText: (text) => read(NUMBER.test(text.trim()) ? Number(text) : text),
    fromJson: read,
    show: (value) => value,
  };
};

export const decimal = (range: Range): Kind<number> => numberKind("a number", range, Number.isFinite);

export const whole = (range: Range): Kind<number> => numberKind("a whole number", range, Number.isSafeInteger);

const YES = new Set(["1", "true", "yes", "on"]);
const NO = new Set(["0", "false", "no", "off"]);

export const yesNo = (): Kind<boolean> => {
  const expects = "true or false";
  const refused = { refused: `is not ${expects}` };
  return {
    expects,
    range: "true, false",
    fromText(text) {
      const word = text.trim().toLowerCase();
      if (YES.has(word)) return { value: true };
      return NO.has(word) ? { value: false } : refused;
    },
    fromJson: (value) => (typeof value === "boolean" ? { value } : refused),
    show: (value) => value,
  };
};

export const choice = <const T extends string>(choices: readonly T[]): Kind<T> => {
  const expects = `one of ${choices.join(", ")}`;
  const fromText = (text: string): Reading<T> => {
    const value = choices.find((known) => known.toLowerCase() === text.trim().toLowerCase());
    return value === undefined ? { refused: `is not ${expects}` } : { value };
  };
  return {
    expects,
    range: choices.join(", "),
    fromText,
    fromJson: (value) => (typeof value === "string" ? fromText(value) : { refused: `is not ${expects}` }),
    show: (value) => value,
  };
};

export const name = (): Kind<string> => {
  const expects = "a name of 1 to 100 letters, digits, _ . -";
  const fromJson = (value: unknown): Reading<string> =>
    typeof value === "string" && /^[\w.-]{1,100}$/.test(value) ? { value } : { refused: `is not ${expects}` };
  return { expects, range: "1 to 100 letters, digits, `_` `.` `-`", fromText: fromJson, fromJson, show: (v) => v };
};

/** Tags, divided by commas. */
export const tagList = (): Kind<string> => {
  const expects = "a list of tags, divided by commas, each 1 to 64 letters, digits or . : + - _";
  const fromJson = (value: unknown): Reading<string> => {
    if (typeof value !== "string") return { refused: `is not ${expects}` };
    const tags = value.split(",").map((tag) => tag.trim());
    const isSound = value.trim() === "" || (tags.length <= 64 && tags.every((tag) => /^[\w.:+-]{1,64}$/.test(tag)));
    return isSound ? { value: tags.join(",") } : { refused: `is not ${expects}` };
  };
  return { expects, range: expects, fromText: fromJson, fromJson, show: (value) => value };
};

/** An address or a name of this machine to listen on. */
export const host = (): Kind<string> => {
  const expects = "an IP address or a host name";
  const fromJson = (value: unknown): Reading<string> =>
    typeof value === "string" && (isIP(value) !== 0 || /^[a-z\d]([a-z\d.-]{0,251}[a-z\d])?$/i.test(value))
      ? { value: value.toLowerCase() }
      : { refused: `is not ${expects}` };
  return { expects, range: expects, fromText: (text) => fromJson(text.trim()), fromJson, show: (value) => value };
};

export const path = (what: "file" | "folder"): Kind<string> => {
  const expects = `the path of a ${what}`;
  const fromJson = (value: unknown, base: string): Reading<string> =>
    typeof value === "string" && value !== "" && !value.includes("\0")
      ? { value: resolve(base, value) }
      : { refused: `is not ${expects}` };
  return { expects, range: `a path of a ${what}`, fromText: fromJson, fromJson, show: (value) => value };
};
