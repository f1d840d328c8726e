/** What this room says although no unit hears it yet. Each goes when its listener comes: the audit insists. */
const orphans = {
  METRICS_UPDATED: "dashboards read it live; http_server and metrics_orchestrator are to hear it",
  NODE_CAPACITY_UPDATED: "dashboards read it live; resource_coordinator and cluster_monitor are to hear it",
  RESOURCE_CONSTRAINT: "operators read it in 'ringrift events tail'; resource_coordinator is to hear it",
  RESOURCE_CONSTRAINT_DETECTED: "operators read it in 'ringrift events tail'; selfplay_scheduler is to hear it",
  MEMORY_PRESSURE: "dashboards read it live; workers are to hear it",
  NODE_OVERLOADED: "operators read it in 'ringrift events tail'; job_scheduler is to hear it",
  DISK_SPACE_LOW: "operators read it in 'ringrift events tail'; alert_manager is to hear it",
} as const;

export const clusterExcuses = { orphans } as const;
