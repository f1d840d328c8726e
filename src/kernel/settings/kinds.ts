/** The kinds of values that a setting can have: how each is read from text and from JSON, checked, shown and counted inside. */
import { isIP } from "node:net";
import { resolve } from "node:path";
import { defined } from "../defined.ts";
import type { Kind, Reading, Shown } from "./kind.ts";
import { type Row, type Setting, settingOf } from "./rows.ts";

const asItIs = {
  show: (value: unknown) => value as Shown,
  inside: (value: unknown) => value as never,
  outside: (value: unknown) => value,
};

/** A number as people write it; `Number` alone would also take 0x10 and the empty text. */
const NUMBER = /^[+-]?\d+(\.\d+)?(e[+-]?\d+)?$/i;

type NumberRow = Row<number> & { readonly min: number; readonly max: number; readonly unit?: string };

const numberRow =
  (
    what: string,
    type: "number" | "integer",
    fits: (value: number) => boolean,
    counted: Partial<Pick<Kind<number>, "inside" | "outside">> = {},
  ) =>
  ({ min, max, unit, ...row }: NumberRow): Setting<number> => {
    const expects = `${what}${unit === undefined ? "" : ` of ${unit}`} from ${min} to ${max}`;
    const read = (value: unknown): Reading =>
      typeof value === "number" && value >= min && value <= max && fits(value)
        ? { value }
        : { refused: `is not ${expects}` };
    const kind: Kind<number> = {
      expects,
      ...defined({ unit }),
      range: `${min} to ${max}`,
      schema: { type, minimum: min, maximum: max },
      fromText: (text) => read(NUMBER.test(text.trim()) ? Number(text) : text),
      fromJson: read,
      ...asItIs,
      ...counted,
    };
    return settingOf(kind, row);
  };

export const decimal = numberRow("a number", "number", Number.isFinite);

export const whole = numberRow("a whole number", "integer", Number.isSafeInteger);

/** Set in one unit, counted inside in another that is so many times smaller, in whole ones. */
const counted = (unit: string, times: number) => {
  const row = numberRow("a number", "number", Number.isFinite, {
    inside: (value) => Math.round((value as number) * times),
    outside: (value) => value / times,
  });
  return (given: Omit<NumberRow, "unit">): Setting<number> => row({ unit, ...given });
};

/** Seconds, as people think of them; milliseconds inside. */
export const seconds = counted("seconds", 1_000);

/** Bytes inside. */
export const megabytes = counted("MB", 1e6);
export const gigabytes = counted("GB", 1e9);

const share = numberRow("a number", "number", Number.isFinite, {
  inside: (value) => (value as number) / 100,
  outside: (value) => value * 100,
});

/** A share from 0 to 1 inside. */
export const percent = (row: Row<number>): Setting<number> => share({ min: 1, max: 100, unit: "percent", ...row });

const YES = new Set(["1", "true", "yes", "on"]);
const NO = new Set(["0", "false", "no", "off"]);

export const yesNo = (row: Row<boolean>): Setting<boolean> => {
  const expects = "true or false";
  const refused = { refused: `is not ${expects}` };
  const kind: Kind<boolean> = {
    ...asItIs,
    expects,
    range: "true, false",
    schema: { type: "boolean" },
    fromText(text) {
      const word = text.trim().toLowerCase();
      if (YES.has(word)) return { value: true };
      return NO.has(word) ? { value: false } : refused;
    },
    fromJson: (value) => (typeof value === "boolean" ? { value } : refused),
  };
  return settingOf(kind, row);
};

/** A kind of text: what it accepts gives the value, what it does not, nothing. */
const textKind = (
  expects: string,
  accept: (text: string, base: string) => unknown,
  range = expects,
  schema: Kind<never>["schema"] = { type: "string" },
): Kind<never> => {
  const fromJson = (written: unknown, base: string): Reading => {
    const value = typeof written === "string" ? accept(written, base) : undefined;
    return value === undefined ? { refused: `is not ${expects}` } : { value };
  };
  return { ...asItIs, expects, range, schema, fromText: fromJson, fromJson };
};

