/** How often nodes speak, and what their silence means: one profile for the coordinator and all nodes. */
export interface NodeTiming {
  readonly beatMs: number;
  /** Silent for longer, a node is suspect; longer still, dead. */
  readonly suspectMs: number;
  readonly deadMs: number;
  /** Nodes that are dead, left or never came are forgotten after this. */
  readonly purgeMs: number;
  /** After a start of the coordinator nobody becomes suspect or dead for so long. */
  readonly startupGraceMs: number;
}

export const nodeTimingDefaults: NodeTiming = {
  beatMs: 15_000,
  suspectMs: 45_000,
  deadMs: 120_000,
  purgeMs: 7 * 86_400_000,
  startupGraceMs: 120_000,
};

/** As nodes are told it, in seconds. */
export const timingOnTheWire = ({ beatMs, suspectMs, deadMs }: NodeTiming) => ({
  beat_seconds: beatMs / 1_000,
  suspect_seconds: suspectMs / 1_000,
  dead_seconds: deadMs / 1_000,
});
