/** What every transport must stand: each adapter's test opens a world of its own and runs this. */
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { patience } from "../../test/support/patience.ts";
import { smallDisk } from "../../test/support/small-disk.ts";
import { listeningTime, seededRandom, sleep, systemClock } from "../kernel/index.ts";
import { createBudget } from "./transfer/budget.ts";
import { fetchAll } from "./transfer/fetch.ts";
import { createFlusher } from "./transfer/flush.ts";
import { createGrowingFiles } from "./transfer/growing.ts";
import { openPackStore, type PackStore } from "./transfer/pack-store.ts";
import { transferWorld } from "./transfer/transfer-world.ts";
import { createWays } from "./transfer/ways.ts";
import type { TransferReport, Transport, Wanted } from "./transport.port.ts";

/** A place that can be made to suffer, and the way to it. */
export interface TransportWorld {
  readonly transport: Transport;
  /** Puts a file there, as whoever owns the place would. */
  give(content: Uint8Array): Promise<Wanted>;
  /** Changes the file behind everybody's back; undefined takes it away. */
  spoil(wanted: Wanted, content: Uint8Array | undefined): Promise<void>;
  /** The place is not there any more: not mounted, killed, cut off; and then again. */
  vanish(): Promise<void>;
  comeBack(): Promise<void>;
  /** What lies there under the name, for places that can be written. */
  held?(wanted: Wanted): Promise<Uint8Array | undefined>;
}

const CHUNK = 1_000;
const SIZE = 4_500;
const PIECE = 250;

export const wantedOf = (content: Uint8Array): Wanted => ({
  sha256: createHash("sha256").update(content).digest("hex"),
  bytes: content.length,
});

export const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "ringrift-transport-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

/** This node: a folder in which files land, and what its transfers share. */
export function receiver({
  folder = newFolder(),
  stallMs = 30_000,
  chunkBytes = CHUNK,
  quarantine,
  packs,
}: {
  readonly folder?: string;
  readonly stallMs?: number;
  readonly chunkBytes?: number;
  readonly quarantine?: string;
  /** Where small files stay together; each is a file of its own unless given. */
  readonly packs?: PackStore | undefined;
} = {}) {
  const clock = systemClock();
  const listening = listeningTime(clock);
  onTestFinished(() => listening.stop());
  const ways = createWays(clock);
  const shared = {
    clock,
    random: seededRandom(1),
    listening,
    ways,
    budget: createBudget({ bytesPerSecond: Number.POSITIVE_INFINITY, clock }),
    flusher: createFlusher(),
    packs,
    stallMs,
    chunkBytes,
    growing: createGrowingFiles(clock),
  };
  const landingOf = ({ sha256 }: Wanted) => ({
    path: join(folder, sha256.slice(0, 2), sha256),
    part: join(folder, sha256.slice(0, 2), `${sha256}.part`),
    quarantine,
  });
  return {
    folder,
    ways,
    growing: shared.growing,
    fetch: (
      wanted: readonly Wanted[],
      transports: readonly Transport[],
      { signal = new AbortController().signal, onMoved = (_: Transport, __: number): void => {} } = {},
    ): Promise<TransferReport> =>
      fetchAll(
        wanted.map((one) => ({ ...one, landing: landingOf(one) })),
        transports,
        transferWorld(shared, { signal, priority: "normal", onMoved }),
      ),
    /** What is here under the name. */
    has: (wanted: Wanted) => (existsSync(landingOf(wanted).path) ? readFileSync(landingOf(wanted).path) : undefined),
    /** What an earlier life may have left. */
    plant(wanted: Wanted, content: Uint8Array) {
      mkdirSync(join(folder, wanted.sha256.slice(0, 2)), { recursive: true });
      writeFileSync(landingOf(wanted).part, content);
    },
    /** Every name that is not a part: each must be that of its bytes. */
    names: () =>
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && !entry.name.endsWith(".part"))
        .map(({ name, parentPath }) => ({ name, sha256: wantedOf(readFileSync(join(parentPath, name))).sha256 })),
    /** The same of what lies in packs, as the next life of this node would see it. */
    async namesInPacks() {
      const next = packs === undefined ? undefined : await packsIn(folder);
      return ((await next?.list()) ?? []).map(({ sha256: name }) => ({
        name,
        sha256: wantedOf(next!.read(name)!).sha256,
      }));
    },
  };
}
export type Receiver = ReturnType<typeof receiver>;

