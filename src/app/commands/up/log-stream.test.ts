import { describe, expect, it } from "vitest";
import { createLog } from "../../../kernel/index.ts";
import { createPaint } from "../../../surfaces/commands/index.ts";
import { logStreamFor } from "./log-stream.ts";

const tell = (errIsTerminal: boolean, isStory: boolean, withRegion = false) => {
  let err = "";
  const above: string[] = [];
  const io = {
    err: (text: string) => {
      err += text;
    },
    errIsTerminal,
  };
  const region = withRegion ? { draw() {}, clear() {}, above: (line: string) => void above.push(line) } : undefined;
  const stream = logStreamFor({ io: io as never, paint: createPaint(false), width: 60 }, region, isStory);
  if (stream === undefined) return undefined;
  const log = createLog("INFO", { stream });
  log.info("the local worker starts", { pid: 7 });
  log.child({ unit: "job_reaper" }).warn("a job was lost", { work_id: "w1" });
  return { err: err.replace(/\d\d:\d\d:\d\d/g, "TIME"), above };
};

describe("log lines beside a command", () => {
  it("are sentences at a terminal, all of them", () => {
    expect(tell(true, false)?.err).toBe(
      "TIME INFO  the local worker starts  pid=7\nTIME WARN  job_reaper: a job was lost  work_id=w1\n",
    );
    expect(tell(true, true)).toEqual(tell(true, false));
  });

  it("scroll by above the live lines", () => {
    const told = tell(true, false, true);
    expect(told?.err).toBe("");
    expect(told?.above).toHaveLength(2);
  });

  it("in a pipe, of a command that tells a story, are warnings as sentences and nothing else", () => {
    expect(tell(false, true)?.err).toBe("TIME WARN  job_reaper: a job was lost  work_id=w1\n");
  });

  it("in a pipe, of any other command, stay JSON", () => {
    expect(tell(false, false)).toBeUndefined();
  });
});
