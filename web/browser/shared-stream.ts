/** Runs in the worker that all tabs of a browser share. */
import { createStream, type StreamNews, type StreamWish } from "./stream.ts";

const tabs = new Map<MessagePort, { visible: boolean }>();
const tell = (news: StreamNews) => {
  for (const [port, { visible }] of tabs) if (visible || news.kind === "state") port.postMessage(news);
};
const stream = createStream(tell);

const follow = () => {
  if ([...tabs.values()].some(({ visible }) => visible)) stream.open();
  else stream.close();
};

const scope = globalThis as unknown as { onconnect: (event: MessageEvent) => void };
scope.onconnect = ({ ports: [port] }) => {
  if (port === undefined) return;
  tabs.set(port, { visible: false });
  port.onmessage = ({ data }: MessageEvent<StreamWish | { readonly gone: true }>) => {
    if ("gone" in data) tabs.delete(port);
    else tabs.set(port, { visible: data.visible });
    follow();
  };
  port.postMessage({ kind: "state", state: stream.state } satisfies StreamNews);
};
