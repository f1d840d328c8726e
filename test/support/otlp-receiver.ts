/** A collector of spans that is nothing but its HTTP side: it keeps what exporters send, as protobuf or as JSON. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import protobuf from "protobufjs";

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

/** The fields of opentelemetry-proto that are looked at, with their published numbers. */
const TracesRequest = protobuf
  .parse(
    `syntax = "proto3"; package opentelemetry;
     message AnyValue {
       oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4; }
     }
     message KeyValue { string key = 1; AnyValue value = 2; }
     message Resource { repeated KeyValue attributes = 1; }
     message Span {
       bytes trace_id = 1; bytes span_id = 2; bytes parent_span_id = 4; string name = 5; repeated KeyValue attributes = 9;
     }
     message ScopeSpans { repeated Span spans = 2; }
     message ResourceSpans { Resource resource = 1; repeated ScopeSpans scope_spans = 2; }
     message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }`,
  )
  .root.lookupType("opentelemetry.ExportTraceServiceRequest");

const hex = (id: unknown): string => Buffer.from((id ?? []) as Uint8Array).toString("hex");

/** As the JSON of the same request has it: ids are in hexadecimal there. */
function decoded(bytes: Buffer): TracesRequest {
  const request = TracesRequest.toObject(TracesRequest.decode(bytes), { arrays: true, longs: Number }) as TracesRequest;
  const withIds = (span: TracesRequest["resourceSpans"][number]["scopeSpans"][number]["spans"][number]) => ({
    ...span,
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId),
  });
  return {
    resourceSpans: request.resourceSpans.map(({ resource, scopeSpans }) => ({
      resource,
      scopeSpans: scopeSpans.map(({ spans }) => ({ spans: spans.map(withIds) })),
    })),
  };
}

/** `answer` decides what a request gets; all is well unless said. */
export async function startReceiver(answer?: (response: ServerResponse) => void) {
  const spans: ReceivedSpan[] = [];
  const resources: Record<string, unknown>[] = [];
  const headers: NodeJS.Dict<string | string[]>[] = [];
  const paths = new Set<string>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    paths.add(request.url ?? "");
    headers.push(request.headers);
    const body = Buffer.concat(chunks);
    const type = request.headers["content-type"] ?? "";
    const isJson = type === "application/json";
    if (!isJson && type !== "application/x-protobuf") return void response.writeHead(415).end();
    const { resourceSpans } = isJson ? (JSON.parse(body.toString("utf8")) as TracesRequest) : decoded(body);
    for (const { resource, scopeSpans } of resourceSpans) {
      resources.push(plain(resource.attributes));
      for (const each of scopeSpans)
        spans.push(...each.spans.map((span) => ({ ...span, attributes: plain(span.attributes) })));
    }
    response.setHeader("content-type", type);
    // An answer without a word is an empty message in protobuf.
    if (answer === undefined) response.end(isJson ? "{}" : "");
    else answer(response);
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
