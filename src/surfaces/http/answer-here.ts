import { encoderOf } from "./encode.ts";
import { openApiDocument } from "./openapi.ts";
import type { ControlPorts } from "./ports.ts";
import { parse, queryOf } from "./request.ts";
import type { Call, Caller, Route } from "./route.ts";
import { addressOf, type InputArgs, type RawAnswer, type WireRoute } from "./wire.ts";

const NOBODY: Caller = { actor: "local:folder", scope: "read", tokenId: null, expiresAt: null, from: "folder" };

/** Answers routes in the process that asks, in the same words as over the wire. For looking alone. */
export const answerHere =
  (routes: readonly Route[], ports: ControlPorts) =>
  async <W extends WireRoute>(wire: W, ...[input]: InputArgs<W>): Promise<RawAnswer<W>> => {
    const route = routes.find(({ id }) => id === wire.id)!;
    const { params = {} } = (input ?? {}) as { readonly params?: Record<string, unknown> };
    const address = `http://folder${addressOf(wire, ...([input] as InputArgs<W>))}`;
    const call = {
      ports,
      openApi: () => openApiDocument(routes, ports.version),
      caller: NOBODY,
      method: wire.method,
      params: parse(wire.params, params, "path"),
      query: parse(wire.query, queryOf(address), "query"),
      signal: new AbortController().signal,
    } as Partial<Call> as Call;
    const given = await route.handle(call);
    return (encoderOf(wire.answer)?.(given) ?? given) as RawAnswer<W>;
  };
