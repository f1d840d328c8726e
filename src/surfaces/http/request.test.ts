import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { isOperatingError } from "../../kernel/index.ts";
import { jsonOf, readText } from "./request.ts";

/** What a server makes of a request that announces ten bytes, sends four of them, and then does as told. */
async function asReceived(then: (outgoing: ReturnType<typeof request>) => void): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const server = createServer((incoming, answer) => {
    readText(incoming, 1_000)
      .then(resolve, resolve)
      .finally(() => answer.end());
    incoming.once("readable", () => then(outgoing));
  });
  onTestFinished(() => void server.close());
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  const outgoing = request({ port, method: "POST", headers: { "content-length": 10 }, agent: false });
  outgoing.on("error", () => undefined);
  outgoing.write("four");
  return promise;
}

test("a caller that hangs up half-way is told apart from a fault of the program", async () => {
  const cut = await asReceived((outgoing) => outgoing.destroy());
  expect(isOperatingError(cut, "REQUEST_CUT")).toBe(true);
  expect(cut).toMatchObject({ status: 400, retryable: true });
  expect(await asReceived((outgoing) => outgoing.end("sixmor"))).toBe("foursixmor");
});

describe("a body of JSON", () => {
  const brackets = "[".repeat(300);
  test.each([
    ["in a string", JSON.stringify({ a: brackets, b: 1 })],
    ["after an escaped quote", JSON.stringify({ a: `"${brackets}`, b: [1] })],
    ["after escaped backslashes", JSON.stringify({ a: `\\\\`, b: brackets, c: `\\"${brackets}` })],
  ])("may have brackets %s", (_, text) => {
    expect(jsonOf(text)).toEqual(JSON.parse(text));
  });

  test.each([
    ["behind a string that ends with a backslash", `["\\\\",${brackets}`],
    ["behind an escaped quote", `["\\"",${brackets}`],
    ["at once", brackets],
  ])("may not be nested deep %s", (_, text) => {
    expect(() => jsonOf(text)).toThrow("nested more than");
  });

  test("that ends within a string is no JSON", () => {
    expect(() => jsonOf('{"a": "')).toThrow("not JSON");
    expect(() => jsonOf('{"a": "\\"')).toThrow("not JSON");
  });
});
