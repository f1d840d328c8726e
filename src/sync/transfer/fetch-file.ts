import { backoffMs, isOperatingError, OperatingError, PEER_BACKOFF, sleep } from "../../kernel/index.ts";
import type { Transport, Wanted } from "../transport.port.ts";
import { placeAside } from "./aside.ts";
import { COMING_ANSWER_MS, COMING_WAITS, chunkBytesFor, IDLE_TRIES, MAX_TRIES } from "./limits.ts";
import { type Landing, openPart, type PartFile } from "./part-file.ts";
import { chunksAlike } from "./running-hash.ts";
import { watchStall } from "./stall.ts";
import type { TransferWorld } from "./transfer-world.ts";
import { faultOf } from "./ways.ts";

/** Times that one way may mend what it brought wrong. */
const MAX_MENDS = 3;

const wrongBytes = ({ sha256 }: Wanted, place: string) =>
  OperatingError.unavailable("ARTIFACT_HASH", `what came from ${place} is not the artifact ${sha256}`, {
    hint: "It is not used. Another way will be tried.",
    details: { place },
  });

/** One go: the bytes from where we are, until it ends. A way that fell silent or lied is let go of, so that nothing of it lingers. */
async function readOn(transport: Transport, wanted: Wanted, landing: Landing, part: PartFile, world: TransferWorld) {
  await part.written();
  if (part.bytes === wanted.bytes) return;
  const watch = watchStall({ ...world, place: transport.place });
  const given = new AbortController();
  const signal = AbortSignal.any([world.signal, given.signal]);
  const from = { start: part.bytes, part: landing.part, signal };
  try {
    for await (const chunk of watch.over(transport.read(wanted, from), world.signal)) {
      if (part.bytes + chunk.length > wanted.bytes)
        throw OperatingError.invalid(
          "ARTIFACT_SIZE",
          `${transport.place} sends more than the ${wanted.bytes} bytes of ${wanted.sha256}`,
          { details: { place: transport.place } },
        );
      await world.spend(chunk.length);
      await part.take(chunk);
      world.moved(transport, chunk.length);
      if (part.rightChunks !== undefined) throw wrongBytes(wanted, transport.place);
    }
  } catch (thrown) {
    given.abort(thrown);
    throw thrown;
  }
  if (part.bytes < wanted.bytes)
    throw OperatingError.unavailable(
      "TRANSFER_CUT",
      `${transport.place} broke off after ${part.bytes} of ${wanted.bytes} bytes`,
    );
}

/**
 * All bytes are here and are not the artifact. Where the other side's are, we go back to the last chunk that is the same on both
 * and go on from there; else nothing of what it brought can be trusted.
 */
async function mend(transport: Transport, wanted: Wanted, landing: Landing, part: PartFile, world: TransferWorld) {
  const theirs = (await transport.digests?.(wanted, chunkBytesFor(wanted.bytes, world.chunkBytes), world.signal)) ?? [];
  const isSound = theirs.at(-1) === wanted.sha256;
  if (isSound) await part.rewind(chunksAlike(part.digests(), theirs));
  else await part.restart(placeAside(landing, wanted, world.clock.now()));
  return isSound;
}

/** Takes back what is known to be wrong, and says whose it was: who began before the chunk that is wrong has sent all of it. */
async function takeBack(transport: Transport, wanted: Wanted, part: PartFile, begin: number, world: TransferWorld) {
  const chunks = part.rightChunks;
  if (chunks === undefined) return;
  const actual = part.sha256();
  await part.rewind(chunks);
  if (begin <= part.bytes) world.cameWrong(transport, { sha256: wanted.sha256, actual });
}

/** Whether silence is no fault of the one who should send: it waits itself, and says so. */
async function isWaiting(
  transport: Transport,
  wanted: Wanted,
  thrown: unknown,
  world: TransferWorld,
): Promise<boolean> {
  if (transport.stillComing === undefined || !isOperatingError(thrown, "TRANSFER_STALLED")) return false;
  const late = new AbortController();
  const timer = world.clock.after(COMING_ANSWER_MS, () => late.abort(new Error("it does not answer")));
  try {
    return await transport.stillComing(wanted, AbortSignal.any([world.signal, late.signal]));
  } catch {
    return false;
  } finally {
    timer.cancel();
  }
}