export const choice = <const T extends string>(choices: readonly T[], row: Row<NoInfer<T>>): Setting<T> => {
  const accept = (text: string) => choices.find((known) => known.toLowerCase() === text.trim().toLowerCase());
  const kind = textKind(`one of ${choices.join(", ")}`, accept, choices.join(", "), { enum: choices });
  return settingOf<T, T>(kind, row);
};

const nameKind = textKind(
  "a name of 1 to 100 letters, digits, _ . -",
  (text) => (/^[\w.-]{1,100}$/.test(text) ? text : undefined),
  "1 to 100 letters, digits, `_` `.` `-`",
);

export const name = <D extends string | undefined>(row: Row<D>): Setting<string | D> =>
  settingOf<string | D, D>(nameKind, row);

const lineKind = textKind("1 to 200 characters without blanks", (text) =>
  /^[\x21-\x7e]{1,200}$/.test(text.trim()) ? text.trim() : undefined,
);

/** A word that others have chosen, such as the name of a key. */
export const line = <D extends string | undefined>(row: Row<D>): Setting<string | D> =>
  settingOf<string | D, D>(lineKind, row);

const urlKind = textKind("an address that begins with http:// or https://", (text) => {
  const found = URL.parse(text.trim());
  const isSound = found !== null && /^https?:$/.test(found.protocol) && found.username === "" && found.search === "";
  return isSound ? found.href : undefined;
});

/** The address of a service, without a name or a secret in it. */
export const url = <D extends string | undefined>(row: Row<D>): Setting<string | D> =>
  settingOf<string | D, D>(urlKind, row);

/** Tags, divided by commas; a list inside. */
export const tagList = (row: Row<string>): Setting<readonly string[]> => {
  const accept = (text: string) => {
    const tags = text.split(",").map((tag) => tag.trim());
    const isSound = text.trim() === "" || (tags.length <= 64 && tags.every((tag) => /^[\w.:+-]{1,64}$/.test(tag)));
    return isSound ? tags.join(",") : undefined;
  };
  const kind: Kind<readonly string[]> = {
    ...textKind("a list of tags, divided by commas, each 1 to 64 letters, digits or . : + - _", accept),
    inside: (value) => (value as string).split(",").filter((tag) => tag !== ""),
    outside: (tags) => tags.join(","),
  };
  return settingOf(kind, row);
};

/** Addresses of servers, divided by commas; a list inside. */
export const addressList = (protocols: readonly string[], row: Row<string>): Setting<readonly string[]> => {
  const isSound = (text: string) => {
    const found = URL.parse(text);
    return found !== null && protocols.includes(found.protocol) && found.username === "" && found.hostname !== "";
  };
  const accept = (text: string) => {
    const all = text.split(",").map((each) => each.trim());
    return text.trim() === "" || (all.length <= 16 && all.every(isSound)) ? all.join(",") : undefined;
  };
  const begin = protocols.map((protocol) => `${protocol}//`).join(" or ");
  const kind: Kind<readonly string[]> = {
    ...textKind(`a list of addresses that begin with ${begin}, divided by commas`, accept),
    inside: (value) => (value as string).split(",").filter((each) => each !== ""),
    outside: (all) => all.join(","),
  };
  return settingOf(kind, row);
};

/** An address or a name of this machine to listen on. */
const hostKind = textKind("an IP address or a host name", (text) =>
  isIP(text.trim()) !== 0 || /^[a-z\d]([a-z\d.-]{0,251}[a-z\d])?$/i.test(text.trim())
    ? text.trim().toLowerCase()
    : undefined,
);

export const host = (row: Row<string>): Setting<string> => settingOf<string, string>(hostKind, row);

export const path = <D extends string | undefined>(what: "file" | "folder", row: Row<D>): Setting<string | D> => {
  const accept = (text: string, base: string) => (text === "" || text.includes("\0") ? undefined : resolve(base, text));
  return settingOf<string | D, D>(textKind(`the path of a ${what}`, accept, `a path of a ${what}`), row);
};