/** The packs of a node that keeps its files in this folder. */
async function packsIn(folder: string): Promise<PackStore> {
  const store = await openPackStore({
    folder: `${folder}.packs`,
    landingOf: (sha256) => ({ path: join(folder, sha256), part: join(folder, `${sha256}.part`) }),
    flusher: createFlusher(),
    clock: systemClock(),
  });
  onTestFinished(() => {
    store.close();
    rmSync(`${folder}.packs`, { recursive: true, force: true });
  });
  return store;
}

async function packingReceiver(): Promise<Receiver> {
  const folder = newFolder();
  return receiver({ folder, packs: await packsIn(folder) });
}

const expectNothingWrong = (here: Receiver) => {
  for (const { name, sha256 } of here.names()) expect(name).toBe(sha256);
};

/** So many came, each is right, and none lies there twice. */
const expectAllOf = async (here: Receiver, count: number, inPacks: number) => {
  expectNothingWrong(here);
  const together = await here.namesInPacks();
  for (const { name, sha256 } of together) expect(name).toBe(sha256);
  expect(together.length).toBeGreaterThanOrEqual(inPacks);
  expect(new Set([...here.names(), ...together].map(({ name }) => name)).size).toBe(count);
  expect(here.names().length + together.length).toBe(count);
};

/** The same way, with something done to the bytes of each read. */
const bent = (
  transport: Transport,
  bend: (bytes: AsyncIterable<Uint8Array>, start: number, reads: number) => AsyncIterable<Uint8Array>,
): Transport => {
  let reads = 0;
  const count = () => {
    reads += 1;
    return reads;
  };
  return {
    ...transport,
    read: (wanted, from) => bend(sliced(transport.read(wanted, from)), from.start, count()),
    ...(transport.readPack === undefined
      ? {}
      : { readPack: (wanted, signal) => bend(sliced(transport.readPack!(wanted, signal)), 0, count()) }),
  };
};

async function* sliced(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  for await (const chunk of bytes)
    for (let at = 0; at < chunk.length; at += PIECE) yield Buffer.from(chunk.subarray(at, at + PIECE));
}

/** Breaks after so many bytes, counted from the beginning of the whole. */
const cutAt = (edges: readonly number[]) =>
  async function* (bytes: AsyncIterable<Uint8Array>, start: number): AsyncIterable<Uint8Array> {
    const edge = edges.find((at) => at > start) ?? Number.POSITIVE_INFINITY;
    let at = start;
    for await (const chunk of bytes) {
      if (at + chunk.length >= edge) {
        yield chunk.subarray(0, edge - at);
        throw new Error("the line broke");
      }
      yield chunk;
      at += chunk.length;
    }
  };

/** Turns one byte of the first read. */
const flipAt = (place: number) =>
  async function* (bytes: AsyncIterable<Uint8Array>, start: number, reads: number): AsyncIterable<Uint8Array> {
    let at = start;
    for await (const chunk of bytes) {
      const inside = place - at;
      if (reads === 1 && inside >= 0 && inside < chunk.length) chunk[inside]! ^= 0x10;
      yield chunk;
      at += chunk.length;
    }
  };

/** The pieces of the first read in another order. */
const reordered = (order: (pieces: Uint8Array[]) => Uint8Array[]) =>
  async function* (bytes: AsyncIterable<Uint8Array>, _start: number, reads: number): AsyncIterable<Uint8Array> {
    const pieces: Uint8Array[] = [];
    for await (const chunk of bytes) pieces.push(chunk);
    yield* reads === 1 ? order(pieces) : pieces;
  };

/** Says nothing more after so many bytes, and does not listen either. */
const deafAfter = (bytesBefore: number) =>
  async function* (bytes: AsyncIterable<Uint8Array>, start: number): AsyncIterable<Uint8Array> {
    let at = start;
    for await (const chunk of bytes) {
      if (at >= bytesBefore) await new Promise(() => {});
      yield chunk;
      at += chunk.length;
    }
  };

/** Never silent for long, and long on its way. */
const slowly = (gapMs: number) =>
  async function* (bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const chunk of bytes) {
      await sleep(systemClock(), gapMs);
      yield chunk;
    }
  };

