import { filesOf } from "../../../selfplay/index.ts";
import { isFor, type Segment, type StageServices, type Turn, type Waiting } from "../../../stage/index.ts";
import type { ParityRow } from "../../tables.ts";
import type { Case } from "./decide.ts";

/** What is wrong with a segment's files; null if all are verified, undefined while that is not known. */
const damageOf = ({ catalog }: StageServices, segment: Segment): string | null | undefined => {
  let isOpen = false;
  for (const { kind, sha256 } of filesOf(segment)) {
    const known = catalog.get(sha256);
    if (known?.state === "quarantined") return `its file of ${kind} is damaged: ${known.reason ?? "unknown"}`;
    // Somebody has rejected it meanwhile, as a repair of the folder does: it stays so, whatever a check would find.
    if (known?.state === "rejected") return `its file of ${kind} was rejected: ${known.reason ?? "unknown"}`;
    if (known?.verified_at == null) isOpen = true;
  }
  return isOpen ? undefined : null;
};

/** The batch with all that is needed to judge it, or what is still missing. */
export const gatherCases = (
  services: StageServices,
  { plan, at }: Turn,
  segments: readonly Segment[],
  parity: ParityRow | undefined,
): { readonly cases: readonly Case[] } | { readonly waits: readonly Waiting[] } => {
  const damages = segments.map((segment) => ({ segment, damage: damageOf(services, segment) }));
  const verified = damages.filter(({ damage }) => damage !== undefined).length;
  if (verified < segments.length)
    return { waits: [{ for: "verified_segments", actual: verified, required: segments.length }] };
  const isChecked = plan.kinds.includes("validation");
  const isCurrent = isFor(parity, at);
  const checkOf = ({ part, samples_file }: Segment) => {
    const check = isCurrent ? parity.checked[part] : undefined;
    return check?.samples === samples_file.sha256 ? check : undefined;
  };
  const cases = damages.map(({ segment, damage }) => ({ segment, damage: damage ?? null, check: checkOf(segment) }));
  // A damaged one needs no check, and holds nobody up.
  const unchecked = cases.filter(({ damage, check }) => damage === null && check === undefined);
  if (!isChecked || unchecked.length === 0) return { cases };
  if (!isCurrent || parity.state === "running") {
    const [wait] = isCurrent ? parity.waits : [];
    return { waits: [wait ?? { for: "parity", actual: cases.length - unchecked.length, required: cases.length }] };
  }
  if (services.settings.allowPendingGate) return { cases };
  const [first] = unchecked;
  const why = parity.unchecked[first!.segment.part] ?? "it was not checked";
  const actual = `${unchecked.length} of ${cases.length} segments are not checked: ${why}`;
  return { waits: [{ for: "pending_gate", actual, required: "all checked, or RINGRIFT_ALLOW_PENDING_GATE" }] };
};
