/**
 * The one stream of a browser: a worker that all tabs share holds it, while at least one of them is looked at. A browser opens
 * six connections to one place, so a stream in each tab would leave nothing for the seventh.
 */

/** An event of the journal as it comes. */
export interface StreamedEvent {
  readonly seq: number | null;
  readonly id: string;
  readonly type: string;
  readonly source: string;
  readonly time: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** What tabs are told. */
export type StreamNews =
  | { readonly kind: "state"; readonly state: StreamState }
  | { readonly kind: "events"; readonly events: readonly StreamedEvent[] }
  /** More may have come than was told: the line is new, more came than anybody could draw, or the journal no longer holds it. Whoever counts begins anew. */
  | { readonly kind: "gap" };

export type StreamState = "off" | "connecting" | "live";

/** What tabs say. */
export interface StreamWish {
  readonly visible: boolean;
}

/** Events that come together are told together. */
const TOGETHER_MS = 150;
/** So many at once nobody reads one by one: drawing them anew seven times a second would only cost memory. */
const CROWD = 30;
const CROWD_TOGETHER_MS = 1_000;
/** More at once than any view shows: the line is left for a moment, and views ask for the newest when it is back. */
const FLOOD = 300;
const FLOOD_PAUSE_MS = 1_000;
/** A reader that a busy process has turned away comes back later and later. */
const MAX_PAUSE_MS = 30_000;

/** What it needs of the browser. */
export interface StreamPorts {
  readonly listen: (url: string) => EventSource;
  /** Runs something later; returns how to leave it. */
  readonly after: (ms: number, run: () => void) => () => void;
}

const ofTheBrowser: StreamPorts = {
  listen: (url) => new EventSource(url),
  after: (ms, run) => {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Follows the journal while it is wanted, from where it stopped; each event is told once. */
export function createStream(tell: (news: StreamNews) => void, { listen, after }: StreamPorts = ofTheBrowser) {
  let source: EventSource | undefined;
  let last: number | undefined;
  let state: StreamState = "off";
  let waiting: StreamedEvent[] = [];
  let leaveWaiting: (() => void) | undefined;
  let togetherMs = TOGETHER_MS;
  let leaveAgain: (() => void) | undefined;
  let pauseMs = 1_000;

  const become = (next: StreamState) => {
    if (state === next) return;
    state = next;
    tell({ kind: "state", state });
  };
  const tellWaiting = () => {
    const events = waiting;
    leaveWaiting = undefined;
    waiting = [];
    togetherMs = events.length >= CROWD ? CROWD_TOGETHER_MS : TOGETHER_MS;
    tell({ kind: "events", events });
  };
  const hear = ({ data: text }: MessageEvent<string>) => {
    const { id, type, source: by, time, sequence, data = {} } = JSON.parse(text);
    // What passes by is in no journal, and has no place in it.
    const seq = sequence === undefined ? null : Number(sequence);
    if (seq !== null && last !== undefined && seq <= last) return;
    last = seq ?? last;
    leaveWaiting ??= after(togetherMs, tellWaiting);
    waiting.push({ seq, id, type, source: by, time, data });
    if (waiting.length > FLOOD) pause();
  };
  const pause = () => {
    waiting = [];
    leaveWaiting?.();
    leaveWaiting = undefined;
    source?.close();
    source = undefined;
    last = undefined;
    leaveAgain = after(FLOOD_PAUSE_MS, open);
  };
  const close = () => {
    source?.close();
    source = undefined;
    leaveAgain?.();
    become("off");
  };
  const open = () => {
    if (source !== undefined) return;
    // A line that was left in a flood is no line that is gone.
    if (state !== "live") become("connecting");
    source = listen(last === undefined ? "/events" : `/events?after=${last}`);
    source.onopen = () => {
      pauseMs = 1_000;
      become("live");
      // Without a place to go on from, nobody knows what came before the line was there.
      if (last === undefined) tell({ kind: "gap" });
    };
    source.onmessage = hear;
    source.addEventListener("gap", () => {
      last = undefined;
      tell({ kind: "gap" });
    });
    source.onerror = () => {
      become("connecting");
      // The browser itself comes back after a broken line, and gives up after a refusal.
      if (source?.readyState !== source?.CLOSED) return;
      close();
      leaveAgain = after(pauseMs, open);
      pauseMs = Math.min(MAX_PAUSE_MS, pauseMs * 2);
    };
  };
  return {
    open,
    close,
    get state(): StreamState {
      return state;
    },
  };
}
