/** The queue as a program beside the main process sees it: it puts jobs in and follows them. */
import type { JobSpecInput } from "../../work/index.ts";
import { callTo, type Sender } from "../client/call.ts";
import type { InputArgs } from "../http/wire.ts";
import { addWork, cancelWork, getWork, getWorkStats, listWork, retryWork } from "./wire.ts";

type Filter = NonNullable<InputArgs<typeof listWork>[0]>["query"];

export function jobsOver(sender: Sender<{ timeoutMs?: number }>) {
  return {
    /** All of them or none. */
    async addAll(jobs: readonly JobSpecInput[]) {
      return (await callTo(sender, addWork, { body: { jobs: jobs as never } })).added;
    },
    async add(job: JobSpecInput) {
      return (await this.addAll([job]))[0]!;
    },
    /** In the order they were added. */
    async list(filter: Filter = {}) {
      return (await callTo(sender, listWork, { query: filter })).jobs;
    },
    show: (id: string) => callTo(sender, getWork, { params: { id } }),
    cancel: (id: string, reason: string) => callTo(sender, cancelWork, { params: { id }, body: { reason } }),
    retry: (id: string, reason?: string) =>
      callTo(sender, retryWork, { params: { id }, body: reason === undefined ? {} : { reason } }),
    stats: () => callTo(sender, getWorkStats),
  };
}

export type WorkQueueClient = ReturnType<typeof jobsOver>;
