import { describe, expect, test } from "vitest";
import { z } from "zod";
import { builtinRows, defineEvents, type EventRow } from "../../src/events/index.ts";
import { printReference } from "./events.ts";

const page = printReference(builtinRows);
const rows: readonly EventRow[] = Object.values(builtinRows);
const chapterOf = (name: string) => page.split(`\n### ${name}\n`)[1]?.split("\n### ")[0] ?? "";

describe("the reference page", () => {
  test("counts what the catalog holds", () => {
    expect(page).toContain(`| all | ${rows.length} in ${new Set(rows.map((row) => row.category)).size} categories |`);
    expect(page).toContain(`| provisional | ${rows.filter((row) => row.provisional).length} |`);
  });

  test("has a chapter for every event that names each of its fields", () => {
    for (const row of rows) {
      const chapter = chapterOf(row.name);
      expect(chapter, row.name).toContain(row.about);
      for (const field of Object.keys(row.payload.shape)) expect(chapter, row.name).toContain(`| \`${field}\` |`);
    }
  });

  test("has no link that leads nowhere", () => {
    const headings = new Set(page.match(/^#+ .*$/gm)?.map((line) => line.replace(/^#+ /, "").toLowerCase()));
    for (const [, target] of page.matchAll(/\]\(#([^)]+)\)/g)) expect(headings).toContain(target);
    expect(page.match(/^### (.*)$/gm)).toHaveLength(new Set(page.match(/^### (.*)$/gm)).size);
  });

  test("explains one event in full", () => {
    expect(chapterOf("NPZ_EXPORT_COMPLETE")).toMatchInlineSnapshot(`
      "
      A training file is ready.

      - Value: \`npz_export_complete\`, class durable, category npz_export, payload version 1
      - Order: kept per \`config_key\`
      - Repeats: suppressed within the window when \`config_key\` and \`artifact_hash\` are equal
      - Older spellings: \`NPZ_EXPORT_COMPLETED\`, \`EXPORT_COMPLETE\`

      | Field | Type | Required | Meaning |
      | --- | --- | --- | --- |
      | \`config_key\` | config key | yes | board and number of players, as in hex8_2p |
      | \`job_id\` | id | yes | one undertaking of the pipeline, as in a training run |
      | \`samples\` | integer, at least 1 | yes | training samples |
      | \`artifact_hash\` | SHA-256 | yes | the training file |
      | \`games\` | integer, at least 1 | yes | games in the file |
      | \`duration_seconds\` | number, at least 0 |  | how long it took, in seconds |
      | \`artifact_bytes\` | integer, at least 0 |  | size of the artifact, in bytes |
      | \`encoder_version\` | text |  | encoding of positions |
      | \`node_id\` | id |  | node that holds the file |
      "
    `);
  });

  test("keeps a table whole when a text has a bar in it", () => {
    const rows = defineEvents("mine", {
      MINE: { about: "Either | or.", class: "process", orderKey: null, payload: { x: z.string().describe("a | b") } },
    });
    expect(printReference(rows)).toContain("| `x` | text | yes | a \\| b |");
    expect(printReference(rows)).toContain("Either \\| or.");
  });
});
