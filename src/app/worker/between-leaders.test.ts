import { expect, test } from "vitest";
import { driver } from "../../../test/support/virtual-time.ts";
import { OperatingError, seededRandom, virtualClock } from "../../kernel/index.ts";
import { bringBetweenLeaders } from "./between-leaders.ts";
import { createWaysHome } from "./ways-home.ts";

const SHA = "a".repeat(64);
const awaited = () => OperatingError.unavailable("ARTIFACT_AWAITED", "it is fetched from another coordinator");

function world(isOfSeveral: boolean, fail: (tries: number) => Error | undefined) {
  const clock = virtualClock();
  let tries = 0;
  const bring = bringBetweenLeaders(
    async () => {
      tries += 1;
      const thrown = fail(tries);
      if (thrown !== undefined) throw thrown;
    },
    { clock, random: seededRandom(1), isOfSeveral: () => isOfSeveral },
  );
  return { driven: driver(clock), bring: () => bring(SHA, new AbortController().signal, {}), tries: () => tries };
}

test("a job waits for a file while one coordinator follows another", async () => {
  const w = world(true, (tries) => (tries < 5 ? awaited() : undefined));
  await w.driven(w.bring());
  expect(w.tries()).toBe(5);
});

test("what nobody has, and what lasts, ends the wait; of one coordinator alone nobody waits", async () => {
  const gone = world(true, () => OperatingError.unavailable("ARTIFACT_NOT_FOUND", "nobody has it"));
  await expect(gone.driven(gone.bring())).rejects.toMatchObject({ code: "ARTIFACT_NOT_FOUND" });
  expect(gone.tries()).toBe(1);
  const lasting = world(true, awaited);
  await expect(lasting.driven(lasting.bring())).rejects.toMatchObject({ code: "ARTIFACT_AWAITED" });
  expect(lasting.tries()).toBeGreaterThan(10);
  const alone = world(false, awaited);
  await expect(alone.driven(alone.bring())).rejects.toMatchObject({ code: "ARTIFACT_AWAITED" });
  expect(alone.tries()).toBe(1);
});

test("the way home goes to the coordinator that leads now", () => {
  const node = { url: "https://first:1", fingerprint: "f1" };
  const link = { place: { url: new URL("https://second:2"), trust: { fingerprint: "f2" } }, isOfSeveral: true };
  const door = { transport: "http", host: null, port: 9, tls: true, node_id: "n", ticket: "t", fingerprint: null };
  const batch = { files: [], sources: [{ ...door, coming: false }] } as never;
  const second = { fingerprint: "f2" };
  expect(createWaysHome({ link, node, places: [] }).waysFor(batch)).toMatchObject([
    { transport: "http", url: "https://second:9", ...second },
    { transport: "coordinator", at: { url: "https://second:2", ...second } },
  ]);
  const alone = { place: { url: new URL("https://first:1"), trust: {} }, isOfSeveral: false };
  expect(createWaysHome({ link: alone, node, places: [] }).waysFor(batch).at(-1)).toEqual({ transport: "coordinator" });
});
