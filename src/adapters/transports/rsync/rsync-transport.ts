/** rsync over ssh, with the programs of the system. What it brings is hashed by us like everything else. */

import { randomUUID } from "node:crypto";
import { constants, createReadStream } from "node:fs";
import { copyFile, mkdir, open, readFile, rm, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, isOperatingError, OperatingError, sleep } from "../../../kernel/index.ts";
import type { Transport, Wanted } from "../../../sync/index.ts";
import { prefixDigests } from "../../../sync/transfer/index.ts";
import { DISK_MARKER } from "../disk-marker.ts";
import { type RsyncPrograms, runRsync } from "./run-rsync.ts";
import { HOST_ALIAS, type RsyncPlace, sshConfig } from "./ssh-config.ts";

const READ_BYTES = 1_024 ** 2;
/** How often we look whether more has come. */
const LOOK_MS = 50;
/** A marker that was right is not asked for again for so long. */
const MARKED_MS = 10_000;
const IO_SECONDS = 60;

export interface RsyncTransportOptions extends RsyncPlace {
  readonly programs: RsyncPrograms;
  /** A folder of this process's own, for what is on its way. */
  readonly scratch: string;
  readonly clock: Clock;
  readonly maxBytesPerSecond?: number | undefined;
}

export function rsyncTransport(options: RsyncTransportOptions): Transport {
  const { host, path, disk, programs, scratch, clock, maxBytesPerSecond } = options;
  const place = `${host}:${path}`;
  const config = join(scratch, `${randomUUID()}.ssh`);
  if (/[\s"']/.test(config) || /[\s"']/.test(programs.ssh))
    throw OperatingError.invalid("PLACE_INVALID", "the folder of transfers must have no blanks in its name");
  const text = sshConfig(options);
  let markedAt = Number.NEGATIVE_INFINITY;
  let written: Promise<void> | undefined;
  const remoteOf = ({ sha256 }: Wanted) => `${HOST_ALIAS}:${path}/${sha256.slice(0, 2)}/${sha256}`;

  const run = async (args: readonly string[], signal: AbortSignal): Promise<void> => {
    written ??= mkdir(scratch, { recursive: true, mode: 0o700 }).then(() => writeFile(config, text, { mode: 0o600 }));
    await written;
    const limit =
      maxBytesPerSecond === undefined ? [] : [`--bwlimit=${Math.max(1, Math.ceil(maxBytesPerSecond / 1_024))}`];
    const always = ["--protect-args", `--timeout=${IO_SECONDS}`, "--rsh", `${programs.ssh} -F ${config}`, ...limit];
    await runRsync(place, programs, [...always, ...args], signal);
  };

  const checkMarker = async (signal: AbortSignal): Promise<void> => {
    const here = join(scratch, `${randomUUID()}.marker`);
    const wrong = (why: string) =>
      OperatingError.unavailable("PLACE_NOT_THERE", `${place} is not the disk that it should be: ${why}`, {
        hint: "Is its disk mounted? Missing files are ignored until it is.",
      });
    try {
      await run(["--max-size=201", `${HOST_ALIAS}:${path}/${DISK_MARKER}`, here], signal);
      const said = (await readFile(here, "utf8").catch(() => "")).trim();
      if (said !== disk) throw wrong(`its marker says '${said}', not '${disk}'`);
      markedAt = clock.monotonic();
    } catch (thrown) {
      throw isOperatingError(thrown, "NOT_FOUND") ? wrong(`it has no ${DISK_MARKER}`) : thrown;
    } finally {
      await rm(here, { force: true });
    }
  };

  /** What is here already is shown to rsync, so that it checks it and sends the rest. */
  const seed = async (file: string, part: string, start: number): Promise<void> => {
    await mkdir(scratch, { recursive: true, mode: 0o700 });
    await rm(file, { force: true });
    if (start === 0) return;
    await copyFile(part, file, constants.COPYFILE_FICLONE);
    await truncate(file, start);
  };

  /** Bytes of a file that grows, until nobody adds to it any more. */
  async function* follow(
    file: string,
    start: number,
    running: Promise<void>,
    signal: AbortSignal,
  ): AsyncIterable<Uint8Array> {
    let isRunning = true;
    let failed: { readonly thrown: unknown } | undefined;
    running.then(
      () => {
        isRunning = false;
      },
      (thrown: unknown) => {
        isRunning = false;
        failed = { thrown };
      },
    );
    for (let at = start; ; ) {
      const wasRunning = isRunning;
      const size = (await stat(file).catch(() => undefined))?.size ?? 0;
      if (size > at) {
        for await (const chunk of createReadStream(file, { start: at, end: size - 1, highWaterMark: READ_BYTES })) {
          at += (chunk as Buffer).length;
          yield chunk as Buffer;
        }
        continue;
      }
      if (!wasRunning) {
        if (failed !== undefined) throw failed.thrown;
        return;
      }
      await Promise.race([sleep(clock, LOOK_MS, signal), running.catch(() => undefined)]);
    }
  }

  return {
    name: "rsync",
    place,
    probe: checkMarker,
    async *read(wanted, { start, part, signal }) {
      const file = join(scratch, `${wanted.sha256}.${randomUUID()}.rsync`);
      const ended = new AbortController();
      const all = AbortSignal.any([signal, ended.signal]);
      try {
        await seed(file, part, start);
        const running = run(["--inplace", "--append-verify", "--no-perms", remoteOf(wanted), file], all);
        running.catch(() => undefined);
        yield* follow(file, start, running, all);
      } catch (thrown) {
        signal.throwIfAborted();
        if (!isOperatingError(thrown, "NOT_FOUND")) throw thrown;
        await checkMarker(signal);
        throw OperatingError.notFound("ARTIFACT_NOT_FOUND", `${place} has no artifact ${wanted.sha256}`);
      } finally {
        ended.abort(new Error("nobody reads it any more"));
        await rm(file, { force: true });
      }
    },
    async write(made, { signal, spend }) {
      const file = await open(made.path, "r");
      try {
        const bytes = file.createReadStream({ autoClose: false, highWaterMark: READ_BYTES, signal });
        if ((await prefixDigests(bytes, Number.POSITIVE_INFINITY)).at(-1) !== made.sha256)
          throw OperatingError.internal(
            "ARTIFACT_DAMAGED",
            `the file of ${made.sha256} is damaged and was not brought`,
            {
              retryable: true,
            },
          );
      } finally {
        await file.close();
      }
      if (clock.monotonic() - markedAt > MARKED_MS) await checkMarker(signal);
      await spend(made.bytes);
      // Under its name it appears when all of it is there; what is cut off waits in the folder beside it.
      const how = ["--mkpath", "--fsync", "--ignore-existing", "--partial-dir=.partial", "--chmod=F600"];
      await run([...how, made.path, remoteOf(made)], signal);
    },
    close: () => rm(config, { force: true }),
  };
}
