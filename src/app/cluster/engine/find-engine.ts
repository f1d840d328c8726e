/** Which nats-server is used, and whether it is new enough. Nothing is fetched from anywhere: people install programs. */
import { spawnSync } from "node:child_process";
import { serverFaults } from "../../../adapters/nats/stream-settings.ts";
import { OperatingError } from "../../../kernel/index.ts";

export interface FoundEngine {
  readonly program: string;
  readonly version: string;
}

const MIN = "2.15";
const HOW = [
  `Get nats-server ${MIN} or newer. Debian's package 'nats-server' is new enough from forky on;`,
  "older machines can unpack that one package: 'apt-get download nats-server' with the sources of forky, then 'dpkg -x'.",
  "Or take the program from the release page of nats-server. Then set RINGRIFT_COORDINATORS_ENGINE to its path.",
].join(" ");

/** Throws ENGINE_MISSING or ENGINE_TOO_OLD, each with what to do. */
export function findEngine(program: string): FoundEngine {
  const ran = spawnSync(program, ["--version"], { encoding: "utf8", timeout: 10_000 });
  const version = /v?(\d+\.\d+\.\d+\S*)/.exec(ran.stdout ?? "")?.[1];
  if (version === undefined)
    throw OperatingError.unavailable("ENGINE_MISSING", `'${program}' is no nats-server that runs here`, { hint: HOW });
  const sound = { name: program, maxPayload: Number.POSITIVE_INFINITY, syncsAlways: true };
  if (serverFaults({ ...sound, version }).length > 0)
    throw OperatingError.conflict(
      "ENGINE_TOO_OLD",
      `'${program}' is version ${version}; older ones than ${MIN} lose entries when a server is cut off`,
      { hint: HOW },
    );
  return { program, version };
}
