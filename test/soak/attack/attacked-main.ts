/** A real main process to be attacked: on a small disk where one can be mounted, with an honest caller beside the attackers. */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { freePort, type Owned, type Started } from "../../support/process.ts";
import { type SmallDisk, smallDisk } from "../../support/small-disk.ts";
import { type Answer, type Asking, ask } from "../../support/surface.ts";

/** Short, so that a pause is longer than it within seconds. */
export const SILENCE_SECONDS = 2;

export interface AttackedMain {
  readonly dataDir: string;
  readonly port: number;
  readonly disk: SmallDisk | undefined;
  readonly main: () => Started;
  /** Over the socket, as an operator. */
  own(path: string, asking?: Asking): Promise<Answer>;
  /** Over the port, with a token or without. */
  from(token: string | undefined, path: string, asking?: Asking): Promise<Answer>;
  /** A token for whoever works or publishes. */
  tokenFor(label: string): Promise<string>;
  /** kill -9, and a new one on the same folder. */
  restart(): Promise<void>;
  /** A connection that sends these bytes, and then what its holder likes. */
  raw(text: string): Promise<Socket>;
}

export async function startAttacked(own: Owned, atEnd: (undo: () => void) => void): Promise<AttackedMain> {
  const disk = smallDisk(512, atEnd);
  const dataDir = join(disk?.folder ?? own.folder(), "data");
  const port = await freePort();
  const env = {
    RINGRIFT_DATA_DIR: dataDir,
    RINGRIFT_WORK_LEASE_SILENCE: String(SILENCE_SECONDS),
    RINGRIFT_NODE_BEAT: "0.5",
  };
  const start = async (): Promise<Started> => {
    const started = own.startCli(["up", "--headless", "--port", String(port)], { env });
    await started.waitForLine(/ready/);
    return started;
  };
  let main = await start();
  const socketPath = () =>
    String((JSON.parse(readFileSync(join(dataDir, "endpoint.json"), "utf8")) as Endpoint).socket_path);
  const overSocket = (path: string, asking?: Asking) => ask({ socketPath: socketPath() }, path, asking);
  return {
    dataDir,
    port,
    disk,
    main: () => main,
    own: overSocket,
    from: (token, path, asking = {}) => ask({ host: "127.0.0.1", port }, path, { ...asking, token }),
    async tokenFor(label) {
      const made = await overSocket("/v1/tokens", { method: "POST", body: { label, scope: "worker" } });
      return String(made.json.token);
    },
    async restart() {
      await main.killNow();
      main = await start();
    },
    raw: (text) =>
      new Promise((resolve) => {
        const socket = connect(port, "127.0.0.1", () => {
          socket.write(text);
          resolve(socket);
        });
        // Being turned away is an answer too.
        socket.on("error", () => resolve(socket));
      }),
  };
}

interface Endpoint {
  readonly socket_path: string;
}
