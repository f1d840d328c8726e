/** Each variable of training changes what it names: seen at the gates that decide on a run. */
import { expect, test } from "vitest";
import { judgeOldChampion } from "../../pipeline/selfplay/units/queue-populator/decide.ts";
import { judgeGates } from "../../pipeline/training/units/training-trigger/decide.ts";
import { readSettings } from "./read.ts";

const parityGate = (environment: Readonly<Record<string, string>>) =>
  judgeGates({
    now: 1_000,
    stageSince: 0,
    rows: 1_000,
    leastRows: 500,
    quality: { score: 1, band: "excellent" },
    isScored: true,
    uncheckedSegments: 3,
    allowPending: readSettings(environment, "/").loop.allowPendingGate,
    dataAgeMs: 0,
    lag: null,
    pressure: null,
    failuresInARow: 0,
    running: null,
  }).gates.find(({ gate }) => gate === "parity")?.passed;

const shown: Readonly<Record<string, () => void>> = {
  "training.allow_pending_gate": () => {
    expect(parityGate({})).toBe(false);
    expect(parityGate({ RINGRIFT_ALLOW_PENDING_GATE: "1" })).toBe(true);
  },
  // What becomes of the jobs is seen in pipeline/selfplay/selfplay-units.test.ts.
  "loop.old_champion": () => {
    const champion = { model: "new", since: 0 };
    const judged = (environment: Record<string, string>) =>
      judgeOldChampion("old", champion, {
        now: 60_000,
        maxMs: readSettings(environment, "/").loop.oldChampionMs,
        isOut: true,
      });
    expect([judged({}), judged({ RINGRIFT_OLD_CHAMPION: "30" })]).toEqual(["keep", "replace"]);
  },
};

test.each(Object.keys(shown))("%s", (key) => shown[key]!());
