/** Power over machines: what nobody can do from inside them. Whoever rents or owns machines fills it in. */
import { OperatingError } from "../../kernel/index.ts";

/** Reboot: the same machine starts anew. Replace: it is given back, and another one comes in its place. */
export const POWER_ACTS = ["reboot", "replace"] as const;
export type PowerAct = (typeof POWER_ACTS)[number];

export interface PowerOrder {
  /** The same for every try of one act: asked twice, it happens once. */
  readonly actId: string;
  readonly reason: string;
}

export interface NodePower {
  /** Who can do it to this node, as people call them; undefined where only a person can. Asked often: it looks at what is known. */
  ableTo(nodeId: string, act: PowerAct): string | undefined;
  /** Resolves when it was accepted, not when the node is back. */
  carryOut(nodeId: string, act: PowerAct, order: PowerOrder): Promise<void>;
}

/** Where nobody has power over machines, a person is asked. */
export const nobodysPower: NodePower = {
  ableTo: () => undefined,
  carryOut: (nodeId, act) =>
    Promise.reject(
      OperatingError.conflict("NODE_POWER_MISSING", `nobody here can ${act} node ${nodeId}`, {
        hint: "Do it by hand, or name a provider for the node.",
      }),
    ),
};
