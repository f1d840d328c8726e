/** JSON with the line of every value: `JSON.parse` forgets where things stood, and lets the last of two equal keys win. */

export interface JsonEntry {
  /** The names that lead to it. */
  readonly path: readonly string[];
  /** Anything but an object with something in it: those become entries of their own. */
  readonly value: unknown;
  readonly line: number;
}

/** Text that is no JSON, and the line on which that shows. */
export class JsonFault extends Error {
  readonly line: number;
  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

interface Token {
  readonly text: string;
  readonly line: number;
}

const MAX_DEPTH = 16;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these inside of a string.
const TOKEN = /"(?:[^"\\\u0000-\u001f]|\\.)*"|-?\d[\d.eE+-]*|[a-zA-Z]+|[{}[\],:]/y;

function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let line = 1;
  for (let at = 0; at < text.length; ) {
    const char = text[at]!;
    if (char === "\n") line += 1;
    if (/[ \t\r\n]/.test(char)) {
      at += 1;
      continue;
    }
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text)?.[0];
    if (found === undefined)
      throw new JsonFault(line, char === '"' ? "a text has no end" : `${JSON.stringify(char)} is out of place`);
    tokens.push({ text: found, line });
    at += found.length;
  }
  return [...tokens, { text: "", line }];
}

/** The values of a JSON object, each with its path and its line. Throws `JsonFault`. */
export function jsonEntries(text: string): JsonEntry[] {
  const tokens = tokensOf(text);
  const entries: JsonEntry[] = [];
  let next = 0;
  const peek = () => tokens[next]!;
  const take = () => tokens[next++]!;
  const isText = ({ text: token }: Token) => token.startsWith('"');
  const found = ({ text: token }: Token) => (token === "" ? "the end of the file" : token.slice(0, 40));
  const wrong = (token: Token, expected: string) => new JsonFault(token.line, `${found(token)} where ${expected}`);

  const scalar = (expected: string): unknown => {
    const token = take();
    try {
      return JSON.parse(token.text);
    } catch {
      throw wrong(token, expected);
    }
  };
  /** Items separated by commas, up to the closing bracket. */
  const series = (close: string, item: () => void): void => {
    take();
    if (peek().text === close) return void take();
    for (;;) {
      item();
      const after = take();
      if (after.text === close) return;
      if (after.text !== ",") throw wrong(after, `a comma or ${close} should be`);
    }
  };
  const value = (path: readonly string[], depth: number): void => {
    const { text: token, line } = peek();
    if (depth > MAX_DEPTH) throw new JsonFault(line, `more than ${MAX_DEPTH} levels`);
    if (token === "{") {
      const before = entries.length;
      members(path, depth);
      if (entries.length === before) entries.push({ path, value: {}, line });
    } else if (token === "[") {
      // No setting is a list; its contents do not matter, only that it is one.
      const before = entries.length;
      series("]", () => value(path, depth + 1));
      entries.length = before;
      entries.push({ path, value: [], line });
    } else entries.push({ path, value: scalar("a value should be"), line });
  };
  const members = (path: readonly string[], depth: number): void =>
    series("}", () => {
      if (!isText(peek())) throw wrong(peek(), "a key in double quotes should be");
      const key = scalar("a key in double quotes should be") as string;
      const colon = take();
      if (colon.text !== ":") throw wrong(colon, "a colon should be");
      value([...path, key], depth + 1);
    });

  if (peek().text !== "{") throw wrong(peek(), "an object should begin");
  members([], 0);
  if (peek().text !== "") throw wrong(peek(), "the file should end");
  return entries;
}
