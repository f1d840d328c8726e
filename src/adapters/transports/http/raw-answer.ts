/**
 * An answer that is read straight from its connection, always into the same buffer. The client of Node makes two new buffers for each
 * piece that comes, and looks through its whole heap for every few megabytes of them: with packs that costs more than their bytes.
 */
import { connect } from "node:net";
import { OperatingError } from "../../../kernel/index.ts";

/** What comes at once at most. */
const READ_BYTES = 512 * 1_024;
const MAX_HEAD_BYTES = 16_384;
const MAX_REFUSAL_BYTES = 64 * 1_024;
const HEAD_END = "\r\n\r\n";

export interface RawRequest {
  readonly host: string;
  readonly port: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly signal: AbortSignal;
}

/** A good answer has no status, and its bytes are lent: whoever wants them later than the next ones copies them. */
export interface RawRefusal {
  readonly status: number;
  readonly text: string;
}

const unexpected = (why: string) => OperatingError.invalid("UNEXPECTED_ANSWER", `the answer cannot be read: ${why}`);

/** The request as it was before connections were kept: then the answer has no frames, and ends with its connection. */
function requestText({ host, method, path, headers, body }: RawRequest): string {
  const all = { host, ...headers, "content-length": String(body.length) };
  const lines = Object.entries(all).map(([name, value]) => {
    if (/[\r\n\0]/.test(value)) throw OperatingError.invalid("INVALID_REQUEST", `${name}: has a line break`);
    return `${name}: ${value}\r\n`;
  });
  return `${method} ${path} HTTP/1.0\r\n${lines.join("")}\r\n`;
}

function statusIn(head: string): number {
  const [first = "", ...lines] = head.split("\r\n");
  const [, status] = /^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first) ?? [];
  if (status === undefined) throw unexpected("it does not begin as one");
  for (const line of lines) {
    const [, name = "", value = ""] = /^([^:]+):\s*(.*?)\s*$/.exec(line) ?? [];
    const isFramed = /^transfer-encoding$/i.test(name) || (/^content-encoding$/i.test(name) && value !== "identity");
    if (isFramed) throw unexpected(`it comes in '${value.slice(0, 40)}', unasked`);
  }
  return Number(status);
}

/** The connection as pieces of one buffer: the next ones are read when they are asked for. */
async function* piecesOf(request: RawRequest): AsyncGenerator<Buffer> {
  const { host, port, body, signal } = request;
  const text = requestText(request);
  signal.throwIfAborted();
  let filled = 0;
  let isOver = false;
  let failure: unknown;
  let wake = (): void => {};
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  const onRead = (bytes: number): boolean => {
    filled = bytes;
    wake();
    return false;
  };
  const socket = connect({ host, port, onread: { buffer, callback: onRead } });
  const stop = () => socket.destroy();
  signal.addEventListener("abort", stop, { once: true });
  const end = (): void => {
    isOver = true;
    wake();
  };
  socket.on("error", (thrown) => {
    failure ??= thrown;
  });
  socket.once("end", end);
  socket.once("close", end);
  socket.write(text);
  socket.write(body);
  try {
    for (;;) {
      if (filled === 0 && !isOver)
        await new Promise<void>((resolve) => {
          wake = resolve;
          socket.resume();
        });
      signal.throwIfAborted();
      if (filled > 0) {
        const piece = buffer.subarray(0, filled);
        filled = 0;
        yield piece;
      } else if (failure !== undefined) throw failure;
      else if (isOver) return;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    socket.destroy();
  }
}

/** The bytes of a good answer; `refused` makes the error of another one. */
export async function* rawAnswer(
  request: RawRequest,
  refused: (refusal: RawRefusal) => unknown,
): AsyncGenerator<Uint8Array> {
  let head = "";
  let status: number | undefined;
  let text = "";
  for await (const piece of piecesOf(request)) {
    let content: Buffer = piece;
    if (status === undefined) {
      const before = head.length;
      head += piece.toString("latin1", 0, Math.min(piece.length, MAX_HEAD_BYTES - before));
      const end = head.indexOf(HEAD_END);
      if (end < 0) {
        if (head.length >= MAX_HEAD_BYTES) throw unexpected("its head is too long");
        continue;
      }
      status = statusIn(head.slice(0, end));
      content = piece.subarray(end + HEAD_END.length - before);
    }
    if (status === 200) {
      if (content.length > 0) yield content;
    } else if (text.length < MAX_REFUSAL_BYTES) text += content.toString("latin1");
  }
  if (status === undefined) throw new Error("the connection ended before an answer came");
  if (status !== 200) throw refused({ status, text: Buffer.from(text, "latin1").toString("utf8") });
}
