import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { time } from "../http/fields.ts";
import { type Answer, defineRoute } from "../http/wire.ts";

const process = lazy(() =>
  z
    .object({
      pid: z.int(),
      parent: z.int(),
      name: z.string(),
      rss_bytes: z.number().nullable(),
      fds: z.int().nullable().describe("Open files and connections; null where nobody may look."),
      cpu_seconds: z.number(),
      children: z.int(),
      loop_delay_seconds: z
        .number()
        .nullable()
        .describe("How late its event loop was, 99th percentile of the last minute; null where it does not tell."),
      transfers: z.int().nullable().describe("Files that it takes in or brings in now; null where nobody counts."),
    })
    .meta({ id: "ProcessFigures" }),
);

export const getResources = defineRoute("getResources", "GET /v1/resources", {
  tag: "system",
  summary: "What every process uses of this machine, the uploads, and what waits on the nodes.",
  limit: "heavy",
  about: "The main process first, then its child processes.",
  answer: () =>
    z.object({
      at: time,
      processes: z.array(process()),
      max_fds: z.int().nullable().describe("How many files the main process may have open; null for no limit."),
      loop_delay: z
        .object({ p50_seconds: z.number(), p99_seconds: z.number(), max_seconds: z.number() })
        .describe("How late the main loop was over the last minute."),
      disk: z
        .object({
          level: z.enum(["none", "high", "critical"]),
          usage: z.number().describe("Share in use."),
          free_bytes: z.number(),
          full_in_seconds: z.number().nullable().describe("At the rate of now; null where nothing can be said."),
        })
        .nullable()
        .describe("The disk of the data folder; null before it was measured."),
      freed: z
        .object({ at: time, reason: z.string(), files: z.int(), bytes: z.number(), all_bytes: z.number() })
        .nullable()
        .describe("What was freed last, and all bytes since the beginning; null if nothing ever was."),
      pools: z
        .object({ commits: z.int(), scans: z.int() })
        .describe("What other threads have in hand: commits for the writer, reads of many rows for the reader."),
      grants: z
        .object({
          jobs: z.int().describe("Jobs that nodes hold."),
          locks: z.int().describe("Locks that somebody holds."),
          fetches: z.int().describe("Files that nodes were told to fetch, and may be under way."),
          max_fetches: z.int(),
        })
        .describe("What was given away for a time."),
      transfers: z.object({
        incoming: z.array(z.object({ sha256: z.string(), from: z.string() })),
        max_at_once: z.int(),
        max_of_one: z.int(),
      }),
      nodes: z.array(
        z.object({
          label: z.string(),
          state: z.string(),
          running: z.int().nullable(),
          results_waiting: z.int().nullable(),
          events_waiting: z.int().nullable(),
          rss_bytes: z.number().nullable().describe("Memory of its worker."),
          loop_delay_seconds: z.number().nullable().describe("How late the loop of its worker was, 99th percentile."),
          uploads: z.int().describe("Files that it brings in now."),
        }),
      ),
    }),
});

export type Resources = Answer<typeof getResources>;
