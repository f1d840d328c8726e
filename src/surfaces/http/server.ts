import { rmSync, statSync } from "node:fs";
import type { Server } from "node:http";
import type { createServer as createTlsServer } from "node:https";
import { messageOf } from "../../kernel/index.ts";
import { askDoor, cannotListen, type DoorPlan, type DoorState, planDoors, type SurfaceOptions } from "./doors.ts";
import { readIdentity, stampOf } from "./tls.ts";

export interface DoorReport {
  readonly door: string;
  readonly address: string;
  readonly ok: boolean;
  /** Surely not ours any more, and not just slow to answer. */
  readonly gone: boolean;
  readonly message: string;
}

/** The doors of a process, opened and kept: a Unix socket that only its owner can open, and a port. */
export type Surface = ReturnType<typeof createSurface>;

const CLOSE_GRACE_MS = 1_000;

/** The data folder's guard makes an old socket file ours to remove. */
export function createSurface(options: SurfaceOptions) {
  const { socketPath, host, tls, clock, log } = options;
  const state: DoorState = {
    port: options.port,
    identity: tls === undefined ? undefined : readIdentity(tls),
    awaited: new Map(),
  };
  const plans = planDoors(options, state);
  const doors = new Map<string, Server>();
  let tlsTrouble = "";
  let closing: Promise<void> | undefined;

  const planOf = (name: string): DoorPlan => {
    const plan = plans.find((each) => each.name === name);
    if (plan === undefined) throw new Error(`there is no door '${name}'`);
    return plan;
  };

  const openDoor = async (plan: DoorPlan): Promise<void> => {
    const server = plan.make();
    try {
      await plan.listen(server);
    } catch (cause) {
      server.close();
      throw cannotListen(cause, plan.address(), state.port);
    }
    server.on("error", (error) =>
      log.error("an address of the API failed", { door: plan.name, error: messageOf(error) }),
    );
    doors.set(plan.name, server);
  };
  const closeDoor = (server: Server, graceMs: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = clock.after(graceMs, () => server.closeAllConnections(), "hold");
      server.close(() => {
        timer.cancel();
        resolve();
      });
      server.closeIdleConnections();
    });

  const refreshIdentity = () => {
    if (tls === undefined || state.identity === undefined) return;
    try {
      if (stampOf(tls) === state.identity.stamp) {
        tlsTrouble = "";
        return;
      }
      const identity = readIdentity(tls);
      state.identity = identity;
      const server = doors.get("port");
      // Connections that exist keep what they agreed on; the next ones get the new certificate.
      if (server !== undefined && "setSecureContext" in server)
        (server as ReturnType<typeof createTlsServer>).setSecureContext({ cert: identity.cert, key: identity.key });
      tlsTrouble = "";
      log.info("the API took up a new certificate");
    } catch (thrown) {
      if (tlsTrouble === "") log.error("the new certificate of the API is not used", { error: messageOf(thrown) });
      tlsTrouble = `the old certificate is still in use: ${messageOf(thrown)}`;
    }
  };

  return {
    socketPath,
    host,
    secure: tls !== undefined,
    get port(): number {
      return state.port;
    },
    /** SHA-256 of the certificate in use; null over plain HTTP. */
    get fingerprint(): string | null {
      return state.identity?.fingerprint ?? null;
    },
    async open() {
      try {
        for (const plan of plans) await openDoor(plan);
      } catch (thrown) {
        await this.close();
        throw thrown;
      }
    },
    /** Asks each door over itself whether it is ours and answers; takes up certificates that changed. */
    async check(): Promise<readonly DoorReport[]> {
      refreshIdentity();
      const troubles = await Promise.all(plans.map((plan) => askDoor(plan, options, state)));
      return plans.map((plan, i) => {
        const { trouble, gone } = troubles[i]!;
        return {
          door: plan.name,
          address: plan.address(),
          ok: trouble === "",
          gone,
          message: trouble !== "" ? trouble : plan.name === "port" ? tlsTrouble : "",
        };
      });
    },
    /** Opens a door anew where it was; connections that were made through it live on. */
    async reopen(name: string) {
      if (closing !== undefined) return;
      const plan = planOf(name);
      const old = doors.get(name);
      doors.delete(name);
      // It stops taking new ones at once; what is under way ends by itself.
      old?.close();
      await openDoor(plan);
      log.warn("the API listens again", { door: name, address: plan.address() });
    },
    /** Whether the certificate speaks for this name. */
    speaksFor: (name: string) => state.identity?.speaksFor(name) ?? false,
    close() {
      closing ??= (async () => {
        const inode = inodeOf(socketPath);
        await Promise.all([...doors.values()].map((server) => closeDoor(server, CLOSE_GRACE_MS)));
        if (inode !== undefined && inodeOf(socketPath) === inode) rmSync(socketPath, { force: true });
      })();
      return closing;
    },
  };
}

const inodeOf = (path: string): number | undefined => {
  try {
    return statSync(path).ino;
  } catch {
    // Nothing is there, which is all that one wants to know.
    return undefined;
  }
};
