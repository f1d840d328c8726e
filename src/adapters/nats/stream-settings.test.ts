import { expect, test } from "vitest";
import { MAX_MESSAGE_BYTES, serverFaults, streamFaults, streamSettings } from "./stream-settings.ts";

const sound = { name: "n1", version: "2.15.1", maxPayload: MAX_MESSAGE_BYTES, syncsAlways: true };

test("a server is trusted only when it is new enough, takes whole entries and flushes before it answers", () => {
  expect(serverFaults(sound)).toEqual([]);
  expect(serverFaults({ ...sound, version: "3.0.0" })).toEqual([]);
  for (const [wrong, says] of [
    [{ version: "2.14.9" }, /2\.14\.9; at least 2\.15/],
    [{ version: "1.99.0" }, /at least 2\.15/],
    [{ maxPayload: 1_048_576 }, /max_payload 1048576/],
    [{ syncsAlways: false }, /sync_interval: always/],
    [{ syncsAlways: undefined }, /did not say/],
  ] as const)
    expect(serverFaults({ ...sound, ...wrong })).toEqual([expect.stringMatching(says)]);
});

test("a stream is trusted only when every setting that matters is as it must be", () => {
  const config = { ...streamSettings("games", 3), compression: "none" };
  expect(streamFaults(config, 3)).toEqual([]);
  const { sealed: _, ...silent } = config;
  expect(streamFaults(silent, 3)).toEqual([]);
  for (const [key, value] of [
    ["num_replicas", 1],
    ["storage", "memory"],
    ["discard", "old"],
    ["max_age", 1],
    ["duplicate_window", 1],
    ["allow_direct", true],
    ["deny_delete", false],
    ["subjects", ["other"]],
  ] as const)
    expect(streamFaults({ ...config, [key]: value }, 3)).toEqual([expect.stringContaining(`${key} of stream games`)]);
});