/** Something happens to the place once so many bytes have come; what was on its way may still come. */
const whenAt = (place: number, happens: () => Promise<void>) => {
  let hasHappened = false;
  return async function* (bytes: AsyncIterable<Uint8Array>, start: number): AsyncIterable<Uint8Array> {
    let at = start;
    for await (const chunk of bytes) {
      yield chunk;
      at += chunk.length;
      if (at < place || hasHappened) continue;
      hasHappened = true;
      await happens();
    }
  };
};

export interface ContractOptions {
  /** Undefined where the machine lacks what it needs: said aloud by whoever opens it. */
  readonly open: () => Promise<TransportWorld | undefined>;
  /** How long the first byte may take here, on a machine that is busy. */
  readonly stallMs?: number;
  /** Only what a real server alone can show: doubles show the rest in `npm test`, and the soak tries all of it. */
  readonly briefly?: boolean;
}

/** What only a real server can show: files, ways that break, places that are not there, and what is brought to them. */
const SHOWN_BY_REAL_SERVERS = /arrives whole|cut at every chunk|told from a place|is brought there/;

/** Alone, without its packs: what is tried is the way that large files take. */
const alone = (transport: Transport): Transport => ({ ...transport, readPack: undefined }) as unknown as Transport;

export function transportContract(name: string, { open, stallMs = 2_000, briefly = false }: ContractOptions): void {
  const content = randomBytes(SIZE);
  const tryIt = (what: string, run: (world: TransportWorld) => Promise<void>) => {
    if (briefly && !SHOWN_BY_REAL_SERVERS.test(what)) return;
    test(what, async () => {
      const world = await open();
      if (world !== undefined) await run(world);
    });
  };

  describe(`${name}: what every transport stands`, () => {
    tryIt("a file arrives whole, is counted once, and is not fetched again", async ({ transport, give }) => {
      const here = receiver();
      const wanted = await give(content);
      let moved = 0;
      const onMoved = (_: Transport, bytes: number) => {
        moved += bytes;
      };
      const report = await here.fetch([wanted], [alone(transport)], { onMoved });
      expect(report).toMatchObject({ arrived: [wanted.sha256], present: [], failed: [] });
      expect(report.tries).toMatchObject([
        { transport: transport.name, place: transport.place, files: 1, bytes: SIZE },
      ]);
      expect(moved).toBe(SIZE);
      expect(here.has(wanted)).toEqual(content);
      expect(await here.fetch([wanted], [alone(transport)])).toMatchObject({
        arrived: [],
        present: [wanted.sha256],
        tries: [],
      });
    });

    tryIt("an empty file arrives", async ({ transport, give }) => {
      const here = receiver();
      const wanted = await give(new Uint8Array());
      expect(await here.fetch([wanted], [alone(transport)])).toMatchObject({ arrived: [wanted.sha256] });
      expect(here.has(wanted)).toHaveLength(0);
    });

    tryIt("cut at every chunk edge it goes on where it was, and no byte travels twice", async ({ transport, give }) => {
      const here = receiver();
      const wanted = await give(content);
      const edges = [1, 999, 1_000, 1_001, 2_000, 3_000, 4_000, 4_499];
      const seen: boolean[] = [];
      const report = await here.fetch([wanted], [bent(alone(transport), cutAt(edges))], {
        onMoved: () => void seen.push(here.has(wanted) !== undefined),
      });
      expect(report).toMatchObject({ arrived: [wanted.sha256], failed: [] });
      expect(report.tries[0]!.bytes).toBe(SIZE);
      expect(seen).not.toContain(true);
      expect(here.has(wanted)).toEqual(content);
    });

    tryIt("ended by us at every chunk edge, the next one brings only the rest", async ({ transport, give }) => {
      const here = receiver();
      const wanted = await give(content);
      let moved = 0;
      for (const edge of [1_000, 2_000, 3_000, 4_000]) {
        const ended = new AbortController();
        const onMoved = (_: Transport, bytes: number) => {
          moved += bytes;
          if (moved >= edge) ended.abort(new Error("no more"));
        };
        const pieces = bent(alone(transport), (bytes) => bytes);
        await expect(here.fetch([wanted], [pieces], { signal: ended.signal, onMoved })).rejects.toThrow("no more");
        expect(here.names()).toEqual([]);
      }
      const report = await here.fetch([wanted], [alone(transport)]);
      expect(moved + report.tries[0]!.bytes).toBe(SIZE);
      expect(here.has(wanted)).toEqual(content);
    });

    tryIt("a byte that is turned on the way never comes under the name", async ({ transport, give }) => {
      for (const place of [0, 999, 1_000, 2_500, 4_499]) {
        const here = receiver();
        const wanted = await give(content);
        const report = await here.fetch([wanted], [bent(alone(transport), flipAt(place))]);
        expect(report).toMatchObject({ arrived: [wanted.sha256], failed: [] });
        expect(here.has(wanted)).toEqual(content);
        // Where the other side can say which chunk it was, only what follows it is fetched again.
        const from = transport.digests === undefined ? 0 : place - (place % CHUNK);
        expect(report.tries[0]!.bytes).toBe(SIZE + SIZE - from);
      }
    });

    tryIt("what an earlier life left wrong on our disk is found and fetched again", async ({ transport, give }) => {
      const here = receiver();
      const wanted = await give(content);
      const left = Buffer.from(content.subarray(0, 3_500));
      left[1_200]! ^= 1;
      here.plant(wanted, left);
      expect(await here.fetch([wanted], [alone(transport)])).toMatchObject({ arrived: [wanted.sha256] });
      expect(here.has(wanted)).toEqual(content);
    });

    tryIt("pieces that come twice or in another order never come under the name", async ({ transport, give }) => {
      const orders: ((pieces: Uint8Array[]) => Uint8Array[])[] = [
        (pieces) => [...pieces.slice(0, 3), ...pieces.slice(2)],
        (pieces) => [pieces[1]!, pieces[0]!, ...pieces.slice(2)],
        (pieces) => [...pieces].reverse(),
      ];
      for (const order of orders) {
        const here = receiver();
        const wanted = await give(content);
        await here.fetch([wanted], [bent(alone(transport), reordered(order))]);
        expectNothingWrong(here);
        expect(await here.fetch([wanted], [alone(transport)])).toMatchObject({ failed: [] });
        expect(here.has(wanted)).toEqual(content);
      }
    });

    tryIt(
      "one that is cut short, longer or changed at its place is refused by name; another way brings it",
      async (world) => {
        const { transport, give, spoil } = world;
        const wrong = [content.subarray(0, 2_300), Buffer.concat([content, content]), randomBytes(SIZE)];
        for (const spoiled of wrong) {
          const here = receiver();
          const wanted = await give(content);
          await spoil(wanted, spoiled);
          const report = await here.fetch([wanted], [alone(transport)]);
          expect(report.arrived).toEqual([]);
          expect(report.failed).toMatchObject([{ sha256: wanted.sha256 }]);
          expect(report.failed[0]!.code).not.toBe("TRANSFER_FAILED");
          expect(report.failed[0]!.message).toContain(transport.place);
          expect(here.names()).toEqual([]);
          const sound = soundWay(content);
          expect(await here.fetch([wanted], [alone(transport), sound])).toMatchObject({ arrived: [wanted.sha256] });
          expect(here.has(wanted)).toEqual(content);
        }
      },
    );

    placeTests(tryIt, stallMs);
    packTests(tryIt, "", async () => receiver());
    packTests(tryIt, ", kept together", packingReceiver);
    writeTests(tryIt);
    shelfTests(tryIt);
  });
}

