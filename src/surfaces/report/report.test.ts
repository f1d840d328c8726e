import { describe, expect, it } from "vitest";
import {
  AT,
  behindBreaker,
  complete,
  healthy,
  pipelineSnapshots,
  sideBySide,
  unbalanced,
  withSuspect,
} from "../../../test/fixtures/pipeline-snapshots.ts";
import { aboutRun, aboutTroubled } from "../../../test/fixtures/report-about.ts";
import type { PipelineSnapshot } from "../../pipeline/snapshot.ts";
import { reportOf } from "./report.ts";

interface Tag {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

const TAG = /<(\/?)([a-z][a-z0-9]*)((?:\s+[\w:-]+="[^"<>]*")*)\s*(\/?)>/gi;
const VOID = new Set(["meta"]);

/** The tags of a page, in order; fails unless every one is closed where it should be and no stray bracket is left. */
function tagsOf(page: string): Tag[] {
  const body = page.replace(/^<!doctype html>\n/, "").replace(/<style>[^<]*<\/style>/, "");
  const open: string[] = [];
  const tags: Tag[] = [];
  const rest = body.replace(TAG, (_, closing: string, name: string, attributes: string, self: string) => {
    if (closing === "/") {
      const last = open.pop();
      if (last !== name) throw new Error(`</${name}> closes <${last}>`);
    } else {
      tags.push({
        name,
        attributes: Object.fromEntries(
          [...attributes.matchAll(/([\w:-]+)="([^"]*)"/g)].map(([, key, value]) => [key!, value!]),
        ),
      });
      if (self !== "/" && !VOID.has(name)) open.push(name);
    }
    return "";
  });
  expect(open).toEqual([]);
  expect(rest).not.toMatch(/[<>]/);
  expect(rest).not.toMatch(/&(?!(amp|lt|gt|quot|#39);)/);
  return tags;
}

const cases = Object.entries(pipelineSnapshots).flatMap(([name, snapshot]) => [
  [name, snapshot, aboutRun] as const,
  [`${name}, troubled`, snapshot, aboutTroubled] as const,
]);

describe("the page of a report", () => {
  it.each([...cases, ["no config at all", { at: AT, configs: [] } as PipelineSnapshot, aboutRun] as const])(
    "is well-formed and holds everything that it shows: %s",
    (_, snapshot, about) => {
      const { html } = reportOf(snapshot, about);
      const tags = tagsOf(html);
      const foreign = ["script", "link", "img", "iframe", "image", "use", "a", "base", "object"];
      expect(tags.filter(({ name }) => foreign.includes(name))).toEqual([]);
      const attributes = tags.flatMap((tag) => Object.entries(tag.attributes));
      expect(attributes.filter(([name]) => /^(on|src|href|xlink|style|action)/.test(name))).toEqual([]);
      // A coordinate that is no number would leave a hole in a figure without a word.
      expect(attributes.filter(([, value]) => /NaN|undefined|Infinity|null/.test(value))).toEqual([]);
      expect(html).not.toMatch(/url\(|@import|https?:|\/\/[a-z]/i);
      expect(html).toContain("default-src 'none'");
    },
  );

  it("comes light and dark, wide and narrow", () => {
    const { html } = reportOf(healthy, aboutRun);
    expect(html).toContain("@media (prefers-color-scheme: dark)");
    const svgs = tagsOf(html).filter(({ name, attributes }) => name === "svg" && attributes.role === "img");
    expect(svgs.map(({ attributes }) => attributes.width)).toEqual(["1000", "360", "490", "360", "490", "360"]);
    for (const { attributes } of svgs) expect(attributes["aria-label"]).toMatch(/^\w.*\.$/);
  });

  it("shows each decision with its numbers, and each champion with its interval", () => {
    const { html } = reportOf(complete, aboutRun);
    expect(html).toContain("+26 Elo (-7 to +60)");
    expect(html).toContain("champion 25  +419 ±26");
    expect(html).toContain("28 earlier decisions");
    const [config] = complete.configs;
    const bars = [...html.matchAll(/<title>(champion \d+), iteration (\d+): .*? games<\/title>/g)];
    expect(bars).toHaveLength(2 * config!.champions.length);
    for (const { name, is_anchor } of config!.ladder) if (is_anchor) expect(html).toContain(`>${name} `);
    expect(html).toContain("about 1.3 are expected to be mistakes");
  });

  it("labels its axes", () => {
    const { html } = reportOf(sideBySide, aboutRun);
    for (const title of ["iteration that made the champion", "Elo, with 95 % intervals", "minutes since the start"])
      expect(html.split(`>${title}</text>`).length - 1, title).toBeGreaterThanOrEqual(2);
  });

  it("tells what went wrong, in the order in which it did, and what came of it", () => {
    const { html } = reportOf(withSuspect, aboutTroubled);
    const at = [
      "worker 4711 was killed",
      "a byte of segment",
      "node-b is suspect",
      "alert (warning)",
      "160 games were rejected",
    ].map((text) => html.indexOf(text));
    expect(at.every((place) => place > 0)).toBe(true);
    expect(at).toEqual(at.toSorted((a, b) => a - b));
    expect(reportOf(unbalanced, aboutRun).html).toContain("off by 1");
    expect(reportOf(complete, aboutRun).html).toContain("Nothing, as far as we know.");
  });

  it("takes no text for markup, wherever it comes from", () => {
    const evil = `"'><script>alert(1)</script>&amp;\u0000\ud800`;
    const [config] = behindBreaker.configs;
    const snapshot: PipelineSnapshot = {
      at: AT,
      configs: [
        {
          ...config!,
          config_key: evil,
          failures: [{ code: evil, message: evil, retryable: false, stage: "training", at: AT }],
          suspects: [{ producer: evil, reason: evil, since: AT }],
          ladder: config!.ladder.map((rated) => ({ ...rated, name: evil })),
          champions: config!.champions.map((champion) => ({ ...champion, by: evil })),
          books: { ...config!.books, config_key: evil, rejected: { [evil]: 3 } },
        },
      ],
    };
    const about = {
      ...aboutTroubled,
      ended_by: evil,
      command: evil,
      versions: { [evil]: evil },
      plans: { [evil]: { [evil]: evil } },
      games: { [evil]: aboutRun.games.hex7_2p! },
      incidents: [{ at: AT, config_key: evil, what: evil, outcome: evil }],
    };
    const { html, text } = reportOf(snapshot, about);
    const tags = tagsOf(html);
    expect(tags.map(({ name }) => name)).not.toContain("script");
    expect(html).not.toContain("\u0000");
    expect(text).not.toContain("\u0000");
  });
});

describe("the text of a report", () => {
  it("says the same for a terminal", () => {
    const lines = reportOf(complete, aboutTroubled).text.split("\n");
    expect(lines.slice(0, 11)).toEqual([
      "RingRift run report: 2026-09-21 14:08:20 UTC, 5 min 00 s; it ended because somebody pressed Ctrl-C",
      "ringrift up --for 5m --seed 7 --workers 2; ringrift 0.1.0; node 24.21.0; sqlite 3.53.0",
      "",
      "othello6_2p: complete, iteration 40, seed 7",
      "  Champion          generation 25, from iteration 37",
      "  Elo               +419 ±26, +815 over champion 0",
      "  Promotions        25, of 40 gates",
      "  False promotions  1.3, expected among them",
      "  Games             6,400, 192,000 rows",
      "  Loss              3.435 to 2.101  █▇▇▇▆▆▆▅▅▅▄▄▄▄▄▃▃▃▃▃▃▂▂▂▂▂▂▂▂▂▂▁▁▁▁▁▁▁▁▁",
      "",
    ]);
    expect(lines).toContain(
      "37  promoted      +26 Elo (-7 to +60)    +2.97    320  [0, 30]  24 28 32 36 40   champion 24",
    );
    expect(lines).toContain("othello6_2p     6,400    6,400          0         0  balanced");
    expect(lines).toContain("14:10:00               worker 4711 was killed with -9; its 2 jobs were done by others");
  });

  it.each(cases)("keeps within its width: %s", (_, snapshot, about) => {
    for (const line of reportOf(snapshot, about).text.split("\n"))
      expect([...line].length, line).toBeLessThanOrEqual(100);
  });
});
