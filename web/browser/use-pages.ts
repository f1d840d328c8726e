/** A long list from its end: the newest rows stay as new as can be, older ones come page by page when somebody asks for them. */
import { useEffect, useState } from "preact/hooks";
import type { Answer, Input, InputArgs, WireRoute } from "../../src/surfaces/http/wire.ts";
import { useApp } from "./app.ts";
import { type Loaded, useAnswer } from "./use-answer.ts";

export const PAGE_ROWS = 100;
/** Beyond these the oldest are let go of again. */
const MAX_ROWS = 5_000;

interface PagesOf<W extends WireRoute, Row> {
  readonly query: NonNullable<Input<W>> extends { query?: infer Q } ? Omit<NonNullable<Q>, "limit"> : never;
  readonly rowsOf: (answer: Answer<W>) => readonly Row[];
  /** Newer rows have higher ones. */
  readonly placeOf: (row: Row) => number;
  /** How the route is asked for what comes before this row. */
  readonly before: (row: Row) => object;
}

interface Pages<W extends WireRoute, Row> {
  readonly loaded: Loaded<Answer<W>>;
  readonly rows: readonly Row[];
  /** Fetches the next older page; undefined where there is none. */
  readonly more: (() => Promise<void>) | undefined;
}

export function usePages<W extends WireRoute, Row>(
  route: W,
  { query, rowsOf, placeOf, before }: PagesOf<W, Row>,
): Pages<W, Row> {
  const { api } = useApp();
  const asked = { ...query, limit: PAGE_ROWS };
  const key = JSON.stringify(asked);
  const loaded = useAnswer(route, { query: asked } as Input<W>);
  const [older, setOlder] = useState<{ key: string; rows: readonly Row[]; isEnd: boolean }>();
  const held = older?.key === key ? older : undefined;
  const newest = loaded.answer === undefined ? [] : rowsOf(loaded.answer);
  const together = (...parts: readonly (readonly Row[])[]): Row[] =>
    [...new Map(parts.flat().map((row) => [placeOf(row), row])).values()]
      .sort((a, b) => placeOf(b) - placeOf(a))
      .slice(0, MAX_ROWS);
  useEffect(() => {
    // What newer rows push off the first page stays, once somebody has gone further back.
    setOlder((was) => (was?.key === key ? { ...was, rows: together(was.rows, newest) } : undefined));
  }, [loaded.answer, key]);
  const rows = held === undefined ? newest : together(held.rows, newest);
  const last = rows.at(-1);
  const isEnd = held?.isEnd ?? newest.length < PAGE_ROWS;
  const more = async () => {
    const args = [{ query: { ...asked, ...before(last!) } }] as unknown as InputArgs<W>;
    const page = rowsOf(await api.call(route, ...args));
    setOlder({ key, rows: together(rows, page), isEnd: page.length < PAGE_ROWS });
  };
  return { loaded, rows, more: isEnd || last === undefined || rows.length >= MAX_ROWS ? undefined : more };
}
