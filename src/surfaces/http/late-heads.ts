import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock } from "../../kernel/index.ts";

const LATE = "ERR_HTTP_REQUEST_TIMEOUT";

/**
 * Tells of connections that failed. Node looks for slow senders before it reads what has come: after a pause of ours (a stopped
 * process, a sleeping machine, a loop that was held up) it takes for slow whose whole request lies there unread. So whoever is late
 * is told of only when what lay there has been read, and was no request.
 */
export function onBrokenConnection(
  server: Server,
  clock: Pick<Clock, "after">,
  tell: (error: NodeJS.ErrnoException, socket: Socket) => void,
): void {
  const lastOf = new WeakMap<Socket, IncomingMessage>();
  server.on("request", (incoming: IncomingMessage) => void lastOf.set(incoming.socket, incoming));
  server.on("clientError", (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket;
    if (error.code !== LATE) return tell(error, socket);
    const before = lastOf.get(socket);
    setImmediate(() => {
      const incoming = lastOf.get(socket);
      if (incoming === before) return tell(error, socket);
      if (incoming!.complete) return;
      // Node does not look at it again: the rest of it has the time that a request has.
      const patience = clock.after(server.requestTimeout, () => tell(error, socket));
      incoming!.once("close", () => patience.cancel());
    });
  });
}
