import type { IncomingMessage } from "node:http";
import { OperatingError } from "../../kernel/index.ts";

/** The bytes of a request as they come. Who hangs up half-way has done nothing that is worth a stack in the log. */
export async function* bytesOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    yield* request as AsyncIterable<Buffer>;
  } catch (cause) {
    if (request.complete) throw cause;
    throw OperatingError.invalid("REQUEST_CUT", "the connection was lost before the request was complete", {
      cause,
      status: 400,
      retryable: true,
    });
  }
}

/** What comes, of at most so many bytes. */
export async function readBytes(from: IncomingMessage, maxBytes: number, tooLarge: () => Error): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of bytesOf(from)) {
    bytes += part.length;
    if (bytes > maxBytes) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}
