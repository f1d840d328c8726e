import type { Clock } from "../../kernel/index.ts";
import { OperatingError } from "../../kernel/index.ts";
import type { Source, Transport } from "../../sync/index.ts";
import { type CoordinatorLine, coordinatorTransport } from "./coordinator/coordinator-transport.ts";
import { folderTransport } from "./folder/folder-transport.ts";
import { httpTransport } from "./http/http-transport.ts";
import type { Bearer } from "./http/proof.ts";
import { relayAgent } from "./relay/relay-client.ts";
import { rsyncTransport } from "./rsync/rsync-transport.ts";
import type { RsyncPrograms } from "./rsync/run-rsync.ts";
import { s3Transport } from "./s3/s3-transport.ts";

export interface TransportSurroundings {
  readonly clock: Clock;
  readonly bearer: Bearer;
  readonly programs: RsyncPrograms;
  readonly scratch: string;
  readonly coordinator: CoordinatorLine | undefined;
  readonly maxBytesPerSecond: number | undefined;
}

/** The way to a place. */
export function openTransport(source: Source, surroundings: TransportSurroundings): Transport {
  const { bearer, coordinator } = surroundings;
  switch (source.transport) {
    case "folder":
      return folderTransport(source);
    case "http":
      return httpTransport({ ...source, bearer });
    case "relay": {
      const { url, fingerprint, ca, nodeId, ticket } = source;
      const agent = relayAgent({ url, fingerprint, ca }, nodeId, ticket, bearer);
      return httpTransport({ ...source, url: "http://node", bearer, name: "relay", agent });
    }
    case "rsync":
      return rsyncTransport({ ...source, ...surroundings });
    case "s3":
      return s3Transport(source);
    case "coordinator":
      if (coordinator === undefined)
        throw OperatingError.invalid("PLACE_INVALID", "this node has no coordinator except itself");
      if (source.at === undefined) return coordinatorTransport(coordinator);
      // Each of several has a breaker of its own.
      return coordinatorTransport({ prove: coordinator.prove, ...source.at }, `the coordinator at ${source.at.url}`);
  }
}
