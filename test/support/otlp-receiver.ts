/** A collector of spans that is nothing but its HTTP side: it keeps what exporters send as JSON. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface TracesRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, "attributes"> & { attributes: Attribute[] })[];
    }[];
  }[];
}

const plain = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** `answer` decides what a request gets; all is well unless said. */
export async function startReceiver(answer: (response: ServerResponse) => void = (response) => response.end("{}")) {
  const spans: ReceivedSpan[] = [];
  const resources: Record<string, unknown>[] = [];
  const headers: NodeJS.Dict<string | string[]>[] = [];
  const paths = new Set<string>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    paths.add(request.url ?? "");
    headers.push(request.headers);
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as TracesRequest;
    for (const { resource, scopeSpans } of resourceSpans) {
      resources.push(plain(resource.attributes));
      for (const each of scopeSpans)
        spans.push(...each.spans.map((span) => ({ ...span, attributes: plain(span.attributes) })));
    }
    response.setHeader("content-type", "application/json");
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    spans,
    resources,
    headers,
    paths,
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
