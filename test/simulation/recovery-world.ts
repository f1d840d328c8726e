/**
 * A seeded world around the shipped decisions about nodes: how each does, what is done for it. Nodes hang, slow down, fail their jobs, play
 * wrong, fill their disks, fall silent and crash in loops, alone and together; they heal by themselves, by a restart, by a reboot, by a
 * replacement, or never. The world keeps books of its own of what is done to whom, and compares. One seed is one history.
 */
import type { NodeCondition } from "../../src/cluster/node-health/conditions.ts";
import { isIll } from "../../src/cluster/node-health/conditions.ts";
import { type NodeHealthRow, wellSince } from "../../src/cluster/node-health/health-book.ts";
import type { RecoveryCase } from "../../src/cluster/recovery/recovery-case.ts";
import { isHard, type Rung } from "../../src/cluster/recovery/rungs.ts";
import { nextHealth, recovered } from "../../src/cluster/units/node-health/decide.ts";
import {
  type FleetFacts,
  nextStep,
  type PatientFacts,
  type RecoveryPolicy,
  recoveryDefaults,
  type Step,
} from "../../src/cluster/units/node-recovery/decide.ts";
import { pick, type Random, seededRandom } from "../../src/kernel/index.ts";

const SICKNESSES = ["hang", "slow", "wrong", "disk", "cut", "crash_loop", "failing_jobs"] as const;
type Sickness = (typeof SICKNESSES)[number];

/** Mistakes that the world must find. */
export const PLANTS = [
  "none",
  "restarts-busy",
  "ignores-copies",
  "no-suspension",
  "no-budget",
  "no-cooldown",
  "touches-healthy",
] as const;
export type Plant = (typeof PLANTS)[number];

export interface RecoveryWorldOptions {
  readonly seed: number;
  readonly faults: number;
  readonly plant?: Plant;
}

export interface RecoveryReport {
  readonly violations: readonly string[];
  readonly acts: Readonly<Record<string, number>>;
  /** Illnesses that were found, that ended well, and that a person was asked about. */
  readonly found: number;
  readonly recovered: number;
  readonly handedOver: number;
  readonly suspendedTicks: number;
}

interface Node {
  readonly id: string;
  sickness: Sickness | null;
  /** What ends it; null: only a person. */
  cure: Rung | "time" | null;
  curesAt: number;
  health: NodeHealthRow;
  patient: RecoveryCase | undefined;
  incarnation: number;
  downUntil: number;
  outcomes: { sort: string; ok: boolean; at: number; error: null }[];
  stuckAt: number[];
  held: number;
  moving: number;
  alone: number;
  lastUsed: Partial<Record<Rung, number>>;
  seenAt: number;
}

const TICK = 10_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;

const freshNode = (id: string, now: number): Node => ({
  id,
  sickness: null,
  cure: null,
  curesAt: 0,
  health: wellSince(now, 1),
  patient: undefined,
  incarnation: 1,
  downUntil: 0,
  outcomes: [],
  stuckAt: [],
  held: 0,
  moving: 0,
  alone: 0,
  lastUsed: {},
  seenAt: now,
});

const presenceOf = (node: Node, now: number) => {
  const silentMs = now - node.seenAt;
  return silentMs > 120_000 ? ("dead" as const) : silentMs > 45_000 ? ("suspect" as const) : ("online" as const);
};

/** The decisions as they are shipped, or with a mistake. */
function planted(plant: Plant, step: typeof nextStep): typeof nextStep {
  return (patient, facts, fleet, now, policy = recoveryDefaults): Step => {
    const wrong: Partial<Record<Plant, () => Step>> = {
      "restarts-busy": () => step(patient, { ...facts, moving: 0 }, fleet, now, policy),
      "ignores-copies": () => step(patient, { ...facts, alone: 0 }, fleet, now, policy),
      "no-suspension": () => step(patient, facts, { ...fleet, unready: 0 }, now, policy),
      "no-budget": () => step(patient, facts, { ...fleet, acting: 0, actsLastHour: 0 }, now, policy),
      "no-cooldown": () => step(patient, { ...facts, lastUsed: {} }, fleet, now, policy),
      // An illness that is over is treated on.
      "touches-healthy": () => step(patient, { ...facts, condition: "unhealthy" }, fleet, now, policy),
    };
    return (wrong[plant] ?? (() => step(patient, facts, fleet, now, policy)))();
  };
}

const caseOf = (node: Node, now: number): RecoveryCase => ({
  case_id: `${node.id}-${now}`,
  opened_at: now,
  check: node.health.check,
  reason: node.health.reason ?? "",
  rung: "observe",
  rung_since: now,
  attempts: 1,
  waits_for: null,
  waits_since: null,
  is_handed_over: false,
  orphans: 0,
});

