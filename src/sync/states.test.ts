import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { drawStates, printSteps } from "../../test/support/print-states.ts";
import { ARTIFACT_ACTIONS, ARTIFACT_STATES, type ArtifactState, after, artifactSteps } from "./states.ts";

test("every state can be reached, every action is used, and no step stands in the table twice", () => {
  const seen = new Set<ArtifactState>();
  const walk = (from: ArtifactState | null) => {
    for (const { to } of artifactSteps.filter((step) => step.from === from))
      if (!seen.has(to)) {
        seen.add(to);
        walk(to);
      }
  };
  walk(null);
  expect([...seen].toSorted()).toEqual([...ARTIFACT_STATES].toSorted());
  expect(new Set(artifactSteps.map(({ action }) => action))).toEqual(new Set(ARTIFACT_ACTIONS));
  const keys = artifactSteps.map(({ from, action, to }) => `${from}/${action}/${to}`);
  expect(new Set(keys).size).toBe(keys.length);
});

test("what is told too late changes nothing, and what comes back comes back as it was", () => {
  expect(after("rejected", "accept")).toBeUndefined();
  expect(after("in_flight", "free")).toBeUndefined();
  expect(after("quarantined", "free")).toBeUndefined();
  expect(after("freed", "quarantine")).toBeUndefined();
  expect(after("quarantined", "restore", "durable")).toBe("durable");
  expect(after("quarantined", "restore", "in_flight")).toBe("in_flight");
});

test("the picture and the table in the docs are printed from it", () => {
  const page = readFileSync(new URL("../../docs/50-artifacts.md", import.meta.url), "utf8");
  expect(page).toContain(`\`\`\`mermaid\n${drawStates(artifactSteps)}\n\`\`\``);
  expect(page).toContain(printSteps(artifactSteps));
});
