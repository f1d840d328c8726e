import { expect, test } from "vitest";
import { causeOf } from "../../daemons/index.ts";
import { namedCause } from "./named.ts";

const ID = "n593970f0a1b2c3d4";
const stuck = causeOf("warn", "job_stuck", "w7", `w7 made no progress on ${ID}`, {
  actual: ID,
  required: "progress",
  advice: { action: "show_node", subject: ID },
  because: [{ kind: "node", subject: ID, what: "online" }],
});

test("a cause calls a node as people do, in what it says and in what is to be typed", () => {
  const told = namedCause(stuck, (text) => text.replaceAll(ID, "box2"));
  expect(JSON.stringify(told)).not.toContain(ID);
  expect(told).toMatchObject({ what: "w7 made no progress on box2", advice: { subject: "box2" } });
});

test("a name that two nodes share is said with the start of the id, and the id is what one types", () => {
  const told = namedCause(stuck, (text) => text.replaceAll(ID, "box (n593970f)"));
  expect(told).toMatchObject({ what: "w7 made no progress on box (n593970f)", advice: { subject: ID } });
});
