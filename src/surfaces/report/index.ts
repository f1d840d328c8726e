/**
 * The report of a run: how strong the champion became, how that is known, and what went wrong on the way.
 *
 * It guarantees that it is made of nothing but what it is given; that its page holds everything that it shows, asks nobody
 * for anything and runs nothing; and that no text from outside is ever more than text in it.
 */
export type { ReportAbout } from "./about.ts";
export { reportOf } from "./report.ts";
