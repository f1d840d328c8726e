import type { IncomingMessage } from "node:http";
import { OperatingError } from "../../kernel/index.ts";

const MAX_TEXT_BYTES = 4 * 1_024 ** 2;

/** An answer that is a text, and no more of it than any of ours is long. */
export async function textOf(answer: IncomingMessage): Promise<string> {
  let text = "";
  for await (const piece of answer.setEncoding("utf8")) {
    text += piece as string;
    if (text.length > MAX_TEXT_BYTES) throw OperatingError.internal("UNEXPECTED_ANSWER", "the answer is too large");
  }
  return text;
}
