/** The fenced code blocks of a page and what is to be done with each, as the words after its language say. */

export type Language = "shell" | "ts" | "other";

export interface Block {
  /** Where its first line of code stands in the page, counted from 1. */
  readonly line: number;
  readonly language: Language;
  readonly code: string;
  readonly run: boolean;
  /** The reason why it is not run. */
  readonly norun: string | undefined;
  /** A non-zero exit code is what is expected. */
  readonly fails: boolean;
  /** Runs until the end of the page; the next block waits until it prints `ready`. */
  readonly background: boolean;
  /** Runs in the repository instead of the page's own folder. */
  readonly repository: boolean;
  /** A program that the machine may lack. */
  readonly needs: string | undefined;
  /** What is wrong with the block itself. */
  readonly problem: string | undefined;
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  sh: "shell",
  bash: "shell",
  shell: "shell",
  console: "shell",
  ts: "ts",
  typescript: "ts",
};
const WORDS = ["fails", "background", "repository"];

/** A command of ours or one that sets something up: a reader will type it. */
const TYPED = /^\s*(?:\$\s+)?(?:[A-Z_]+=\S+\s+|sudo\s+|time\s+)*(ringrift|npm|npx|node|python3?|git|\.ci\/run)\b/m;
const IMPORTS_US = /from\s+["']ringrift-coordination(\/client)?["']/;

function problemOf(
  language: Language,
  verb: string | undefined,
  words: readonly string[],
  code: string,
): string | undefined {
  if (verb === "norun") return words.length === 0 ? "'norun' wants a reason" : undefined;
  if (verb === "run") {
    if (language === "other") return "only sh and ts blocks can be run";
    const unknown = words.find((word) => !WORDS.includes(word) && !/^needs=\S+$/.test(word));
    if (unknown !== undefined)
      return `'${unknown}' is no word for a block; there are ${WORDS.join(", ")} and needs=<program>`;
    if (words.includes("fails") && words.includes("background"))
      return "a block in the background cannot be one that fails";
    if (language === "ts" && words.some((word) => word === "background" || word === "repository"))
      return "a program cannot run in the background or in the repository";
    return undefined;
  }
  const forgotten =
    (language === "shell" && (TYPED.test(code) || /\bringrift\b/.test(code))) ||
    (language === "ts" && IMPORTS_US.test(code));
  return forgotten ? "mark it 'run', or 'norun <reason>': what readers type or copy must work" : undefined;
}

function blockOf(info: string, code: string, line: number): Block {
  const [name = "", verb, ...words] = info.trim().split(/\s+/);
  const language = LANGUAGES[name.toLowerCase()] ?? "other";
  const run = verb === "run";
  const has = (word: string) => run && words.includes(word);
  return {
    line,
    language,
    code,
    run,
    norun: verb === "norun" ? words.join(" ") : undefined,
    fails: has("fails"),
    background: has("background"),
    repository: has("repository"),
    needs: run ? words.find((word) => word.startsWith("needs="))?.slice("needs=".length) : undefined,
    problem: problemOf(language, verb, words, code),
  };
}

export function blocksOf(markdown: string): Block[] {
  const blocks: Block[] = [];
  let open: { fence: string; indent: number; info: string; line: number; code: string[] } | undefined;
  for (const [index, line] of markdown.split("\n").entries()) {
    const fence = /^( *)(`{3,}|~{3,})(.*)$/.exec(line);
    if (open === undefined) {
      if (fence) open = { fence: fence[2]!, indent: fence[1]!.length, info: fence[3]!, line: index + 2, code: [] };
    } else if (fence && fence[2]!.startsWith(open.fence) && fence[3]!.trim() === "") {
      blocks.push(blockOf(open.info, `${open.code.join("\n")}\n`, open.line));
      open = undefined;
    } else open.code.push(line.replace(new RegExp(`^ {0,${open.indent}}`), ""));
  }
  if (open !== undefined) {
    const left = blockOf(open.info, `${open.code.join("\n")}\n`, open.line);
    blocks.push({ ...left, problem: "it is never closed" });
  }
  return blocks;
}
