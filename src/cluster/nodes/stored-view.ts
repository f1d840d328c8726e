import { hostPolicyIn } from "./host-policy.ts";
import { isGuest, type NodeCapabilities, type NodeRow } from "./node-rows.ts";
import { isDeprecated } from "./versions.ts";

/** What of a node's view follows from its row and its capabilities alone. */
export function storedView(
  row: NodeRow,
  capabilities: NodeCapabilities,
  { localNodeId, version }: { readonly localNodeId: string; readonly version: string },
) {
  const {
    public_key,
    settings,
    token_id,
    protocol,
    cordon_reason,
    cordoned_at,
    cordoned_by,
    policy,
    forgotten_at,
    ...told
  } = row;
  return {
    ...told,
    deprecated: isDeprecated(row.version, version),
    capabilities,
    cordoned:
      cordon_reason === null ? null : { reason: cordon_reason, at: cordoned_at ?? 0, by: cordoned_by ?? "unknown" },
    draining: row.draining === 1,
    policy: hostPolicyIn(row),
    local: row.node_id === localNodeId,
    with_token: isGuest(row),
  };
}
export type StoredView = ReturnType<typeof storedView>;
