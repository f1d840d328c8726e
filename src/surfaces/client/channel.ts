import type { Agent, ClientRequest, IncomingMessage } from "node:http";
import { OperatingError } from "../../kernel/index.ts";
import { refusalIn, textOf, unreachable } from "./answer.ts";
import { http, https } from "./node-http.ts";
import { afterCheck, placeOf, secureAgent, type TlsTrust } from "./secure.ts";

/** Where the main process listens: its Unix socket, its port with the token, or an address on another machine. */
export type Endpoint =
  | { readonly socketPath: string }
  | { readonly port: number; readonly token: string }
  | ({ readonly url: string; readonly token: string } & TlsTrust);

/** HTTP to the main process over connections that are kept. */
export type Channel = ReturnType<typeof openChannel>;

const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

const away = (cause: unknown) => unreachable(cause, "Is it running? Start it with 'ringrift up'.");

export function openChannel(endpoint: Endpoint) {
  const settings = { keepAlive: true, maxSockets: 16, noDelay: true } as ConstructorParameters<typeof Agent>[0];
  const secure = "url" in endpoint ? secureAgent(endpoint, settings) : undefined;
  const agent = secure ?? new http.Agent(settings);
  const place =
    "socketPath" in endpoint
      ? { socketPath: endpoint.socketPath }
      : "url" in endpoint
        ? placeOf(endpoint.url)
        : { host: "127.0.0.1", port: endpoint.port };
  const request = secure === undefined ? http.request : https().request;
  const start = (method: string, path: string, body: string | undefined): ClientRequest =>
    request({
      agent,
      method,
      path,
      ...place,
      headers: {
        ...("token" in endpoint ? { authorization: `Bearer ${endpoint.token}` } : {}),
        ...(body === undefined
          ? {}
          : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
      },
    });
  const answerTo = (outgoing: ClientRequest, body: string | undefined, timeoutMs: number | undefined) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once("response", resolve);
      outgoing.once("error", (cause) => reject(cause instanceof OperatingError ? cause : away(cause)));
      if (timeoutMs !== undefined)
        outgoing.setTimeout(timeoutMs, () => outgoing.destroy(new Error("no answer in time")));
      // The token and the body go to nobody whose certificate was not looked at.
      if ("url" in endpoint && endpoint.fingerprint !== undefined)
        afterCheck(outgoing, endpoint.fingerprint, () => outgoing.end(body));
      else outgoing.end(body);
    });
  return {
    async send<T>(method: string, path: string, body?: unknown, options: { timeoutMs?: number } = {}): Promise<T> {
      const text = body === undefined ? undefined : JSON.stringify(body);
      const answer = await answerTo(start(method, path, text), text, options.timeoutMs ?? 60_000);
      let content: string;
      try {
        content = await textOf(answer, MAX_ANSWER_BYTES);
      } catch (cause) {
        throw away(cause);
      }
      const status = answer.statusCode ?? 500;
      if (status >= 400) throw refusalIn(content, status);
      return JSON.parse(content) as T;
    },
    /** The lines of an endless answer; ends when the connection does. */
    async *lines(path: string, signal: AbortSignal): AsyncGenerator<string> {
      const outgoing = start("GET", path, undefined);
      const abort = () => outgoing.destroy();
      signal.addEventListener("abort", abort, { once: true });
      try {
        const answer = await answerTo(outgoing, undefined, undefined);
        const status = answer.statusCode ?? 500;
        if (status >= 400) throw refusalIn(await textOf(answer, MAX_ANSWER_BYTES), status);
        answer.setEncoding("utf8");
        let rest = "";
        for await (const part of answer as AsyncIterable<string>) {
          rest += part;
          const lines = rest.split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) yield line;
        }
      } catch (thrown) {
        if (!signal.aborted) throw thrown instanceof OperatingError ? thrown : away(thrown);
      } finally {
        signal.removeEventListener("abort", abort);
        outgoing.destroy();
      }
    },
    close() {
      agent.destroy();
    },
  };
}
