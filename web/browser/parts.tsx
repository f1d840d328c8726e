/** The small things that all views are made of. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { ago, duration, number } from "../../src/surfaces/cli/text.ts";
import { Refused } from "./api.ts";
import { useNow } from "./app.ts";
import type { Loaded } from "./use-answer.ts";
import { useWindow } from "./window.ts";

export type Tone = "good" | "warn" | "bad" | "plain" | "accent";

export const MARKS: Readonly<Record<Tone, string>> = { good: "✓", warn: "!", bad: "✗", plain: "·", accent: "●" };

/** A word with its mark: colour is never alone. */
export const Badge = ({ tone, children }: { tone: Tone; children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>
    <span aria-hidden="true">{MARKS[tone]}</span> {children}
  </span>
);

/** What a process says in its own words: commands between quotes are shown as such. */
export const Words = ({ text }: { text: string }) => (
  <>
    {text.split(/'(ringrift [^']+|npm [^']+|node [^']+)'/).map((part, i) =>
      // Every second part stood between quotes.
      i % 2 === 1 ? <code key={part}>{part}</code> : part,
    )}
  </>
);

const exact = (at: number): string => new Date(at).toISOString().replace("T", " ").replace("Z", " UTC");

/** How long ago; the exact time when one points at it. */
export function Time({ at, bare = false }: { at: number | null | undefined; bare?: boolean }) {
  const now = useNow();
  if (at == null) return <span class="dim">never</span>;
  // Times of strangers may be none.
  if (!Number.isFinite(new Date(at).getTime())) return <span class="dim">unknown</span>;
  const words = at > now + 1_000 ? `in ${duration(at - now)}` : bare ? duration(Math.max(0, now - at)) : ago(at, now);
  return (
    <time dateTime={new Date(at).toISOString()} title={exact(at)}>
      {words}
    </time>
  );
}

export const Num = ({ value }: { value: number }) => <span class="num">{number(value)}</span>;

/** The start of a hash, all of it when one points at it. */
export const Hash = ({ value, length = 12 }: { value: string; length?: number }) => (
  <span class="mono" title={value}>
    {value.slice(0, length)}
  </span>
);

interface PanelProps {
  readonly title: string;
  /** Beside the title. */
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
  readonly id?: string;
}

export const Panel = ({ title, aside, children, id }: PanelProps) => (
  <section class="panel" id={id} aria-label={title}>
    <header class="panel-head">
      <h2>{title}</h2>
      {aside !== undefined && <div class="panel-aside">{aside}</div>}
    </header>
    {children}
  </section>
);

