/**
 * The store that everything durable goes through: one writer, group commit, reads of the last commit.
 *
 * An operation is a name and plain arguments, so that it can travel to the writer's thread; the function behind the name
 * is registered by the room that owns the tables. A commit takes a list of operations and is all or nothing; commits
 * that arrive together share one disk flush.
 */
import { isOperatingError, type OperatingError } from "../kernel/index.ts";

export type SqlValue = null | number | bigint | string | Uint8Array;
export type SqlRow = Readonly<Record<string, SqlValue>>;
/** The values of a statement: one for each `?` in its order, or all of them by name, for `:name`. */
export type SqlParams = SqlValue[] | [named: SqlRow];

/** What an operation may do while the writer runs it. It must be a pure function of the database and its arguments. */
export interface Transaction {
  run(sql: string, ...params: SqlParams): { readonly changes: number; readonly lastId: number };
  get<T = SqlRow>(sql: string, ...params: SqlParams): T | undefined;
  all<T = SqlRow>(sql: string, ...params: SqlParams): T[];
}

/** One call of a registered operation; `R` is what it resolves to. */
export interface Operation<R = unknown> {
  readonly op: string;
  readonly args: unknown;
  /** Never set: carries the result's type. */
  readonly result?: R;
}

export interface OperationDefinition<A, R> {
  (args: A): Operation<R>;
  readonly op: string;
  readonly run: (tx: Transaction, args: A) => R;
}

export function defineOperation<A, R>(op: string, run: (tx: Transaction, args: A) => R): OperationDefinition<A, R> {
  return Object.assign((args: A): Operation<R> => ({ op, args }), { op, run });
}

/** A numbered step of the schema, run once, in order, each in a transaction of its own. */
export interface Migration {
  readonly id: number;
  readonly name: string;
  readonly sql: string;
}

/** The tables and operations of one room. */
export interface StoreModule {
  readonly name: string;
  readonly migrations: readonly Migration[];
  readonly operations: readonly OperationDefinition<never, unknown>[];
}

export const defineStoreModule = (module: {
  name: string;
  migrations: readonly Migration[];
  // biome-ignore lint/suspicious/noExplicitAny: operations of any arguments stand side by side in one list.
  operations: readonly OperationDefinition<any, any>[];
}): StoreModule => module;

export type ResultsOf<T extends readonly Operation[]> = {
  -readonly [K in keyof T]: T[K] extends Operation<infer R> ? R : never;
};

export interface StoreFault {
  readonly code: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

export interface Store {
  /** Runs the operations in order, all or nothing; resolves once they are on disk. */
  commit<const T extends readonly Operation[]>(operations: T): Promise<ResultsOf<T>>;
  /** Rows of the last commit. Keep it small: it runs on the caller's thread. */
  read<T = SqlRow>(sql: string, ...params: SqlValue[]): T[];
  /**
   * Rows of the last commit, looked for where the caller's thread does not stand still: for questions that go through many.
   * Those who ask the same at the same time are given the same rows.
   */
  scan<T = SqlRow>(sql: string, params?: readonly SqlValue[], signal?: AbortSignal): Promise<readonly T[]>;
  /** Why commits are refused at the moment; null when they work. */
  readonly fault: StoreFault | null;
  /** Tells changes of `fault`. */
  onFault(listen: (fault: StoreFault | null) => void): void;
  close(): Promise<void>;
}

/** Conditions that all hold, without those whose value is not given, and the values that they need. */
export function conditions(wanted: Readonly<Record<string, SqlValue | undefined>>): {
  sql: string;
  params: SqlValue[];
} {
  const given = Object.entries(wanted).filter((entry): entry is [string, SqlValue] => entry[1] !== undefined);
  return {
    sql: ["1 = 1", ...given.map(([condition]) => condition)].join(" AND "),
    params: given.map(([, value]) => value),
  };
}

/** The codes of a store that refuses now and may work again soon. An adapter has no others for that. */
const STORE_TROUBLES = [
  "STORE_BUSY",
  "STORE_CANNOT_OPEN",
  "STORE_FULL",
  "STORE_IO",
  "STORE_LOCKED",
  "STORE_READ_ONLY",
] as const;
export type StoreTrouble = (typeof STORE_TROUBLES)[number];

export const isStoreTrouble = (thrown: unknown): thrown is OperatingError =>
  isOperatingError(thrown) && thrown.retryable && STORE_TROUBLES.includes(thrown.code as StoreTrouble);
