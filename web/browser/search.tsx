/** Finds anything that has a name: a config, a job, a model, a file, a game, a node, a daemon, an event, by all of its id or a part. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer } from "../../src/surfaces/http/wire.ts";
import { viewOf } from "../../src/surfaces/search/view.ts";
import { findAnything } from "../../src/surfaces/search/wire.ts";
import { useApp } from "./app.ts";

type Found = Answer<typeof findAnything>["found"];
const PAUSE_MS = 200;

export function Search() {
  const { api, go } = useApp();
  const [text, setText] = useState("");
  const [found, setFound] = useState<Found | undefined>();
  const [at, setAt] = useState(0);
  const form = useRef<HTMLFormElement>(null);

  useEffect(() => {
    const wanted = text.trim();
    setAt(0);
    if (wanted === "") return setFound(undefined);
    const end = new AbortController();
    const timer = setTimeout(() => {
      api
        .call(findAnything, { query: { text: wanted } }, end.signal)
        .then((answer) => setFound(answer.found))
        .catch(() => setFound((before) => (end.signal.aborted ? before : [])));
    }, PAUSE_MS);
    return () => {
      end.abort();
      clearTimeout(timer);
    };
  }, [text, api]);

  const leave = () => {
    setText("");
    setFound(undefined);
  };
  const open = (index: number) => {
    const one = found?.[index];
    if (one === undefined) return;
    leave();
    form.current?.querySelector("input")?.blur();
    go(viewOf(one));
  };
  const hear = (event: KeyboardEvent) => {
    if (event.key === "Escape") leave();
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step === 0 || found === undefined) return;
    event.preventDefault();
    setAt(Math.min(found.length - 1, Math.max(0, at + step)));
  };
  return (
    <form
      class="search"
      role="search"
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        open(at);
      }}
    >
      <input
        id="search"
        type="search"
        value={text}
        placeholder="Search any id"
        aria-label="Search by any id or name"
        role="combobox"
        aria-expanded={found !== undefined}
        aria-controls="found"
        aria-activedescendant={found !== undefined && found.length > 0 ? `found-${at}` : undefined}
        list={undefined}
        autoComplete="off"
        spellcheck={false}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={hear}
      />
      <kbd class="slash">/</kbd>
      <div id="found" role="listbox" aria-label="Found" class={found === undefined ? "found closed" : "found"}>
        {found?.map((one, i) => (
          <div
            key={`${one.kind} ${one.id}`}
            id={`found-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            onMouseDown={(event) => {
              event.preventDefault();
              open(i);
            }}
          >
            <span class="kind">{one.kind}</span>
            <span class="what">{one.label}</span>
          </div>
        ))}
        {found?.length === 0 && (
          <div role="option" aria-selected={false} tabIndex={-1} class="dim">
            nothing has this name
          </div>
        )}
      </div>
    </form>
  );
}
