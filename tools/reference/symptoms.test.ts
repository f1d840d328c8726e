import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../parts/root.ts";
import { causesIn, printSymptoms } from "./symptoms.ts";

const uses = causesIn(join(ROOT, "src"));

test("the index has every cause of the sources, with the words of why and the cure", () => {
  const page = printSymptoms(uses);
  expect(page).toMatch(
    /\\<key> is paused: \\<actual> \| needs a look \| Continue it: 'ringrift resume \\<name>'\. \| `paused`/,
  );
  expect(page).toMatch(/is given up: .*'ringrift daemons reset \\<name>'.*`daemon_given_up`/);
  expect(page).toMatch(/ringrift token create.*`no_worker`/);
  // What is counted reads as a sentence.
  expect(page).toMatch(/^\| \\<number> \\<word> alerts are open \|/m);
  expect(page).toMatch(/^\| \\<unit> waits for .*: \\<actual>, must be \\<required> \|/m);
});

test("each shortage of a node has the cure for it, and what a gate says is told for daemons and for nodes", () => {
  const page = printSymptoms(uses);
  const rowsOf = (code: string) => page.split("\n").filter((line) => line.endsWith(`| \`${code}\` |`));
  expect(rowsOf("node_short_of_disk")).toEqual([expect.stringMatching(/\| Free some space on the disk of/)]);
  expect(rowsOf("node_short_of_disk")[0]).not.toContain("Stop other programs");
  expect(rowsOf("node_short_of_*")).toEqual([expect.stringMatching(/\| Stop other programs on/)]);
  expect(rowsOf("node_held")).toEqual([expect.stringMatching(/\| Look at it: 'ringrift nodes show/)]);
  expect(rowsOf("gate_*")).toEqual([
    expect.stringMatching(
      /^\| \\<label> is \\<actual> \/ \\<label> has no worker, .* \/ \\<label> gets no work: \\<actual> \| needs a look \|/,
    ),
    expect.stringMatching(/^\| \\<name> runs, but \\<why> \/ \\<name> does not run: \\<why> \| needs a look \|/),
  ]);
});

test("a page with an empty cell is not printed", () => {
  const use = { level: "warn", code: "odd", says: ["it is odd"], actions: ["doctor"], hasOtherAdvice: false };
  expect(printSymptoms([use])).toContain("it is odd");
  expect(() => printSymptoms([{ ...use, says: [] }])).toThrow("the cause 'odd' has nothing to say under \"You see\"");
  expect(() => printSymptoms([{ ...use, actions: [] }])).toThrow('"What to do"');
});

test("a cause that needs somebody now says what to do", () => {
  const helpless = uses.filter(({ level, actions }) => level === "bad" && actions.length === 0);
  expect(helpless.map(({ code }) => code)).toEqual([]);
});
