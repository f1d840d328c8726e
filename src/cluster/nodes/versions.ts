import { OperatingError } from "../../kernel/index.ts";

/** The protocol between nodes and their coordinator. */
export const PROTOCOL = { current: 1, least: 1 } as const;

/** A node that speaks an older protocol would be misunderstood: it is refused before it can do harm. */
export function assertProtocol(protocol: number): void {
  if (protocol >= PROTOCOL.least && protocol <= PROTOCOL.current) return;
  const older = protocol < PROTOCOL.least;
  throw OperatingError.denied(
    "PROTOCOL_REFUSED",
    `this coordinator speaks protocol ${PROTOCOL.least} to ${PROTOCOL.current}, the node ${protocol}`,
    {
      status: 426,
      showsDetails: true,
      hint: older ? "Install the coordinator's version of ringrift on the node." : "Upgrade the coordinator first.",
      details: { ...PROTOCOL },
    },
  );
}

const partsOf = (version: string): readonly [major: number, minor: number] | undefined => {
  const found = /^v?(\d+)\.(\d+)/.exec(version);
  return found === null ? undefined : [Number(found[1]), Number(found[2])];
};

/** Whether a node runs an older minor version than the coordinator: it works, and should be upgraded. */
export function isDeprecated(node: string, coordinator: string): boolean {
  const [theirs, ours] = [partsOf(node), partsOf(coordinator)];
  if (theirs === undefined || ours === undefined) return false;
  return theirs[0] < ours[0] || (theirs[0] === ours[0] && theirs[1] < ours[1]);
}
