import { declaredRegistry } from "../../src/app/registry.ts";
import { compareSubscriptions, type SubscriptionRow } from "./legacy-subscriptions.ts";
import { page } from "./markdown.ts";

const listedWords = ({ listed }: SubscriptionRow): string =>
  listed === null ? "no list" : typeof listed === "number" ? `${listed}, not named` : String(listed.length);

const commonWords = ({ listed, hears, common }: SubscriptionRow): string => {
  if (hears === null) return "to come";
  return typeof listed === "object" && listed !== null ? `${common.length} of ${listed.length}` : "-";
};

const overview = (rows: readonly SubscriptionRow[]): string =>
  [
    "| Coordinator | In the document | Heard here | Of the listed | Besides |",
    "| --- | --- | --- | --- | --- |",
    ...rows.map(
      (row) =>
        `| ${row.coordinator} | ${listedWords(row)} | ${row.hears === null ? "-" : row.hears.length} | ${commonWords(row)} | ${row.added.length || "-"} |`,
    ),
  ].join("\n");

const reasons = ({ coordinator, left, added }: SubscriptionRow): string[] =>
  left.length + added.length === 0
    ? []
    : [
        `## ${coordinator}`,
        [
          "| Event | Here | Why |",
          "| --- | --- | --- |",
          ...left.map(({ event, why }) => `| ${event} | not heard | ${why} |`),
          ...added.map(({ event, why }) => `| ${event} | heard besides | ${why} |`),
        ].join("\n"),
      ];

/** The subscriptions of each coordinator of the Python system beside those of the unit of its name. */
export const printSubscriptions = (): string => {
  const rows = compareSubscriptions(declaredRegistry());
  return page(
    "# Subscriptions beside the Python system's",
    "Its audit of coordinators lists what seven of them subscribed to, and gives a number or nothing for the others. This compares each with the unit of its name here; every difference has its reason.",
    overview(rows),
    ...rows.flatMap(reasons),
  );
};