type TryIt = (what: string, run: (world: TransportWorld) => Promise<void>) => void;

/** A way that works, to the same bytes. */
const soundWay = (content: Uint8Array): Transport => ({
  name: "folder",
  place: "a place that is well",
  probe: async () => {},
  async *read(_wanted, { start }) {
    yield Buffer.from(content.subarray(start));
  },
  close() {},
});

/** What a way is judged by: its place, its silence, and that our own trouble is not its own. */
function placeTests(tryIt: TryIt, stallMs: number): void {
  const content = randomBytes(SIZE);

  tryIt("one that the place does not have is told from a place that is not there", async (world) => {
    const { transport, give, spoil, vanish, comeBack } = world;
    const here = receiver();
    const wanted = await give(content);
    await give(randomBytes(10));
    await spoil(wanted, undefined);
    expect((await here.fetch([wanted], [alone(transport)])).failed).toMatchObject([{ code: "ARTIFACT_NOT_FOUND" }]);
    await transport.probe(new AbortController().signal);
    await vanish();
    const [gone] = (await here.fetch([wanted], [alone(transport)])).failed;
    expect(gone!.code).not.toBe("ARTIFACT_NOT_FOUND");
    await expect(transport.probe(new AbortController().signal)).rejects.toThrow();
    await comeBack();
    const again = await give(content);
    expect(await here.fetch([again], [alone(transport)])).toMatchObject({ arrived: [again.sha256] });
  });

  tryIt("one that falls silent is left for the next way, which goes on where it was", async ({ transport, give }) => {
    const here = receiver({ stallMs: patience(stallMs) });
    const wanted = await give(content);
    const sound = soundWay(content);
    let given: AbortSignal | undefined;
    const seen: Transport = {
      ...alone(transport),
      read(one, from) {
        given = from.signal;
        return transport.read(one, from);
      },
    };
    const report = await here.fetch([wanted], [bent(seen, deafAfter(2_000)), sound]);
    // It is told to stop, or it would hold on to its connection or program for as long as it likes.
    expect(given?.aborted).toBe(true);
    expect(report).toMatchObject({ arrived: [wanted.sha256], failed: [] });
    expect(report.tries).toMatchObject([
      { transport: transport.name, bytes: 2_000, error: { code: "TRANSFER_STALLED" } },
      { place: sound.place, bytes: SIZE - 2_000 },
    ]);
    expect(here.has(wanted)).toEqual(content);
  });

  tryIt("one that is slow all the way, and never silent, is waited for", async ({ transport, give }) => {
    const patientMs = patience(stallMs);
    const here = receiver({ stallMs: patientMs });
    const wanted = await give(content);
    const begunMs = performance.now();
    // A few gaps more than fit into the time in which one would be given up for its silence.
    const gapMs = (1.3 * patientMs * PIECE) / SIZE;
    const report = await here.fetch([wanted], [bent(alone(transport), slowly(gapMs))]);
    expect(report).toMatchObject({ arrived: [wanted.sha256], failed: [] });
    expect(report.tries).toHaveLength(1);
    expect(performance.now() - begunMs).toBeGreaterThan(patientMs);
    expect(here.has(wanted)).toEqual(content);
  });

  tryIt(
    "one whose place dies half-way shows nothing torn, and goes on where it was when the place is back",
    async (world) => {
      const { transport, give, vanish, comeBack } = world;
      const here = receiver({ chunkBytes: 65_536 });
      const large = randomBytes(2_000_000);
      const half = large.length / 2;
      const wanted = await give(large);
      let isWhole = false;
      const dying = bent(alone(transport), whenAt(half, vanish));
      const report = await here.fetch([wanted], [dying], {
        onMoved: () => {
          isWhole ||= here.has(wanted) !== undefined;
        },
      });
      expect(isWhole).toBe(false);
      const hasCome = report.arrived.length === 1;
      // What was on its way when it died may have been all of it.
      if (hasCome) expect(here.has(wanted)).toEqual(large);
      else {
        expect(report.failed).toMatchObject([{ sha256: wanted.sha256 }]);
        expect(here.names()).toEqual([]);
      }
      await comeBack();
      const again = await here.fetch([wanted], [alone(transport)]);
      expect(again.failed).toEqual([]);
      expect(here.has(wanted)).toEqual(large);
      // The books of both tries together: no byte of the first half travelled twice.
      const bytes = (one: TransferReport) => one.tries.reduce((sum, { bytes }) => sum + bytes, 0);
      expect(bytes(report)).toBeGreaterThanOrEqual(half);
      expect(bytes(report) + bytes(again)).toBe(large.length);
    },
  );

  tryIt("a full disk is ours: nobody is blamed, and the rest comes when there is room", async ({ transport, give }) => {
    const disk = smallDisk(1, onTestFinished);
    if (disk === undefined) return;
    const here = receiver({ folder: join(disk.folder, "files") });
    const large = randomBytes(300_000);
    const wanted = await give(large);
    disk.fill(100_000);
    const report = await here.fetch([wanted], [alone(transport), soundWay(large)]);
    expect(report.failed).toMatchObject([{ code: "STORE_FULL" }]);
    expect(report.tries).toHaveLength(1);
    expect(here.ways.states()).toMatchObject([{ state: "closed" }]);
    expect(here.names()).toEqual([]);
    disk.free();
    const more = await here.fetch([wanted], [alone(transport)]);
    expect(more.arrived).toEqual([wanted.sha256]);
    expect(here.has(wanted)).toEqual(large);
  });
}

