/**
 * What becomes of a row of the ledger, from what its provider shows and from who has joined. Pure: whatever crashes, the next
 * look decides the same from the same rows.
 */
import type { LedgerState } from "./ledger-states.ts";
import { machineLimits } from "./limits.ts";
import type { MachineChanges, MachineRow } from "./machine.ts";
import type { Machine } from "./provider.port.ts";

/** What a provider showed when it was asked last. */
export interface Listing {
  /** When it was asked: what was made before that, and is not in it, is missing. */
  readonly askedAt: number;
  readonly machines: readonly Machine[];
}

/** What is known of a node that came from a row's machine. */
export interface FleetNode {
  readonly node_id: string;
  /** What the token is called that it joined with: the label of its machine. */
  readonly joined_by: string;
  readonly state: "joined" | "online" | "suspect" | "dead" | "left";
  readonly state_since: number;
  /** It gets no more work, and gives back what it has. */
  readonly draining: boolean;
}

export interface RowView {
  readonly row: MachineRow;
  /** The last whole list of its provider; undefined where there is none of this life. */
  readonly listing: Listing | undefined;
  readonly node: FleetNode | undefined;
  readonly now: number;
}

export type Act = "create" | "terminate";
export type Told = "provisioned" | "failed" | "terminated";

/** What to write, what to do at the provider, and what to tell; nothing of it where all is as it should be. */
export interface Step {
  readonly changes?: MachineChanges;
  readonly act?: Act;
  readonly told?: Told;
  /** Further machines under the same label: of two that were made, one is too many. */
  readonly surplus?: readonly Machine[];
}

const isThere = ({ state }: Machine): boolean => state !== "gone";

/** Machines of a row: those that bear its label, and the one that its provider named for it. */
const machinesOf = ({ label, machine_id }: MachineRow, { machines }: Listing): Machine[] =>
  machines.filter((one) => isThere(one) && (one.label === label || one.machine_id === machine_id));

/** Of several under one label the one that the row knows stays, or else the first. */
function sighting(row: MachineRow, listing: Listing | undefined) {
  if (listing === undefined) return { machine: undefined, surplus: [] };
  const found = machinesOf(row, listing);
  const machine = found.find(({ machine_id }) => machine_id === row.machine_id) ?? found[0];
  return { machine, surplus: found.filter((one) => one !== machine) };
}

const to = (state: LedgerState, now: number, more: MachineChanges = {}): MachineChanges => ({
  state,
  state_since: now,
  ...more,
});

const seen = (row: MachineRow, machine: Machine, now: number): MachineChanges => ({
  machine_id: machine.machine_id,
  address: machine.address ?? row.address,
  seen_at: now,
  seen_state: machine.state,
  missing_since: null,
  // Never counted for less than it was allowed to cost, and for more where its provider says so.
  price_usd_hour: Math.max(row.price_usd_hour, machine.price_usd_hour ?? 0),
});

/** Writes only what is news; a sign of life now and then. */
const SEEN_EVERY_MS = 60_000;
function newsOf(row: MachineRow, machine: Machine, now: number): MachineChanges | undefined {
  const changes = seen(row, machine, now);
  const isNews = Object.entries(changes).some(
    ([column, value]) => column !== "seen_at" && row[column as keyof MachineRow] !== value,
  );
  return isNews || now - (row.seen_at ?? 0) >= SEEN_EVERY_MS ? changes : undefined;
}

/** Missing for long enough, in lists that were asked for late enough. */
function missing({ row, listing, now }: RowView): { isGone: boolean; changes?: MachineChanges } {
  if (listing === undefined || listing.askedAt < (row.requested_at ?? 0) + machineLimits.settleMs)
    return { isGone: false };
  if (row.missing_since === null) return { isGone: false, changes: { missing_since: now } };
  return { isGone: listing.askedAt - row.missing_since >= machineLimits.vanishMs };
}

