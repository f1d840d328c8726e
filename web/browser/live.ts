/** What happens, as this tab hears of it. */
import { createStream, type StreamedEvent, type StreamNews, type StreamState, type StreamWish } from "./stream.ts";

export interface Live {
  readonly state: () => StreamState;
  /** Is told what comes, and when what came before may not be all; returns how to stop. */
  listen(heard: (events: readonly StreamedEvent[] | "gap") => void): () => void;
  onState(changed: (state: StreamState) => void): () => void;
  /** Nothing more is heard: nobody who was shut out knocks again and again. */
  stop(): void;
}

/** `sharedWorker` is where the stream of all tabs runs; without one, as on some phones, this tab has its own while it is looked at. */
export function createLive(sharedWorker: (() => SharedWorker) | undefined): Live {
  const listeners = new Set<(events: readonly StreamedEvent[] | "gap") => void>();
  const watchers = new Set<(state: StreamState) => void>();
  let state: StreamState = "off";
  const hear = (news: StreamNews) => {
    if (news.kind === "state") {
      state = news.state;
      for (const watch of watchers) watch(state);
    } else for (const listen of listeners) listen(news.kind === "gap" ? "gap" : news.events);
  };
  const wish = connect(hear, sharedWorker);
  const look = () => wish({ visible: document.visibilityState === "visible" });
  document.addEventListener("visibilitychange", look);
  look();
  return {
    state: () => state,
    listen(heard) {
      listeners.add(heard);
      return () => listeners.delete(heard);
    },
    onState(changed) {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    stop() {
      document.removeEventListener("visibilitychange", look);
      wish({ visible: false });
    },
  };
}

function connect(hear: (news: StreamNews) => void, sharedWorker: (() => SharedWorker) | undefined) {
  if (sharedWorker !== undefined) {
    const { port } = sharedWorker();
    port.onmessage = ({ data }: MessageEvent<StreamNews>) => hear(data);
    addEventListener("pagehide", () => port.postMessage({ gone: true }));
    // A page that comes back from the cache of its browser is there again.
    addEventListener("pageshow", ({ persisted }) => {
      if (persisted) port.postMessage({ visible: true });
    });
    return (wish: StreamWish) => port.postMessage(wish);
  }
  const stream = createStream(hear);
  return (wish: StreamWish) => {
    if (wish.visible) stream.open();
    else stream.close();
  };
}
