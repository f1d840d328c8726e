/** How ssh is told where to go: by a file of ours and by arguments, never by a line that a shell would take apart. */
import { OperatingError } from "../../../kernel/index.ts";

export interface RsyncPlace {
  readonly host: string;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  /** The folder of the artifacts there. */
  readonly path: string;
  readonly identityFile: string;
  /** Hosts that we know; a host that is not in it, or has another key, is not spoken to. */
  readonly knownHostsFile: string;
  /** What the marker there must say. */
  readonly disk: string;
}

const checks: Readonly<Record<string, RegExp>> = {
  host: /^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,252}$/,
  user: /^[A-Za-z_][A-Za-z0-9_.-]{0,31}$/,
  path: /^\/[A-Za-z0-9_./@+-]{1,1000}$/,
  identityFile: /^\/[^\n"\\]{1,1000}$/,
  knownHostsFile: /^\/[^\n"\\]{1,1000}$/,
};

/** Refuses what ssh, rsync or the shell on the other side could take for more than a name. */
function checkPlace(place: RsyncPlace): void {
  for (const [name, shape] of Object.entries(checks)) {
    const value = place[name as keyof RsyncPlace];
    if (value !== undefined && (!shape.test(String(value)) || String(value).split("/").includes("..")))
      throw OperatingError.invalid("PLACE_INVALID", `${name}: '${String(value).slice(0, 100)}' is not taken for rsync`);
  }
}

/** The name by which the file below knows the host. */
export const HOST_ALIAS = "place";

export const sshConfig = (
  place: RsyncPlace,
  { aliveSeconds = 5, aliveCount = 3, connectSeconds = 10 } = {},
): string => {
  checkPlace(place);
  const { host, port = 22, user, identityFile, knownHostsFile } = place;
  const lines: readonly (readonly [string, string | number] | undefined)[] = [
    ["HostName", host],
    ["Port", port],
    user === undefined ? undefined : ["User", user],
    ["IdentityFile", `"${identityFile}"`],
    ["IdentitiesOnly", "yes"],
    ["UserKnownHostsFile", `"${knownHostsFile}"`],
    ["GlobalKnownHostsFile", "none"],
    ["StrictHostKeyChecking", "yes"],
    ["HostKeyAlias", host],
    ["CheckHostIP", "no"],
    ["BatchMode", "yes"],
    ["PreferredAuthentications", "publickey"],
    ["ConnectTimeout", connectSeconds],
    ["ServerAliveInterval", aliveSeconds],
    ["ServerAliveCountMax", aliveCount],
    ["Compression", "no"],
    ["ForwardAgent", "no"],
    ["ForwardX11", "no"],
    ["ClearAllForwardings", "yes"],
    ["PermitLocalCommand", "no"],
    ["ControlPath", "none"],
    ["LogLevel", "ERROR"],
  ];
  return `Host ${HOST_ALIAS}\n${lines.flatMap((line) => (line === undefined ? [] : [`  ${line.join(" ")}\n`])).join("")}`;
};