/** `how` they are kept by whoever gets them. */
function packTests(tryIt: TryIt, how: string, open: () => Promise<Receiver>): void {
  const isTogether = how !== "";
  const contents = Array.from({ length: 30 }, (_, i) => randomBytes(i * 37));

  tryIt(
    `many small ones arrive in packs; one that is missing or damaged there holds up no other${how}`,
    async (world) => {
      const { transport, give, spoil } = world;
      if (transport.readPack === undefined) return;
      const here = await open();
      const wanted: Wanted[] = [];
      for (const content of contents) wanted.push(await give(content));
      const [missing, damaged] = [wanted[7]!, wanted[9]!];
      await spoil(missing, undefined);
      await spoil(damaged, randomBytes(damaged.bytes));
      const report = await here.fetch(wanted, [transport]);
      expect(report.arrived).toHaveLength(contents.length - 2);
      expect(report.failed.map(({ sha256 }) => sha256).sort()).toEqual([missing.sha256, damaged.sha256].sort());
      await expectAllOf(here, contents.length - 2, isTogether ? contents.length - 2 : 0);
      const again = await here.fetch(
        wanted.filter((one) => one !== missing && one !== damaged),
        [transport],
      );
      expect(again).toMatchObject({ arrived: [], failed: [] });
      expect(again.present).toHaveLength(contents.length - 2);
    },
  );

  tryIt(
    `a pack that is cut anywhere goes on with what is missing, and nothing is counted twice${how}`,
    async (world) => {
      const { transport, give } = world;
      if (transport.readPack === undefined) return;
      const here = await open();
      const wanted: Wanted[] = [];
      for (const content of contents) wanted.push(await give(content));
      // The one before the first file comes last: a way that brought nothing is left.
      const edges = [3_000, 3_040, 6_000, 9_000, 39];
      let reads = 0;
      const cut = bent(transport, (bytes, start) => {
        const edge = edges[reads];
        reads += 1;
        return edge === undefined ? bytes : cutAt([edge])(bytes, start);
      });
      await here.fetch(wanted, [cut]);
      const report = await here.fetch(wanted, [transport]);
      expect(report.failed).toEqual([]);
      await expectAllOf(here, contents.length, isTogether ? 10 : 0);
      expect([...report.arrived, ...report.present].sort()).toEqual(wanted.map(({ sha256 }) => sha256).sort());
    },
  );

  tryIt(
    `a pack with turned bytes, doubled or swapped pieces brings nothing wrong, and in the end everything${how}`,
    async (world) => {
      const { transport, give } = world;
      if (transport.readPack === undefined) return;
      const wanted: Wanted[] = [];
      for (const content of contents) wanted.push(await give(content));
      const bends = [
        ...[0, 33, 45, 5_000].map(flipAt),
        reordered((pieces) => [...pieces.slice(0, 8), ...pieces.slice(7)]),
        reordered((pieces) => [pieces[1]!, pieces[0]!, ...pieces.slice(2)]),
        reordered((pieces) => [...pieces, ...pieces]),
      ];
      for (const bend of bends) {
        const here = await open();
        await here.fetch(wanted, [bent(transport, bend)]);
        expectNothingWrong(here);
        expect(await here.fetch(wanted, [transport])).toMatchObject({ failed: [] });
        await expectAllOf(here, contents.length, 0);
      }
    },
  );
}

