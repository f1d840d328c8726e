/** HTML that cannot be broken into: whatever goes into a template is text, unless it was made by one. */

export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | string | number | readonly (Html | string)[];

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text for an element or a quoted attribute. Characters that no document may hold show as what they are: unreadable. */
const escapeHtml = (text: string): string =>
  text
    .toWellFormed()
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced here.
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\ufffe\uffff]/g, "\ufffd")
    .replace(/[&<>"']/g, (char) => ENTITIES[char]!);

const printed = (part: Part): string => {
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map(printed).join("");
  return escapeHtml(String(part));
};

/** A piece of HTML or SVG. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Html =>
  new Html(strings.reduce((text, string, i) => text + string + (i < parts.length ? printed(parts[i]!) : ""), ""));

export const nothing = new Html("");

/** A coordinate: a tenth of a point is finer than anybody sees. */
export const at = (value: number): string => String(Math.round(value * 10) / 10);
