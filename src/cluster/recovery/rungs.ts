import type { PayloadFor } from "../../events/index.ts";
import type { CheckName } from "../node-health/health-book.ts";

/** The ladder, gentlest first. */
export const RUNGS = ["observe", "drain", "restart", "reboot", "replace", "person"] as const;
export type Rung = (typeof RUNGS)[number];

/** Worked: the node is well. Failed: it is not. Ended: something else came of it, as when its node left. */
export const ACT_STATES = ["acting", "worked", "failed", "ended"] as const;
export type ActState = (typeof ACT_STATES)[number];

/** Rungs that end what runs on a node. */
export const isHard = (rung: Rung): boolean => rung === "restart" || rung === "reboot" || rung === "replace";

/** How far repairs of a host may go, from never to all. */
export const REPAIRS = ["none", "restart", "reboot", "replace"] as const;
export type Repair = (typeof REPAIRS)[number];

/** As events name them. */
export const rungActions: Readonly<Record<Rung, PayloadFor<"RECOVERY_INITIATED">["recovery_action"]>> = {
  observe: "none",
  drain: "failover",
  restart: "soft_restart",
  reboot: "reboot",
  replace: "reprovision",
  person: "notify",
};

export const rungWords: Readonly<Record<Rung, string>> = {
  observe: "look whether it passes by itself",
  drain: "give its jobs to others",
  restart: "restart its worker",
  reboot: "reboot the machine",
  replace: "replace the machine",
  person: "ask a person",
};

/** What is being done, for whoever asks about the node. */
export const repairWords: Readonly<Record<Rung, string>> = {
  observe: "it is watched first: this may pass by itself",
  drain: "its jobs go to others",
  restart: "its worker is told to restart",
  reboot: "its machine is rebooted",
  replace: "its machine is replaced",
  person: "a person was asked to look at it",
};

const WHOLE: readonly Rung[] = RUNGS;
/** What helps against what: a worker that cannot be reached is not told to restart, and no restart empties a disk. */
const ladders: Readonly<Partial<Record<CheckName, readonly Rung[]>>> = {
  beats: ["observe", "drain", "reboot", "replace", "person"],
  starts: ["observe", "drain", "reboot", "replace", "person"],
  disk: ["observe", "drain", "person"],
};

export const ladderFor = (check: CheckName | null): readonly Rung[] => (check && ladders[check]) ?? WHOLE;