function writeTests(tryIt: TryIt): void {
  const made = (content: Uint8Array) => {
    const path = join(newFolder(), "made");
    writeFileSync(path, content);
    return { ...wantedOf(content), path };
  };
  const options = { signal: new AbortController().signal, spend: async () => {} };

  tryIt("what is brought there lies under its name, twice is once, and it comes back", async ({ transport, held }) => {
    if (transport.write === undefined || held === undefined) return;
    for (const bytes of [0, 10, 300_000]) {
      const content = randomBytes(bytes);
      const one = made(content);
      await transport.write(one, options);
      await transport.write(one, options);
      expect(await held(one)).toEqual(content);
      const here = receiver();
      expect(await here.fetch([one], [transport])).toMatchObject({ failed: [] });
      expect(here.has(one)).toEqual(content);
    }
  });

  tryIt("what is not what its name says is not brought", async ({ transport, held }) => {
    if (transport.write === undefined || held === undefined) return;
    const one = { ...made(randomBytes(1_000)), sha256: wantedOf(randomBytes(1_000)).sha256 };
    await expect(transport.write(one, options)).rejects.toMatchObject({ name: "OperatingError" });
    expect(await held(one)).toBeUndefined();
  });

  tryIt("one that is ended half-way leaves nothing under its name", async ({ transport, held }) => {
    if (transport.write === undefined || held === undefined) return;
    const one = made(randomBytes(3 * 1_024 ** 2));
    const ended = new AbortController();
    const spend = async () => ended.abort(new Error("no more"));
    await expect(transport.write(one, { signal: ended.signal, spend })).rejects.toThrow();
    expect(await held(one)).toBeUndefined();
    await transport.write(one, options);
    expect(await held(one)).toHaveLength(one.bytes);
  });
}

