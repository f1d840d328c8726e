/** Holds are rows: kill -9 at any moment after the event is committed neither loses one nor leaves one behind. */
import { expect, onTestFinished, test } from "vitest";
import { owned } from "../support/process.ts";

const MAIN = new URL("./parts/holding-main.ts", import.meta.url);
const HELD = "backpressure 'stop' on games: full";

test("what cluster events hold and release stays so over kill -9, round after round", async () => {
  const own = owned(onTestFinished);
  const folder = own.folder();
  const start = () => own.startNode(MAIN, [folder]);
  for (const whenSeen of [false, true]) {
    let main = start();
    await main.waitForLine(/^started running/);
    main.write("press\n");
    const pressed = await main.waitForLine(/^pressed$/);
    // Once right after the commit, when perhaps nobody has handled it, and once when the daemon is held.
    if (whenSeen) await main.waitForLine(/^now backpressure/, { after: pressed.index });
    await main.killNow();

    main = start();
    await main.waitForLine(/^now backpressure/);
    // A hold that was seen before the death is there before anything starts.
    if (whenSeen) expect((await main.waitForLine(/^started/)).text).toBe(`started ${HELD} after 0 ticks`);
    main.write("release\n");
    const released = await main.waitForLine(/^released$/);
    if (whenSeen) await main.waitForLine(/^now running$/, { after: released.index - 1 });
    await main.killNow();

    main = start();
    await main.waitForLine(/^now running$/);
    await main.killNow();
  }
});
