import { z } from "zod";
import { lazy } from "../../kernel/index.ts";
import { defineRoute } from "../http/wire.ts";

const answer = lazy(() =>
  z
    .object({
      status: z.enum(["ok", "failing"]),
      checks: z.array(z.object({ name: z.string(), ok: z.boolean(), message: z.string() })),
    })
    .meta({ id: "Probe" }),
);

const probe = (id: string, summary: string) =>
  defineRoute(id, `GET /${id}`, {
    tag: "probes",
    summary,
    scope: "probe",
    limit: "probe",
    about: "All checks hold.",
    answer,
    otherAnswers: { 503: { about: "A check does not hold.", schema: answer } },
  });

export const livez = probe("livez", "Whether this process is alive and should keep running.");
export const readyz = probe("readyz", "Whether this process is ready and doing its work.");
export const startupz = probe("startupz", "Whether the start of this process has finished.");
