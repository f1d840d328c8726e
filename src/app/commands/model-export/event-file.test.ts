import { writeFileSync } from "node:fs";
import { join } from "node:path";
import protobuf from "protobufjs";
import { RecordReader } from "tfrecord";
import { describe, expect, it, onTestFinished } from "vitest";
import { owned } from "../../../../test/support/process.ts";
import type { CurvePoint } from "./curves.ts";
import { crc32c, eventFile, eventFileName } from "./event-file.ts";

/** The fields of TensorFlow's event.proto and summary.proto that curves are made of, with their published numbers. */
const Event = protobuf
  .parse(
    `syntax = "proto3"; package tensorflow;
     message Summary {
       message Value { string tag = 1; oneof value { float simple_value = 2; } }
       repeated Value value = 1;
     }
     message Event { double wall_time = 1; int64 step = 2; oneof what { string file_version = 3; Summary summary = 5; } }`,
    { keepCase: true },
  )
  .root.lookupType("tensorflow.Event");

/** Read by libraries that know nothing of us: the one checks frames and checksums, the other the messages. */
async function readBack(points: readonly CurvePoint[], change = (file: Buffer) => file) {
  const own = owned(onTestFinished);
  const path = join(own.folder(), eventFileName(1_700_000_000_000));
  writeFileSync(path, change(eventFile(points, 1_700_000_000_000)));
  const reader = await RecordReader.create(path);
  try {
    const events: Record<string, unknown>[] = [];
    for (let bytes = await reader.readRecord(); bytes !== null; bytes = await reader.readRecord())
      events.push(Event.toObject(Event.decode(bytes), { longs: Number }));
    return events;
  } finally {
    await reader.close();
  }
}

const point = (name: string, iteration: number, value: number): CurvePoint => ({
  name,
  iteration,
  at: 1_700_000_000_500 + iteration,
  value,
});

describe("an event file of TensorBoard", () => {
  it("has the checksums of RFC 3720", () => {
    expect(crc32c(Buffer.alloc(32))).toBe(0x8a91_36aa);
    expect(crc32c(Buffer.alloc(32, 0xff))).toBe(0x62a8_ab43);
    expect(crc32c(Buffer.from(Array.from({ length: 32 }, (_, i) => i)))).toBe(0x46dd_794e);
    expect(crc32c(Buffer.from(Array.from({ length: 32 }, (_, i) => 31 - i)))).toBe(0x113f_db5c);
    expect(crc32c(Buffer.from("123456789"))).toBe(0xe306_9283);
  });

  it("is read back number by number by readers that others wrote", async () => {
    const points = [
      point("loss", 0, 0.5),
      point("gradient norm/überall", 127, -3.25),
      point("loss", 128, 1e-20),
      point("rows", 2_000_000_000_000, 16_777_216),
    ];
    const [first, ...rest] = await readBack(points);
    expect(first).toEqual({ wall_time: 1_700_000_000, file_version: "brain.Event:2" });
    expect(rest.map(({ summary }) => summary)).toEqual(
      points.map(({ name, value }) => ({ value: [{ tag: name, simple_value: Math.fround(value) }] })),
    );
    expect(rest.map(({ step = 0 }) => step)).toEqual(points.map(({ iteration }) => iteration));
    expect(rest.map(({ wall_time }) => wall_time)).toEqual(points.map(({ at }) => at / 1_000));
  });

  it("is one that those readers would refuse if a byte of it were wrong", async () => {
    const flip = (at: number) => (file: Buffer) => {
      file[at]! ^= 1;
      return file;
    };
    await expect(readBack([point("loss", 1, 2)], flip(0))).rejects.toThrow(/length CRC32C/);
    await expect(readBack([point("loss", 1, 2)], flip(20))).rejects.toThrow(/record CRC32C/);
  });

  it("begins with the name that TensorBoard looks for", () => {
    expect(eventFileName(1_700_000_000_999)).toBe("events.out.tfevents.1700000000.ringrift");
  });
});