/** Places that say what they hold say all of it or nothing, and give a name once. */
function shelfTests(tryIt: TryIt): void {
  const { signal } = new AbortController();
  const doc = (text: string) => Buffer.from(text);

  tryIt(
    "what lies there is listed whole, with its size, and goes when it is taken away",
    async ({ transport, give }) => {
      const { shelf } = transport;
      if (shelf === undefined) return;
      const given = [];
      for (let n = 1; n <= 5; n += 1) given.push(await give(randomBytes(n * 10)));
      await shelf.put("backups/one", doc("first"), signal);
      const names = given.map(({ sha256, bytes }) => ({ name: `${sha256.slice(0, 2)}/${sha256}`, bytes }));
      const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1);
      const listed = async () => [...(await shelf.list(signal))].sort(byName);
      expect(await listed()).toEqual([...names, { name: "backups/one", bytes: 5 }].sort(byName));
      const [gone, ...rest] = names;
      await shelf.remove(gone!.name, signal);
      await shelf.remove(gone!.name, signal);
      expect(await listed()).toEqual([...rest, { name: "backups/one", bytes: 5 }].sort(byName));
    },
  );

  tryIt("a document is put once: its name is never given to another", async ({ transport: { shelf } }) => {
    if (shelf === undefined) return;
    await shelf.put("backups/one", doc("first"), signal);
    await shelf.put("backups/one", doc("first"), signal);
    for (const other of ["second", "first and more", ""])
      await expect(shelf.put("backups/one", doc(other), signal)).rejects.toMatchObject({ code: "NAME_TAKEN" });
    expect(Buffer.from(await shelf.get("backups/one", 100, signal)).toString()).toBe("first");
    await expect(shelf.get("backups/one", 4, signal)).rejects.toMatchObject({ code: "DOCUMENT_TOO_LARGE" });
    await expect(shelf.get("backups/two", 100, signal)).rejects.toMatchObject({ code: "DOCUMENT_NOT_FOUND" });
  });

  tryIt("names that lead elsewhere are refused before anything is asked", async ({ transport: { shelf } }) => {
    if (shelf === undefined) return;
    for (const name of ["../one", "backups/../../one", "backups/a/b", "/etc/passwd", "other/one", ".ringrift-disk"]) {
      await expect(shelf.put(name, doc("x"), signal)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
      await expect(shelf.get(name, 10, signal)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
      await expect(shelf.remove(name, signal)).rejects.toMatchObject({ code: "INVALID_REQUEST" });
    }
  });

  tryIt("a place that is not there is a fault and not an empty one", async ({ transport, give, vanish, comeBack }) => {
    const { shelf } = transport;
    if (shelf === undefined) return;
    const { sha256 } = await give(randomBytes(10));
    const name = `${sha256.slice(0, 2)}/${sha256}`;
    await vanish();
    await expect(shelf.list(signal)).rejects.toMatchObject({ code: "PLACE_NOT_THERE" });
    await expect(shelf.put("backups/one", doc("x"), signal)).rejects.toMatchObject({ code: "PLACE_NOT_THERE" });
    await expect(shelf.get("backups/one", 10, signal)).rejects.toMatchObject({ code: "PLACE_NOT_THERE" });
    await expect(shelf.remove(name, signal)).rejects.toMatchObject({ code: "PLACE_NOT_THERE" });
    await comeBack();
    expect((await shelf.list(signal)).map((one) => one.name)).toContain(name);
  });
}
