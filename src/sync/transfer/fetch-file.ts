import { backoffMs, OperatingError, PEER_BACKOFF, sleep } from "../../kernel/index.ts";
import type { Transport, Wanted } from "../transport.port.ts";
import { placeAside } from "./aside.ts";
import { IDLE_TRIES, MAX_TRIES } from "./limits.ts";
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
  const theirs = (await transport.digests?.(wanted, world.chunkBytes, world.signal)) ?? [];
  const isSound = theirs.at(-1) === wanted.sha256;
  if (isSound) await part.rewind(chunksAlike(part.digests(), theirs));
  else await part.restart(placeAside(landing, wanted, world.clock.now()));
  return isSound;
}

/** By one way, as often as it brings something. */
async function fetchBy(transport: Transport, wanted: Wanted, landing: Landing, part: PartFile, world: TransferWorld) {
  let mends = 0;
  let isItsOwn = false;
  for (let idle = 0, tries = 1; ; tries += 1) {
    const before = world.movedBy(transport);
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
  const part = await openPart(landing, wanted, world.chunkBytes);
  try {
    let last: unknown = noWay(wanted);
    for (const transport of transports) {
      try {
        const done = await world.by(transport, () => fetchBy(transport, wanted, landing, part, world));
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
    await part.close();
  }
}

const noWay = ({ sha256 }: Wanted) =>
  OperatingError.unavailable("NO_WAY_OPEN", `no way is open by which ${sha256} could come`, {
    hint: "All ways to it failed recently. They are tried again automatically.",
  });
