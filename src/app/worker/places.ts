/** Disks, hosts and stores of an operator's own, from which this node may fetch beside other nodes: one file names them. */
import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { messageOf, OperatingError } from "../../kernel/index.ts";
import type { Source } from "../../sync/index.ts";

const word = z.string().min(1).max(500);
const disk = word.describe("What its marker '.ringrift-disk' says.");

const placesFile = z.strictObject({
  places: z
    .array(
      z.discriminatedUnion("transport", [
        z.strictObject({ transport: z.literal("folder"), path: word, disk }),
        z.strictObject({
          transport: z.literal("rsync"),
          host: word,
          port: z.int().min(1).max(65_535).optional(),
          user: word.optional(),
          path: word,
          identity_file: word,
          known_hosts_file: word,
          disk,
        }),
        z.strictObject({
          transport: z.literal("s3"),
          endpoint: z.url(),
          bucket: word,
          prefix: word.optional(),
          region: word.optional(),
          access_key_id: word,
          secret_access_key_file: word,
          disk,
        }),
      ]),
    )
    .max(20),
});

type Place = z.output<typeof placesFile>["places"][number];

/** Paths are beside the file; secrets are in files of their own, and never in this one. */
function sourceOf(place: Place, base: string): Source {
  switch (place.transport) {
    case "folder":
      return { ...place, path: resolve(base, place.path) };
    case "rsync": {
      const { identity_file, known_hosts_file, port, user, ...rest } = place;
      return {
        ...rest,
        ...(port === undefined ? {} : { port }),
        ...(user === undefined ? {} : { user }),
        identityFile: resolve(base, identity_file),
        knownHostsFile: resolve(base, known_hosts_file),
      };
    }
    case "s3": {
      const { access_key_id: accessKeyId, secret_access_key_file, prefix, region, ...rest } = place;
      const secretAccessKey = readFileSync(resolve(base, secret_access_key_file), "utf8").trim();
      return {
        ...rest,
        ...(prefix === undefined ? {} : { prefix }),
        ...(region === undefined ? {} : { region }),
        accessKeyId,
        secretAccessKey,
      };
    }
  }
}

export function readPlaces(path: string): Source[] {
  try {
    const { places } = placesFile.parse(JSON.parse(readFileSync(path, "utf8")));
    return places.map((place) => sourceOf(place, dirname(path)));
  } catch (cause) {
    throw OperatingError.invalid("PLACES_INVALID", `${path} names no places that can be used: ${messageOf(cause)}`, {
      cause,
      hint: "docs/55-transfers.md shows such a file.",
    });
  }
}
