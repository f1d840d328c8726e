/** What this room says although no unit hears it yet, and hears although nobody says it. Each goes when its other end comes. */
export const pipelineExcuses = { orphans: {}, deadSubscriptions: {} } as const;
