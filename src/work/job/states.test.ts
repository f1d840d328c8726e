import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { drawStates, printSteps } from "../../../test/support/print-states.ts";
import { builtinRows } from "../../events/index.ts";
import { workStorePart } from "../units.ts";
import { assertTransition, isFinished, isHeld, JOB_ACTIONS, JOB_STATES, type JobState, transitions } from "./states.ts";

describe("the table of states", () => {
  test("every state can be reached, and every unfinished one can end", () => {
    const reach = (from: JobState | null) => {
      const seen = new Set<JobState>();
      const walk = (state: JobState | null) => {
        for (const { to } of transitions.filter((step) => step.from === state))
          if (!seen.has(to)) {
            seen.add(to);
            walk(to);
          }
      };
      walk(from);
      return seen;
    };
    expect([...reach(null)].toSorted()).toEqual([...JOB_STATES].toSorted());
    for (const state of JOB_STATES.filter((one) => !isFinished(one)))
      expect([...reach(state)].some(isFinished)).toBe(true);
  });

  test("a completed job stays so; another finished one moves only when it is wanted again, or was done after all", () => {
    expect(transitions.filter(({ from }) => from === "completed")).toEqual([]);
    expect(transitions.filter(({ from, action }) => from === "cancelled" && action !== "retry")).toEqual([]);
    const finished = transitions.filter(({ from }) => from !== null && isFinished(from));
    expect(new Set(finished.map(({ action }) => action))).toEqual(new Set(["retry", "late", "overtake"]));
  });

  test("no step stands in it twice, and every action is used", () => {
    const keys = transitions.map(({ from, action, to }) => `${from}/${action}/${to}`);
    expect(new Set(keys).size).toBe(keys.length);
    expect(new Set(transitions.map(({ action }) => action))).toEqual(new Set(JOB_ACTIONS));
  });

  test("the end of every running attempt is told as the end of a task", () => {
    const ends = transitions.filter(({ from, to }) => from === "running" && !isHeld(to));
    for (const { emits } of ends) expect(emits.some((name) => name.startsWith("TASK_"))).toBe(true);
  });

  test("what it says is in the catalog, and the queue declares all of it and nothing else", () => {
    const said = new Set(transitions.flatMap(({ emits }) => emits));
    for (const name of said) expect(Object.keys(builtinRows)).toContain(name);
    expect([...workStorePart.emits].toSorted()).toEqual([...said].toSorted());
  });

  test("a step that it does not have is a bug", () => {
    expect(() => assertTransition("completed", "claim", "claimed")).toThrow("assertion failed");
  });

  test("the picture and the table in the docs are printed from it", () => {
    const page = readFileSync(new URL("../../../docs/40-work-queue.md", import.meta.url), "utf8");
    expect(page).toContain(`\`\`\`mermaid\n${drawStates(transitions, JOB_STATES.filter(isFinished))}\n\`\`\``);
    expect(page).toContain(printSteps(transitions));
  });
});
