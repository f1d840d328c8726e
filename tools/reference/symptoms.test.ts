import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../parts/root.ts";
import { causesIn, printSymptoms } from "./symptoms.ts";

const uses = causesIn(join(ROOT, "src"));

test("the index has every cause of the sources, with the words of why and the cure", () => {
  const page = printSymptoms(uses);
  expect(page).toMatch(
    /\\<key> is paused: \\<wait> \| needs a look \| Continue it: 'ringrift resume \\<name>'\. \| `paused`/,
  );
  expect(page).toMatch(/is given up: .*'ringrift daemons reset \\<name>'.*`daemon_given_up`/);
  expect(page).toMatch(/ringrift token create.*`no_worker`/);
});

test("a cause that needs somebody now says what to do", () => {
  const helpless = uses.filter(({ level, actions }) => level === "bad" && actions.length === 0);
  expect(helpless.map(({ code }) => code)).toEqual([]);
});
