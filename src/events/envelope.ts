import { hash } from "node:crypto";
import type { EventClass } from "./row.ts";
export const EventSource = { DATA_BUS: "data_bus", STAGE_BUS: "stage_bus", CROSS_PROCESS: "cross_process", ROUTER: "router" } as const;
export type EventSource = (typeof EventSource)[keyof typeof EventSource];
export interface RouterEvent<N extends string = string, P = Readonly<Record<string, unknown>>> {
  readonly eventType: N; readonly payload: P; readonly timestamp: number; readonly source: string; readonly origin: EventSource;
  readonly eventId: string; readonly traceId: string; readonly correlationId: string; readonly parentEventId: string | null; readonly contentHash: string;
  readonly seq: number | null; readonly payloadVersion: number; readonly eventClass: EventClass; readonly orderKey: string | null;
  readonly views: { readonly dataBus: boolean; readonly stageBus: boolean; readonly crossProcess: boolean }; readonly nodeId: string;
}
export const contentHash = (name: string, text: string): string => hash("sha256", `${name}:${text}`, "hex");