function requested(view: RowView): Step {
  const { row, listing, now } = view;
  const { machine, surplus } = sighting(row, listing);
  if (machine !== undefined) return { changes: to("starting", now, seen(row, machine, now)), surplus };
  const isLate = listing !== undefined && listing.askedAt >= row.requested_at! + machineLimits.settleMs;
  if (!isLate) return {};
  const error = row.error ?? `${row.provider} has no machine of this name`;
  return { changes: to("failed", now, { ended_at: now, error }), told: "failed" };
}

const returned = (now: number, reason: string, forced: 0 | 1): MachineChanges =>
  to("returning", now, { return_reason: reason, return_by: "provisioner", forced });

function starting(view: RowView): Step {
  const { row, listing, node, now } = view;
  const { machine, surplus } = sighting(row, listing);
  const news = machine === undefined ? undefined : newsOf(row, machine, now);
  if (node !== undefined)
    return {
      changes: to("active", now, { ...news, node_id: node.node_id, joined_at: now }),
      told: "provisioned",
      surplus,
    };
  if (now >= row.deadline_at)
    return {
      changes: { ...returned(now, "it did not join in time", 1), error: "it did not join in time" },
      told: "failed",
      surplus,
    };
  if (machine !== undefined) return { ...(news && { changes: news }), surplus };
  const { isGone, changes } = missing(view);
  if (isGone)
    return { changes: to("ended", now, { ended_at: now, error: "it vanished before it joined" }), told: "failed" };
  return changes === undefined ? {} : { changes };
}

/** One that has joined, also while it is drained. */
function working(view: RowView): Step {
  const { row, listing, node, now } = view;
  const { machine, surplus } = sighting(row, listing);
  if (machine !== undefined) {
    const news = newsOf(row, machine, now);
    return { ...(news && { changes: news }), surplus };
  }
  // A node that speaks is there, whatever a list says.
  if (node?.state === "online") return {};
  const { isGone, changes } = missing(view);
  if (isGone)
    return {
      changes: to("ended", now, { ended_at: now, return_reason: row.return_reason ?? "its provider took it away" }),
      told: "terminated",
    };
  return changes === undefined ? {} : { changes };
}

function returning(view: RowView): Step {
  const { row, listing, now } = view;
  const { machine, surplus } = sighting(row, listing);
  const gone: Step = {
    changes: to("ended", now, { ended_at: now }),
    ...(row.node_id === null ? {} : { told: "terminated" as const }),
  };
  // What was listed before it was told to end says nothing about that.
  if (row.terminated_at !== null && listing !== undefined && listing.askedAt <= row.terminated_at) return { surplus };
  if (machine !== undefined) {
    // One that is on its way out needs no second word, unless it stays there.
    const isEnding = machine.state === "ending" && now - (row.terminated_at ?? 0) < machineLimits.endingMs;
    return isEnding ? { surplus } : { act: "terminate", surplus };
  }
  if (listing === undefined) return {};
  // Asked after the provider had said that it ends it, and not shown: it is gone.
  if (row.terminated_at !== null) return gone;
  const { isGone, changes } = missing(view);
  if (isGone) return gone;
  return changes === undefined ? {} : { changes };
}

/** The next step of an open row. */
export function nextStep(view: RowView): Step {
  const { row, now } = view;
  switch (row.state) {
    case "intended":
      return now < row.deadline_at
        ? { act: "create" }
        : {
            changes: to("failed", now, { ended_at: now, error: "its time was over before it was asked for" }),
            told: "failed",
          };
    case "requested":
      return requested(view);
    case "starting":
      return starting(view);
    case "active":
    case "draining":
      return working(view);
    case "returning":
      return returning(view);
    default:
      return {};
  }
}

/** What a machine is that bears our name while its row is not open: it is opened again, to be ended. */
export const reopened = (row: MachineRow, machine: Machine, now: number): MachineChanges => ({
  ...to("returning", now, seen(row, machine, now)),
  ended_at: null,
  terminated_at: null,
  forced: 1,
  return_reason: "its row had ended, and it is still there",
  return_by: "multi_provider",
});
