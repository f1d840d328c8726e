/** Leaves out what is only read by people: the words of log lines and of hints are nothing that a test should repeat. */

interface Node {
  readonly type: string;
  readonly callee?: { readonly object?: Named; readonly property?: Named };
  readonly key?: Named;
}
interface Named {
  readonly name?: string;
  readonly property?: Named;
}

const LOGS = new Set(["log", "#log"]);
const LEVELS = new Set(["debug", "info", "warn", "error"]);
const WORDS = new Set(["about", "hint"]);

/** `log.warn(...)`, `this.#o.log.info(...)`. */
const isLogLine = ({ callee }: Node): boolean =>
  LEVELS.has(callee?.property?.name ?? "") && LOGS.has(callee?.object?.name ?? callee?.object?.property?.name ?? "");

function shouldIgnore({ node }: { readonly node: Node }): string | undefined {
  if (node.type === "CallExpression" && isLogLine(node)) return "a line of the log";
  if (node.type === "ObjectProperty" && WORDS.has(node.key?.name ?? "")) return "words for people";
  return undefined;
}

export const strykerPlugins = [{ kind: "Ignore", name: "texts", value: { shouldIgnore } }];