/** Name and value, line by line. */
export const Facts = ({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }) => (
  <dl class="facts">
    {rows.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
);

export interface Column<T> {
  readonly head: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly right?: boolean;
  /** It takes what room there is. */
  readonly wide?: boolean;
}

interface TableProps<T> {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string | number;
  /** What stands in place of no rows; a table that always has some needs none. */
  readonly empty: ComponentChildren;
  readonly toneOf?: (row: T) => Tone | undefined;
}

/** How much room rows need; with less they become cards. */
const roomOf = (columns: number): string => (columns > 6 ? "many" : columns > 4 ? "middle" : columns > 3 ? "few" : "");

/** Room for rows that are not drawn. */
const Space = ({ px, columns }: { px: number; columns: number }) => (
  <tr class="space">
    <td colSpan={columns} style={{ height: `${Math.round(px)}px` }} />
  </tr>
);

/** Rows of one kind; on a narrow screen each becomes a card, so that nothing scrolls sideways. */
export function Table<T>({ label, columns, rows, keyOf, empty, toneOf }: TableProps<T>) {
  const { body, from, to, above, below } = useWindow(rows.length);
  if (rows.length === 0) return <div class="empty">{empty}</div>;
  const isPart = to - from < rows.length;
  return (
    <div class={`rows-scroll ${roomOf(columns.length)}`} tabIndex={0} role="group" aria-label={label}>
      <table class="rows" aria-label={label} aria-rowcount={isPart ? rows.length + 1 : undefined}>
        <thead>
          <tr>
            {columns.map(({ head, right }) => (
              <th key={head} scope="col" class={right ? "right" : ""}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {above > 0 && <Space px={above} columns={columns.length} />}
          {rows.slice(from, to).map((row, i) => (
            <tr key={keyOf(row)} class={toneOf?.(row) ?? ""} aria-rowindex={isPart ? from + i + 2 : undefined}>
              {columns.map(({ head, cell, right, wide }) => (
                <td key={head} data-head={head} class={`${right ? "right" : ""} ${wide ? "wide" : ""}`}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
          {below > 0 && <Space px={below} columns={columns.length} />}
        </tbody>
      </table>
    </div>
  );
}

export const ErrorBox = ({ refused, again }: { refused: Refused; again?: (() => void) | undefined }) => (
  <div class="error" role="alert">
    <p>
      <Badge tone="bad">{refused.code}</Badge> <Words text={refused.message} />
    </p>
    {refused.hint !== undefined && (
      <p class="dim">
        <Words text={refused.hint} />
      </p>
    )}
    {again !== undefined && (
      <button type="button" onClick={again}>
        Try again
      </button>
    )}
  </div>
);

/** What is on its way, what was refused, or what came; what came stays while the process is away. */
export function Load<T>({ loaded, children }: { loaded: Loaded<T>; children: (answer: T) => ComponentChildren }) {
  const { answer, refused, again } = loaded;
  if (answer === undefined) return refused === undefined ? <Loading /> : <ErrorBox refused={refused} again={again} />;
  return (
    <>
      {refused !== undefined && refused.status !== 0 && <ErrorBox refused={refused} again={again} />}
      {children(answer)}
    </>
  );
}

const Loading = () => (
  <div class="loading" role="status">
    <span class="visually-hidden">Loading</span>
    <i />
    <i />
    <i />
  </div>
);

/** Leads further back in a long list. */
export function Older({ more }: { more: (() => Promise<void>) | undefined }) {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<Refused>();
  if (more === undefined) return null;
  const go = async () => {
    setBusy(true);
    setRefused(undefined);
    try {
      await more();
    } catch (thrown) {
      if (!(thrown instanceof Refused)) throw thrown;
      setRefused(thrown);
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="more">
      {refused !== undefined && <ErrorBox refused={refused} />}
      <button type="button" disabled={busy} onClick={() => void go()}>
        Older
      </button>
    </div>
  );
}

/** Nothing is here: that it is so, and what to do about it, or what has to happen first. */
export const Empty = ({ title, todo }: { title: string; todo: ComponentChildren }) => (
  <>
    <p>{title}</p>
    <p class="dim">{typeof todo === "string" ? <Words text={todo} /> : todo}</p>
  </>
);

/** Several links in a row, each far enough from the next to be hit by a finger. */
export const Links = ({ links }: { links: readonly { readonly to: string; readonly name: string }[] }) => (
  <span class="links">
    {links.map(({ to, name }) => (
      <a key={to} href={to}>
        {name}
      </a>
    ))}
  </span>
);

/** How much of something is done. */
export const Progress = ({ share, label }: { share: number; label: string }) => (
  <span
    class="progress"
    role="progressbar"
    aria-label={label}
    aria-valuenow={Math.round(share * 100)}
    aria-valuemin={0}
    aria-valuemax={100}
  >
    <i style={{ width: `${Math.round(share * 100)}%` }} />
  </span>
);

/** The head of a view: what it is, where its JSON is, and which command says the same. */
export const ViewHead = ({
  title,
  lead,
  json,
  command,
  children,
}: {
  title: ComponentChildren;
  lead?: ComponentChildren;
  json?: string;
  command?: string;
  children?: ComponentChildren;
}) => (
  <div class="view-head">
    <div>
      <h1>{title}</h1>
      {lead !== undefined && <p class="lead">{lead}</p>}
    </div>
    <div class="view-links">
      {children}
      {command !== undefined && <Copyable text={command} />}
      {json !== undefined && (
        <a class="json" href={json} data-outside>
          JSON
        </a>
      )}
    </div>
  </div>
);

/** The command that says the same; a click copies it. */
function Copyable({ text }: { text: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1_500);
  };
  return (
    <button type="button" class="command" onClick={() => void copy()} title="Copy this command">
      {done ? "copied" : text}
    </button>
  );
}

/** One of several, as links: each is an address of its own. */
export const Tabs = ({
  label,
  tabs,
}: {
  label: string;
  tabs: readonly { readonly name: string; readonly to: string; readonly isHere: boolean; readonly count?: number }[];
}) => (
  <nav class="tabs" aria-label={label}>
    {tabs.map(({ name, to, isHere, count }) => (
      <a key={to} href={to} aria-current={isHere ? "page" : undefined}>
        {name}
        {count !== undefined && <span class="count">{number(count)}</span>}
      </a>
    ))}
  </nav>
);

/** A field that filters what is shown, kept in the address. */
export const Field = ({
  label,
  value,
  onInput,
  placeholder = "",
}: {
  label: string;
  value: string;
  onInput: (value: string) => void;
  placeholder?: string;
}) => (
  <label class="field">
    <span>{label}</span>
    <input placeholder={placeholder} value={value} onInput={({ currentTarget }) => onInput(currentTarget.value)} />
  </label>
);