/** By one way, as often as it brings something. */
async function fetchBy(transport: Transport, wanted: Wanted, landing: Landing, part: PartFile, world: TransferWorld) {
  let mends = 0;
  let isItsOwn = false;
  for (let idle = 0, waits = 0, tries = 1; ; tries += 1) {
    const before = world.movedBy(transport);
    const begin = part.bytes;
    // What another way brought before is not to be laid at the door of this one.
    isItsOwn ||= part.bytes === 0;
    try {
      await readOn(transport, wanted, landing, part, world);
      if (await part.finish()) return;
      mends += 1;
      if (isItsOwn) world.cameWrong(transport, { sha256: wanted.sha256, actual: part.sha256() });
      if (!(await mend(transport, wanted, landing, part, world)) || mends > MAX_MENDS)
        throw wrongBytes(wanted, transport.place);
    } catch (thrown) {
      world.signal.throwIfAborted();
      await takeBack(transport, wanted, part, begin, world);
      waits = world.movedBy(transport) === before ? waits + 1 : 0;
      if (waits < COMING_WAITS && (await isWaiting(transport, wanted, thrown, world))) continue;
      const isIdle = world.movedBy(transport) === before || (thrown as { code?: string }).code === "ARTIFACT_HASH";
      idle = isIdle ? idle + 1 : 0;
      if (idle >= IDLE_TRIES || tries >= MAX_TRIES || !isWorthAnother(thrown)) throw thrown;
      if (isIdle) await sleep(world.clock, backoffMs(PEER_BACKOFF, idle, world.random), world.signal);
    }
  }
}

const FINAL: ReadonlySet<string> = new Set(["TRANSFER_STALLED", "ARTIFACT_NOT_FOUND", "ARTIFACT_SIZE"]);

/** Whether the same way may do better at once. */
const isWorthAnother = (thrown: unknown): boolean => {
  const { code = "", retryable = true } = thrown as { code?: string; retryable?: boolean };
  return faultOf(thrown) !== "here" && retryable && !FINAL.has(code);
};

/** One artifact by the first way that brings it; each goes on where the one before stopped. Resolves when it is on the disk. */
export async function fetchFile(
  wanted: Wanted,
  landing: Landing,
  transports: readonly Transport[],
  world: TransferWorld,
): Promise<void> {
  const chunkBytes = chunkBytesFor(wanted.bytes, world.chunkBytes);
  let part: PartFile | undefined;
  let digests: readonly string[] | undefined;
  /** Somebody wants it of us: now it is worth asking what each chunk must be. */
  const judgeOnTheWay = async (): Promise<void> => {
    digests = await digestsOf(wanted, chunkBytes, transports, world.signal);
    if (digests !== undefined) part?.expect(digests);
  };
  const coming = world.growing?.begin(wanted, landing.part, () => void judgeOnTheWay());
  try {
    const gathering = await openPart(landing, wanted, chunkBytes, () => coming?.grow(part?.sound ?? 0));
    part = gathering;
    if (digests !== undefined) part.expect(digests);
    let last: unknown = noWay(wanted);
    for (const transport of transports) {
      try {
        const done = await world.by(transport, () => fetchBy(transport, wanted, landing, gathering, world));
        if (!done) continue;
        world.cameBy(transport, 1);
        return;
      } catch (thrown) {
        if (world.signal.aborted || faultOf(thrown) === "here") throw thrown;
        last = thrown;
      }
    }
    throw last;
  } finally {
    coming?.end();
    await part?.close();
  }
}

/** What the artifact hashes to at each edge, from the last one in the list who has the whole: that is the coordinator where it can be. */
async function digestsOf(
  wanted: Wanted,
  chunkBytes: number,
  transports: readonly Transport[],
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  for (const transport of transports.toReversed()) {
    if (transport.isComing === true || transport.digests === undefined) continue;
    try {
      const digests = await transport.digests(wanted, chunkBytes, signal);
      if (digests.at(-1) === wanted.sha256) return digests;
    } catch {
      // It is passed on when it is whole, then.
    }
  }
  return undefined;
}

const noWay = ({ sha256 }: Wanted) =>
  OperatingError.unavailable("NO_WAY_OPEN", `no way is open by which ${sha256} could come`, {
    hint: "All ways to it failed recently. They are tried again automatically.",
  });
