/** How a node does, from well to worst. Degraded nodes work on; unhealthy ones get nothing new; evicted ones count for nothing. */
export const NODE_CONDITIONS = ["healthy", "degraded", "unhealthy", "evicted"] as const;
export type NodeCondition = (typeof NODE_CONDITIONS)[number];

/** The worse of two. */
export const worse = (one: NodeCondition, other: NodeCondition): NodeCondition =>
  NODE_CONDITIONS.indexOf(one) >= NODE_CONDITIONS.indexOf(other) ? one : other;

/** Whether it gets nothing new. */
export const isIll = (condition: NodeCondition): boolean => condition === "unhealthy" || condition === "evicted";
