import { expect, test } from "vitest";
import { OperatingError } from "../../kernel/index.ts";
import { leaderNamedIn, shouldTurn, turnTo } from "./coordinators.ts";

const urls = ["https://a:8770", "https://b:8770", "https://c:8770"];
const standsBy = (url: string | null) =>
  OperatingError.unavailable("NOT_LEADER", "it stands by", {
    details: { leader: url === null ? null : { name: "x", url, fingerprint: null } },
  });
const away = OperatingError.unavailable("UNREACHABLE", "nobody is there");

test.each([
  ["the leader that a standby names, if its address is known", 0, standsBy("https://c:8770/"), 2],
  ["the next one where nobody leads", 2, standsBy(null), 0],
  ["the next one where a stranger is named: what is sent is a secret", 0, standsBy("https://stranger:1"), 1],
  ["the next one where a standby names itself", 1, standsBy("https://b:8770"), 2],
  ["the next one where nobody is there", 1, away, 2],
  ["the same one after any other refusal", 1, OperatingError.busy("TOO_MANY_REQUESTS", "no"), 1],
])("asks %s", (_, at, thrown, next) => {
  expect(turnTo(urls, at, thrown)).toBe(next);
});

test("who knows one address stays with it", () => {
  expect(turnTo(["https://a:8770"], 0, standsBy("https://b:8770"))).toBe(0);
});

test("reads whom a standby names, whatever else it says", () => {
  expect(leaderNamedIn(away)).toBeUndefined();
  expect(leaderNamedIn(OperatingError.unavailable("NOT_LEADER", "no", { details: { leader: { url: 7 } } }))).toBeNull();
  expect(leaderNamedIn(standsBy("https://b:1"))).toEqual({ url: "https://b:1", fingerprint: null });
  expect(shouldTurn(new Error("other"))).toBe(false);
});
