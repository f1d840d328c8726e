import { expect, test } from "vitest";
import { startLines } from "./start-lines.ts";

const start = {
  version: "1.2.3",
  configs: ["othello6_2p"],
  workers: 2,
  processors: 4,
  dataDir: "/home/me/.ringrift",
  goesOn: false,
  port: 8_770,
  page: "http://127.0.0.1:8770",
  forMs: 60_000,
  report: "/home/me/.ringrift/report.html",
  command: "ringrift",
};

test("a run says first what it uses and where to look", () => {
  const text = startLines(start, 200).join("\n");
  expect(text).toMatch(/^RingRift 1\.2\.3 trains othello6_2p on this machine\.$/m);
  expect(text).toMatch(/2 of 4 processors .*port 8770 .*folder \/home\/me\/\.ringrift/);
  expect(text).toMatch(/'ringrift status', 'ringrift why othello6_2p'/);
  expect(text).toMatch(/in a browser: http:\/\/127\.0\.0\.1:8770 \('ringrift open'/);
  expect(text).toMatch(/stops after 1 min.*report: \/home\/me\/\.ringrift\/report\.html/);
});

test("the address of the page is the one that is served", () => {
  const text = startLines({ ...start, page: "https://box:8770" }, 200).join("\n");
  expect(text).toMatch(/in a browser: https:\/\/box:8770 \(/);
});

test("where npm has started it, the commands are typed as they work there", () => {
  expect(startLines({ ...start, command: "npx ringrift" }, 200).join("\n")).toMatch(/'npx ringrift status'/);
});

test("and no line is wider than the terminal", () => {
  for (const line of startLines({ ...start, configs: ["othello6_2p", "hex7_2p"] }, 80))
    expect(line.length, line).toBeLessThan(80);
});

test("without a worker here it says who does the work, and how one comes", () => {
  const text = startLines({ ...start, workers: 0 }, 200).join("\n");
  expect(text).toMatch(/^RingRift 1\.2\.3 trains othello6_2p\.$/m);
  expect(text).toMatch(/no processor of this machine, because machines that join do the work \(--workers\)/);
  expect(text).toMatch(/'ringrift token create <label> --join' prints the command/);
});
