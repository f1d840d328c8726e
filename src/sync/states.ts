/** Where an artifact can be. */
export const ARTIFACT_STATES = ["in_flight", "durable", "rejected", "quarantined", "freed"] as const;
export type ArtifactState = (typeof ARTIFACT_STATES)[number];

/** What moves an artifact. */
export const ARTIFACT_ACTIONS = ["record", "accept", "reject", "quarantine", "restore", "free"] as const;
export type ArtifactAction = (typeof ARTIFACT_ACTIONS)[number];

export interface Step {
  readonly from: ArtifactState | null;
  readonly action: ArtifactAction;
  readonly to: ArtifactState;
  readonly when: string;
}

const steps = (
  action: ArtifactAction,
  to: ArtifactState,
  when: string,
  ...from: readonly (ArtifactState | null)[]
): Step[] => from.map((one) => ({ from: one, action, to, when }));

/** The whole life of an artifact, as data: the code makes no other step, and the picture in the docs is printed from it. */
export const artifactSteps: readonly Step[] = [
  ...steps("record", "in_flight", "a job brought it", null),
  ...steps("accept", "durable", "it was judged good", "in_flight"),
  ...steps("reject", "rejected", "it was judged bad, or is not wanted", "in_flight", "durable", "quarantined"),
  ...steps("quarantine", "quarantined", "its file is damaged or gone", "in_flight", "durable"),
  ...steps("restore", "in_flight", "the right bytes are there again", "quarantined"),
  ...steps("restore", "durable", "and it was good before", "quarantined"),
  ...steps("free", "freed", "nothing holds it and its grace is over", "durable"),
  ...steps("record", "in_flight", "another job brought the same bytes", "rejected", "quarantined", "freed"),
];

/**
 * Where an action leads, or undefined where it changes nothing. What is told twice, or too late, is no fault: verdicts and
 * damage meet in any order.
 */
export function after(
  from: ArtifactState | null,
  action: ArtifactAction,
  before?: ArtifactState | null,
): ArtifactState | undefined {
  const found = artifactSteps.filter((step) => step.from === from && step.action === action);
  return (found.find(({ to }) => to === before) ?? found[0])?.to;
}

/** What becomes of a file of games that no manifest knows. */
export const ORPHAN_RULES = ["adopt", "quarantine", "offer", "leave"] as const;
export type OrphanRule = (typeof ORPHAN_RULES)[number];
