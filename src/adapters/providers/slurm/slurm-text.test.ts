import { expect, test } from "vitest";
import { machinesOf, offersOf } from "./slurm-text.ts";

/** As `scontrol --oneliner show job` of 22.05 prints them, shortened. */
const line = (id: string, name: string, state: string, more = "") =>
  `JobId=${id} ${more}JobName=${name} UserId=root(0) GroupId=root(0) JobState=${state} Reason=None NodeList=vm BatchHost=vm`;

test("jobs are machines, whatever they are called, and those of an array are one each", () => {
  const text = [
    line("7", "rr-x-01", "RUNNING"),
    line("8", "two words JobState=COMPLETED", "PENDING"),
    line("12", "rr-x-02", "RUNNING", "ArrayJobId=10 ArrayTaskId=2 "),
  ].join("\n");
  expect(machinesOf(text)).toMatchObject([
    { machine_id: "7", label: "rr-x-01", state: "running", address: "vm" },
    { machine_id: "8", label: "two words JobState=COMPLETED" },
    { machine_id: "10_2", label: "rr-x-02" },
  ]);
});

test.each([
  ["CONFIGURING", "starting"],
  ["SUSPENDED", "stopped"],
  ["COMPLETING", "ending"],
  ["NODE_FAIL", "gone"],
  ["BEAMED_UP", "unknown"],
])("%s is %s", (said, state) => {
  expect(machinesOf(line("1", "a", said))).toMatchObject([{ state, said }]);
});

test("no jobs are none, and what is no list of jobs is not taken for a short one", () => {
  expect(machinesOf("No jobs in the system\n")).toEqual([]);
  expect(machinesOf("")).toEqual([]);
  expect(machinesOf(`${line("1", "a", "RUNNING")}\nslurm_load_jobs error: Unable to contact`)).toBeUndefined();
});

test("partitions offer what their idle processors are enough for", () => {
  const text =
    "main|up|(null)|3/9/0/12\ngpu|up|gpu:a100:2(S:0)|0/4/0/4\nold|down|(null)|0/8/0/8\nmain|up|gpu:1|0/4/0/4\n";
  expect(offersOf(text, 4)).toMatchObject([
    { offer_id: "main", available: 3, gpus: 1, cpus: 4 },
    { offer_id: "gpu", available: 1, gpus: 2 },
  ]);
  expect(offersOf("sinfo: error", 4)).toBeUndefined();
});
