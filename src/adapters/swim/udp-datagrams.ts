/** Datagrams over UDP: a socket of its own, which keeps no process alive. */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { isIPv6 } from "node:net";
import type { Datagrams } from "../../cluster/swim/index.ts";
import { OperatingError } from "../../kernel/index.ts";

export async function udpDatagrams({
  host,
  port,
}: {
  readonly host: string;
  readonly port: number;
}): Promise<Datagrams> {
  const socket = createSocket(isIPv6(host) ? "udp6" : "udp4");
  let hear: (bytes: Buffer) => void = () => undefined;
  try {
    socket.bind(port, host);
    await once(socket, "listening");
  } catch (cause) {
    socket.close();
    throw OperatingError.unavailable("SWIM_PORT_TAKEN", `no datagrams can be taken at ${host}:${port} (UDP)`, {
      cause,
      hint: "Set another port: p2p.swim_port.",
    });
  }
  socket.unref();
  // What cannot be sent is as lost as what does not arrive.
  socket.on("error", () => undefined);
  socket.on("message", (bytes) => hear(bytes));
  let isOpen = true;
  return {
    port: socket.address().port,
    send(to, bytes) {
      if (isOpen) socket.send(bytes, to.port, to.host, () => undefined);
    },
    listen(next) {
      hear = next;
    },
    async close() {
      if (!isOpen) return;
      isOpen = false;
      socket.close();
      await once(socket, "close");
    },
  };
}
