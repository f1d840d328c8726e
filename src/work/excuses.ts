/** What this room says although no unit hears it yet. Each goes when its listener comes: the audit insists. */
const orphans = {
  WORK_QUEUED: "operators read it in 'ringrift events tail'; queue_populator is to hear it",
  WORK_CLAIMED: "operators read it in 'ringrift events tail'; the dashboard is to hear it",
  WORK_RETRY: "operators read it in 'ringrift events tail'; the dashboard is to hear it",
  JOB_PREEMPTED: "operators read it in 'ringrift events tail'; selfplay_orchestrator is to hear it",
} as const;

/** What it hears, by the unit that is to say it and does not exist yet. */
const awaited = {
  multi_provider: ["NODE_INCOMPATIBLE_WITH_WORKLOAD"],
} as const;

type AwaitedEvent = (typeof awaited)[keyof typeof awaited][number];

const deadSubscriptions = Object.fromEntries(
  Object.entries(awaited).flatMap(([emitter, events]) =>
    events.map((event) => [event, `${emitter} is to say it, and does not exist yet`]),
  ),
) as { readonly [N in AwaitedEvent]: string };

export const workExcuses = { orphans, deadSubscriptions } as const;
