/** The reader's thread: a read-only connection of its own, for questions that go through many rows. */
import { answerQuestions } from "../../kernel/index.ts";
import type { SqlValue } from "../../router/index.ts";
import { translateFault } from "./faults.ts";
import { type PortableError, portable } from "./portable-error.ts";
import { openReader, statementCache } from "./writer.ts";

export interface ReaderQuestion {
  readonly path: string;
  readonly sql: string;
  readonly params: readonly SqlValue[];
}

export type ReaderAnswer = { readonly rows: unknown[] } | { readonly error: PortableError };

/** By the path of the file: the thread serves one. */
const connections = new Map<string, ReturnType<typeof statementCache>>();

answerQuestions(({ path, sql, params }: ReaderQuestion): ReaderAnswer => {
  try {
    const prepare = connections.get(path) ?? statementCache(openReader(path));
    connections.set(path, prepare);
    return { rows: prepare(sql).all(...params) };
  } catch (thrown) {
    return { error: portable(translateFault(thrown)) };
  }
});
