import { describe, expect, it } from "vitest";
import { addressOf, listeningWords } from "./address.ts";

const names = { serverName: undefined, hostname: "box" };

describe("the address that a node is told to join", () => {
  it.each([
    ["127.0.0.1", null, names, { url: "http://127.0.0.1:8770", fingerprint: null, loopback: true }],
    ["::1", "AB:CD", names, { url: "https://[::1]:8770", fingerprint: "AB:CD", loopback: true }],
    ["0.0.0.0", "AB:CD", names, { url: "https://box:8770", fingerprint: "AB:CD", loopback: false }],
    ["10.0.0.7", "AB:CD", names, { url: "https://10.0.0.7:8770", fingerprint: "AB:CD", loopback: false }],
    [
      "0.0.0.0",
      "AB:CD",
      { serverName: "train.example.org", hostname: "box" },
      { url: "https://train.example.org:8770", fingerprint: "AB:CD", loopback: false },
    ],
  ])("of a process on %s with certificate %s", (host, fingerprint, called, expected) => {
    expect(addressOf({ host, port: 8_770, fingerprint }, called)).toEqual(expected);
  });
});

it("says who can reach it", () => {
  expect(listeningWords({ host: "127.0.0.1", port: 1, secure: false })).toBe(
    "http://127.0.0.1:1, for this machine only",
  );
  expect(listeningWords({ host: "0.0.0.0", port: 1, secure: true })).toBe(
    "https://0.0.0.0:1, for all networks of this machine",
  );
  expect(listeningWords({ host: "10.0.0.7", port: 1, secure: true })).toBe("https://10.0.0.7:1, for this address");
});
