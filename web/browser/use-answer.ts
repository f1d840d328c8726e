/** What a view shows: asked once, and again when something happened that concerns it. It works without the stream, a little later. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Answer, Input, InputArgs, WireRoute } from "../../src/surfaces/http/wire.ts";
import { Refused } from "./api.ts";
import { useApp } from "./app.ts";
import type { StreamedEvent } from "./stream.ts";

export interface Loaded<T> {
  /** The last answer; it stays while the next one is on its way. */
  readonly answer: T | undefined;
  readonly refused: Refused | undefined;
  /** Asks again now. */
  readonly again: () => void;
}

interface Options {
  /** Whether an event concerns what is shown; all do unless given. */
  readonly concerns?: (event: StreamedEvent) => boolean;
  /** It never changes: asked once. */
  readonly once?: boolean;
  /** It changes without an event: asked again after so long, while it is looked at. */
  readonly everyMs?: number;
}

/** No view asks more often, whatever happens. */
const APART_MS = 1_000;
const WITH_STREAM_MS = 15_000;
const WITHOUT_STREAM_MS = 3_000;

export function useAnswer<W extends WireRoute>(
  route: W | undefined,
  input: Input<W>,
  { concerns, once = false, everyMs }: Options = {},
): Loaded<Answer<W>> {
  const { api, live } = useApp();
  const [loaded, setLoaded] = useState<{ key: string; answer?: Answer<W>; refused?: Refused }>({ key: "" });
  const [round, setRound] = useState(0);
  const key = `${route?.id} ${JSON.stringify(input)}`;
  const matters = useRef(concerns);
  matters.current = concerns;

  useEffect(() => {
    if (route === undefined) return;
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let dueAt = Number.POSITIVE_INFINITY;
    let isAsking = false;
    let askedAt = 0;
    const ask = async () => {
      clearTimeout(timer);
      dueAt = Number.POSITIVE_INFINITY;
      isAsking = true;
      askedAt = performance.now();
      try {
        const answer = await api.call(route, ...([input] as unknown as InputArgs<W>), end.signal);
        setLoaded({ key, answer });
      } catch (thrown) {
        if (end.signal.aborted) return;
        if (!(thrown instanceof Refused)) throw thrown;
        setLoaded((before) => ({ ...(before.key === key ? before : { key }), key, refused: thrown }));
        if (thrown.status === 401) return;
      }
      isAsking = false;
      if (!once) later(everyMs ?? (live.state() === "live" ? WITH_STREAM_MS : WITHOUT_STREAM_MS));
    };
    /** Whoever wants it sooner wins; a view that nobody looks at asks when it is looked at again. */
    const later = (ms: number) => {
      const at = performance.now() + ms;
      if (isAsking || at >= dueAt || end.signal.aborted) return;
      clearTimeout(timer);
      dueAt = at;
      timer = setTimeout(() => (document.visibilityState === "visible" ? void ask() : undefined), ms);
    };
    const soon = () => later(Math.max(0, askedAt + APART_MS - performance.now()));
    const stop = live.listen((events) => {
      if (once || everyMs !== undefined) return;
      const fits = matters.current;
      if (events === "gap" || fits === undefined || events.some(fits)) soon();
    });
    const look = () => {
      if (document.visibilityState !== "visible" || once) return;
      dueAt = Number.POSITIVE_INFINITY;
      soon();
    };
    document.addEventListener("visibilitychange", look);
    void ask();
    return () => {
      end.abort();
      clearTimeout(timer);
      stop();
      document.removeEventListener("visibilitychange", look);
    };
  }, [key, round]);

  const isCurrent = loaded.key === key;
  return {
    answer: isCurrent ? loaded.answer : undefined,
    refused: isCurrent ? loaded.refused : undefined,
    again: () => setRound((n) => n + 1),
  };
}
