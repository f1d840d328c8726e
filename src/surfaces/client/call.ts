import { type Answer, addressOf, answerOf, type InputArgs, type RawAnswer, type WireRoute } from "../http/wire.ts";

/** Something that carries requests to the main process. */
export interface Sender<Options> {
  send<T>(method: string, path: string, body?: unknown, options?: Options): Promise<T>;
}

/** Sends what a route takes; gives its answer as it came. */
export function sendTo<W extends WireRoute, Options>(
  sender: Sender<Options>,
  route: W,
  input?: InputArgs<W>[0],
  options?: Options,
): Promise<RawAnswer<W>> {
  const { body } = (input ?? {}) as { readonly body?: unknown };
  const path = addressOf(route, ...([input] as InputArgs<W>));
  return sender.send(route.method, path, route.body === null ? undefined : (body ?? {}), options);
}

/** The same, and reads the answer. */
export const callTo = async <W extends WireRoute, Options>(
  sender: Sender<Options>,
  route: W,
  input?: InputArgs<W>[0],
  options?: Options,
): Promise<Answer<W>> => answerOf(route, await sendTo(sender, route, input, options));
