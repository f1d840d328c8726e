/** One call over gRPC: a message goes there, and one comes back. On the HTTP/2 of Node, without a library. */
import { connect, constants } from "node:http2";
import { messageOf } from "../../../kernel/index.ts";

export interface GrpcCall {
  /** `https://compute.api.example`. */
  readonly origin: string;
  /** `package.Service/Method`. */
  readonly method: string;
  readonly message: Uint8Array;
  /** Given out only into the header of the request; none before there is one. */
  readonly token: string | undefined;
  readonly signal: AbortSignal;
}

/** That it went well, or why not, in the numbers of gRPC; `broken` where no answer came that says so. */
export type GrpcAnswer =
  | { readonly status: 0; readonly message: Uint8Array }
  | { readonly status: number | "broken"; readonly said: string };

const MAX_BYTES = 16 * 1_024 * 1_024;
/** Whether it is compressed, and how long it is. */
const PREFIX_BYTES = 5;

function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function unframed(body: Buffer): Uint8Array | undefined {
  if (body.length < PREFIX_BYTES || body[0] !== 0 || body.readUInt32BE(1) !== body.length - PREFIX_BYTES)
    return undefined;
  return body.subarray(PREFIX_BYTES);
}

const saidBy = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Never throws but for what the signal says: whatever goes wrong is an answer. */
export async function callGrpc({ origin, method, message, token, signal }: GrpcCall): Promise<GrpcAnswer> {
  signal.throwIfAborted();
  const answer = Promise.withResolvers<GrpcAnswer>();
  const broken = (said: string) => answer.resolve({ status: "broken", said });
  const session = connect(origin);
  const stop = () => {
    session.destroy();
    answer.reject(signal.reason);
  };
  signal.addEventListener("abort", stop, { once: true });
  session.on("error", (error) => broken(messageOf(error)));
  session.on("close", () => broken("the connection ended"));
  try {
    const request = session.request({
      ":method": "POST",
      ":path": `/${method}`,
      "content-type": "application/grpc",
      te: "trailers",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    let told: Readonly<Record<string, unknown>> = {};
    request.on("response", (headers) => {
      told = { ...told, ...headers };
    });
    request.on("trailers", (trailers) => {
      told = { ...told, ...trailers };
    });
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MAX_BYTES) return void chunks.push(chunk);
      broken(`the answer has more than ${MAX_BYTES} bytes`);
      request.close(constants.NGHTTP2_CANCEL);
    });
    request.on("error", (error) => broken(messageOf(error)));
    request.on("close", () => {
      const status = Number(told["grpc-status"] ?? Number.NaN);
      const said = saidBy(String(told["grpc-message"] ?? ""));
      if (!Number.isInteger(status))
        return broken(`it answered ${String(told[":status"] ?? "nothing")} and no status of gRPC`);
      if (status !== 0) return answer.resolve({ status, said });
      const found = unframed(Buffer.concat(chunks));
      if (found === undefined) return broken("the answer is not one message");
      answer.resolve({ status: 0, message: found });
    });
    request.end(framed(message));
    return await answer.promise;
  } finally {
    signal.removeEventListener("abort", stop);
    session.close();
  }
}