class RecoveryWorld {
  readonly violations: string[] = [];
  readonly acts: Record<string, number> = {};
  readonly counts = { found: 0, recovered: 0, handedOver: 0, suspendedTicks: 0 };
  readonly #random: Random;
  readonly #policy: RecoveryPolicy = recoveryDefaults;
  readonly #step: typeof nextStep;
  readonly #nodes: Node[];
  readonly #hard: { at: number; node: string; rung: Rung; until: number }[] = [];
  #now = 1_000_000;

  constructor({ seed, plant = "none" }: RecoveryWorldOptions) {
    this.#random = seededRandom(seed);
    this.#step = planted(plant, nextStep);
    this.#nodes = Array.from({ length: 6 + pick(this.#random, 14) }, (_, n) => freshNode(`n${n}`, this.#now));
  }

  /** A fault strikes one node, or many at once as a network does. */
  strike(): void {
    const random = this.#random;
    const isWide = random.next() < 0.05;
    const many = isWide ? Math.ceil(this.#nodes.length * (0.3 + 0.5 * random.next())) : 1;
    const sickness: Sickness = isWide ? "cut" : SICKNESSES[pick(random, SICKNESSES.length)]!;
    for (let n = 0; n < many; n += 1) {
      const node = this.#nodes[pick(random, this.#nodes.length)]!;
      node.sickness = sickness;
      const cures = ["time", "restart", "reboot", "replace", null] as const;
      node.cure = isWide ? "time" : cures[pick(random, cures.length)]!;
      node.curesAt = this.#now + (isWide ? 5 : 20 * random.next()) * MINUTE;
    }
  }

  /** The wrong stays true for a while: time passes, and nodes do what they do. */
  pass(ticks: number): void {
    for (let n = 0; n < ticks; n += 1) {
      this.#now += TICK;
      for (const node of this.#nodes) this.#live(node);
      for (const node of this.#nodes) this.#judge(node);
      this.#treatAll();
    }
  }

  #live(node: Node): void {
    const [now, random] = [this.#now, this.#random];
    if (node.sickness !== null && node.cure === "time" && now >= node.curesAt) node.sickness = null;
    const isDown = now < node.downUntil;
    if (!isDown && node.sickness !== "cut" && !(node.sickness === "crash_loop" && random.next() < 0.3))
      node.seenAt = now;
    if (node.sickness === "crash_loop" && random.next() < 0.3) node.incarnation += 1;
    const isWorking = !isDown && node.sickness !== "hang" && node.sickness !== "cut";
    node.held = isDown ? 0 : pick(random, 3);
    node.moving = isWorking
      ? pick(random, node.held + 1)
      : node.sickness === "hang" && random.next() < 0.1
        ? node.held
        : 0;
    node.alone = random.next() < 0.15 ? pick(random, 4) : 0;
    if (node.sickness === "hang" && random.next() < 0.2) node.stuckAt.push(now);
    if (isWorking && node.held > 0 && random.next() < 0.5) {
      const ok = node.sickness !== "failing_jobs" || random.next() < 0.1;
      node.outcomes = [...node.outcomes, { sort: "selfplay/", ok, at: now, error: null }].slice(-24);
    }
    node.outcomes = node.outcomes.filter(({ at }) => now - at < 30 * MINUTE);
    node.stuckAt = node.stuckAt.filter((at) => now - at < HOUR).slice(-4);
  }

  #judge(node: Node): void {
    const [now, random] = [this.#now, this.#random];
    const { row } = nextHealth(node.health, {
      now,
      presence: presenceOf(node, now),
      isLocal: node.id === "n0",
      isGuest: false,
      seenAt: node.seenAt,
      version: "1.0.0",
      isDeprecated: false,
      clockAheadMs: 0,
      incarnation: node.incarnation,
      work: {
        outcomes: node.outcomes,
        stuckAt: node.stuckAt,
        pace: node.sickness === "slow" ? 6 : 1,
        disk: node.sickness === "disk" ? "its disk is full" : undefined,
      },
      isFault: () => true,
      residual: random.next() < 0.3 ? (node.sickness === "wrong" ? 9 : 0.5) : undefined,
    });
    node.health = row;
  }

  #fleet(): FleetFacts {
    const now = this.#now;
    const unready = this.#nodes.filter((node) => isIll(node.health.condition) || presenceOf(node, now) !== "online");
    return {
      nodes: this.#nodes.length,
      unready: unready.length,
      actsLastHour: this.#hard.filter(({ at }) => now - at < HOUR).length,
      acting: this.#nodes.filter(({ patient }) => patient !== undefined && isHard(patient.rung)).length,
      isOff: false,
    };
  }

  #treatAll(): void {
    let fleet = this.#fleet();
    if (fleet.unready / fleet.nodes > this.#policy.suspendAbove) this.counts.suspendedTicks += 1;
    for (const node of this.#nodes) {
      if (node.patient === undefined && isIll(node.health.condition)) {
        node.patient = caseOf(node, this.#now);
        this.counts.found += 1;
        continue;
      }
      if (node.patient === undefined) continue;
      const rung = this.#treat(node, node.patient, fleet);
      if (rung !== undefined && isHard(rung))
        fleet = { ...fleet, acting: fleet.acting + 1, actsLastHour: fleet.actsLastHour + 1 };
    }
  }

  #treat(node: Node, patient: RecoveryCase, fleet: FleetFacts): Rung | undefined {
    const now = this.#now;
    const facts: PatientFacts = {
      condition: node.health.condition,
      check: node.health.check,
      isGone: false,
      isLocal: node.id === "n0",
      isReachable: node.id !== "n0" && presenceOf(node, now) !== "dead",
      held: node.held,
      moving: node.moving,
      alone: node.alone,
      reachedBy: 0,
      repair: "replace",
      canReboot: node.id.endsWith("1") || node.id.endsWith("3"),
      canReplace: node.id.endsWith("1"),
      lastUsed: node.lastUsed,
    };
    const step = this.#step(patient, facts, fleet, now, this.#policy);
    if (step.kind === "close") {
      node.patient = undefined;
      node.health = recovered(node.health, now);
      this.counts.recovered += 1;
      return undefined;
    }
    if (step.kind === "wait") {
      const waits_since = step.next === null ? null : patient.waits_for === step.next ? patient.waits_since : now;
      node.patient = { ...patient, waits_for: step.next, waits_since };
      return undefined;
    }
    this.#act(node, step.rung, facts, fleet);
    node.patient = {
      ...patient,
      rung: step.rung,
      rung_since: now,
      attempts: patient.attempts + 1,
      waits_for: null,
      waits_since: null,
    };
    return step.rung;
  }

  /** What is done is written into books that the decisions do not see. */
  #act(node: Node, rung: Rung, facts: PatientFacts, fleet: FleetFacts): void {
    const now = this.#now;
    this.acts[rung] = (this.acts[rung] ?? 0) + 1;
    if (rung === "person") this.counts.handedOver += 1;
    const wrong = (what: string) => this.violations.push(`${what}: ${rung} of ${node.id} at ${now}`);
    if (fleet.unready / fleet.nodes > 0.45) wrong("something was done while too many were not ready");
    if (!isHard(rung)) return;
    if (facts.moving > 0) wrong("a busy node was touched");
    if (facts.alone > 0) wrong("files were only there");
    if (!isIll(node.health.condition)) wrong("a healthy node was touched");
    if (node.id === "n0") wrong("the coordinator's own machine was touched");
    const lately = this.#hard.filter(({ at }) => now - at < HOUR);
    if (lately.length >= this.#policy.actsPerHour) wrong("a storm of repairs");
    const before = this.#hard.findLast((act) => act.node === node.id && act.rung === rung);
    if (before !== undefined && now - before.at < (this.#policy.cooldownMs[rung] ?? 0))
      wrong("too soon after the last");
    this.#hard.push({ at: now, node: node.id, rung, until: now + MINUTE });
    node.lastUsed = { ...node.lastUsed, [rung]: now };
    if (rung === "restart" && (node.sickness === "cut" || node.sickness === "crash_loop")) return;
    node.incarnation += 1;
    node.downUntil = now + (rung === "restart" ? 10_000 : 2 * MINUTE);
    const order: readonly (Rung | "time" | null)[] = ["restart", "reboot", "replace"];
    if (node.cure !== null && order.indexOf(node.cure) !== -1 && order.indexOf(node.cure) <= order.indexOf(rung))
      node.sickness = null;
  }

  conditions(): NodeCondition[] {
    return this.#nodes.map(({ health }) => health.condition);
  }

  /** Everything that ails them ends. */
  heal(): void {
    for (const node of this.#nodes) {
      node.sickness = null;
      node.stuckAt = [];
    }
  }
}

export function recoveryWorld(options: RecoveryWorldOptions): RecoveryReport {
  const world = new RecoveryWorld(options);
  const random = seededRandom(options.seed + 1);
  for (let n = 0; n < options.faults; n += 1) {
    world.strike();
    world.pass(1 + pick(random, 30));
  }
  world.heal();
  world.pass(6 * 60 * 8);
  const violations = [...world.violations];
  const ill = world.conditions().filter(isIll).length;
  if (ill > 0) violations.push(`${ill} nodes are still ill long after everything was mended`);
  return { violations, acts: world.acts, ...world.counts };
}
