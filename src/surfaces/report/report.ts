import type { PipelineSnapshot } from "../../pipeline/index.ts";
import type { Report, ReportAbout } from "./about.ts";
import { reportHtml } from "./report-html.ts";
import { reportText } from "./report-text.ts";

/** What a run has come to: for the terminal that it ran in, and as one file for whoever was not there. */
export const reportOf = (snapshot: PipelineSnapshot, about: ReportAbout, width?: number): Report => ({
  text: reportText(snapshot, about, width),
  html: reportHtml(snapshot, about),
});
